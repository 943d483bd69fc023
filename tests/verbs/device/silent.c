/* SPDX-License-Identifier: MIT */
/*
 * Processes that connect to the fabric process and say nothing: app_device_silent PROCESSES MANY
 *
 * Each of them makes MANY connections and keeps all, and then asks something by the last one, which
 * must be answered: its first one has ended instead. They live until standard input ends.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether a request by the connection is answered as one that was admitted is. */
static bool is_admitted(int sock)
{
	struct proto_msg m = { .op = PROTO_NODE };

	memset(m.ask.ip, 1, sizeof(m.ask.ip));
	return protocol_ask(sock, &m, NULL, 0) && m.ret == -ENOENT;
}

/* Whether the fabric process has ended the connection, without a word. */
static bool has_ended(int sock)
{
	char byte;

	return recv(sock, &byte, 1, 0) == 0;
}

static int silent_main(int many)
{
	int first = protocol_connect(), last = first, i;

	for (i = 1; i < many; i++)
		last = protocol_connect();
	ok(is_admitted(last), "the last of %d connections is answered", many);
	ok(has_ended(first), "the first one has ended");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return tap_failed != 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, many = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		die("getrlimit: %m");
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r))
		die("setrlimit: %m");
	for (; n > 0; n--)
		if (!fork())
			exit(silent_main(many));
	while (wait(&n) > 0)
		failed |= n;
	return failed != 0;
}
