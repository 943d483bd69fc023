/* SPDX-License-Identifier: MIT */
/* The RC transport: segmentation, PSN wrap, RNR, retries, NAKs, and all of it on a bad wire. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include <stdlib.h>

#define MS  1000000ULL
#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp a, b;

static void up(const struct emu_conn *o, u64 seed)
{
	m = emu_new(seed);
	emu_connect(m, 0, 1, o, &a, &b);
}

static u8 *mem_a(u32 off)
{
	return m->c[0].mem + off;
}

static u8 *mem_b(u32 off)
{
	return m->c[1].mem + off;
}

/* The next completion of a queue, or status 255. */
static struct cqe polled(struct emu_cq *cq, void *data)
{
	struct cqe c = { .status = 255 };

	emu_poll(m, cq, &c, data);
	return c;
}

static void test_segments(void)
{
	static const u32 sizes[] = { 0,	   1,	 255,  256,  257,   1023,   1024,
				     1025, 4095, 4097, 9999, 65537, 3000001 };
	struct emu_conn o = emu_conn_defaults;

	for (o.mtu = 1; o.mtu <= 5; o.mtu++) {
		o.psn_a = 0xfffffd;
		up(&o, 1);
		for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
			u32 before = m->hca->qp[b.slot].resp.epsn, n = sizes[i];
			struct sq_wqe *w = emu_post(m, &a, WR_RDMA_WRITE, i, mem_a(0), n);
			struct cqe c;

			emu_remote(m, w, 1, mem_b(64));
			emu_fill(mem_a(0), n, i);
			memset(mem_b(0), 0, n + 128);
			emu_ring(m, &a);
			emu_run(m, m->clock + SEC);
			c = polled(&a.scq, NULL);
			CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
			CU_ASSERT_EQUAL(c.wr_id, i);
			CU_ASSERT_TRUE(emu_filled(mem_b(64), n, i));
			CU_ASSERT_EQUAL(mem_b(64)[n], 0);
			CU_ASSERT_EQUAL(m->hca->qp[b.slot].resp.epsn,
					psn_add(before, packets_of(n, ib_mtu_bytes(o.mtu))));
		}
		emu_free(m);
	}
}

static void test_msn(void)
{
	up(&emu_conn_defaults, 1);
	for (u32 i = 0; i < 5; i++) {
		emu_recv(m, &b, i, mem_b(i * 4096), 4096);
		emu_post(m, &a, WR_SEND, i, mem_a(0), 3000);
	}
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(m->hca->qp[b.slot].resp.msn, 5);
	CU_ASSERT_EQUAL(m->hca->qp[b.slot].resp.rq_cons, 5);
	emu_free(m);
}

/* Time until the first completion of A's send queue, in ns of the clock. */
static u64 time_to(u32 *status)
{
	u64 start = m->clock;
	struct cqe c;

	emu_run(m, m->clock + 3600 * SEC);
	c = polled(&a.scq, NULL);
	*status = c.status;
	return m->clock - start;
}

static void test_rnr(void)
{
	struct emu_conn o = emu_conn_defaults;

	for (u32 code = 0; code < 32; code++) {
		u32 status;
		u64 t;

		o.rnr_retry = code % 7;
		o.min_rnr = code;
		up(&o, 1);
		emu_post(m, &a, WR_SEND, 1, mem_a(0), 100);
		emu_ring(m, &a);
		t = time_to(&status);
		CU_ASSERT_EQUAL(status, WCS_RNR_RETRY_EXC_ERR);
		CU_ASSERT_EQUAL(t, o.rnr_retry * ib_rnr_timer_ns(code));
		CU_ASSERT_EQUAL(emu_state(m, &a), QPS_ERR);
		CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
		emu_free(m);
	}
}

