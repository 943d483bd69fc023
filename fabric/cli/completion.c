/* SPDX-License-Identifier: MIT */
/**
 * DOC: `rdmaemu completion bash|zsh|fish`.
 *
 * For bash the tables of verbs and options become shell functions, which the code in
 * completion/bash.in calls. zsh and fish have a language for options: each option becomes a line.
 *
 * The name of a value in the table of options says what a shell offers: words as "run|manual" as
 * they are, paths for FILE and DIR, and nothing for any other name.
 */
#include "fabric/cli/cli.h"
#include "fabric/cli/verbs.h"
#include "fabric/common/profile.h"
#include "fabric/fault/keys.h"

#include <ctype.h>
#include <stdio.h>

#define COMPLETION_WORDS 512

/* The script of completion/bash.in. */
__asm__(".pushsection .rodata\n"
	"completion_bash_text:\n"
	".incbin \"fabric/cli/completion/bash.in\"\n"
	".byte 0\n"
	".popsection\n");
extern const char completion_bash_text[];

static void completion_add(char *words, const char *word)
{
	size_t n = strlen(words);

	snprintf(words + n, COMPLETION_WORDS - n, "%s%s", n ? " " : "", word);
}

/* Describe the value of an option: "files", "dirs", or the words that a shell offers. */
static void completion_option_kind(const struct opt_def *def, char *words)
{
	const char *const *profile = profile_builtins();
	const char *at = def->arg;
	char word[64];
	size_t n;

	words[0] = '\0';
	if (at && at[0] == '[')
		at += strlen("[=");
	if (!strcmp(def->name, "profile")) {
		for (; *profile; profile++)
			completion_add(words, *profile);
		return;
	}
	for (; at && *at; at += n + (at[n] != '\0')) {
		n = strcspn(at, "|]");
		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		if (!strcmp(word, "FILE"))
			snprintf(words, COMPLETION_WORDS, "files");
		else if (!strcmp(word, "DIR"))
			snprintf(words, COMPLETION_WORDS, "dirs");
		else if (islower((unsigned char)word[0]))
			completion_add(words, word);
	}
}

/* Likewise for a verb's arguments. "program": a command with arguments of its own. */
static void completion_argument_kind(const struct verb *v, char *words)
{
	const char *first;
	char word[64];
	size_t len;
	u32 i;

	words[0] = '\0';
	switch (v->arg) {
	case ARG_PROGRAM:
		snprintf(words, COMPLETION_WORDS, "program");
		break;
	case ARG_FILE:
		snprintf(words, COMPLETION_WORDS, "files");
		break;
	case ARG_DIR:
		snprintf(words, COMPLETION_WORDS, "dirs");
		break;
	case ARG_RULES:
		for (i = 0; (first = fault_act_first(i, &len)); i++) {
			snprintf(word, sizeof(word), "%.*s", (int)len, first);
			if (len)
				completion_add(words, word);
		}
		break;
	default:
		if (v->words)
			snprintf(words, COMPLETION_WORDS, "%s", v->words);
	}
}

/* Options of a verb, and of others of that name. */
static opt_set completion_options(const struct verb *v)
{
	const struct verb *other;
	opt_set flags = 0;
	size_t i;

	for (i = 0; (other = verb_at(i)); i++)
		if (!strcmp(other->name, v->name))
			flags |= other->flags;
	return flags;
}

/* --- bash ----------------------------------------------------------------------------------- */

/* A function that prints the words that may follow those in $1. */
static void bash_print_verbs(void)
{
	char first[VERB_WORD_MAX];
	const struct verb *v;
	size_t i, k;

	printf("_rdmaemu_verbs() {\n\tcase $1 in\n\t'') echo '");
	for (i = 0; verb_at(i); i++)
		if (verb_first_word(i, first))
			printf("%s ", first);
	puts("' ;;");
	for (i = 0; verb_at(i); i++) {
		if (!verb_first_word(i, first) || !verb_is_group(first))
			continue;
		printf("\t%s) echo '", first);
		for (k = 0; (v = verb_at(k)); k++)
			if (verb_is_in_group(v, first))
				printf("%s ", v->name + strlen(first) + 1);
		puts("' ;;");
	}
	puts("\tesac\n}\n");
}

