/* SPDX-License-Identifier: MIT */
/*
 * A program that claims to be on a node: app_device_claims NODE FABRIC_PID (0: not known)
 *
 * It speaks the protocol itself, and prints a line for each request that names a node: the request
 * and its result, 0 or -errno. The last line is for a connection whose process has ended before the
 * fabric process accepts it.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	uint32_t op;
} requests[] = {
	{ "HELLO", PROTO_HELLO },
	{ "LEASE", PROTO_LEASE },
	{ "NLDEV", PROTO_NLDEV },
	{ "DEV", PROTO_DEV },
};

static char *request_node(struct proto_msg *m)
{
	switch (m->op) {
	case PROTO_HELLO:
		return m->hello.node;
	case PROTO_LEASE:
		return m->lease.node;
	case PROTO_NLDEV:
		return m->nldev.node;
	default:
		return m->ask.node;
	}
}

static int32_t claim(int sock, uint32_t op, const char *node)
{
	struct proto_msg m = { .op = op };

	if (op == PROTO_HELLO)
		m.hello.version = PROTO_VERSION;
	snprintf(request_node(&m), PROTO_NODE_SIZE, "%s", node);
	if (!protocol_ask(sock, &m, NULL, 0))
		die("no answer");
	return m.ret;
}

/* A connection whose process has ended when the fabric process accepts it: it has no ancestors. */
static int connect_and_end(pid_t fabric)
{
	int *sock = mmap(NULL, sizeof(*sock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	pid_t pid;

	if (sock == MAP_FAILED)
		die("mmap: %m");
	if (fabric)
		kill(fabric, SIGSTOP);
	/* As fork(2), with the parent's descriptors. */
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		*sock = protocol_connect();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (fabric)
		kill(fabric, SIGCONT);
	return *sock;
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 3)
		die("usage: app_device_claims NODE FABRIC_PID");
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		printf("%s %d\n", requests[i].name,
		       claim(protocol_connect(), requests[i].op, argv[1]));
	printf("orphan %d\n", claim(connect_and_end(atoi(argv[2])), PROTO_LEASE, argv[1]));
	return 0;
}
