/* SPDX-License-Identifier: MIT */
/*
 * TCP ports for tests/lib/lib.sh.
 *	sys_port free FILE	print a port that no other test was given and no socket is bound to
 *	sys_port wait PORT PID SECONDS	wait for a listener on PORT; fail if process PID ends
 *
 * FILE holds the last port that was given away. A dump of listening sockets by sock_diag(7) costs
 * the kernel microseconds. A read of /proc/net/tcp costs it milliseconds: it walks the whole table
 * of connections, and tests wait for hundreds of servers.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PORT 20000u
#define LAST_PORT  31999u
#define LOOK_NS	   5000000

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* --- free --- */

/* With SO_REUSEADDR, connections in TIME_WAIT are no reason to refuse a port; a listener is. */
static bool port_can_bind(int family, unsigned int port)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, ret;

	/* A machine without IPv6 has no such listener. */
	if (fd < 0)
		return true;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	ret = family == AF_INET6 ? bind(fd, (struct sockaddr *)&v6, sizeof(v6))
				 : bind(fd, (struct sockaddr *)&v4, sizeof(v4));
	if (ret)
		ret = errno;
	close(fd);
	return ret != EADDRINUSE;
}

static unsigned int port_after(unsigned int port)
{
	return port >= FIRST_PORT && port < LAST_PORT ? port + 1 : FIRST_PORT;
}

static int port_give(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	unsigned int port, tried = 0;
	char text[16] = "";

	if (fd < 0 || flock(fd, LOCK_EX) || pread(fd, text, sizeof(text) - 1, 0) < 0)
		die(path);
	port = (unsigned int)strtoul(text, NULL, 10);
	if (!port)
		port = FIRST_PORT + (unsigned int)(time(NULL) ^ getpid()) % 8000;
	do {
		port = port_after(port);
		if (++tried > LAST_PORT - FIRST_PORT) {
			fprintf(stderr, "sys_port: no port is free\n");
			return 1;
		}
	} while (!port_can_bind(AF_INET, port) || !port_can_bind(AF_INET6, port));
	if (pwrite(fd, text, (size_t)snprintf(text, sizeof(text), "%u\n", port), 0) < 0)
		die(path);
	printf("%u\n", port);
	return 0;
}

/* --- wait --- */

static void dump_request(int fd, int family)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} req = {
		.h = { .nlmsg_len = sizeof(req),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.r = { .sdiag_family = (uint8_t)family,
		       .sdiag_protocol = IPPROTO_TCP,
		       .idiag_states = 1u << TCP_LISTEN },
	};

	if (send(fd, &req, sizeof(req), 0) != sizeof(req))
		die("sock_diag");
}

/* Whether a part of the answer names @port. @more: cleared at the answer's end */
static bool dump_names(const struct nlmsghdr *h, size_t len, unsigned int port, bool *more)
{
	bool found = false;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		const struct inet_diag_msg *m = NLMSG_DATA(h);

		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
			*more = false;
			break;
		}
		found |= ntohs(m->id.idiag_sport) == port;
	}
	return found;
}

static bool port_has_listener(int fd, int family, unsigned int port)
{
	_Alignas(struct nlmsghdr) char buf[16384];
	bool more = true, found = false;

	dump_request(fd, family);
	while (more) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n <= 0)
			die("sock_diag");
		found |= dump_names((const struct nlmsghdr *)(void *)buf, (size_t)n, port, &more);
	}
	return found;
}

static int port_wait(unsigned int port, pid_t pid, unsigned long seconds)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	unsigned long looks = seconds * (1000000000ul / LOOK_NS);

	if (fd < 0)
		die("sock_diag");
	for (; looks; looks--) {
		if (port_has_listener(fd, AF_INET, port) || port_has_listener(fd, AF_INET6, port))
			return 0;
		if (kill(pid, 0) && errno == ESRCH)
			return 1;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "free"))
		return port_give(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "wait"))
		return port_wait((unsigned int)strtoul(argv[2], NULL, 10), (pid_t)atoi(argv[3]),
				 strtoul(argv[4], NULL, 10));
	fprintf(stderr, "usage: sys_port free FILE | sys_port wait PORT PID SECONDS\n");
	return 2;
}
