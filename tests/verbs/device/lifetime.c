/* SPDX-License-Identifier: MIT */
/*
 * Objects that are destroyed in an unusual order or place: with unread events, before objects that
 * use them, after their context, in a forked child. Nothing of them must be left.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT 20000

static struct end *a, *b;

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* One SEND from a to b: both CQs get an entry. */
static bool send_one(void)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, 1, b, b->buf, 64, NULL, NULL);
	struct rc_wr wr = wr_make(IBV_WR_SEND, 1, a, a->buf, 64, NULL, NULL);

	return !end_recv(b, &recv) && !end_send(a, &wr);
}

static void test_unread_events(void)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr bad = wr_make(IBV_WR_RDMA_WRITE, 1, a, a->buf, 8, b, b->buf);
	int async = b->side->ctx->async_fd, fd;
	struct ibv_wc wc;

	o.chan = true;
	pair_up(a, b, &o, &o);
	fd = a->side->chan->fd;
	end_arm(a, 0, false);
	end_arm(b, 1, false);
	ok(send_one() && readable(fd, WAIT), "a completion event is there");
	ok(!end_destroy(a) && !readable(fd, 0), "it goes with its CQ");
	ok(end_comp(b, WAIT) == 1, "that of another CQ does not");

	pair_up(a, b, &rc_defaults, &rc_defaults);
	bad.rkey ^= 1;
	ok(!end_send(a, &bad) && end_poll(a, 0, WAIT, &wc) && readable(async, WAIT),
	   "an asynchronous event is there");
	ok(!end_destroy(b) && !readable(async, 0), "it goes with its QP");
}

static void test_order(void)
{
	pair_up(a, b, &rc_defaults, &rc_defaults);
	ok(ibv_destroy_cq(a->side->scq) == EBUSY && ibv_destroy_cq(b->side->rcq) == EBUSY,
	   "a CQ that a QP completes to: EBUSY");
	ok(!end_destroy(a) && !end_destroy(b), "in the right order");
}

/* What lay in a CQ when the region moved belongs where the region was. */
static void test_rereg(void)
{
	struct rc_side *s = b->side;
	uint8_t *old = b->buf + (1 << 20), *new = b->buf + (2 << 20);
	struct rc_wr recv = wr_make(IBV_WR_SEND, 1, b, old, 64, NULL, NULL);
	struct rc_wr wr = wr_make(IBV_WR_SEND, 1, a, a->buf, 64, NULL, NULL);
	struct ibv_wc wc;
	struct ibv_mr *mr;

	pair_up(a, b, &rc_defaults, &rc_defaults);
	mr = ibv_reg_mr(s->pd, old, 4096, IBV_ACCESS_LOCAL_WRITE);
	if (!ok(mr != NULL, "a region") || !mr)
		return;
	recv.sge[0].lkey = mr->lkey;
	fill(a->buf, 64, 7);
	fill(new, 64, 8);
	ok(!end_recv(b, &recv) && !end_send(a, &wr) && end_poll(a, 0, WAIT, &wc), "received");
	ok(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, new, 4096, 0), "moved");
	ok(end_poll(b, 1, WAIT, &wc) && filled(old, 64, 7) && filled(new, 64, 8),
	   "the data is where the region was");
	ibv_dereg_mr(mr);
}

struct extended {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
};

