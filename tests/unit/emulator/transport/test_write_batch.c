/* SPDX-License-Identifier: MIT */
/*
 * Small WRITEs that arrive together from another fabric are executed together; and doorbells that
 * only the fabric process serves.
 */
#include "emulator/transport/requester.h"
#include "emulator/transport/write_batch.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define N 5u

static struct emu *m;
static struct emu_qp a, b;
static struct burst_batch t;

/* N WRITEs of 8 bytes from @a to @b, a cache line apart; their payload is in client 0's memory. */
static void up(void)
{
	struct emu_conn o = emu_conn_defaults;
	const struct hca_qp *qp;
	u32 i;

	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
	qp = &m->hca->qp[a.slot];
	m->hca->client[1].fabric_reach = 1;
	t = (struct burst_batch){ .n = N };
	t.first = (struct burst){ .op = BOP_WRITE,
				  .flags = BF_FIRST | BF_LAST,
				  .path = qp->path,
				  .psn = qp->req.next_psn,
				  .npkts = 1,
				  .mtu = qp->mtu,
				  .len = 8 };
	t.src.client = 0;
	t.src.kind = MEM_VM;
	t.src.n = N;
	for (i = 0; i < N; i++) {
		t.piece[i] = (struct write_batch_piece){
			.va = (u64)(uintptr_t)(m->c[1].mem + 4096 + 64 * i),
			.rkey = m->c[1].key,
			.len = 8,
		};
		t.src.iov[i].addr = (u64)(uintptr_t)(m->c[0].mem + 8 * i);
		t.src.iov[i].len = 8;
	}
	emu_fill(m->c[0].mem, 8 * N, 7);
}

static bool arrive(void)
{
	bool done;

	engine_enter(&m->fabric);
	done = write_batch_input(&m->fabric, &t);
	engine_leave(&m->fabric);
	return done;
}

static void test_arrives(void)
{
	const struct hca_qp *qp;
	u32 i, psn;

	up();
	qp = &m->hca->qp[b.slot];
	psn = qp->resp.epsn;
	CU_ASSERT_TRUE(arrive());
	for (i = 0; i < N; i++)
		CU_ASSERT_EQUAL(memcmp(m->c[1].mem + 4096 + 64 * i, m->c[0].mem + 8 * i, 8), 0);
	CU_ASSERT_EQUAL(qp->resp.epsn, psn + N);
	CU_ASSERT_EQUAL(qp->resp.msn, N);
	/* It has been executed: once more it is not what is expected. */
	CU_ASSERT_FALSE(arrive());
	CU_ASSERT_EQUAL(qp->resp.epsn, psn + N);
	emu_free(m);
}

/* Each entry of the target's list costs the kernel more than its bytes. */
static void test_rows(void)
{
	static const u32 at[N] = { 0, 8, 16, 32, 40 };
	u32 i;

	up();
	for (i = 0; i < N; i++)
		t.piece[i].va = (u64)(uintptr_t)(m->c[1].mem + 4096 + at[i]);
	t.src.client = HCA_PROC;
	CU_ASSERT_TRUE(arrive());
	/* The source's are as many as before: so each piece is copied by itself, in order. */
	CU_ASSERT_EQUAL(m->copy_from.n, N);
	CU_ASSERT_EQUAL(m->copy_to.n, 3);
	CU_ASSERT_EQUAL(m->copy_to.iov[0].len, 24);
	/*
	 * The last word of an entry lands by itself: not of one that has more than the last piece.
	 */
	CU_ASSERT_EQUAL(m->copy_to.iov[2].len, 8);
	for (i = 0; i < N; i++)
		CU_ASSERT_EQUAL(memcmp(m->c[1].mem + 4096 + at[i], m->c[0].mem + 8 * i, 8), 0);
	for (i = 24; i < 32; i++)
		CU_ASSERT_EQUAL(m->c[1].mem[4096 + i], 0);
	CU_ASSERT_EQUAL(m->hca->qp[b.slot].resp.msn, N);
	emu_free(m);
}

