/* SPDX-License-Identifier: MIT */
/*
 * Children of a program with open objects: they exec, exit, or use verbs themselves, and the
 * parent goes on.	app_device_fork [init]: with ibv_fork_init()
 */
#include "tests/lib/c/rc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct end *a, *b;

static bool traffic(void)
{
	struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, 100000, b, b->buf);
	struct ibv_wc wc;

	for (int i = 0; i < 20; i++) {
		fill(a->buf, 100000, (uint64_t)i);
		if (end_send(a, &wr) || !end_poll(a, 0, 20000, &wc) || wc.status ||
		    !filled(b->buf, 100000, (uint64_t)i))
			return false;
	}
	return true;
}

static int reap(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

static int own_verbs(void)
{
	struct end *x = end_local(), *y = end_local();

	end_open(x);
	end_open(y);
	pair_up(x, y, &rc_defaults, &rc_defaults);
	a = x;
	b = y;
	return traffic() ? 0 : 1;
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "init"))
		ok(!ibv_fork_init(), "ibv_fork_init");
	b = end_fork(false);
	a = end_local();
	end_open(a);
	end_open(b);
	pair_up(a, b, &rc_defaults, &rc_defaults);
	ok(traffic(), "traffic");

	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(0);
	ok(!reap(pid) && traffic(), "a child exits");
	pid = fork();
	if (!pid) {
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	ok(!reap(pid) && traffic(), "a child execs");
	pid = fork();
	if (!pid) {
		execlp("ibv_devinfo", "ibv_devinfo", "-l", (char *)NULL);
		_exit(1);
	}
	ok(!reap(pid) && traffic(), "a child execs a verbs program");
	pid = fork();
	if (!pid)
		_exit(own_verbs());
	ok(!reap(pid) && traffic(), "a child opens the device itself");
	pid = fork();
	if (!pid) {
		/* Tidying up what it inherited must not reach the parent's objects. */
		ibv_close_device(a->side->ctx);
		exit(0);
	}
	ok(!reap(pid) && traffic(), "a child closes what it inherited");
	ok(system("exit 7") >> 8 == 7 && traffic(), "system()");
	end_close(b);
	return tap_failed != 0;
}
