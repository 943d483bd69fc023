/* SPDX-License-Identifier: MIT */
/*
 * Turns, steps and settling. See tests/walk_verbs.h.
 *	walk_verbs turns|free STEPS SEED [COMMAND]
 * COMMAND is run by the shell now and then, and once more when everything was destroyed, with the
 * devices still open; it must exit with 0.
 */
#include "tests/walk_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS 60000000000ULL

struct world *wd;
int me;
struct ibv_context *ctx;

/** struct meeting - where all processes wait for each other. */
struct meeting {
	_Atomic(uint32_t) ready, over, leave;
};

static struct meeting *meeting;
static struct world *worlds[ACTORS];

void vfail(const char *fmt, ...)
{
	va_list ap;

	wd->failed = true;
	printf("not ok random walk through the verbs (actor %d)\n# step %lu of seed %#lx: ", me,
	       (unsigned long)wd->step, (unsigned long)wd->seed);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

uint32_t vpick(uint32_t n)
{
	return (uint32_t)((rnd(&wd->rnd) >> 32) * n >> 32);
}

bool vchance(uint32_t n)
{
	return !vpick(n);
}

struct vobj *vany(int actor, enum vkind kind)
{
	uint32_t from = vpick(VMAX);

	for (uint32_t i = 0; i < VMAX; i++)
		if (wd->obj[actor][kind][(from + i) % VMAX].live)
			return &wd->obj[actor][kind][(from + i) % VMAX];
	return NULL;
}

static struct vobj *vlive(int actor, enum vkind kind)
{
	for (int i = 0; i < VMAX; i++)
		if (wd->obj[actor][kind][i].live)
			return &wd->obj[actor][kind][i];
	return NULL;
}

void expect_ret(const char *verb, int ret, int want)
{
	wd->verbs++;
	wd->refused += want != 0;
	if (ret != want)
		vfail("%s: %d (%s) instead of %d (%s)", verb, ret, strerror(abs(ret)), want,
		      strerror(want));
}

bool expect_ptr(const char *verb, const void *p, int want)
{
	int err = p ? 0 : errno;

	wd->verbs++;
	wd->refused += want != 0;
	if (err != want || (!p && !err))
		vfail("%s: %s, errno %d (%s) instead of %d (%s)", verb, p ? "done" : "NULL", err,
		      strerror(err), want, strerror(want));
	return p != NULL;
}

void vborn(struct vobj *o, void *ptr)
{
	o->ptr = ptr;
	o->live = true;
	o->refs = o->busy = 0;
	for (int i = 0; i < VUSES; i++)
		if (o->uses[i])
			o->uses[i]->refs++;
}

static void vdestroy(struct vobj *o)
{
	int want = o->refs ? EBUSY : 0;

	expect_ret(vkinds[o->kind].name, vkinds[o->kind].destroy(o), want);
	if (want)
		return;
	for (int i = 0; i < VUSES; i++) {
		if (o->uses[i])
			o->uses[i]->refs--;
		o->uses[i] = NULL;
	}
	o->live = false;
}

/* --- turns */

static void give_turn(int actor)
{
	wd->turn = (uint32_t)actor;
	syscall(SYS_futex, &wd->turn, FUTEX_WAKE, ACTORS, NULL, NULL, 0);
}

/* Return: false when the walk is over, for everybody. */
static bool wait_turn(void)
{
	struct timespec look = { .tv_sec = 1 };
	uint32_t turn;

	while ((turn = wd->turn) != (uint32_t)me) {
		if (wd->finished || wd->failed)
			return false;
		syscall(SYS_futex, &wd->turn, FUTEX_WAIT, turn, &look, NULL, 0);
	}
	return !wd->finished && !wd->failed;
}

void run_on(int actor, void (*fn)(struct vobj *, struct vobj *), struct vobj *o, struct vobj *other)
{
	if (actor == me) {
		fn(o, other);
		return;
	}
	wd->call = (struct vcall){ fn, o, other, me };
	give_turn(actor);
	if (!wait_turn())
		_exit(1);
}

/* --- settling */

static struct vobj *qp_of(uint32_t qpn)
{
	for (int i = 0; i < VMAX; i++)
		if (wd->obj[me][V_QP][i].live && wd->obj[me][V_QP][i].qp.qpn == qpn)
			return &wd->obj[me][V_QP][i];
	return NULL;
}

static bool outstanding(int actor)
{
	for (int i = 0; i < VMAX; i++) {
		const struct vobj *o = &wd->obj[actor][V_QP][i];

		if (o->live &&
		    (o->qp.send.head != o->qp.send.tail || o->qp.recv.head != o->qp.recv.tail ||
		     o->qp.ev_req || o->qp.ev_access))
			return true;
	}
	return false;
}

/* Which of a QP's queues an entry belongs to; in an error its opcode does not say. */
static struct vlist *list_of(struct vobj *o, const struct ibv_wc *wc)
{
	struct vlist *l = &o->qp.send;

	if (wc->status == IBV_WC_SUCCESS)
		return wc->opcode & IBV_WC_RECV ? &o->qp.recv : l;
	if (l->head != l->tail && l->wc[l->head % VEXPECT].id == wc->wr_id)
		return l;
	return &o->qp.recv;
}

/* The request that went wrong, for who reads the failure. */
static void tell(const struct vobj *o, const struct vqueue *q, uint64_t id)
{
	const struct vobj *peer = o->qp.peer;

	for (uint32_t i = 0; i < VDEPTH; i++) {
		const struct vwr *w = &q->wr[i];

		if (w->id != id)
			continue;
		note("opcode %d flags %#x, %u bytes in %d pieces, to %#lx rkey %#x", w->op,
		     w->flags, w->len, w->n, (unsigned long)w->addr, w->rkey);
		for (int k = 0; k < w->n; k++)
			note("  %u bytes at %#lx lkey %#x", w->sge[k].length,
			     (unsigned long)w->sge[k].addr, w->sge[k].lkey);
	}
	note("access %#x, max_rd %u, max_dest_rd %u", o->qp.access, o->qp.max_rd,
	     o->qp.max_dest_rd);
	if (peer)
		note("peer %#x of actor %d, state %d: access %#x, max_dest_rd %u", peer->qp.qpn,
		     peer->actor, peer->qp.state, peer->qp.access, peer->qp.max_dest_rd);
}

static void check_wc(const struct ibv_wc *wc)
{
	struct vobj *o = qp_of(wc->qp_num);
	struct vlist *l = o ? list_of(o, wc) : NULL;
	const struct vwc *want;
	struct vqueue *q;

	wd->completions++;
	wd->errors += wc->status != IBV_WC_SUCCESS;
	if (!l || l->head == l->tail)
		vfail("unexpected completion: QP %#x wr_id %lu %s opcode %d", wc->qp_num,
		      (unsigned long)wc->wr_id, ibv_wc_status_str(wc->status), wc->opcode);
	want = &l->wc[l->head++ % VEXPECT];
	q = l == &o->qp.send ? &o->qp.sq : &o->qp.rq;
	if (wc->wr_id != want->id || (int)wc->status != want->status) {
		tell(o, q, wc->wr_id);
		vfail("QP %#x: wr_id %lu %s instead of %lu %s", wc->qp_num,
		      (unsigned long)wc->wr_id, ibv_wc_status_str(wc->status),
		      (unsigned long)want->id, ibv_wc_status_str((enum ibv_wc_status)want->status));
	}
	while (q->wr[q->freed % VDEPTH].id != wc->wr_id)
		if (++q->freed == q->posted)
			vfail("QP %#x: wr_id %lu was not posted", wc->qp_num,
			      (unsigned long)wc->wr_id);
	q->freed++;
	if (wc->status)
		return;
	if ((int)wc->opcode != want->opcode)
		vfail("QP %#x: opcode %d instead of %d", wc->qp_num, wc->opcode, want->opcode);
	if (q == &o->qp.rq && (wc->byte_len != want->len || wc->wc_flags != want->flags ||
			       ((want->flags & IBV_WC_WITH_IMM) && wc->imm_data != want->imm)))
		vfail("QP %#x: %u bytes, flags %#x, immediate %#x instead of %u, %#x, %#x",
		      wc->qp_num, wc->byte_len, wc->wc_flags, wc->imm_data, want->len, want->flags,
		      want->imm);
}

static int poll_all(void)
{
	struct ibv_wc wc[4];
	int n, sum = 0;

	for (int i = 0; i < VMAX; i++) {
		if (!wd->obj[me][V_CQ][i].live)
			continue;
		do {
			n = ibv_poll_cq(wd->obj[me][V_CQ][i].ptr, 4, wc);
			if (n < 0)
				vfail("ibv_poll_cq: %d", n);
			for (int k = 0; k < n; k++)
				check_wc(&wc[k]);
			sum += n;
		} while (n);
	}
	return sum;
}

static void read_events(void)
{
	struct ibv_async_event ev;
	struct vobj *o = NULL;

	while (!ibv_get_async_event(ctx, &ev)) {
		for (int i = 0; i < VMAX; i++)
			if (wd->obj[me][V_QP][i].live && wd->obj[me][V_QP][i].ptr == ev.element.qp)
				o = &wd->obj[me][V_QP][i];
		if (!o)
			vfail("event %s of no QP", ibv_event_type_str(ev.event_type));
		if (ev.event_type == IBV_EVENT_QP_REQ_ERR && o->qp.ev_req)
			o->qp.ev_req--;
		else if (ev.event_type == IBV_EVENT_QP_ACCESS_ERR && o->qp.ev_access)
			o->qp.ev_access--;
		else
			vfail("unexpected event %s of QP %#x", ibv_event_type_str(ev.event_type),
			      o->qp.qpn);
		ibv_ack_async_event(&ev);
	}
}

/* A command waits for the engine, which serves all doorbells before it answers the next one. */
static void barrier(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct vobj *o = vlive(me, V_QP);

	if (o)
		expect_ret("ibv_query_qp", ibv_query_qp(o->ptr, &attr, IBV_QP_STATE, &init), 0);
}

static void settle_me(struct vobj *o, struct vobj *other)
{
	uint64_t end = 0;

	(void)o;
	(void)other;
	for (;;) {
		int n = poll_all();

		read_events();
		if (!n && !outstanding(me)) {
			barrier();
			return;
		}
		if (n)
			continue;
		if (!end)
			end = now_ns() + PATIENCE_NS;
		if (now_ns() > end) {
			for (int i = 0; i < VMAX; i++) {
				const struct vobj *q = &wd->obj[me][V_QP][i];

				if (q->live)
					note("QP %#x state %d: sends to come %u, receives %u, "
					     "events "
					     "%d %d",
					     q->qp.qpn, q->qp.state,
					     q->qp.send.tail - q->qp.send.head,
					     q->qp.recv.tail - q->qp.recv.head, q->qp.ev_req,
					     q->qp.ev_access);
			}
			vfail("what is expected does not come");
		}
		usleep(50);
	}
}

static uint64_t lay(const struct ibv_sge *sge, int n, uint8_t *buf, uint64_t room)
{
	uint64_t at = 0;

	for (int i = 0; i < n && at < room; i++) {
		uint64_t len = sge[i].length < room - at ? sge[i].length : room - at;

		memcpy(buf + at, (void *)(uintptr_t)sge[i].addr, len);
		at += len;
	}
	return at;
}

static bool overlap(const struct vcheck *a, const struct vcheck *b)
{
	for (int i = 0; i < a->n_dst; i++)
		for (int k = 0; k < b->n_dst; k++)
			if (a->dst[i].addr < b->dst[k].addr + b->dst[k].length &&
			    b->dst[k].addr < a->dst[i].addr + a->dst[i].length)
				return true;
	return false;
}

/* Pieces of a list that lie over each other hold what came last: no telling. */
static bool tangled(const struct vcheck *c)
{
	for (int i = 0; i < c->n_dst; i++)
		for (int k = 0; k < i; k++)
			if (c->dst[i].addr < c->dst[k].addr + c->dst[k].length &&
			    c->dst[k].addr < c->dst[i].addr + c->dst[i].length)
				return true;
	return false;
}

static void __attribute__((noreturn)) bad_data(const struct vcheck *c, uint32_t n)
{
	for (int i = 0; i < c->n_src; i++)
		note("from %#lx, %u bytes", (unsigned long)c->src[i].addr, c->src[i].length);
	for (int i = 0; i < c->n_dst; i++)
		note("to   %#lx, %u bytes", (unsigned long)c->dst[i].addr, c->dst[i].length);
	for (int a = 0; a < ACTORS; a++)
		note("area of actor %d: %#lx", a, (unsigned long)(uintptr_t)wd->area[a]);
	vfail("wrong data, %u bytes: request %lu, opcode %d; %u looked at", c->len,
	      (unsigned long)c->id, c->op, n);
}

static bool data_there(const struct vcheck *c)
{
	static uint8_t want[2 * AREA_DST], got[2 * AREA_DST];

	memcpy(want, &c->word, 8);
	if (!c->is_word)
		lay(c->src, c->n_src, want, c->len);
	lay(c->dst, c->n_dst, got, c->len);
	return !memcmp(got, want, c->len);
}

static bool words_right(void)
{
	for (int a = wd->first; a < wd->first + wd->actors; a++)
		if (memcmp(wd->area[a] + AREA_WORD, wd->words[a], sizeof(wd->words[0])))
			return false;
	return true;
}

/* Nothing says when a request is done that asked for no completion: soon. */
static bool soon(bool (*there)(const struct vcheck *c), const struct vcheck *c)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	while (!there(c)) {
		if (now_ns() > end)
			return false;
		usleep(50);
	}
	return true;
}