static void test_rnr_for_ever(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct cqe c;

	o.min_rnr = 18; /* 5.12 ms */
	up(&o, 1);
	emu_post(m, &a, WR_SEND, 1, mem_a(0), 100);
	emu_ring(m, &a);
	CU_ASSERT_FALSE(emu_run(m, m->clock + 100 * SEC));
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_TRUE(m->hca->qp[a.slot].n_rnr > 19000);
	emu_recv(m, &b, 7, mem_b(0), 4096);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(polled(&a.scq, NULL).status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(polled(&b.rcq, mem_b(0)).status, WCS_SUCCESS);
	emu_free(m);
}

/* Nobody answers: retry_cnt retransmissions, then RETRY_EXC_ERR after (retry_cnt + 1) timeouts. */
static void test_retry(void)
{
	struct emu_conn o = emu_conn_defaults;

	for (u32 cnt = 0; cnt < 8; cnt++) {
		u32 status;
		u64 t;

		o.retry_cnt = cnt;
		o.timeout = 8 + cnt;
		up(&o, 1);
		emu_wire(m, &(struct emu_faults){ .loss = 1000 });
		emu_post(m, &a, WR_SEND, 1, mem_a(0), 100);
		emu_post(m, &a, WR_SEND, 2, mem_a(0), 100);
		emu_ring(m, &a);
		t = time_to(&status);
		CU_ASSERT_EQUAL(status, WCS_RETRY_EXC_ERR);
		CU_ASSERT_EQUAL(t, (cnt + 1) * ib_ack_timeout_ns(o.timeout));
		CU_ASSERT_EQUAL(m->carried, 2ULL * (cnt + 1));
		CU_ASSERT_EQUAL(polled(&a.scq, NULL).status, WCS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(emu_state(m, &a), QPS_ERR);
		emu_free(m);
	}
}

static void test_no_timeout(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct cqe c;

	o.timeout = 0;
	up(&o, 1);
	emu_wire(m, &(struct emu_faults){ .loss = 1000 });
	emu_post(m, &a, WR_SEND, 1, mem_a(0), 100);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(emu_run(m, m->clock + 3600 * SEC));
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(emu_state(m, &a), QPS_RTS);
	emu_free(m);
}

/* One lost packet among many: one sequence NAK, and no timeout is needed. */
static void test_nak_sequence(void)
{
	struct emu_conn o = emu_conn_defaults;
	u64 start;

	o.timeout = 20;
	up(&o, 1);
	emu_wire(m, &(struct emu_faults){ .loss = 1000, .delay = 1000 });
	emu_recv(m, &b, 1, mem_b(0), 100);
	emu_recv(m, &b, 2, mem_b(4096), 100);
	emu_post(m, &a, WR_SEND, 1, mem_a(0), 100);
	emu_ring(m, &a);
	m->faults.loss = 0;
	emu_post(m, &a, WR_SEND, 2, mem_a(0), 100);
	start = m->clock;
	emu_ring(m, &a);
	emu_run(m, start + MS);
	CU_ASSERT_EQUAL(polled(&a.scq, NULL).status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(polled(&a.scq, NULL).status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(polled(&b.rcq, mem_b(0)).wr_id, 1);
	CU_ASSERT_EQUAL(polled(&b.rcq, mem_b(4096)).wr_id, 2);
	CU_ASSERT_EQUAL(m->hca->dev[0].port[1].counters[CNT_OUT_OF_SEQ], 1);
	CU_ASSERT_EQUAL(m->hca->dev[0].port[1].counters[CNT_TIMEOUT], 0);
	emu_free(m);
}

/* The response of an atomic is lost: the responder must not execute its second request. */
static void test_atomic_once(void)
{
	u64 *counter;
	struct sq_wqe *w;
	struct cqe c;

	up(&emu_conn_defaults, 1);
	counter = (u64 *)(void *)mem_b(0);
	emu_wire(m, &(struct emu_faults){ .delay = 1000 });
	*counter = 10;
	w = emu_post(m, &a, WR_ATOMIC_FETCH_AND_ADD, 1, mem_a(0), 8);
	emu_remote(m, w, 1, counter);
	w->compare_add = 5;
	emu_ring(m, &a);
	m->faults.loss = 1000;
	emu_run(m, m->clock + 10 * MS);
	CU_ASSERT_EQUAL(*counter, 15);
	CU_ASSERT_EQUAL(polled(&a.scq, NULL).status, 255);
	m->faults.loss = 0;
	emu_run(m, m->clock + SEC);
	c = polled(&a.scq, NULL);
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(*counter, 15);
	CU_ASSERT_EQUAL(*(u64 *)(void *)mem_a(0), 10);
	emu_free(m);
}

/* A message that comes twice takes one receive. */
static void test_duplicates(void)
{
	struct cqe c;

	up(&emu_conn_defaults, 1);
	emu_wire(m, &(struct emu_faults){ .dup = 1000, .delay = 1000 });
	for (u32 i = 0; i < 10; i++) {
		emu_recv(m, &b, i, mem_b(i * 8192), 8192);
		emu_fill(mem_a(i * 8192), 5000, i);
		emu_post(m, &a, WR_SEND, i, mem_a(i * 8192), 5000);
		emu_ring(m, &a);
	}
	emu_run(m, m->clock + SEC);
	for (u32 i = 0; i < 10; i++) {
		c = polled(&b.rcq, NULL);
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		CU_ASSERT_EQUAL(c.wr_id, i);
		CU_ASSERT_TRUE(emu_filled(mem_b(i * 8192), 5000, i));
		CU_ASSERT_EQUAL(polled(&a.scq, NULL).status, WCS_SUCCESS);
	}
	CU_ASSERT_FALSE(emu_poll(m, &b.rcq, &c, NULL));
	CU_ASSERT_TRUE(m->hca->dev[0].port[1].counters[CNT_DUP_REQUEST] >= 9);
	emu_free(m);
}

/* Memory that cannot be reached now: the step leaves nothing behind and is made again. */
static void test_eagain(void)
{
	up(&emu_conn_defaults, 1);
	emu_recv(m, &b, 1, mem_b(0), 8192);
	emu_fill(mem_a(0), 5000, 4);
	emu_post(m, &a, WR_SEND, 1, mem_a(0), 5000);
	m->copy_error = -EAGAIN;
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(m->hca->qp[a.slot].stalled, 1);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(m->hca->qp[a.slot].stalled, 0);
	CU_ASSERT_EQUAL(polled(&a.scq, NULL).status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(polled(&b.rcq, NULL).status, WCS_SUCCESS);
	CU_ASSERT_TRUE(emu_filled(mem_b(0), 5000, 4));
	emu_free(m);
}

static void test_copy_faults(void)
{
	up(&emu_conn_defaults, 1);
	emu_recv(m, &b, 1, mem_b(0), 8192);
	emu_post(m, &a, WR_SEND, 1, mem_a(0), 5000);
	m->copy_error = -EFAULT_DST;
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(polled(&a.scq, NULL).status, WCS_REM_OP_ERR);
	CU_ASSERT_EQUAL(polled(&b.rcq, NULL).status, WCS_LOC_PROT_ERR);
	emu_free(m);
}

/* --- traffic on a bad wire --- */

#define N_OPS 200
#define SLOT  40000u

struct op {
	u32 opcode;
	u32 len;
};

static struct op plan[N_OPS];

static void post_op(u32 i, u64 *seed)
{
	static const u32 kinds[] = { WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ, WR_ATOMIC_FETCH_AND_ADD,
				     WR_RDMA_WRITE_WITH_IMM };
	u32 k = i % 32, opcode = kinds[emu_rnd(seed) % ARRAY_SIZE(kinds)];
	u32 len = opcode == WR_ATOMIC_FETCH_AND_ADD ? 8 : (u32)(emu_rnd(seed) % SLOT);
	u8 *local = mem_a(k * SLOT), *remote = mem_b(k * SLOT);
	struct sq_wqe *w = emu_post(m, &a, opcode, i, local, len);

	plan[i] = (struct op){ opcode, len };
	w->imm = i;
	w->compare_add = 1;
	emu_remote(m, w, 1, remote);
	if (opcode == WR_SEND)
		w->remote_addr = 0;
	if (opcode == WR_ATOMIC_FETCH_AND_ADD)
		emu_remote(m, w, 1, mem_b(EMU_AREA - 8));
	if (opcode == WR_RDMA_READ)
		emu_fill(remote, len, i);
	else
		emu_fill(local, len, i);
	if (opcode == WR_SEND || opcode == WR_RDMA_WRITE_WITH_IMM)
		emu_recv(m, &b, i, remote, SLOT);
}

/* Check request @i when its completion is there; adds counts the atomics so far. */
static void check_op(u32 i, u64 *adds)
{
	struct cqe s = polled(&a.scq, NULL), r;
	u8 *local = mem_a(i % 32 * SLOT), *remote = mem_b(i % 32 * SLOT);
	u32 len = plan[i].len;

	CU_ASSERT_EQUAL_FATAL(s.status, WCS_SUCCESS);
	CU_ASSERT_EQUAL_FATAL(s.wr_id, i);
	if (plan[i].opcode == WR_SEND || plan[i].opcode == WR_RDMA_WRITE_WITH_IMM) {
		r = polled(&b.rcq, remote);
		CU_ASSERT_EQUAL_FATAL(r.status, WCS_SUCCESS);
		CU_ASSERT_EQUAL_FATAL(r.wr_id, i);
		CU_ASSERT_EQUAL(r.byte_len, len);
	}
	if (plan[i].opcode == WR_ATOMIC_FETCH_AND_ADD) {
		CU_ASSERT_EQUAL(*(u64 *)(void *)local, *adds);
		++*adds;
	} else {
		CU_ASSERT_TRUE(emu_filled(plan[i].opcode == WR_RDMA_READ ? local : remote, len, i));
	}
}

static void bad_wire(const struct emu_faults *f, u64 seed)
{
	struct emu_conn o = emu_conn_defaults;
	u32 posted = 0, checked = 0;
	u64 adds = 0, s = seed * 77 + 1;
	struct cqe c;

	o.psn_a = 0xffff00;
	o.psn_b = 0xfffff0;
	o.timeout = 12;
	o.srq = seed & 1;
	up(&o, seed);
	emu_wire(m, f);
	while (checked < N_OPS) {
		u32 before = checked;

		while (posted < N_OPS && posted - checked < 32)
			post_op(posted++, &s);
		emu_ring(m, &a);
		emu_run(m, m->clock + 3600 * SEC);
		while (checked < posted && emu_state(m, &a) == QPS_RTS)
			check_op(checked++, &adds);
		if (checked == before)
			break;
	}
	if (checked != N_OPS)
		printf("# seed %lu: stopped at %u, A is %s, B is %s\n", (unsigned long)seed,
		       checked, ib_qp_state_name(emu_state(m, &a)),
		       ib_qp_state_name(emu_state(m, &b)));
	CU_ASSERT_EQUAL(checked, N_OPS);
	CU_ASSERT_EQUAL(*(u64 *)(void *)mem_b(EMU_AREA - 8), adds);
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_FALSE(emu_poll(m, &b.rcq, &c, NULL));
	CU_ASSERT_EQUAL(m->hca->commit.valid, 0);
	emu_free(m);
}

static u64 base_seed = 1;

static void test_good_wire(void)
{
	for (u64 s = 0; s < 10; s++)
		bad_wire(&(struct emu_faults){ .delay = 2000, .split = 500 }, base_seed + s);
}

/* Retries run out at last on any lossy wire: the loss is what seven of them survive. */
static void test_loss(void)
{
	for (u64 s = 0; s < 30; s++)
		bad_wire(&(struct emu_faults){ .loss = 10, .delay = 2000, .split = 500 },
			 base_seed + s);
}

static void test_dup_wire(void)
{
	for (u64 s = 0; s < 20; s++)
		bad_wire(&(struct emu_faults){ .dup = 200, .delay = 2000, .split = 500 },
			 base_seed + s);
}

static void test_reorder(void)
{
	for (u64 s = 0; s < 20; s++)
		bad_wire(
			&(struct emu_faults){
				.late = 20, .delay = 2000, .jitter = 10000, .split = 50 },
			base_seed + s);
}

static void test_everything(void)
{
	for (u64 s = 0; s < 50; s++)
		bad_wire(&(struct emu_faults){ .loss = 5,
					       .dup = 50,
					       .late = 5,
					       .delay = 2000,
					       .jitter = 10000,
					       .split = 50 },
			 base_seed + s);
}

/* READs and WRITEs of megabytes, of which parts get lost. */
static void test_big_loss(void)
{
	struct emu_conn o = emu_conn_defaults;

	o.mtu = 5;
	o.timeout = 12;
	for (u64 s = 0; s < 20; s++) {
		up(&o, base_seed + s);
		emu_wire(m, &(struct emu_faults){ .loss = 100, .dup = 50, .delay = 2000 });
		for (u32 i = 0; i < 4; i++) {
			u32 op = i & 1 ? WR_RDMA_WRITE : WR_RDMA_READ, len = 3000000 + i;
			struct sq_wqe *w = emu_post(m, &a, op, i, mem_a(i * 3500000), len);

			emu_remote(m, w, 1, mem_b(i * 3500000));
			emu_fill(i & 1 ? mem_a(i * 3500000) : mem_b(i * 3500000), len, i);
		}
		emu_ring(m, &a);
		emu_run(m, m->clock + 3600 * SEC);
		for (u32 i = 0; i < 4; i++) {
			struct cqe c = polled(&a.scq, NULL);

			CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
			CU_ASSERT_TRUE(emu_filled(i & 1 ? mem_b(i * 3500000) : mem_a(i * 3500000),
						  3000000 + i, i));
		}
		emu_free(m);
	}
}

static const struct cu_test tests[] = {
	{ "segmentation at all MTUs and sizes, PSN wrap", test_segments },
	{ "MSN counts messages", test_msn },
	{ "RNR waits are as long as the timer says", test_rnr },
	{ "rnr_retry 7 never gives up", test_rnr_for_ever },
	{ "retry exhaustion takes (retry_cnt + 1) timeouts", test_retry },
	{ "timeout 0 never fires", test_no_timeout },
	{ "a gap is NAKed once", test_nak_sequence },
	{ "an atomic is executed once", test_atomic_once },
	{ "duplicates take one receive", test_duplicates },
	{ "memory out of reach for now", test_eagain },
	{ "memory that is not there", test_copy_faults },
	{ "all operations on a wire with delay", test_good_wire },
	{ "all operations on a wire with loss", test_loss },
	{ "all operations on a wire with duplicates", test_dup_wire },
	{ "all operations on a wire that reorders", test_reorder },
	{ "all operations on a wire with all of these", test_everything },
	{ "messages of megabytes on a wire with loss", test_big_loss },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	if (argc > 1)
		base_seed = strtoull(argv[1], NULL, 0);
	printf("# seed %lu\n", (unsigned long)base_seed);
	return cu_run("transport", tests);
}