static void extended_make(struct extended *x)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_QP_NUM };
	struct ibv_qp_init_attr_ex attr = {
		.cap = { 16, 16, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	x->ctx = rc_open_first();
	x->pd = ibv_alloc_pd(x->ctx);
	x->cq = ibv_create_cq_ex(x->ctx, &cq_attr);
	attr.pd = x->pd;
	attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(x->cq);
	x->qp = ibv_create_qp_ex(x->ctx, &attr);
	x->ex = x->qp ? ibv_qp_to_qp_ex(x->qp) : NULL;
	if (!x->ex)
		die("extended objects: %s", strerror(errno));
}

static int extended_end(struct extended *x)
{
	return ibv_destroy_qp(x->qp) || ibv_destroy_cq(ibv_cq_ex_to_cq(x->cq)) ||
	       ibv_dealloc_pd(x->pd);
}

static int reap(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

/* The parent is in the middle of a batch; in the child nobody will ever end it. */
static void test_extended_fork(void)
{
	struct ibv_poll_cq_attr none = { 0 };
	struct extended x;
	pid_t pid;

	extended_make(&x);
	fflush(stdout);
	ibv_wr_start(x.ex);
	pid = fork();
	if (!pid) {
		alarm(20);
		ibv_wr_start(x.ex);
		ibv_wr_send(x.ex);
		if (!ibv_wr_complete(x.ex) || ibv_start_poll(x.cq, &none) != EIO)
			_exit(1);
		_exit(extended_end(&x) || ibv_close_device(x.ctx));
	}
	ibv_wr_abort(x.ex);
	ok(!reap(pid), "a child's extended calls on inherited objects fail, and return");
	ok(!extended_end(&x) && !ibv_close_device(x.ctx), "the parent's are whole");
}

static void test_closed_context(void)
{
	struct extended x;
	pid_t pid;

	extended_make(&x);
	ok(!ibv_close_device(x.ctx), "a context is closed before its objects");
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(extended_end(&x));
	ok(!reap(pid), "a child destroys them");
	ok(!extended_end(&x), "and their owner does");
}

/* Shared memory that is mapped must not end up in core dumps: it is large and mostly holes. */
static void test_dumps(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long long from, to;
	bool big = false, all = true;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
			big = strstr(line, "memfd:rdmaemu") != NULL;
		else if (big && !strncmp(line, "VmFlags:", 8))
			all = all && strstr(line, " dd") != NULL;
	}
	if (f)
		fclose(f);
	ok(f && all, "core dumps leave the fabric's memory out");
}

static struct end *x_end, *y_end;

static void tidy_up(void)
{
	end_destroy(x_end);
	end_destroy(y_end);
	ibv_close_device(x_end->side->ctx);
}

static void leave(int sig)
{
	(void)sig;
	exit(3); /* NOLINT(bugprone-signal-handler): what is tested */
}

/* Writes without end; the signal finds it posting, which is where the engine runs. */
static void busy_child(unsigned int us)
{
	struct itimerval when = { .it_value.tv_usec = us };
	struct rc_wr wr;
	struct ibv_wc wc;
	sigset_t set;

	x_end = end_local();
	y_end = end_local();
	end_open(x_end);
	end_open(y_end);
	pair_up(x_end, y_end, &rc_defaults, &rc_defaults);
	wr = wr_make(IBV_WR_RDMA_WRITE, 1, x_end, x_end->buf, RC_BUF, y_end, y_end->buf);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	atexit(tidy_up);
	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &when, NULL);
	for (;;) {
		end_send(x_end, &wr);
		sigprocmask(SIG_BLOCK, &set, NULL);
		end_poll(x_end, 0, WAIT, &wc);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
}

static bool ends(pid_t pid, int code)
{
	uint64_t limit = now_ns() + WAIT * 1000000ull;
	int status;

	while (now_ns() < limit) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == code;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return false;
}

static void test_handler_exits(void)
{
	bool all = true;
	pid_t pid;

	fflush(stdout);
	for (unsigned int i = 0; i < 8 && all; i++) {
		pid = fork();
		if (!pid)
			busy_child(30000 + 777 * i);
		all = ends(pid, 3);
	}
	ok(all, "a signal handler ends the program, and tidies up, whatever it interrupted");
}

/* Of this process alone: numbers in the HCA go round, so its tables fill for a while. */
static long rss_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void test_leaks(void)
{
	struct extended x;
	long before = 0, after;

	for (int i = 0; i < 1200; i++) {
		extended_make(&x);
		if (extended_end(&x) || ibv_close_device(x.ctx))
			die("round %d", i);
		if (i == 200)
			before = rss_kib();
	}
	after = rss_kib();
#ifdef __SANITIZE_ADDRESS__ /* keeps what was freed for a while */
	before = after;
#endif
	ok(before > 0 && after - before < 128, "open and close leak nothing (%ld KiB)",
	   after - before);
}

int main(void)
{
	a = end_local();
	b = end_local();
	end_open(a);
	end_open(b);
	test_unread_events();
	test_order();
	test_rereg();
	test_extended_fork();
	test_closed_context();
	test_handler_exits();
	test_dumps();
	test_leaks();
	return tap_failed != 0;
}
