/* SPDX-License-Identifier: MIT */
/**
 * DOC: the verbs of the `rdmaemu` command as a table, from which the command line is parsed and
 * --help and the shells' completions are made.
 */
#ifndef FABRIC_CLI_VERBS_H
#define FABRIC_CLI_VERBS_H

#include "fabric/common/opts.h"
#include "fabric/proto/state_dir.h"

/** enum verb_group - under which heading `rdmaemu --help` lists a verb. */
enum verb_group {
	GROUP_RUN,
	GROUP_FABRIC,
	GROUP_CHANGE,
	GROUP_PACKETS,
	GROUP_TRACES,
	GROUP_SHELL,
	GROUP_COUNT,
};

/** enum verb_arg - what follows a verb's options. */
enum verb_arg {
	ARG_NONE,
	ARG_PROGRAM, /* a command with its own arguments */
	ARG_FILE,
	ARG_DIR,
	ARG_RULES, /* fault rules */
	ARG_VALUE,
};

/** enum verb_parse - where options may stand. The arguments of a program are never options. */
enum verb_parse {
	PARSE_BEFORE, /* before the first argument */
	PARSE_AROUND_FIRST, /* and directly after it */
	PARSE_ANYWHERE,
};

/**
 * struct verb - a verb, or two words: a group's and its verb's.
 * @args: what follows the name in its synopsis
 * @summary: one line
 * @help: paragraphs after the summary, or NULL; '\n' separates them
 * @flags: OPT_BIT()s of the options that it knows
 * @selector: option without which the words mean another verb, or 0
 * @expected: argument that it cannot do without, for the message; NULL: it can
 * @words: arguments that shells offer, separated by spaces, or NULL
 * @node_help: what --node means here, or NULL: where to run
 * @no_env: OPT_BIT()s of options whose variables it ignores
 * @own_state: it checks the state directory itself, and gets no paths
 * @alias: another name of a verb, which --help does not list
 * @run: gets what follows the options; returns the exit status
 */
struct verb {
	const char *name;
	const char *args;
	const char *summary;
	const char *help;
	opt_set flags;
	enum opt_id selector;
	enum verb_group group;
	enum verb_arg arg;
	enum verb_parse parse;
	const char *expected;
	const char *words;
	const char *node_help;
	opt_set no_env;
	bool own_state;
	bool alias;
	int (*run)(struct opts *o, const struct fabric_paths *p, int argc, char **argv);
};

/* Sets of options that several verbs have, each under a heading of its own in their --help. */

/** VERB_COMMON - which fabric. */
#define VERB_COMMON                                                                                \
	(OPT_BIT(OPT_FABRIC) | OPT_BIT(OPT_DIR) | OPT_BIT(OPT_CONFIG) | OPT_BIT(OPT_HELP))
/** VERB_NEW_FABRIC - what a fabric that is started is like. */
#define VERB_NEW_FABRIC                                                                            \
	(OPT_BIT(OPT_ISOLATED) | OPT_BIT(OPT_LINGER) | OPT_BIT(OPT_SEED) | OPT_BIT(OPT_PROFILE) |  \
	 OPT_BIT(OPT_SUBNET) | OPT_BIT(OPT_TOPOLOGY) | OPT_BIT(OPT_LISTEN) | OPT_BIT(OPT_JOIN) |   \
	 OPT_BIT(OPT_TOKEN_FILE) | OPT_BIT(OPT_PLAINTEXT) | OPT_BIT(OPT_NAME) |                    \
	 OPT_BIT(OPT_TIME_SCALE) | OPT_BIT(OPT_CLOCK) | OPT_BIT(OPT_CHAOS) |                       \
	 OPT_BIT(OPT_FIRST_MR) | OPT_BIT(OPT_ROCE) | OPT_BIT(OPT_ROCE_PEERS))
/** VERB_CAPTURE - what a capture contains and where it goes. */
#define VERB_CAPTURE                                                                               \
	(OPT_BIT(OPT_CAPTURE) | OPT_BIT(OPT_FILTER) | OPT_BIT(OPT_SNAPLEN) |                       \
	 OPT_BIT(OPT_RING_SIZE) | OPT_BIT(OPT_RING_FILES) | OPT_BIT(OPT_LOSSY) | OPT_BIT(OPT_ERF))

#define VERB_WORD_MAX 16

/** verb_at() - a verb by its number, NULL after the last. */
const struct verb *verb_at(size_t i);
/**
 * verb_find() - the verb that the command line begins with, or NULL. @words: how many are its name
 */
const struct verb *verb_find(int argc, char **argv, int *words);
/** verb_group_len() - length of the group's name if a verb's name is two words, else 0. */
size_t verb_group_len(const struct verb *v);
/** verb_is_in_group() - whether a verb's name is two words, of which the first is @group. */
bool verb_is_in_group(const struct verb *v, const char *group);
/** verb_is_group() - whether a word is the first of a verb's two words. */
bool verb_is_group(const char *word);
/** verb_first_word() - a verb's first word, if no verb before it has the same, or NULL. */
const char *verb_first_word(size_t i, char word[VERB_WORD_MAX]);
/** verb_option_help() - the description of an option of a verb. */
const char *verb_option_help(const struct verb *v, enum opt_id id);
/** verb_group_title() - a heading of `rdmaemu --help`. */
const char *verb_group_title(enum verb_group group);

#endif