/* A function that prints the options of verb $1. */
static void bash_print_options(void)
{
	const struct verb *v;
	size_t i;
	opt_set flags;
	int id;

	puts("_rdmaemu_options() {\n\tcase $1 in");
	for (i = 0; (v = verb_at(i)); i++) {
		if (v->selector)
			continue;
		flags = completion_options(v);
		printf("\t'%s') echo '", v->name);
		for (id = 0; id < OPT_COUNT; id++)
			if (flags & OPT_BIT(id))
				printf("--%s ", opts_def((enum opt_id)id)->name);
		puts("' ;;");
	}
	puts("\tesac\n}\n");
}

/* A pattern for "VERB OPTION": for some verbs where another option has the name, else for all. */
static void bash_print_pattern(enum opt_id id, bool shared)
{
	const struct opt_def *def = opts_def(id);
	const struct verb *v;
	const char *bar = "";
	size_t i;

	putchar('\t');
	for (i = 0; shared && (v = verb_at(i)); i++)
		if (v->flags & OPT_BIT(id)) {
			printf("%s'%s --%s'", bar, v->name, def->name);
			bar = " | ";
		}
	if (!shared)
		printf("*' --%s'", def->name);
	if (!shared && def->letter)
		printf(" | *' -%c'", def->letter);
}

static bool completion_name_is_shared(enum opt_id id)
{
	int other;

	for (other = 0; other < OPT_COUNT; other++)
		if (other != (int)id &&
		    !strcmp(opts_def((enum opt_id)other)->name, opts_def(id)->name))
			return true;
	return false;
}

/*
 * A function that prints what the value of option $2 of verb $1 may be, and fails if it has none.
 */
static void bash_print_values(void)
{
	char words[COMPLETION_WORDS];
	const struct opt_def *def;
	int id;

	puts("# $3: the value is in the option's own word\n_rdmaemu_value() {\n\tcase \"$1 $2\" "
	     "in");
	for (id = 0; id < OPT_COUNT; id++) {
		def = opts_def((enum opt_id)id);
		if (!def->arg)
			continue;
		bash_print_pattern((enum opt_id)id, completion_name_is_shared((enum opt_id)id));
		completion_option_kind(def, words);
		if (def->arg[0] == '[')
			printf(") [ -n \"$3\" ] && echo '%s' ;;\n", words);
		else
			printf(") echo '%s' ;;\n", words);
	}
	puts("\t*) return 1 ;;\n\tesac\n}\n");
}

/* A function that prints what the arguments of verb $1 may be. */
static void bash_print_arguments(void)
{
	char words[COMPLETION_WORDS];
	const struct verb *v;
	size_t i;

	puts("_rdmaemu_argument() {\n\tcase $1 in");
	for (i = 0; (v = verb_at(i)); i++) {
		completion_argument_kind(v, words);
		if (words[0])
			printf("\t'%s') echo '%s' ;;\n", v->name, words);
	}
	puts("\tesac\n}");
}

static void bash_print(void)
{
	puts("# bash completion for rdmaemu, printed by 'rdmaemu completion bash'\n"
	     "# shellcheck disable=SC2207,SC2128\n");
	bash_print_verbs();
	bash_print_options();
	bash_print_values();
	bash_print_arguments();
	fputs(completion_bash_text, stdout);
}

/* --- zsh ------------------------------------------------------------------------------------ */

/* Text within single quotes; @special: letters that get a backslash as well. */
static void completion_print_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", stdout);
		else if (strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}

static void zsh_print_kind(const char *words)
{
	if (!strcmp(words, "files"))
		printf("_files");
	else if (!strcmp(words, "dirs"))
		printf("_files -/");
	else if (*words)
		printf("(%s)", words);
	else
		putchar(' ');
}