static bool words_there(const struct vcheck *c)
{
	(void)c;
	return words_right();
}

static void check_data(void)
{
	uint32_t n = wd->n_check < 8 ? wd->n_check : 8;

	for (uint32_t i = 0; i < n; i++) {
		const struct vcheck *c = &wd->check[(wd->n_check - 1 - i) % 8];
		bool covered = false;

		/*
		 * Others of this step may have gone over it; and what a receive holds is laid
		 * out when it is polled, which may be later than a WRITE after it.
		 */
		for (uint32_t k = 0; k < n; k++)
			covered |= k != i && overlap(c, &wd->check[(wd->n_check - 1 - k) % 8]);
		if (covered || !c->len || tangled(c))
			continue;
		if (!soon(data_there, c))
			bad_data(c, n);
	}
	wd->n_check = 0;
	if (!soon(words_there, NULL))
		vfail("the words are not what atomics should have made of them");
}

void settle(void)
{
	vmodel_run();
	settle_me(NULL, NULL);
	for (int a = 0; a < wd->actors; a++)
		if (wd->first + a != me && outstanding(wd->first + a))
			run_on(wd->first + a, settle_me, NULL, NULL);
	check_data();
}

/* --- steps */

static enum vkind some_kind(void)
{
	uint32_t sum = 0, r;

