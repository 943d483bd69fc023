/* SPDX-License-Identifier: MIT */
/*
 * The fabric process dies while memory is lent: who waits for it meanwhile goes on.
 *	app_mr_lent_lost FABRIC_PID MICROSECONDS
 *
 * The program registers memory all the time, beside WRITEs that the fabric process carries out. A
 * child stops the fabric process after MICROSECONDS, in whatever it does, and then kills it.
 */
#include "tests/lib/c/vb_lent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE	(16u * 4096u)
#define DEPTH	8
#define WRITE	(1u << 20)
#define STOPPED 300000 /* microseconds; the program comes to wait for the fabric process */

static struct vb_side *a;
static struct vb_pair p;

/* @begun, @ended: descriptors that tell of the program, which hangs if @ended does not come */
static void kill_fabric(pid_t fabric, unsigned int us, int begun, int ended)
{
	struct pollfd fd = { .fd = ended, .events = POLLIN };
	char c;

	if (read(begun, &c, 1) != 1)
		_exit(0);
	usleep(us);
	if (kill(fabric, SIGSTOP))
		die("kill: %s", strerror(errno));
	usleep(STOPPED);
	kill(fabric, SIGKILL);
	if (poll(&fd, 1, VB_WAIT) == 1)
		_exit(0);
	note("the program hangs");
	kill(getppid(), SIGKILL);
	_exit(1);
}

/* Keep the queue of WRITEs full. */
static void write_more(int *posted)
{
	struct vb_wr wr = vb_pair_wr(&p, IBV_WR_RDMA_WRITE, 1, 0, WRITE);
	struct ibv_wc wc;

	while (vb_poll(a, 0, VB_SCQ, 0, &wc))
		--*posted;
	while (*posted < DEPTH && !vb_send(a, 0, false, &wr))
		++*posted;
}

/* Return: 0, or errno's value. @lent: set if memory was lent */
static int register_once(bool *lent)
{
	uint8_t *at = vb_pages(SIZE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	int err;

	memset(at, 1, SIZE);
	errno = 0;
	mr = ibv_reg_mr(a->pd, at, SIZE, ALL);
	err = mr ? 0 : errno;
	if (!*lent)
		*lent = vb_lent_bytes(at, SIZE) == SIZE;
	if (mr)
		(void)ibv_dereg_mr(mr);
	munmap(at, SIZE);
	return err;
}

int main(int argc, char **argv)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	int begun[2], ended[2], posted = 0, err = 0, n = 0;
	bool lent = false;
	pid_t killer;

	if (argc != 3)
		die("usage: app_mr_lent_lost FABRIC_PID MICROSECONDS");
	if (pipe(begun) || pipe(ended))
		die("pipe: %s", strerror(errno));
	killer = fork();
	if (!killer)
		kill_fabric((pid_t)atoi(argv[1]), (unsigned int)atoi(argv[2]), begun[0], ended[0]);
	a = vb_local();
	vb_open(a);
	spec.send_wr = DEPTH;
	if (vb_pair_up(&p, a, a, &spec))
		die("a pair");
	while (!err) {
		write_more(&posted);
		err = register_once(&lent);
		if (++n == 10 && write(begun[1], "", 1) != 1)
			die("write: %s", strerror(errno));
	}
	ok(lent, "memory was lent");
	ok(err == EIO, "the device is lost after %d registrations: %s", n, strerror(err));
	ok(vb_event(a, VB_WAIT) == IBV_EVENT_DEVICE_FATAL, "DEVICE_FATAL");
	if (write(ended[1], "", 1) != 1)
		die("write: %s", strerror(errno));
	waitpid(killer, NULL, 0);
	return tap_failed != 0;
}