static void zsh_print_option(const struct verb *v, enum opt_id id)
{
	const struct opt_def *def = opts_def(id);
	char words[COMPLETION_WORDS];

	printf("\t\t\t");
	if (def->letter && def->arg)
		printf("'(-%c --%s)'{-%c+,--%s=}'[", def->letter, def->name, def->letter,
		       def->name);
	else if (def->letter)
		printf("'(-%c --%s)'{-%c,--%s}'[", def->letter, def->name, def->letter, def->name);
	else
		printf("'--%s%s[", def->name, !def->arg ? "" : def->arg[0] == '[' ? "=-" : "=");
	completion_print_quoted(verb_option_help(v, id), "[]\\");
	putchar(']');
	if (def->arg && def->arg[0] == '[') {
		printf("::%.*s:", (int)strcspn(def->arg + 2, "]"), def->arg + 2);
		completion_option_kind(def, words);
		zsh_print_kind(words);
	} else if (def->arg) {
		putchar(':');
		completion_print_quoted(def->arg, ":\\");
		putchar(':');
		completion_option_kind(def, words);
		zsh_print_kind(words);
	}
	puts("' \\");
}

static void zsh_print_verb(const struct verb *v)
{
	char words[COMPLETION_WORDS];
	opt_set flags = completion_options(v);
	int id;

	printf("\t'%s')\n\t\t_arguments \\\n", v->name);
	for (id = 0; id < OPT_COUNT; id++)
		if (flags & OPT_BIT(id))
			zsh_print_option(v, (enum opt_id)id);
	completion_argument_kind(v, words);
	if (v->arg == ARG_PROGRAM) {
		printf("\t\t\t'*::program:_normal'");
	} else if (v->arg != ARG_NONE) {
		printf("\t\t\t'*:argument:");
		/* DIR, or with --inject a file. */
		zsh_print_kind(!strcmp(v->name, "replay") ? "files" : words);
		putchar('\'');
	} else {
		printf("\t\t\t'*: :'");
	}
	puts("\n\t\t;;");
}

/* The list of words that may follow: @group's verbs, or NULL: the first words. */
static void zsh_print_words(const char *group)
{
	char first[VERB_WORD_MAX];
	const struct verb *v;
	size_t i;

	for (i = 0; (v = verb_at(i)); i++) {
		if (group ? !verb_is_in_group(v, group) : !verb_first_word(i, first))
			continue;
		printf("\t\t\t'%s:", group ? v->name + strlen(group) + 1 : first);
		if (group || !verb_is_group(first))
			completion_print_quoted(v->summary, "\\");
		else
			printf("%s VERB ...", first);
		puts("'");
	}
}

static void zsh_print(void)
{
	char first[VERB_WORD_MAX];
	const struct verb *v;
	size_t i;

	puts("#compdef rdmaemu\n# zsh completion for rdmaemu, printed by 'rdmaemu completion "
	     "zsh'\n\n"
	     "_rdmaemu() {\n\tlocal verb=$words[2]\n\tlocal -a verbs\n\n"
	     "\tif ((CURRENT == 2)); then\n\t\tverbs=(");
	zsh_print_words(NULL);
	puts("\t\t\t'--help:Print all verbs'\n\t\t\t'--version:Print the version'\n\t\t)\n"
	     "\t\t_describe verb verbs\n\t\treturn\n\tfi\n\tcase $verb in");
	for (i = 0; verb_at(i); i++) {
		if (!verb_first_word(i, first) || !verb_is_group(first))
			continue;
		printf("\t%s)\n\t\tverbs=(\n", first);
		zsh_print_words(first);
		puts("\t\t)\n\t\t;;");
	}
	puts("\tesac\n"
	     "\tif (($#verbs)); then\n"
	     "\t\tif ((CURRENT == 3)) && [[ $words[3] != -* ]]; then\n"
	     "\t\t\t_describe verb verbs\n\t\t\treturn\n\t\tfi\n"
	     "\t\tif [[ $words[3] != -* ]]; then\n"
	     "\t\t\tverb=\"$verb $words[3]\"\n\t\t\tshift words\n\t\t\t((CURRENT--))\n\t\tfi\n"
	     "\tfi\n\tshift words\n\t((CURRENT--))\n\tcase $verb in");
	for (i = 0; (v = verb_at(i)); i++)
		if (!v->selector)
			zsh_print_verb(v);
	puts("\tesac\n}\n\n_rdmaemu \"$@\"");
}

/* --- fish ----------------------------------------------------------------------------------- */