	for (int k = 0; k < V_KINDS; k++)
		sum += vkinds[k].weight;
	r = vpick(sum);
	for (int k = 0; k < V_KINDS; k++) {
		if (r < vkinds[k].weight)
			return (enum vkind)k;
		r -= vkinds[k].weight;
	}
	return V_PD;
}

static void step(void)
{
	uint32_t r = vpick(100);
	enum vkind kind = some_kind();
	struct vobj *o;

	if (r < 10) {
		for (int i = 0; i < VMAX; i++) {
			o = &wd->obj[me][kind][i];
			if (o->live)
				continue;
			memset(o->uses, 0, sizeof(o->uses));
			vkinds[kind].create(o);
			break;
		}
	} else if (r < 13) {
		o = vany(me, kind);
		if (o && !o->busy)
			vdestroy(o);
	} else {
		o = vany(me, vchance(8) ? kind : V_QP);
		if (o && vkinds[o->kind].use)
			vkinds[o->kind].use(o);
	}
}

/* Everything of this actor's goes; what others still refer to stays for the next round. */
static bool destroy_mine(void)
{
	bool left = false;

	for (int k = V_KINDS - 1; k >= 0; k--)
		for (int i = 0; i < VMAX; i++) {
			struct vobj *o = &wd->obj[me][k][i];

			if (o->live && !o->busy)
				vdestroy(o);
			left |= o->live;
		}
	return left;
}

