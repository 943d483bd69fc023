/* SPDX-License-Identifier: MIT */
/**
 * DOC: the `rdmaemu` command: from the words of its command line to the verb that they call.
 */
#include "fabric/cli/cli.h"
#include "fabric/cli/help.h"
#include "fabric/cli/verbs.h"
#include "fabric/common/suggest.h"

#include <stdio.h>
#include <sys/random.h>

/* --fresh: a fabric that no other command meets, and that leaves at once. Return: 0 or -1. */
static int cli_name_fresh(struct opts *o)
{
	char base[sizeof(o->fabric)];
	u32 n;

	if (o->level[OPT_FABRIC] == LEVEL_FLAG)
		return print_error("--fresh is a fabric of its own and cannot be --fabric %s",
				   o->fabric);
	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		return print_error("random number: %s", strerror(errno));
	snprintf(base, sizeof(base), "%s", o->fabric);
	base[statedir_base_len(base)] = '\0';
	snprintf(o->fabric, sizeof(o->fabric), "%.*s" STATEDIR_FRESH "%08x",
		 (int)(FABRIC_NAME_MAX - strlen(STATEDIR_FRESH "01234567")), base, n);
	if (o->level[OPT_LINGER] < LEVEL_FLAG)
		o->linger_ms = 0;
	return 0;
}

/* All settings, in the order in which one may depend on the one before. */
static int cli_load_settings(struct opts *o, struct fabric_paths *p)
{
	char dir[PATH_MAX], file[PATH_MAX + 8];

	if (opts_env(o) || statedir_open(o->dir, dir))
		return -1;
	snprintf(file, sizeof(file), "%s/config", dir);
	if (opts_file(o, o->config[0] ? o->config : file, o->config[0]))
		return -1;
	if (o->fresh && cli_name_fresh(o))
		return -1;
	return statedir_paths(p, dir, o->fabric);
}

/* Options after the first argument, which is moved after them. Return: as opts_parse(). */
static int cli_parse_after_first(const struct verb *v, struct opts *o, int n, int argc, char **argv)
{
	char *first;
	int more;

	if (n >= argc)
		return n;
	first = argv[n];
	more = opts_parse(o, v->name, v->flags, argc - n - 1, argv + n + 1);
	if (more <= 0)
		return more < 0 ? more : n;
	memmove(argv + n, argv + n + 1, (size_t)more * sizeof(*argv));
	argv[n + more] = first;
	return n + more;
}

/*
 * Options between and after the arguments of @v, up to "--". Return: how many words are left of
 * @argv, or -1.
 */
static int cli_parse_anywhere(const struct verb *v, struct opts *o, int n, int argc, char **argv)
{
	bool options = true; /* no "--" has come yet */
	int from = n, to = n, more;

	while (from < argc) {
		argv[to++] = argv[from++];
		more = options ? opts_parse(o, v->name, v->flags, argc - from, argv + from) : 0;
		if (more < 0)
			return more;
		from += more;
		options = options && !(more && !strcmp(argv[from - 1], "--"));
	}
	return to;
}

/* Output that could not be written is an error. Return: exit status. */
static int cli_flush_output(int status)
{
	if (fflush(stdout))
		print_error("standard output: %s", strerror(errno));
	else if (ferror(stdout))
		print_error("standard output: it could not be written");
	else
		return status;
	return status ? status : 1;
}

/* Return: index of the first argument, with their end in *@argc, or -1 after one line on stderr. */
static int cli_parse_options(const struct verb *v, struct opts *o, int *argc, char **argv)
{
	int n = opts_parse(o, v->name, v->flags, *argc, argv);

	if (n >= 0 && v->parse == PARSE_AROUND_FIRST)
		n = cli_parse_after_first(v, o, n, *argc, argv);
	if (n >= 0 && v->parse == PARSE_ANYWHERE) {
		*argc = cli_parse_anywhere(v, o, n, *argc, argv);
		if (*argc < 0)
			return -1;
	}
	return n;
}

/* --- unknown words -------------------------------------------------------------------------- */

/* Compare @word with the verbs of @group, or if that is NULL with the first words of all. */
static struct suggestion cli_nearest_verb(const char *group, const char *word)
{
	struct suggestion s = { 0 };
	char first[VERB_WORD_MAX];
	const struct verb *v;
	size_t i, at;

	for (i = 0; (v = verb_at(i)); i++) {
		if (group ? !verb_is_in_group(v, group) : !verb_first_word(i, first))
			continue;
		at = group ? strlen(group) + 1 : 0;
		suggest_compare(&s, word, strlen(word), v->name + at, strcspn(v->name + at, " "));
	}
	return s;
}

