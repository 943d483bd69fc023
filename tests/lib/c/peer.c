/* SPDX-License-Identifier: MIT */
/*
 * Moves the second process of a test to the client's place, which tests/lib/setting.sh passes in
 * the environment. See tests/lib/c/rc.h.
 *	PEER_ENV	lines NAME=VALUE, as `rdmaemu run` sets them there
 *	PEER_NETNS	the network namespace
 *	PEER_ADDR, PEER_ADDR6, HERE_ADDR, HERE_ADDR6	addresses of either
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEER_WAIT_NS 20000000000ULL

static void enter_netns(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

void peer_enter(void)
{
	const char *env = getenv("PEER_ENV"), *netns = getenv("PEER_NETNS");
	char *text, *line, *rest;

	if (!env || !*env)
		return;
	if (netns && *netns)
		enter_netns(netns);
	text = strdup(env);
	if (!text)
		die("out of memory");
	/* What another place does not set is not to be that of this one. */
	unsetenv("RDMAEMU_NODE");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, '=');

		if (!value)
			die("PEER_ENV: %s", line);
		*value++ = '\0';
		if (setenv(line, value, 1))
			die("%s: %s", line, strerror(errno));
	}
	free(text);
}

bool peer_elsewhere(void)
{
	const char *env = getenv("PEER_ENV");

	return env && *env;
}

bool peer_far(void)
{
	const char *netns = getenv("PEER_NETNS");

	return netns && *netns;
}

bool peer_late(void)
{
	const char *chaos = getenv("RDMAEMU_CHAOS");

	return peer_far() || (chaos && *chaos);
}

bool arrives(const void *buf, size_t len, uint64_t seed)
{
	uint64_t end = now_ns() + PEER_WAIT_NS;

	while (!filled(buf, len, seed)) {
		if (!peer_late() || now_ns() > end)
			return false;
		usleep(100);
	}
	return true;
}

static const char *or_loopback(const char *name, bool v6)
{
	const char *addr = getenv(name);

	if (addr && *addr)
		return addr;
	return v6 ? "::1" : "127.0.0.1";
}

const char *peer_addr(bool v6)
{
	return or_loopback(v6 ? "PEER_ADDR6" : "PEER_ADDR", v6);
}

const char *here_addr(bool v6)
{
	return or_loopback(v6 ? "HERE_ADDR6" : "HERE_ADDR", v6);
}
