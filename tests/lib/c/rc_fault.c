/* SPDX-License-Identifier: MIT */
/* Fault rules set from within a test. See tests/lib/c/fault.h. */
#include "tests/lib/c/fault.h"
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* `rdmaemu COMMAND VERB [WORDS]`, whose output goes to @out unless that is negative. */
static void run(const char *command, const char *verb, char *words, int out)
{
	char *bin = getenv("RDMAEMU_BIN");
	char *argv[] = { bin, (char *)command, (char *)verb, words, NULL };
	posix_spawn_file_actions_t acts;
	int status, ret;
	pid_t pid;

	if (!bin)
		die("RDMAEMU_BIN is not set");
	posix_spawn_file_actions_init(&acts);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&acts, out, STDOUT_FILENO);
	ret = posix_spawn(&pid, bin, &acts, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&acts);
	if (ret)
		die("%s: %s", bin, strerror(ret));
	if (waitpid(pid, &status, 0) != pid || status)
		die("%s %s %s: status %#x", command, verb, words ? words : "",
		    (unsigned int)status);
}

void fault_add(const char *fmt, ...)
{
	char words[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	run("fault", "add", words, -1);
}

void fault_clear(void)
{
	run("fault", "clear", NULL, -1);
}

int fault_hits(void)
{
	char line[1024];
	unsigned long hits = 0;
	FILE *out = tmpfile();

	if (!out)
		die("%s", strerror(errno));
	run("fault", "list", NULL, fileno(out));
	rewind(out);
	/* NAME SEEN HITS RULE: the last line that has numbers. */
	while (fgets(line, sizeof(line), out))
		sscanf(line, "%*s %*u %lu", &hits);
	fclose(out);
	return (int)hits;
}

void fault_advance_us(long us)
{
	char by[32];

	snprintf(by, sizeof(by), "%ldus", us);
	run("clock", "advance", by, -1);
}

void fault_advance(int seconds)
{
	fault_advance_us(seconds * 1000000L);
}