/* Return: exit status. */
static int cli_print_unknown(const char *word)
{
	const char *kind = word[0] == '-' ? "option" : "verb";
	struct suggestion s = cli_nearest_verb(NULL, word);

	suggest_compare(&s, word, strlen(word), "--version", strlen("--version"));
	suggest_compare(&s, word, strlen(word), "--help", strlen("--help"));
	if (s.word)
		print_error("unknown %s '%s': did you mean '%.*s'?", kind, word, (int)s.len,
			    s.word);
	else
		print_error("unknown %s '%s'; see 'rdmaemu --help'", kind, word);
	return EXIT_USAGE;
}

/* "start, stop or list" */
static const char *cli_group_words(const char *group, char *text, size_t size)
{
	const struct verb *v, *last = NULL;
	size_t i, n = 0, at = strlen(group) + 1;

	text[0] = '\0';
	for (i = 0; (v = verb_at(i)); i++) {
		if (!verb_is_in_group(v, group) || v->alias)
			continue;
		if (last)
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "",
					      last->name + at);
		last = v;
	}
	if (last)
		snprintf(text + n, size - n, "%s%s", n ? " or " : "", last->name + at);
	return text;
}

/* A group without one of its verbs: print its help, or one line on stderr. Return: exit status. */
static int cli_run_group(const char *group, const char *word)
{
	struct suggestion s = { 0 };
	char text[128];

	if (word && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
		help_print_group(group);
		return cli_flush_output(0);
	}
	if (word)
		s = cli_nearest_verb(group, word);
	if (s.word)
		print_error("unknown verb '%s %s': did you mean '%s %s'?", group, word, group,
			    s.word);
	else
		print_error("%s: expected %s; see 'rdmaemu %s --help'", group,
			    cli_group_words(group, text, sizeof(text)), group);
	return EXIT_USAGE;
}

/* Return: exit status. */
static int cli_print_unexpected(const struct verb *v, const char *word)
{
	/* "clock" is a verb and the first word of others. */
	if (verb_is_group(v->name) && cli_nearest_verb(v->name, word).word)
		return cli_run_group(v->name, word);
	print_error("%s: unexpected argument '%s'; see 'rdmaemu %s --help'", v->name, word,
		    v->name);
	return EXIT_USAGE;
}

/* --- verbs ---------------------------------------------------------------------------------- */

/* Whether something is missing that the options do not give instead. */
static bool cli_lacks_argument(const struct verb *v, const struct opts *o, int n)
{
	if (n || !v->expected)
		return false;
	return v->arg != ARG_RULES || !o->scenario[0];
}

/* Return: exit status. */
static int cli_run_verb(const struct verb *v, int argc, char **argv)
{
	static struct fabric_paths paths;
	static struct opts o;
	int n;

	opts_init(&o);
	n = cli_parse_options(v, &o, &argc, argv);
	if (n < 0)
		return EXIT_USAGE;
	if (o.help) {
		help_print_verb(v);
		return cli_flush_output(0);
	}
	if (v->arg == ARG_NONE && n < argc)
		return cli_print_unexpected(v, argv[n]);
	if (cli_lacks_argument(v, &o, argc - n)) {
		print_error("%s: expected %s; see 'rdmaemu %s --help'", v->name, v->expected,
			    v->name);
		return EXIT_USAGE;
	}
	if (v->flags != OPT_BIT(OPT_HELP) && !v->own_state && cli_load_settings(&o, &paths))
		return v->arg == ARG_PROGRAM ? EXIT_TROUBLE : 1;
	return cli_flush_output(v->run(&o, &paths, argc - n, argv + n));
}

/* `rdmaemu help [VERB]`. Return: exit status. */
static int cli_run_help(int argc, char **argv)
{
	const struct verb *v = argc ? verb_find(argc, argv, &(int){ 0 }) : NULL;

	if (v)
		help_print_verb(v);
	else if (!argc)
		help_print_all();
	else if (verb_is_group(argv[0]))
		return cli_run_group(argv[0], argc > 1 ? argv[1] : "--help");
	else
		return cli_print_unknown(argv[0]);
	return cli_flush_output(0);
}

int cli_main(int argc, char **argv)
{
	const struct verb *v;
	int n;

	if (!argc) {
		print_error("no verb given; see 'rdmaemu --help'");
		return EXIT_USAGE;
	}
	v = verb_find(argc, argv, &n);
	if (v)
		return cli_run_verb(v, argc - n, argv + n);
	if (argc > 1 &&
	    (!strcmp(argv[0], "--version") || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")))
		return print_error("%s: unexpected argument '%s'", argv[0], argv[1]), EXIT_USAGE;
	if (!strcmp(argv[0], "--version")) {
		puts("rdmaemu " RDMAEMU_VERSION);
		return cli_flush_output(0);
	}
	if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
		return cli_run_help(0, argv);
	if (!strcmp(argv[0], "help"))
		return cli_run_help(argc - 1, argv + 1);
	if (verb_is_group(argv[0]))
		return cli_run_group(argv[0], argc > 1 ? argv[1] : NULL);
	return cli_print_unknown(argv[0]);
}
