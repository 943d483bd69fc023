/* SPDX-License-Identifier: MIT */
/**
 * DOC: programs that start another, which their command line names. See fabric/cli/program_check.h.
 */
#include "fabric/cli/program_check.h"

#include <string.h>

/**
 * struct wrapper - the arguments of a wrapper.
 * @takes: its one-letter options that have an argument
 * @long_takes: its long options that have one, not after "=", separated by spaces
 * @words: words between its options and the command
 * @sets: words NAME=VALUE may stand before the command
 */
struct wrapper {
	const char *name;
	const char *takes;
	const char *long_takes;
	int words;
	bool sets;
};

static const struct wrapper wrappers[] = {
	{ .name = "env", .takes = "uC", .long_takes = "unset chdir", .sets = true },
	{ .name = "nice", .takes = "n", .long_takes = "adjustment" },
	{ .name = "nohup", .takes = "" },
	{ .name = "stdbuf", .takes = "ioe", .long_takes = "input output error" },
	{ .name = "timeout", .takes = "ks", .long_takes = "kill-after signal", .words = 1 },
	{ .name = "setsid", .takes = "" },
	{ .name = "ionice", .takes = "cn", .long_takes = "class classdata" },
	{ .name = "chrt", .takes = "TPD", .words = 1 },
	{ .name = "taskset", .takes = "", .words = 1 },
	{ .name = "numactl", .takes = "iwmNClpP" },
	{ .name = "prlimit", .takes = "" },
	{ .name = "setarch", .takes = "" },
	{ .name = "time", .takes = "fo", .long_takes = "format output" },
	{ .name = "valgrind", .takes = "" },
	{ .name = "strace", .takes = "abeEIoOpPsSuUX" },
};

static const struct wrapper *wrapper_find(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (!strcmp(slash ? slash + 1 : path, wrappers[i].name))
			return &wrappers[i];
	return NULL;
}

/* Whether a word is in a list of words. */
static bool word_is_in(const char *word, const char *list)
{
	size_t n = strlen(word);

	for (; list && *list; list += strcspn(list, " "), list += *list == ' ')
		if (strcspn(list, " ") == n && !memcmp(list, word, n))
			return true;
	return false;
}

/* Whether the word after this option is its argument. */
static bool option_takes_next(const struct wrapper *w, const char *option)
{
	const char *c;

	if (option[1] == '-')
		return word_is_in(option + 2, w->long_takes);
	for (c = option + 1; *c; c++)
		if (strchr(w->takes, *c))
			return !c[1];
	return false;
}

int wrapper_command(char **argv)
{
	const struct wrapper *w = wrapper_find(argv[0]);
	int i = 1, words;

	if (!w)
		return 0;
	for (; argv[i] && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (option_takes_next(w, argv[i]) && argv[i + 1])
			i++;
	}
	while (w->sets && argv[i] && strchr(argv[i], '='))
		i++;
	for (words = w->words; words && argv[i]; words--)
		i++;
	return argv[i] ? i : 0;
}

const char *wrapper_innermost(char **argv)
{
	int n;

	while ((n = wrapper_command(argv)))
		argv += n;
	return argv[0];
}
