/* SPDX-License-Identifier: MIT */
/*
 * A hostile client of an isolated fabric, which speaks the protocol itself: sys_segment.
 * It tries to shorten its segment, which the fabric process has mapped, and names rings where no
 * segment is, or where it has not been extended yet.
 */
#include "emulator/ring.h"
#include "emulator/verbs/cmd.h"
#include "fabric/proto/proto.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_MS 20000

static int sock, bad, kick;
static struct seg_hdr *seg;
static struct proto_welcome w;

static void ok(bool good, const char *what)
{
	printf("%sok %s\n", good ? "" : "not ", what);
	bad += !good;
}

static void die(const char *what)
{
	printf("not ok %s: %m\n", what);
	exit(1);
}

static void fabric_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *path = getenv(PROTO_ENV);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path ? path : "");
	sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
}

/* Send @m and receive its answer, whose descriptors are put into @fds. */
static int call(struct proto_msg *m, int fds[4])
{
	struct iovec iov = { m, sizeof(*m) };
	char control[CMSG_SPACE(4 * sizeof(int))];
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;

	m->magic = PROTO_MAGIC;
	if (send(sock, m, sizeof(*m), MSG_NOSIGNAL) < 0 || recvmsg(sock, &h, 0) <= 0)
		die("a request");
	c = CMSG_FIRSTHDR(&h);
	if (c && fds)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return m->ret;
}

/* Have the engine execute *cmd. Return: its answer, as in *cmd. */
static int command(struct hca_cmd *cmd)
{
	const u64 one = 1;
	int i;

	memcpy(seg->cmd[0].cmd, cmd, sizeof(*cmd));
	store_release(&seg->cmd[0].state, CMD_POSTED);
	fetch_or(&seg->cmd_bits, 1);
	if (write(kick, &one, sizeof(one)) < 0)
		die("a kick");
	for (i = 0; i < WAIT_MS && load_acquire(&seg->cmd[0].state) == CMD_POSTED; i++)
		poll(NULL, 0, 1);
	if (load_acquire(&seg->cmd[0].state) != CMD_DONE)
		die("no answer to a command");
	store_release(&seg->cmd[0].state, CMD_FREE);
	memcpy(cmd, seg->cmd[0].cmd, sizeof(*cmd));
	return cmd->ret;
}

/* Create a CQ of 4 entries at @ring. Return: its handle, or as the engine answers. */
static int cq_create(u64 ring)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_CQ };
	int ret;

	cmd.cq.ring = ring;
	cmd.cq.depth = 4;
	cmd.cq.dev = w.first_dev;
	ret = command(&cmd);
	return ret ? ret : (int)cmd.handle;
}

/* Create a CQ at @ring and move it elsewhere, for which the engine reads and writes both rings. */
static bool cq_works(u64 ring)
{
	struct hca_cmd cmd = { .op = CMD_RESIZE_CQ };
	int handle = cq_create(ring);

	cmd.handle = (u32)handle;
	cmd.cq.ring = ring + 1024;
	cmd.cq.depth = 8;
	cmd.cq.dev = w.first_dev;
	return handle >= 0 && !command(&cmd);
}

static int segment_ask(u64 size)
{
	struct proto_msg m = { .op = PROTO_SEG,
			       .peer = { .client = w.client, .gen = w.gen, .size = size } };
	int fds[4] = { -1, -1, -1, -1 }, ret = call(&m, fds);

	if (fds[0] >= 0)
		close(fds[0]);
	return ret;
}

int main(void)
{
	struct proto_msg m = { .op = PROTO_HELLO, .hello.version = PROTO_VERSION };
	int fds[4] = { -1, -1, -1, -1 };

	fabric_connect();
	m.hello.pid = getpid();
	if (call(&m, fds) || fds[1] < 0)
		die("a welcome");
	w = m.welcome;
	kick = fds[1];
	seg = mmap(NULL, SEG_FIRST, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (seg == MAP_FAILED)
		die("its segment");

	ok(ftruncate(fds[0], 0) && ftruncate(fds[0], 4096), "a segment cannot be shortened");
	ok(fcntl(fds[0], F_ADD_SEALS, F_SEAL_WRITE) && fcntl(fds[0], F_ADD_SEALS, F_SEAL_GROW),
	   "it cannot be sealed further");
	ok(cq_create(SEG_SIZE) < 0 && cq_create(SEG_SIZE - 64) < 0 && cq_create(~63ULL) < 0 &&
		   cq_create(64) < 0,
	   "a ring that is not in the segment is refused");
	ok(cq_works(SEG_HEAP_OFF), "one in its first part is made");
	ok(cq_works(2 * SEG_FIRST), "one where it has not been extended is made, too");
	ok(segment_ask(SEG_SIZE + 1) < 0 && segment_ask(~0ULL) < 0,
	   "more than a segment is refused");
	ok(!ftruncate(fds[0], (off_t)(64 * SEG_FIRST)) && !segment_ask(16 * SEG_FIRST) &&
		   !segment_ask(128 * SEG_FIRST),
	   "one that its client has extended is extended further");
	ok(cq_works(SEG_SIZE - 4096), "a ring at its end");
	ok(!fallocate(fds[0], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SEG_FIRST) &&
		   !seg->magic,
	   "its first part becomes zero");
	ok(cq_works(SEG_HEAP_OFF + 65536), "commands still work");
	return bad != 0;
}
