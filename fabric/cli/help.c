/* SPDX-License-Identifier: MIT */
/**
 * DOC: help is made of the tables of verbs, options and fault actions, and wrapped to the terminal.
 *
 * The width is COLUMNS, else the terminal's, else 80. A line is longer only where one word is.
 */
#include "fabric/cli/help.h"
#include "fabric/common/text_io.h"
#include "fabric/fault/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Columns at which descriptions begin. */
#define HELP_VERB_AT   20u
#define HELP_GROUP_AT  16u
#define HELP_OPTION_AT 24u

/* Print @text from column @at on, its other lines from column @indent on. '\n' ends a paragraph. */
static void help_wrap(const char *text, u32 at, u32 indent)
{
	u32 width = text_width(stdout), n;
	bool first = true; /* nothing stands in this line after the indent */

	for (; at < indent; at++)
		putchar(' ');
	while (*text) {
		n = (u32)strcspn(text, " \n");
		if (!first && at + 1 + n > width) {
			printf("\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		at += (u32)printf("%s%.*s", first ? "" : " ", (int)n, text);
		first = false;
		text += n;
		if (*text == '\n') {
			printf("\n\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		text += strspn(text, " \n");
	}
	putchar('\n');
}

/* A name of at most @column - 4 letters, and what it is. */
static void help_print_row(const char *name, const char *summary, u32 column)
{
	u32 at = (u32)printf("  %s", name);

	if (at + 2 > column) {
		putchar('\n');
		at = 0;
	}
	help_wrap(summary, at, column);
}

static void help_print_option(const struct verb *v, enum opt_id id)
{
	const struct opt_def *def = opts_def(id);
	char flag[64], letter[8] = "", text[512];
	const char *arg = def->arg ? def->arg : "";
	const char *env = v->no_env & OPT_BIT(id) ? NULL : def->env;

	if (def->letter)
		snprintf(letter, sizeof(letter), "-%c, ", def->letter);
	snprintf(flag, sizeof(flag), "%s--%s%s%s", letter, def->name,
		 *arg && *arg != '[' ? " " : "", arg);
	snprintf(text, sizeof(text), "%s%s%s%s", verb_option_help(v, id), env ? " [" : "",
		 env ? env : "", env ? "]" : "");
	help_print_row(flag, text, HELP_OPTION_AT);
}

static void help_print_section(const struct verb *v, const char *title, opt_set flags)
{
	int id;

	if (!flags)
		return;
	printf("\n%s:\n", title);
	for (id = 0; id < OPT_COUNT; id++)
		if (flags & OPT_BIT(id))
			help_print_option(v, (enum opt_id)id);
}

static void help_print_synopsis(const char *before, const char *name, const char *args)
{
	char line[512];
	u32 at = (u32)printf("%s", before);

	snprintf(line, sizeof(line), "rdmaemu %s %s", name, args);
	help_wrap(line, at, at);
}

static void help_print_precedence(void)
{
	char text[512], keys[256];

	snprintf(text, sizeof(text),
		 "An option overrides its environment variable [in brackets], which overrides the "
		 "settings file (lines 'key = value'; keys %s).",
		 opts_file_keys("and", keys, sizeof(keys)));
	putchar('\n');
	help_wrap(text, 0, 0);
}

static void help_print_actions(void)
{
	const struct fault_act_def *def;
	u32 i;

	puts("\nActions of rules, see rdmaemu-faults(7):");
	for (i = 0; (def = fault_act_at(i)); i++)
		help_print_row(def->word, def->help, HELP_GROUP_AT);
}

static void help_print_verbs(const char *group)
{
	const struct verb *v;
	size_t i;

	puts("\nVerbs:");
	for (i = 0; (v = verb_at(i)); i++)
		if (verb_is_in_group(v, group) && !v->alias)
			help_print_row(v->name + strlen(group) + 1, v->summary, HELP_GROUP_AT);
}

void help_print_verb(const struct verb *v)
{
	const opt_set common = v->flags & VERB_COMMON;
	const opt_set fabric = v->flags & VERB_NEW_FABRIC;
	/* Options of the capture are a section where there are others, too. */
	const opt_set capture = v->flags & OPT_BIT(OPT_CAPTURE) ? v->flags & VERB_CAPTURE : 0;
	const opt_set own = v->flags & ~(common | fabric | capture);
	char summary[160];

	help_print_synopsis("usage: ", v->name, v->args);
	putchar('\n');
	snprintf(summary, sizeof(summary), "%s.", v->summary);
	help_wrap(summary, 0, 0);
	if (v->help) {
		putchar('\n');
		help_wrap(v->help, 0, 0);
	}
	help_print_section(v, "Options", own);
	help_print_section(v, "Options of a capture", capture);
	help_print_section(v, "Options of the fabric, if this command starts it", fabric);
	help_print_section(v, "Common options", common);
	if (common & OPT_BIT(OPT_FABRIC))
		help_print_precedence();
	if (verb_is_group(v->name))
		help_print_verbs(v->name);
}

void help_print_group(const char *group)
{
	char text[160];

	help_print_synopsis("usage: ", group, "VERB [OPTION]... [ARGUMENT]...");
	help_print_verbs(group);
	if (!strcmp(group, "fault"))
		help_print_actions();
	snprintf(text, sizeof(text), "'rdmaemu %s VERB --help' lists a verb's options.", group);
	putchar('\n');
	help_wrap(text, 0, 0);
}

static void help_print_heading(enum verb_group group)
{
	const struct verb *v;
	char name[32];
	size_t i;

	printf("\n%s:\n", verb_group_title(group));
	for (i = 0; (v = verb_at(i)); i++) {
		if (v->group != group || v->alias)
			continue;
		snprintf(name, sizeof(name), "%s%s%s", v->name, v->selector ? " --" : "",
			 v->selector ? opts_def(v->selector)->name : "");
		help_print_row(name, v->summary, HELP_VERB_AT);
	}
}

void help_print_all(void)
{
	int group;

	puts("rdmaemu: run RDMA programs without RDMA hardware\n");
	help_print_synopsis("usage: ", "VERB", "[OPTION]... [ARGUMENT]...");
	for (group = 0; group < GROUP_COUNT; group++)
		help_print_heading((enum verb_group)group);
	help_print_row("--version", "Print the version", HELP_VERB_AT);
	help_print_row("--help", "Print this list", HELP_VERB_AT);
	putchar('\n');
	help_wrap("'rdmaemu VERB --help' describes a verb and its options; rdmaemu(1) has all of "
		  "them.",
		  0, 0);
}
