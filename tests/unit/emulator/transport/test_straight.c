/* SPDX-License-Identifier: MIT */
/*
 * The common request in a straight line leaves HCA memory as the requester's steps do.
 *
 * Two processes with the same addresses do the same random work. In one of them the wire carries
 * each burst at once, so that the straight line never applies. After each piece of work both take
 * digests of what the engine has written (state_digest.h).
 */
#include "emulator/ring.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/straight.h"
#include "emulator/transport/wire.h"
#include "emulator/transport/wqe.h"
#include "emulator/verbs/port.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"
#include "tests/unit/emulator/transport/state_digest.h"
#include "tests/unit/emulator/transport/typed_pair.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEEDS 8u /* for each of types[] */
#define WORKS 1500u
#define MTU   1024u
#define LINE  64u
#define AREA  (16u << 10) /* of a client's memory, that requests name */
#define MSEC  1000000ull

#define SRQ_LIMIT_MASK 2u /* IBV_SRQ_LIMIT */

static struct engine *running; /* whose engine carries bursts in a wire's place */

static struct emu *m;
static struct emu_qp q[2];
static u32 type; /* enum ib_qp_type of the pair: see conn_type() */
static u32 ah[2]; /* UD: of each for the other one's port */
static bool one_way; /* the second stays in RTR, as of a program that only receives */
static u64 rings[2]; /* where those of the present pair begin, in each segment */
static u64 rnd;
static int copy_error; /* of each copy; 0: none fails */
static int (*copy)(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		   u64 soff, u64 len, u64 key);
static bool (*copy_line)(void *ctx, u32 client, u64 addr, const void *from, u64 len);
static int atomic_error; /* of each atomic, before or, if @atomic_runs, after memory was changed */
static bool atomic_runs;
static int (*atomic)(void *ctx, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		     struct atomic_res *res, u64 key);

static u32 pick(u32 n)
{
	return (u32)((emu_rnd(&rnd) >> 32) * n >> 32);
}

static bool chance(u32 percent)
{
	return pick(100) < percent;
}

/* --- work ------------------------------------------------------------------------------------- */

/* As engine_ops.wire: without a delay, and step by step. */
static int wire_by_steps(void *ctx, const struct burst *b)
{
	(void)ctx;
	return hca_input(running, b);
}

static int copy_or_fail(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
			u64 soff, u64 len, u64 key)
{
	return copy_error ? copy_error : copy(ctx, dst, doff, src, soff, len, key);
}

static bool copy_line_or_fail(void *ctx, u32 client, u64 addr, const void *from, u64 len)
{
	return !copy_error && copy_line(ctx, client, addr, from, len);
}

static int atomic_or_fail(void *ctx, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
			  struct atomic_res *res, u64 key)
{
	int ret = atomic_error;

	if (!ret || atomic_runs)
		ret = atomic(ctx, client, addr, op, compare_add, swap, res, key);
	return ret ? ret : atomic_error;
}

static const u8 types[] = { QPT_RC, QPT_RC, QPT_UC, QPT_UD, QPT_XRC_SEND };

static u32 conn_type(u32 seed)
{
	return types[seed / SEEDS % ARRAY_SIZE(types)];
}

static void connect_pair(u32 seed)
{
	struct emu_conn o = emu_conn_defaults;
	struct hca_qp *h[2];
	u32 i;

	o.type = type = conn_type(seed);
	o.depth = 16;
	o.timeout = 8;
	o.rnr_retry = 6;
	o.psn_a = 0xfffff0;
	o.psn_b = pick(IB_PSN_MASK);
	o.srq = seed % 4 == 1 && type != QPT_UC;
	o.mtu = 3;
	o.port_b = seed % 8 < 4 ? 1 : 2;
	rings[0] = m->c[0].heap;
	rings[1] = m->c[1].heap;
	/* Both QPs in one process, with common CQs, or in two. */
	typed_connect(m, 0, seed % 4 == 2 ? 0 : 1, &o, q, ah);
	for (i = 0; i < 2; i++) {
		h[i] = &m->hca->qp[q[i].slot];
		if (!chance(40))
			continue;
		m->hca->cq[q[i].scq.index].chan = m->hca->cq[q[i].rcq.index].chan = 2 + i;
	}
	one_way = (seed & 5) == 5;
	if (one_way)
		h[1]->state = QPS_RTR;
	if (seed % 4 == 2 && type != QPT_XRC_SEND) {
		h[1]->rcq = h[0]->scq;
		h[0]->rcq = h[1]->scq;
	}
}

static void arm(const struct emu_cq *cq)
{
	struct cq_ctl *ctl = (void *)((u8 *)m->c[cq->client].seg + cq->ring);

	store_relaxed(&ctl->armed, 1 + pick(2));
}

/* A place in the client's area for @len bytes. */
static u8 *place(u32 client, u32 len)
{
	return m->c[client].mem + pick(AREA - len);
}