static void destroy_all(struct vobj *o, struct vobj *other)
{
	(void)o;
	(void)other;
	while (destroy_mine())
		settle();
}

static void walk(void)
{
	while (wait_turn()) {
		if (wd->call.fn) {
			struct vcall c = wd->call;

			wd->call.fn = NULL;
			c.fn(c.o, c.other);
			give_turn(c.back);
			continue;
		}
		if (wd->step++ < wd->steps) {
			step();
			settle();
			give_turn(wd->first + (int)vpick((uint32_t)wd->actors));
			continue;
		}
		for (int a = 0; a < wd->actors; a++)
			run_on(wd->first + a, destroy_all, NULL, NULL);
		wd->finished = true;
		give_turn(me);
	}
}

/* --- processes */

static void open_device(void)
{
	int flags;

	ctx = rc_open_first();
	wd->gid_index = rc_gid(ctx, &wd->gid);
	flags = fcntl(ctx->async_fd, F_GETFL);
	if (wd->gid_index < 0 || fcntl(ctx->async_fd, F_SETFL, flags | O_NONBLOCK))
		vfail("the device");
}

static int actor_main(int i)
{
	me = i;
	wd = worlds[i];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_device();
	meeting->ready++;
	while (meeting->ready < ACTORS)
		usleep(100);
	walk();
	meeting->over++;
	while (!meeting->leave)
		usleep(1000);
	return wd->failed || ibv_close_device(ctx);
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

static void make_worlds(bool turns, uint64_t steps, uint64_t seed)
{
	uint8_t *area[ACTORS];

	meeting = shared(sizeof(*meeting));
	for (int i = 0; i < ACTORS; i++) {
		area[i] = shared(AREA);
		fill(area[i], AREA_WORD, seed + (uint64_t)i);
	}
	for (int i = 0; i < ACTORS; i++) {
		struct world *w = i && turns ? worlds[0] : shared(sizeof(*w));

		worlds[i] = w;
		if (i && turns)
			continue;
		w->actors = turns ? ACTORS : 1;
		w->first = i;
		w->turn = (uint32_t)i;
		w->seed = seed;
		w->rnd = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL | 1;
		w->steps = steps;
		memcpy(w->area, area, sizeof(area));
		for (int a = 0; a < ACTORS; a++)
			for (int k = 0; k < V_KINDS; k++)
				for (int n = 0; n < VMAX; n++)
					w->obj[a][k][n] =
						(struct vobj){ .kind = (enum vkind)k, .actor = a };
	}
}

/* Return: whether a child has ended before its time. */
static bool one_left(void)
{
	return waitpid(-1, NULL, WNOHANG) != 0;
}

int main(int argc, char **argv)
{
	bool turns = argc > 1 && !strcmp(argv[1], "turns"), good = true;
	uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	uint64_t verbs = 0, refused = 0, completions = 0, errors = 0;
	uint32_t looks = 0;

	if (argc < 2)
		die("usage: walk_verbs turns|free STEPS SEED [COMMAND]");
	make_worlds(turns, steps, seed);
	for (int i = 0; i < ACTORS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid)
			_exit(actor_main(i));
	}
	while (meeting->over < ACTORS && good) {
		usleep(20000);
		good = !one_left();
		if (argc > 4 && !(++looks % 50))
			good = !system(argv[4]) && good; /* NOLINT: the test's own command */
	}
	if (good && argc > 5)
		good = !system(argv[5]); /* NOLINT */
	meeting->leave = 1;
	for (int i = 0; i < ACTORS; i++) {
		int status = 0;

		if (waitpid(-1, &status, 0) > 0)
			good = good && !status;
		if (!i || !turns) {
			verbs += worlds[i]->verbs;
			refused += worlds[i]->refused;
			completions += worlds[i]->completions;
			errors += worlds[i]->errors;
		}
	}
	note("%s: %lu steps, seed %#lx: %lu verbs, %lu refused; %lu completions, %lu with errors",
	     argv[1], (unsigned long)steps, (unsigned long)seed, (unsigned long)verbs,
	     (unsigned long)refused, (unsigned long)completions, (unsigned long)errors);
	ok(good && verbs > steps / 10 && completions - errors > steps / 10,
	   "random walk through the verbs, %s", argv[1]);
	return tap_failed != 0;
}
