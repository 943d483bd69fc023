/* SPDX-License-Identifier: MIT */
/*
 * A client that makes its eventfds block, and fills or empties them at the moment at which the
 * fabric process or a peer uses them: app_device_shared_eventfd MESSAGES [direct]. Each message
 * raises an event at the client's channel, which a thread fills up a moment later, at another
 * distance each time. The channel's own eventfd is a semaphore, which cannot be emptied at once:
 * the client names another.
 */
#include "fabric/proto/proto.h"
#include "tests/lib/c/rc.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define FULL	(~0ULL - 1)
#define WAIT	20000
#define LIMIT_S 120
#define SPREAD	20000
#define MAX_FD	1024
#define CHANS	8u

static int chan_fd, peer_socket;
static unsigned int rounds;

static void eventfd_empty(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t count;

	while (poll(&p, 1, 0) == 1 && (p.revents & POLLIN))
		if (read(fd, &count, sizeof(count)) < 0)
			die("read: %m");
}

/* Fill the channel's eventfd a moment after each message was sent. It stays full until the next. */
static void *chan_fill(void *arg)
{
	uint64_t full = FULL;
	unsigned int n, seen = 0, i;
	(void)arg;

	for (;;) {
		while ((n = __atomic_load_n(&rounds, __ATOMIC_ACQUIRE)) == seen)
			sched_yield();
		seen = n;
		for (i = 0; i < n * 7 % SPREAD; i++)
			__asm__ volatile("" ::: "memory");
		if (write(chan_fd, &full, sizeof(full)) < 0)
			die("write: %m");
	}
	return NULL;
}

static void *kick_empty(void *arg)
{
	int fd = (int)(intptr_t)arg;
	uint64_t count;

	for (;;)
		if (read(fd, &count, sizeof(count)) < 0)
			fcntl(fd, F_SETFL, 0);
	return NULL;
}

/* Whether it wakes the fabric process: the eventfds of channels are semaphores. */
static bool is_kick(int fd)
{
	char path[64], line[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		found |= !strcmp(line, "eventfd-semaphore: 0\n");
	if (f)
		fclose(f);
	return found;
}

/* The connection to the fabric process: the only socket of sequenced packets. */
static int fabric_socket(void)
{
	socklen_t len = sizeof(int);
	int fd, type;

	for (fd = 3; fd < MAX_FD; fd++)
		if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_SEQPACKET &&
		    fd != peer_socket)
			return fd;
	die("no connection to the fabric process");
}

/* Name @fd as the eventfd of channel @chan. */
static void chan_name_fd(int sock, uint32_t chan, int fd)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} c = { .buf = { 0 } };
	struct proto_msg m = { .magic = PROTO_MAGIC, .op = PROTO_CHAN_ADD, .peer.chan = chan };
	struct iovec iov = { &m, sizeof(m) };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = c.buf,
			     .msg_controllen = sizeof(c.buf) };

	c.hdr.cmsg_level = SOL_SOCKET;
	c.hdr.cmsg_type = SCM_RIGHTS;
	c.hdr.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&c.hdr), &fd, sizeof(int));
	if (sendmsg(sock, &mh, 0) != sizeof(m) || recv(sock, &m, sizeof(m), 0) != sizeof(m) ||
	    m.ret)
		die("CHAN_ADD");
}

static void thread_start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, arg))
		die("cannot create a thread");
}

/* Attack the eventfds of this process. */
static void eventfds_attack(void)
{
	int fd, sock = fabric_socket();
	uint32_t chan;

	chan_fd = eventfd(0, EFD_CLOEXEC);
	for (chan = 0; chan < CHANS; chan++)
		chan_name_fd(sock, chan, chan_fd);
	thread_start(chan_fill, NULL);
	for (fd = 3; fd < MAX_FD; fd++)
		if (fd != chan_fd && is_kick(fd)) {
			fcntl(fd, F_SETFL, 0);
			thread_start(kick_empty, (void *)(intptr_t)fd);
		}
}

static bool message_pass(struct end *a, struct end *b)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, 1, b, b->buf, 64, NULL, NULL);
	struct rc_wr send = wr_make(IBV_WR_SEND, 1, a, a->buf, 8, NULL, NULL);
	struct ibv_wc wc;

	/* The filler may be late, and wait for this. */
	eventfd_empty(chan_fd);
	if (end_arm(b, 1, false) || end_recv(b, &recv))
		return false;
	__atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
	return !end_send(a, &send) && end_poll(b, 1, WAIT, &wc) && !wc.status &&
	       end_poll(a, 0, WAIT, &wc) && !wc.status;
}

int main(int argc, char **argv)
{
	uint32_t lkey, rkey;
	long n = 0, want = argc > 1 ? atol(argv[1]) : 1000;
	struct end *a = end_fork(false), *b = end_local();
	struct rc_opts o = rc_defaults;

	alarm(LIMIT_S);
	end_open(a);
	end_open(b);
	o.chan = true;
	pair_up(a, b, &o, &o);
	peer_socket = a->fd;
	eventfds_attack();
	while (n < want && message_pass(a, b))
		n++;
	if (argc > 2) {
		ok(n < want, "a client that fills its eventfd up is disconnected");
		ok(!end_reg(a, 1, a->buf, 4096, ALL, false, &lkey, &rkey), "its peer goes on");
	} else {
		ok(n == want, "messages arrive whose events go to a full eventfd that blocks");
	}
	fflush(stdout);
	/* The threads block until the process ends. */
	kill(a->pid, SIGKILL);
	_exit(tap_failed != 0);
}
