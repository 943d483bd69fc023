/* SPDX-License-Identifier: MIT */
/**
 * DOC: what UDP can do between two network namespaces of this machine, as JSON on stdout:
 * limits_udp ADDR PEER_ADDR PEER_PID SEGMENT...
 *
 * This process has a socket at ADDR, in its own namespace, and the peer that it forks one at
 * PEER_ADDR, in that of process PEER_PID. They exchange datagrams of two bytes; then, for each
 * SEGMENT, this process sends as fast as it can, STREAM_MESSAGE bytes after each other, which the
 * kernel cuts into datagrams of SEGMENT bytes (UDP_SEGMENT), and the peer takes them as the kernel
 * hands them out (UDP_GRO). UDP has no flow control: what counts is what the peer has received, and
 * until when.
 */
#include "tests/bench/two_sides.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define TRIPS	       10000u
#define STREAM_NS      2e8
#define STREAM_MESSAGE (1u << 20)
#define PIECE_MAX      65507u /* payload that one call can send */
#define PIECE_SEGMENTS 64u /* UDP_MAX_SEGMENTS of older kernels */
#define ANSWER_US      20000
#define ANSWERS	       500u

/** struct received - what the peer has received of a stream. */
struct received {
	uint64_t bytes;
	double ns; /* between the first and the last datagram */
};

static int sock[2];
static unsigned int streams;
static uint8_t buf[STREAM_MESSAGE];

static struct sockaddr_in socket_address(const char *addr)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, addr, &sa.sin_addr) != 1) {
		fprintf(stderr, "limits_udp: %s is no IPv4 address\n", addr);
		exit(2);
	}
	return sa;
}

static int socket_open(const char *addr)
{
	struct sockaddr_in sa = socket_address(addr);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)))
		die("a UDP socket");
	return fd;
}

/* This process stays in the peer's namespace: its own socket remains where it was made. */
static void sockets_open(char **argv)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	char path[64];
	int ns, i, on = 1;

	sock[0] = socket_open(argv[1]);
	snprintf(path, sizeof(path), "/proc/%s/ns/net", argv[3]);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die(path);
	close(ns);
	sock[1] = socket_open(argv[2]);
	if (setsockopt(sock[1], IPPROTO_UDP, UDP_GRO, &on, sizeof(on)))
		die("UDP_GRO");
	for (i = 0; i < 2; i++)
		if (getsockname(sock[!i], (struct sockaddr *)&sa, &len) ||
		    connect(sock[i], (struct sockaddr *)&sa, sizeof(sa)))
			die("connect");
}

/* --- the peer --------------------------------------------------------------------------------- */

/* A question before the first datagram is the last stream's, repeated. */
static void stream_receive(void)
{
	struct received r = { 0 };
	double first = 0, last = 0;
	ssize_t n;

	while ((n = recv(sock[1], buf, sizeof(buf), 0)) > 1 || (n == 1 && !r.bytes)) {
		if (n == 1)
			continue;
		last = now_ns();
		if (!r.bytes)
			first = last;
		r.bytes += (uint64_t)n;
	}
	if (n < 0)
		die("recv of the peer");
	r.ns = last - first;
	if (send(sock[1], &r, sizeof(r), 0) != sizeof(r))
		die("send of the peer");
}

static void peer(void)
{
	unsigned int i;

	for (i = 0; i <= TRIPS; i++)
		if (recv(sock[1], buf, 2, 0) != 2 || send(sock[1], buf, 2, 0) != 2)
			die("UDP peer");
	for (i = 0; i < streams; i++)
		stream_receive();
}

/* --- this process ----------------------------------------------------------------------------- */

static void round_trips(void)
{
	double start = 0;
	unsigned int i;

	for (i = 0; i <= TRIPS; i++) {
		if (send(sock[0], buf, 2, 0) != 2 || recv(sock[0], buf, 2, 0) != 2)
			die("UDP");
		if (!i) /* that one waited for the fork */
			start = now_ns();
	}
	report("udp_round_trip_ns", (now_ns() - start) / TRIPS);
}

static void stream_send(unsigned int segment)
{
	unsigned int n = PIECE_MAX / segment, step, at;

	step = (n < PIECE_SEGMENTS ? n : PIECE_SEGMENTS) * segment;
	for (at = 0; at < STREAM_MESSAGE; at += step) {
		if (STREAM_MESSAGE - at < step)
			step = STREAM_MESSAGE - at;
		if (send(sock[0], buf + at, step, 0) != (ssize_t)step && errno != ENOBUFS)
			die("UDP_SEGMENT");
	}
}

/* Ask the peer what it has received: what is full may lose the question. */
static struct received stream_ask(void)
{
	struct timeval wait = { .tv_usec = ANSWER_US };
	struct received r;
	unsigned int i;

	if (setsockopt(sock[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)))
		die("SO_RCVTIMEO");
	for (i = 0; i < ANSWERS; i++)
		if (send(sock[0], buf, 1, 0) == 1 && recv(sock[0], &r, sizeof(r), 0) == sizeof(r))
			return r;
	fprintf(stderr, "limits_udp: the peer does not answer\n");
	exit(1);
}

static void stream(const char *text)
{
	int segment = atoi(text);
	struct received r;
	char name[64];
	double start;

	if (segment < 3 || segment > 9000) {
		fprintf(stderr, "limits_udp: %s is no length of datagrams\n", text);
		exit(2);
	}
	if (setsockopt(sock[0], IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)))
		die("UDP_SEGMENT");
	for (start = now_ns(); now_ns() - start < STREAM_NS;)
		stream_send((unsigned int)segment);
	r = stream_ask();
	snprintf(name, sizeof(name), "udp_%d_gbs", segment);
	report(name, (double)r.bytes / r.ns);
}

int main(int argc, char **argv)
{
	pid_t pid;
	int i;

	if (argc < 4) {
		fprintf(stderr, "usage: limits_udp ADDR PEER_ADDR PEER_PID SEGMENT...\n");
		return 2;
	}
	streams = (unsigned int)argc - 4;
	sockets_open(argv);
	sides_begin();
	memset(buf, 1, sizeof(buf));
	pid = peer_start(peer);
	round_trips();
	for (i = 4; i < argc; i++)
		stream(argv[i]);
	peer_end(pid);
	return sides_end();
}
