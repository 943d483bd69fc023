/* SPDX-License-Identifier: MIT */
/*
 * A client that asks for what other clients have: app_device_peers ERR
 *
 * It speaks the protocol itself. For each number that a client may have, it asks for that client's
 * segment, an event channel, its helper and its memory file. Each answer must be -ERR, but those
 * about itself. Then it offers a memory file of its own.
 */
#include "tests/lib/c/protocol_client.h"
#include "tests/lib/c/rc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 64u
#define GENS	64u

static const uint32_t ops[] = { PROTO_SEG, PROTO_CHAN, PROTO_HELPER, PROTO_LENT };

/* Offer a memory file as the library makes them. Return: the answer. */
static int memory_lend(int sock)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} c = { .buf = { 0 } };
	struct proto_msg m = { .magic = PROTO_MAGIC, .op = PROTO_LEND };
	struct iovec iov = { &m, sizeof(m) };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = c.buf,
			     .msg_controllen = sizeof(c.buf) };
	int fd = memfd_create("lent", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL))
		die("a memory file: %m");
	c.hdr.cmsg_level = SOL_SOCKET;
	c.hdr.cmsg_type = SCM_RIGHTS;
	c.hdr.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&c.hdr), &fd, sizeof(int));
	if (sendmsg(sock, &mh, MSG_NOSIGNAL) != sizeof(m) ||
	    recv(sock, &m, sizeof(m), 0) != sizeof(m))
		die("no answer");
	close(fd);
	return m.ret;
}

int main(int argc, char **argv)
{
	static struct protocol_client me;
	uint32_t client, gen, i, others = 0;
	int wanted = argc > 1 ? -atoi(argv[1]) : 0;
	struct proto_msg m;

	if (protocol_hello(&me, "peers", SEG_FIRST))
		die("HELLO");
	for (client = 0; client < CLIENTS; client++)
		for (gen = 1; gen < GENS; gen++)
			for (i = 0; i < ARRAY_SIZE(ops); i++) {
				if (client == me.welcome.client && gen == me.welcome.gen)
					continue;
				m = (struct proto_msg){
					.op = ops[i],
					.peer = { .client = client, .gen = gen, .size = SEG_FIRST }
				};
				if (!protocol_ask(me.sock, &m, NULL, 0))
					die("no answer");
				others += m.ret != wanted;
			}
	ok(!others, "%u requests about others are not refused", others);
	ok(!memory_lend(me.sock), "a memory file of its own");
	return tap_failed != 0;
}