/* N WRITEs of 8 bytes to one row, served by @e. */
static void post_row(struct engine *e, u32 entries)
{
	struct cqe c;
	u32 i;

	for (i = 0; i < N; i++)
		emu_remote(m, emu_post(m, &a, WR_RDMA_WRITE, i, m->c[0].mem + 16 * i, 8), 1,
			   m->c[1].mem + 4096 + 8 * i);
	emu_publish(m, &a);
	engine_enter(e);
	req_run_qp(e, a.slot);
	engine_leave(e);
	CU_ASSERT_EQUAL(m->copy_from.n, N);
	CU_ASSERT_EQUAL(m->copy_to.n, entries);
	CU_ASSERT_EQUAL(m->copy_to.iov[entries - 1].len, 8);
	for (i = 0; i < N; i++) {
		CU_ASSERT_EQUAL(memcmp(m->c[1].mem + 4096 + 8 * i, m->c[0].mem + 16 * i, 8), 0);
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	}
	emu_free(m);
}

static void test_row_sent(void)
{
	up();
	emu_fill(m->c[0].mem, 16 * N, 9);
	post_row(&m->c[0].e, 2);
	/*
	 * The fabric process reads all of it before it writes: entry by entry is what keeps the
	 * order.
	 */
	up();
	emu_fill(m->c[0].mem, 16 * N, 10);
	m->hca->client[0].fabric_reach = 1;
	post_row(&m->fabric, N);
}

/* Nothing changes, and one by one it takes the ordinary way. */
static void refused(void)
{
	const struct hca_qp *qp = &m->hca->qp[b.slot];
	u32 i;

	CU_ASSERT_FALSE(arrive());
	CU_ASSERT_EQUAL(qp->resp.epsn, emu_conn_defaults.psn_a);
	CU_ASSERT_EQUAL(qp->state, QPS_RTS);
	for (i = 0; i < 64 * N; i++)
		CU_ASSERT_EQUAL(m->c[1].mem[4096 + i], 0);
	emu_free(m);
}

static void test_refused(void)
{
	up();
	t.first.psn++;
	refused();
	up();
	t.piece[N - 1].rkey ^= 0x100;
	refused();
	up();
	t.piece[1].va += 60; /* across a cache line */
	refused();
	up();
	t.first.src_qpn ^= 1;
	refused();
	up();
	t.first.dst_type = QPT_UC;
	refused();
	up();
	m->hca->client[1].fabric_reach = 0;
	refused();
	up();
	m->copy_error = -EAGAIN;
	refused();
}

static void test_doorbell(void)
{
	struct hca *hca;
	struct cqe c;
	u32 kicks;

	up();
	hca = m->hca;
	hca->qp[a.slot].path.via = 1;
	kicks = m->kicks;
	emu_remote(m, emu_post(m, &a, WR_RDMA_WRITE, 1, m->c[0].mem, 8), 1, m->c[1].mem + 4096);
	emu_ring(m, &a);
	CU_ASSERT_NOT_EQUAL(hca->via_any, 0);
	CU_ASSERT_EQUAL(hca->qp[a.slot].req.next, 0);
	CU_ASSERT_EQUAL(m->kicks, kicks);
	/* The fabric process sleeps: the first ring kicks it, and it then finds all rung QPs. */
	hca->via_bits[a.slot / 64] = 0;
	hca->via_asleep = 1;
	emu_ring(m, &a);
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(m->kicks, kicks + 1);
	CU_ASSERT_EQUAL(hca->via_asleep, 0);
	hca->qp[a.slot].path.via = 0;
	engine_enter(&m->fabric);
	relay_serve(&m->fabric);
	engine_leave(&m->fabric);
	CU_ASSERT_EQUAL(hca->via_any, 0);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(m->c[1].mem + 4096, m->c[0].mem, 8), 0);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "small WRITEs that come together", test_arrives },
	{ "targets in a row are one entry", test_rows },
	{ "and of WRITEs of this fabric, where their order is kept", test_row_sent },
	{ "what is for the ordinary way", test_refused },
	{ "doorbells of paths with via", test_doorbell },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("write_batch", tests);
}