static void post_recv(struct emu_qp *to)
{
	u32 len = chance(3) ? pick(16) : 4 * MTU, i, taken;
	struct rq_wqe *w;

	taken = to->srq ? m->hca->srq[to->srq_index].cons : m->hca->qp[to->slot].resp.rq_cons;
	if (to->rq_prod - taken >= to->rq_depth)
		return;
	i = to->rq_prod % to->rq_depth;
	emu_recv(m, to, to->rq_prod, place(to->client, len), len);
	w = (void *)((u8 *)m->c[to->client].seg + to->rq +
		     (to->srq ? srq_slots_off(to->rq_depth) : sizeof(struct wq_ctl)) +
		     i * to->rq_stride);
	if (chance(20)) { /* of two pieces */
		w->num_sge = 2;
		w->sge[0].len = len / 3;
		w->sge[1] = w->sge[0];
		w->sge[1].len = len - len / 3;
	}
	if (chance(1))
		w->sge[0].lkey ^= 0x100;
}

static u32 pick_op(void)
{
	static const u8 ops[] = { WR_SEND,
				  WR_SEND,
				  WR_SEND_WITH_IMM,
				  WR_RDMA_WRITE,
				  WR_RDMA_WRITE,
				  WR_RDMA_WRITE_WITH_IMM,
				  WR_RDMA_READ,
				  WR_RDMA_READ,
				  WR_RDMA_READ,
				  WR_ATOMIC_FETCH_AND_ADD,
				  WR_ATOMIC_FETCH_AND_ADD,
				  WR_ATOMIC_CMP_AND_SWP };
	u32 rare = type == QPT_RC ? 40 : 1, common = type == QPT_UD ? 3 : 6;

	return ops[pick(chance(rare) ? ARRAY_SIZE(ops) : common)];
}

/* Names that XRC and datagrams know: now and then wrong ones. */
static void name_peer(struct sq_wqe *w, const struct emu_qp *to)
{
	typed_name(w, type, to, ah[to == q]);
	if (chance(1))
		w->remote_qpn ^= chance(50) ? 1 : 1u << 16;
	if (chance(2))
		w->remote_qkey = chance(50) ? 0x80000000u : 1;
	if (type == QPT_UD && chance(1))
		w->ah++;
}

/* Some compare with what the word is; now and then it is not aligned. */
static void name_word(struct sq_wqe *w)
{
	if (!chance(2))
		w->remote_addr &= ~7ull;
	w->compare_add = chance(50) ? pick(~0u) : 0;
	if (chance(50))
		memcpy(&w->compare_add, (void *)(uintptr_t)w->remote_addr, sizeof(u64));
	w->swap = emu_rnd(&rnd);
}

static void post_send(struct emu_qp *from, struct emu_qp *to)
{
	u32 op = pick_op();
	u32 len = chance(60) ? pick(129) : chance(80) ? pick(MTU + 1) : pick(3 * MTU);
	u32 before = from->sq_prod - m->hca->qp[from->slot].req.una;
	struct sq_wqe *w;

	if (before >= from->sq_depth)
		return;
	if (wqe_is_atomic(op))
		len = chance(90) ? 8 : chance(80) ? 8 + pick(9) : pick(8);
	if (op == WR_RDMA_WRITE && len == 1)
		len = 2;
	w = emu_post(m, from, op, from->sq_prod, place(from->client, len), len);
	emu_remote(m, w, to->client, place(to->client, len + 2 * LINE));
	name_peer(w, to);
	/* WRITEs that may wait together: across two lines, which no batch takes. */
	if (op == WR_RDMA_WRITE && (before || chance(40)))
		w->remote_addr |= LINE - 1;
	else if (chance(60)) /* a small one within one line, which takes the short copy */
		w->remote_addr &= ~(u64)(LINE - 1);
	if (wqe_is_atomic(op))
		name_word(w);
	w->imm = pick(1u << 30);
	w->send_flags = (u8)((chance(70) ? SEND_SIGNALED : 0) | (chance(20) ? SEND_SOLICITED : 0) |
			     (chance(5) ? SEND_FENCE : 0));
	if (len > 8 && (op == WR_RDMA_READ || wqe_is_atomic(op)) &&
	    chance(20)) { /* to two pieces */
		w->num_sge = 2;
		w->sge[0].len = len / 3;
		w->sge[1] = w->sge[0];
		w->sge[1].len = len - len / 3;
	}
	if (len <= SQ_MIN_DATA && chance(60) && op <= WR_SEND_WITH_IMM) {
		w->hw = SQ_HW_INLINE;
		w->num_sge = 0;
		emu_fill(w->sge, len, from->sq_prod);
	}
	if (chance(1))
		w->rkey ^= 0x100;
	if (chance(1))
		w->sge[0].lkey ^= 0x100;
}

static void ring(struct emu_qp *from)
{
	running = &m->c[from->client].e;
	emu_ring(m, from);
}

static void poll_some(void)
{
	struct emu_qp *s = &q[pick(2)];
	struct cqe c;
	u32 n = pick(12);

	while (n--) {
		emu_poll(m, &s->scq, &c, NULL);
		emu_poll(m, &s->rcq, &c, NULL);
	}
}

/* New QPs, where an error has ended the old ones. */
static void repair(u32 seed)
{
	if (emu_state(m, &q[0]) != QPS_RTS || emu_state(m, &q[1]) != (one_way ? QPS_RTR : QPS_RTS))
		connect_pair(seed);
}

