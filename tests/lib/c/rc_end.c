/* SPDX-License-Identifier: MIT */
/* The ends as a test drives them, here or in another process. See tests/lib/c/rc.h. */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_YIELD_NS 300000ull /* most waits end within that */
#define POLL_SLEEP_US 100
#define POLL_LOOKS    32 /* empty polls after which a poller does the emulator's pending work */

int tap_failed;

bool ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	/* Lines of several threads stay whole. */
	flockfile(stdout);
	printf("%s ", cond ? "ok" : "not ok");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_failed += !cond;
	funlockfile(stdout);
	return cond;
}

void note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

bool poll_pause(uint64_t began, int ms)
{
	uint64_t waited = now_ns() - began;

	if (waited < POLL_YIELD_NS)
		sched_yield();
	else
		usleep(POLL_SLEEP_US);
	return waited < (uint64_t)ms * 1000000;
}

int poll_cq(struct ibv_cq *cq, int ms, struct ibv_wc *wc)
{
	uint64_t began = now_ns();
	int n, i;

	do {
		for (i = n = 0; !n && i < POLL_LOOKS; i++)
			n = ibv_poll_cq(cq, 1, wc);
	} while (!n && poll_pause(began, ms));
	return n;
}

uint64_t rnd(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

void fill(void *buf, size_t len, uint64_t seed)
{
	uint8_t *p = buf;

	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)((seed + i) * 0x9e3779b1u >> 13);
}

bool filled(const void *buf, size_t len, uint64_t seed)
{
	const uint8_t *p = buf;

	for (size_t i = 0; i < len; i++)
		if (p[i] != (uint8_t)((seed + i) * 0x9e3779b1u >> 13))
			return false;
	return true;
}

static struct end *end_new(void)
{
	struct end *e = calloc(1, sizeof(*e));

	if (!e)
		die("out of memory");
	e->fd = -1;
	e->buf = mmap(NULL, RC_BUF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (e->buf == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return e;
}

struct end *end_local(void)
{
	struct end *e = end_new();

	e->side = calloc(1, sizeof(*e->side));
	if (!e->side)
		die("out of memory");
	e->side->buf = e->buf;
	return e;
}

static void transfer(int fd, void *buf, size_t len, bool out)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = out ? write(fd, (char *)buf + done, len - done)
				: read(fd, (char *)buf + done, len - done);

		if (n <= 0 && errno != EINTR)
			die("the other end has gone");
		if (n > 0)
			done += (size_t)n;
	}
}

static void serve_loop(int fd, uint8_t *buf)
{
	static struct rc_side side;
	static struct rc_req req;
	static struct rc_rep rep;

	side.buf = buf;
	for (;;) {
		errno = 0;
		if (recv(fd, &req, sizeof(req), MSG_WAITALL) != (ssize_t)sizeof(req))
			_exit(0);
		if (req.op == RC_EXIT)
			_exit(0);
		rc_serve(&side, &req, &rep);
		transfer(fd, &rep, sizeof(rep), true);
	}
}