static void fish_print_option(const struct verb *v, enum opt_id id)
{
	const struct opt_def *def = opts_def(id);
	char words[COMPLETION_WORDS];

	printf("complete -c rdmaemu -n '__rdmaemu_is %s' -l %s", v->name, def->name);
	if (def->letter)
		printf(" -s %c", def->letter);
	if (def->arg && def->arg[0] != '[') {
		completion_option_kind(def, words);
		if (!strcmp(words, "dirs"))
			printf(" -xa '(__fish_complete_directories)'");
		else if (!strcmp(words, "files"))
			printf(" -rF");
		else if (words[0])
			printf(" -%sa '%s'", strstr(def->arg, "FILE") ? "r" : "x", words);
		else
			printf(" -x");
	}
	printf(" -d '");
	completion_print_quoted(verb_option_help(v, id), "\\");
	puts("'");
}

static void fish_print_argument(const struct verb *v)
{
	char words[COMPLETION_WORDS];

	completion_argument_kind(v, words);
	if (!words[0])
		return;
	printf("complete -c rdmaemu -n '__rdmaemu_is %s' ", v->name);
	if (v->arg == ARG_PROGRAM)
		puts("-xa '(__fish_complete_subcommand)'");
	else if (!strcmp(words, "files") || !strcmp(v->name, "replay"))
		puts("-F");
	else if (!strcmp(words, "dirs"))
		puts("-xa '(__fish_complete_directories)'");
	else
		printf("-xa '%s'\n", words);
}

static void fish_print_word(const char *condition, const char *word, const char *summary)
{
	printf("complete -c rdmaemu -n '%s' -xa %s -d '", condition, word);
	completion_print_quoted(summary, "\\");
	puts("'");
}

static void fish_print_verb(const struct verb *v, size_t i)
{
	size_t n = verb_group_len(v);
	char first[VERB_WORD_MAX], condition[64], text[64];
	opt_set flags = completion_options(v);
	int id;

	if (verb_first_word(i, first)) {
		snprintf(text, sizeof(text), "%s VERB ...", first);
		fish_print_word("__rdmaemu_is", first, n ? text : v->summary);
	}
	if (n) {
		snprintf(condition, sizeof(condition), "__rdmaemu_is %.*s", (int)n, v->name);
		fish_print_word(condition, v->name + n + 1, v->summary);
	}
	fish_print_argument(v);
	for (id = 0; id < OPT_COUNT && !v->selector; id++)
		if (flags & OPT_BIT(id))
			fish_print_option(v, (enum opt_id)id);
}

static void fish_print(void)
{
	char first[VERB_WORD_MAX];
	const struct verb *v;
	size_t i;

	puts("# fish completion for rdmaemu, printed by 'rdmaemu completion fish'\n\n"
	     "# Whether the command line has that verb, and no other one.\n"
	     "function __rdmaemu_is\n"
	     "\tset -l words (commandline -opc)[2..-1]\n"
	     "\tset -l verb $words[1]");
	printf("\tif contains -- \"$verb\"");
	for (i = 0; verb_at(i); i++)
		if (verb_first_word(i, first) && verb_is_group(first))
			printf(" %s", first);
	puts("\n\t\tand set -q words[2]\n"
	     "\t\tand not string match -q -- '-*' $words[2]\n"
	     "\t\tset verb \"$verb $words[2]\"\n"
	     "\tend\n"
	     "\ttest \"$verb\" = \"$argv\"\n"
	     "end\n\n"
	     "complete -c rdmaemu -f");
	for (i = 0; (v = verb_at(i)); i++)
		fish_print_verb(v, i);
	puts("complete -c rdmaemu -n __rdmaemu_is -l help -d 'Print all verbs'\n"
	     "complete -c rdmaemu -n __rdmaemu_is -l version -d 'Print the version'");
}

int verb_completion(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = { { "bash", bash_print }, { "zsh", zsh_print }, { "fish", fish_print } };
	size_t i;

	(void)o;
	(void)p;
	for (i = 0; argc == 1 && i < ARRAY_SIZE(shells); i++)
		if (!strcmp(argv[0], shells[i].shell)) {
			shells[i].print();
			return 0;
		}
	print_error("completion: expected bash, zsh or fish; see 'rdmaemu completion --help'");
	return EXIT_USAGE;
}
