/* SPDX-License-Identifier: MIT */
/* The engine serves doorbells in turn, however much work one client or QP has. */
#include "emulator/init.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define ROUNDS 12
#define BIG    (1u << 20)

static struct emu *m;

/* Keep a send queue full of work. */
static void refill(struct emu_qp *q, u32 to)
{
	struct cqe c;
	u32 done = 0;

	while (emu_poll(m, &q->scq, &c, NULL)) {
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		done++;
	}
	for (u32 room = q->sq_prod ? done : q->sq_depth; room; room--)
		emu_remote(m, emu_post(m, q, WR_RDMA_WRITE, 0, m->c[q->client].mem, BIG), to,
			   m->c[to].mem);
	emu_publish(m, q);
}

/* Rounds of the fabric process until @q's one WRITE is done, while @greedy has work without end. */
static u32 rounds_until(struct emu_qp *greedy, u32 greedy_peer, struct emu_qp *q, u32 peer)
{
	struct cqe c;
	u32 n;

	emu_remote(m, emu_post(m, q, WR_RDMA_WRITE, 7, m->c[q->client].mem, 64), peer,
		   m->c[peer].mem);
	emu_publish(m, q);
	for (n = 1; n < ROUNDS; n++) {
		refill(greedy, greedy_peer);
		engine_enter(&m->fabric);
		engine_leave(&m->fabric);
		if (emu_poll(m, &q->scq, &c, NULL))
			break;
	}
	return n;
}

static void test_clients(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp a, b, c, d;

	o.depth = 16;
	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
	emu_connect(m, 2, 3, &o, &c, &d);
	CU_ASSERT_TRUE(rounds_until(&a, 1, &c, 3) <= 2);
	CU_ASSERT_TRUE(rounds_until(&a, 1, &d, 2) <= 2);
	emu_free(m);
}

static void test_qps(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp a, b, c, d;

	o.depth = 16;
	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
	emu_connect(m, 0, 1, &o, &c, &d);
	CU_ASSERT_TRUE(rounds_until(&a, 1, &c, 1) <= 2);
	CU_ASSERT_TRUE(rounds_until(&a, 1, &c, 1) <= 2);
	emu_free(m);
}

/* A round that left something over does not count as one in which everybody was served. */
static void test_served(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp a, b;
	u64 served;

	o.depth = 16;
	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
	refill(&a, 1);
	served = m->hca->served;
	engine_enter(&m->fabric);
	engine_leave(&m->fabric);
	CU_ASSERT_EQUAL(m->hca->served, served);
	emu_run(m, ~0ULL);
	CU_ASSERT_TRUE(m->hca->served > served);
	emu_free(m);
}

static void publish_write(struct emu_qp *q, u32 to)
{
	emu_remote(m, emu_post(m, q, WR_RDMA_WRITE, 0, m->c[q->client].mem, 64), to, m->c[to].mem);
	emu_publish(m, q);
}

static void enter_and_leave(struct engine *e)
{
	engine_enter(e);
	engine_leave(e);
}

/* Among many a client leaves those that it has nothing to do with to the fabric process. */
static void test_strangers(void)
{
	u64 near[HCA_MAX_CLIENTS / 64] = { 0 };
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp a, b, c, d;
	struct cqe cqe;
	u64 served;

	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
	emu_connect(m, 2, 3, &o, &c, &d);
	near[m->c[2].id / 64] |= BIT64(m->c[2].id % 64);
	near[m->c[3].id / 64] |= BIT64(m->c[3].id % 64);
	m->c[2].e.near = near;
	publish_write(&a, 1);
	enter_and_leave(&m->c[2].e);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &cqe, NULL));
	while (m->hca->n_clients < 100)
		CU_ASSERT_TRUE_FATAL(hca_add_client(m->hca) >= 0);
	publish_write(&a, 1);
	publish_write(&d, 2);
	served = m->hca->served;
	m->kicks = 0;
	enter_and_leave(&m->c[2].e);
	CU_ASSERT_TRUE(emu_poll(m, &d.scq, &cqe, NULL));
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &cqe, NULL));
	CU_ASSERT_TRUE(m->kicks > 0);
	CU_ASSERT_EQUAL(m->hca->served, served);
	/* It is awake, and knows. */
	m->hca->watching = 1;
	m->kicks = 0;
	enter_and_leave(&m->c[2].e);
	CU_ASSERT_EQUAL(m->kicks, 0);
	enter_and_leave(&m->fabric);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &cqe, NULL));
	CU_ASSERT_EQUAL(cqe.status, WCS_SUCCESS);
	emu_free(m);
}

/* All bits of a segment. A holding looks at no more of them than its budget has work requests. */
static void ring_all(struct seg_hdr *seg)
{
	memset(seg->db_bits, 0xff, sizeof(seg->db_bits));
	memset(seg->db_sum, 0xff, sizeof(seg->db_sum));
	seg->db_any = ~0ULL;
}

static u32 words_rung(const struct seg_hdr *seg)
{
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(seg->db_bits); i++)
		n += seg->db_bits[i] != 0;
	return n;
}

static void test_bits_without_qp(void)
{
	const u32 words = SEG_MAX_QPS / 64, looked = BUDGET_WRS / 64 + 1;
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp a, b, c, d;
	struct seg_hdr *seg;
	struct cqe cqe;
	u32 n;

	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
	emu_connect(m, 2, 3, &o, &c, &d);
	seg = m->c[0].seg;
	publish_write(&a, 1);
	publish_write(&c, 3);
	ring_all(seg);
	enter_and_leave(&m->fabric);
	CU_ASSERT_TRUE(words_rung(seg) >= words - looked);
	for (n = 0; n < 2 * words / looked && seg->db_any; n++)
		enter_and_leave(&m->fabric);
	CU_ASSERT_EQUAL(words_rung(seg), 0);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &cqe, NULL));
	CU_ASSERT_TRUE(emu_poll(m, &c.scq, &cqe, NULL));
	CU_ASSERT_EQUAL(cqe.status, WCS_SUCCESS);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "a client with work without end does not keep others waiting", test_clients },
	{ "a QP with work without end does not keep others waiting", test_qps },
	{ "rounds count when everybody was served", test_served },
	{ "among many clients a stranger's doorbell is left to the fabric process",
	  test_strangers },
	{ "doorbells of no queue pair use up the budget, and none is lost", test_bits_without_qp },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("turns", tests);
}