/* The QPs become what a lost packet, or a holder that was killed, leaves. */
static void leave_behind(struct hca_qp *from, struct hca_qp *to)
{
	if (chance(5)) { /* a NAK, and the retransmission after it */
		to->resp.flags |= RESP_NAK_SENT;
		from->req.flags |= REQ_RESENT;
		from->req.retry = 3;
	}
	/* a holder that died between the last ACK's commit and the end of its timer */
	if (chance(5) && straight_is_idle(running, from))
		qp_timer_arm(running, from, m->clock + MSEC + pick(4) * MSEC);
}

static void srq_arm(const struct emu_qp *to)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_SRQ, .handle = to->srq_index };

	cmd.srq.mask = SRQ_LIMIT_MASK;
	cmd.srq.limit = pick(8);
	CU_ASSERT_EQUAL(emu_cmd(m, to->client, &cmd), 0);
}

/* What else may change between two requests. */
static void disturb(const struct emu_qp *to)
{
	static const u16 keys[] = { 0xffff, 0xffff, 0x7fff };

	if (to->srq && chance(6))
		srq_arm(to);
	running = &m->fabric;
	CU_ASSERT_EQUAL_FATAL(engine_enter(&m->fabric), 0);
	if (chance(3))
		port_set_pkey(&m->fabric, 0, 1 + pick(2), 0, keys[pick(ARRAY_SIZE(keys))]);
	if (chance(2))
		port_set_state(&m->fabric, 0, 1 + pick(2), chance(60) ? PORT_ACTIVE : PORT_DOWN);
	engine_leave(&m->fabric);
}

static void work(u32 seed)
{
	struct emu_qp *from = &q[one_way || type == QPT_XRC_SEND ? 0 : pick(2)],
		      *to = from == q ? &q[1] : q;
	u32 n = chance(70) ? 1 : 1 + pick(4), i;

	disturb(to);
	for (i = pick(4); i; i--)
		post_recv(to);
	for (i = 0; i < n; i++)
		post_send(from, to);
	leave_behind(&m->hca->qp[from->slot], &m->hca->qp[to->slot]);
	if (chance(20))
		arm(chance(50) ? &to->rcq : &from->scq);
	copy_error = !chance(2) ? 0 : chance(50) ? -EFAULT_DST : -EAGAIN;
	atomic_error = !chance(2) ? 0 : chance(50) ? -EFAULT_DST : -EAGAIN;
	atomic_runs = atomic_error == -EAGAIN && chance(50);
	ring(from);
	copy_error = atomic_error = 0;
	if (chance(70))
		poll_some();
	running = &m->fabric;
	if (chance(10))
		emu_run(m, m->clock + pick(4) * MSEC);
	if (chance(30))
		repair(seed);
}

static void walk(u32 seed, digests *log)
{
	u32 i;

	rnd = seed * 0x9e3779b97f4a7c15ULL | 1;
	running = &m->c[0].e;
	copy = m->ops.copy;
	m->ops.copy = copy_or_fail;
	atomic = m->ops.atomic;
	m->ops.atomic = atomic_or_fail;
	copy_line = m->ops.copy_line;
	m->ops.copy_line = copy_line_or_fail;
	connect_pair(seed);
	for (i = 0; i < WORKS; i++) {
		work(seed);
		digest_take(m, q, rings, AREA, log[i]);
	}
}

/* --- tests ------------------------------------------------------------------------------------ */

static digests *log_new(void)
{
	void *p = mmap(NULL, WORKS * sizeof(digests), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_TRUE_FATAL(p != MAP_FAILED);
	return p;
}

static bool logs_equal(u32 seed, digests *straight, digests *steps)
{
	u32 i, part;

	for (i = 0; i < WORKS; i++)
		for (part = 0; part < PARTS; part++) {
			if (straight[i][part] == steps[i][part])
				continue;
			printf("# seed %u, work %u: %s\n", seed, i, part_names[part]);
			return false;
		}
	return true;
}

static void compare(u32 seed)
{
	digests *straight = log_new(), *steps = log_new();
	int status;
	pid_t pid;

	m = emu_new(seed);
	emu_port_add(m);
	fflush(stdout);
	pid = fork();
	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (!pid) {
		m->ops.wire = wire_by_steps;
		walk(seed, steps);
		_exit(0);
	}
	walk(seed, straight);
	CU_ASSERT_TRUE(waitpid(pid, &status, 0) == pid && !status);
	CU_ASSERT_TRUE(logs_equal(seed, straight, steps));
	emu_free(m);
	munmap(straight, WORKS * sizeof(digests));
	munmap(steps, WORKS * sizeof(digests));
}

static void test_random_work(void)
{
	const char *seed = getenv("WALK_SEED");
	u32 i;

	if (seed) {
		compare((u32)atol(seed));
		return;
	}
	for (i = 0; i < SEEDS * ARRAY_SIZE(types); i++)
		compare(i);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "random work leaves the same memory as step by step", test_random_work },
		{ NULL, NULL },
	};

	return cu_run("straight", tests);
}