/* The namespace is for children only: go on in one, and wait for it here. */
static void enter_pidns(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		die("unshare: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0)
		return;
	waitpid(pid, NULL, 0);
	_exit(0);
}

struct end *end_fork(bool new_pidns)
{
	struct end *e = end_new();
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		die("socketpair: %s", strerror(errno));
	fflush(stdout);
	e->pid = fork();
	if (e->pid < 0)
		die("fork: %s", strerror(errno));
	if (e->pid == 0) {
		close(sv[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (new_pidns)
			enter_pidns();
		peer_enter();
		serve_loop(sv[1], e->buf);
	}
	close(sv[1]);
	e->fd = sv[0];
	return e;
}

void end_call(struct end *e, struct rc_req *req, struct rc_rep *rep)
{
	if (e->side) {
		rc_serve(e->side, req, rep);
		return;
	}
	transfer(e->fd, req, sizeof(*req), true);
	transfer(e->fd, rep, sizeof(*rep), false);
}

static int call(struct end *e, struct rc_req *req)
{
	struct rc_rep rep;

	end_call(e, req, &rep);
	return rep.ret;
}

void end_open(struct end *e)
{
	struct rc_req req = { .op = RC_OPEN };
	struct rc_rep rep;

	end_call(e, &req, &rep);
	if (rep.ret)
		die("cannot set up the device: %s", strerror(rep.ret));
	e->lkey = rep.lkey;
	e->rkey = rep.rkey;
	e->dev = rep.dev;
}

void end_close(struct end *e)
{
	struct rc_req req = { .op = RC_EXIT };

	if (e->pid) {
		transfer(e->fd, &req, sizeof(req), true);
		waitpid(e->pid, NULL, 0);
		close(e->fd);
	}
	munmap(e->buf, RC_BUF);
	free(e->side);
	free(e);
}

int end_create(struct end *e, const struct rc_opts *o)
{
	struct rc_req req = { .op = RC_CREATE, .opts = *o };
	struct rc_rep rep;

	end_call(e, &req, &rep);
	e->addr = rep.addr;
	return rep.ret;
}

int end_connect(struct end *e, const struct end *peer, const struct rc_opts *o)
{
	struct rc_req req = { .op = RC_CONNECT, .opts = *o, .peer = peer->addr };

	return call(e, &req);
}

void pair_up(struct end *a, struct end *b, const struct rc_opts *oa, const struct rc_opts *ob)
{
	int ret;

	/* The old QPs go first, so that neither meets a packet of the other's successor. */
	if ((ret = end_destroy(a)) || (ret = end_destroy(b)) || (ret = end_create(a, oa)) ||
	    (ret = end_create(b, ob)) || (ret = end_connect(b, a, ob)) ||
	    (ret = end_connect(a, b, oa)))
		die("cannot connect two QPs: %s", strerror(ret));
}

int end_destroy(struct end *e)
{
	struct rc_req req = { .op = RC_DESTROY };

	return call(e, &req);
}

int end_modify(struct end *e, const struct ibv_qp_attr *attr, int mask)
{
	struct rc_req req = { .op = RC_MODIFY, .attr = *attr, .mask = mask };

	return call(e, &req);
}

int end_to_state(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return end_modify(e, &attr, IBV_QP_STATE);
}

int end_state(struct end *e)
{
	struct rc_req req = { .op = RC_QUERY, .mask = IBV_QP_STATE };
	struct rc_rep rep;

	end_call(e, &req, &rep);
	return rep.ret ? -1 : (int)rep.attr.qp_state;
}

int end_reg(struct end *e, int index, void *addr, size_t len, int access, bool new_pd,
	    uint32_t *lkey, uint32_t *rkey)
{
	struct rc_req req = {
		.op = RC_REG,
		.which = index,
		.addr = (uintptr_t)addr,
		.len = len,
		.access = access,
		.new_pd = new_pd,
	};
	struct rc_rep rep;

	end_call(e, &req, &rep);
	if (lkey)
		*lkey = rep.lkey;
	if (rkey)
		*rkey = rep.rkey;
	return rep.ret;
}

int end_dereg(struct end *e, int index)
{
	struct rc_req req = { .op = RC_DEREG, .which = index };

	return call(e, &req);
}

int end_protect(struct end *e, void *addr, size_t len, int prot)
{
	struct rc_req req = { .op = RC_PROTECT, .addr = (uintptr_t)addr, .len = len, .n = prot };

	return call(e, &req);
}

int end_unmap(struct end *e, void *addr, size_t len)
{
	struct rc_req req = { .op = RC_UNMAP, .addr = (uintptr_t)addr, .len = len };

	return call(e, &req);
}

int end_map(struct end *e, void *addr, size_t len)
{
	struct rc_req req = { .op = RC_MAP, .addr = (uintptr_t)addr, .len = len };

	return call(e, &req);
}

static int post(struct end *e, enum rc_op op, const struct rc_wr *wr, int n, int *bad)
{
	struct rc_req req = { .op = op, .n = n };
	struct rc_rep rep;

	memcpy(req.wr, wr, sizeof(*wr) * (size_t)n);
	end_call(e, &req, &rep);
	if (bad)
		*bad = rep.bad;
	return rep.ret;
}

int end_sends(struct end *e, const struct rc_wr *wr, int n, int *bad)
{
	return post(e, RC_SEND, wr, n, bad);
}

int end_send(struct end *e, const struct rc_wr *wr)
{
	return post(e, RC_SEND, wr, 1, NULL);
}

int end_recvs(struct end *e, const struct rc_wr *wr, int n, int *bad)
{
	return post(e, RC_RECV, wr, n, bad);
}

int end_recv(struct end *e, const struct rc_wr *wr)
{
	return post(e, RC_RECV, wr, 1, NULL);
}

bool end_poll(struct end *e, int which, int ms, struct ibv_wc *wc)
{
	struct rc_req req = { .op = RC_POLL, .which = which, .n = ms };
	struct rc_rep rep;

	end_call(e, &req, &rep);
	*wc = rep.wc;
	return rep.ret == 1;
}

int end_event(struct end *e, int ms, bool *own)
{
	struct rc_req req = { .op = RC_EVENT, .n = ms };
	struct rc_rep rep;

	end_call(e, &req, &rep);
	if (own)
		*own = rep.event_own;
	return rep.ret == 1 ? (int)rep.event : -1;
}

int end_arm(struct end *e, int which, bool solicited)
{
	struct rc_req req = { .op = RC_ARM, .which = which, .n = solicited };

	return call(e, &req);
}

int end_comp(struct end *e, int ms)
{
	struct rc_req req = { .op = RC_COMP, .n = ms };

	return call(e, &req);
}

int end_resize(struct end *e, int which, int cqe)
{
	struct rc_req req = { .op = RC_RESIZE, .which = which, .n = cqe };

	return call(e, &req);
}

struct rc_wr wr_make(enum ibv_wr_opcode op, uint64_t wr_id, const struct end *local, void *addr,
		     uint32_t len, const struct end *remote, void *raddr)
{
	struct rc_wr wr = {
		.wr_id = wr_id,
		.opcode = op,
		.flags = IBV_SEND_SIGNALED,
		.remote_addr = (uintptr_t)raddr,
		.rkey = remote ? remote->rkey : 0,
		.num_sge = addr ? 1 : 0,
	};

	if (addr)
		wr.sge[0] = (struct ibv_sge){ (uintptr_t)addr, len, local->lkey };
	return wr;
}
