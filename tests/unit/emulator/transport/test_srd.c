/* SPDX-License-Identifier: MIT */
/*
 * SRD: messages to any peers, each on its own: data, errors, waits, and all of it on a bad wire.
 */
#include "tests/unit/emulator/transport/srd_peer.h"

#include "emulator/transport/srd.h"

#define MS  1000000ULL
#define SEC 1000000000ULL
#define MTU 4096u

static struct emu *m;

static void reset_qp(struct emu_qp *q)
{
	struct hca_qp_attr attr = { .state = QPS_RESET };

	CU_ASSERT_EQUAL_FATAL(emu_modify(m, q, &attr, QPA_STATE), 0);
	memset((char *)m->c[q->client].seg + q->sq, 0, sizeof(struct wq_ctl));
	memset((char *)m->c[q->client].seg + q->rq, 0, sizeof(struct wq_ctl));
	q->sq_prod = q->rq_prod = 0;
	emu_start_datagrams(m, q, 1, SRD_QKEY);
}

static void test_sends(void)
{
	struct emu_qp a, b, c;
	struct cqe e;
	u32 ah;

	m = srd_pair(64, &a, &b, &ah);
	c = srd_qp(m, 2, 64);
	emu_recv(m, &b, 11, m->c[1].mem, 5000);
	emu_recv(m, &c, 12, m->c[2].mem, 5000);
	emu_fill(m->c[0].mem, 4096, 5);
	srd_post(m, &a, WR_SEND, 1, 0, 4096, ah, &b);
	srd_post(m, &a, WR_SEND_WITH_IMM, 2, 0, 3, ah, &c)->imm = 77;
	emu_ring(m, &a);
	e = srd_poll(m, &b.rcq, NULL);
	CU_ASSERT_EQUAL(e.status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(e.wr_id, 11);
	CU_ASSERT_EQUAL(e.byte_len, 4096);
	CU_ASSERT_EQUAL(e.src_qp, a.qpn);
	CU_ASSERT_EQUAL(e.slid, CQE_BY_GID);
	CU_ASSERT_EQUAL(memcmp(e.grh + CQE_SGID, m->hca->dev[0].port[1].gid[0].raw, 16), 0);
	CU_ASSERT_TRUE(emu_filled(m->c[1].mem, 4096, 5));
	e = srd_poll(m, &c.rcq, m->c[2].mem);
	CU_ASSERT_EQUAL(e.wr_id, 12);
	CU_ASSERT_EQUAL(e.byte_len, 3);
	CU_ASSERT_EQUAL(e.wc_flags, WCF_WITH_IMM);
	CU_ASSERT_EQUAL(e.imm, 77);
	CU_ASSERT_EQUAL(memcmp(m->c[2].mem, m->c[0].mem, 3), 0);
	CU_ASSERT_EQUAL(srd_poll(m, &a.scq, NULL).wr_id, 1);
	CU_ASSERT_EQUAL(srd_poll(m, &a.scq, NULL).wr_id, 2);
	emu_free(m);
}

/* READs and WRITEs of up to several segments, with the wire as it is. */
static void rdma(u32 op, u32 len, u64 seed)
{
	struct emu_qp a = srd_qp(m, 0, 16), b = srd_qp(m, 1, 16);
	u32 ah = srd_address(m, 0, false), from = op == WR_RDMA_READ;
	struct sq_wqe *w;
	struct cqe e;

	emu_fill(m->c[from].mem, len, seed);
	memset(m->c[1 - from].mem, 0, len + 1);
	emu_recv(m, &b, 9, m->c[1].mem + EMU_AREA - 64, 0);
	w = srd_post(m, &a, op, 1, 0, len, ah, &b);
	emu_remote(m, w, 1, m->c[1].mem);
	w->imm = 5;
	emu_ring(m, &a);
	emu_run(m, m->clock + 10 * SEC);
	e = srd_poll(m, &a.scq, NULL);
	CU_ASSERT_EQUAL(e.status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(e.opcode, from ? WCO_SEND : WCO_RDMA_WRITE);
	CU_ASSERT_TRUE(emu_filled(m->c[1 - from].mem, len, seed));
	CU_ASSERT_EQUAL(m->c[1 - from].mem[len], 0);
	e = srd_poll(m, &b.rcq, NULL);
	CU_ASSERT_EQUAL(e.status, op == WR_RDMA_WRITE_WITH_IMM ? WCS_SUCCESS : 255);
	if (op == WR_RDMA_WRITE_WITH_IMM) {
		CU_ASSERT_EQUAL(e.byte_len, len);
		CU_ASSERT_EQUAL(e.imm, 5);
		CU_ASSERT_EQUAL(e.opcode, WCO_RECV_RDMA_WITH_IMM);
	}
	emu_destroy(m, &a);
	emu_destroy(m, &b);
}

static void test_rdma(void)
{
	static const u32 sizes[] = {
		0,	   1,	    MTU,	  MTU + 1, 9 * MTU, 64 * MTU, 64 * MTU + 1,
		129 * MTU, 3000001, 130 * MTU - 1
	};
	static const u32 ops[] = { WR_RDMA_READ, WR_RDMA_WRITE, WR_RDMA_WRITE_WITH_IMM };
	u32 i, op;

	for (op = 0; op < ARRAY_SIZE(ops); op++) {
		m = srd_world(op);
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			rdma(ops[op], sizes[i], i + 1);
		emu_wire(m, &(struct emu_faults){ .loss = 50,
						  .dup = 50,
						  .split = 500,
						  .late = 300,
						  .delay = 1000,
						  .jitter = 900 * MS });
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			rdma(ops[op], sizes[i], i + 100);
		emu_free(m);
	}
}

/* Which of @n immediate values have come; none twice. */
static void take(struct emu_qp *q, u8 *seen, u32 n, u32 *count)
{
	struct cqe c;

	while (emu_poll(m, &q->rcq, &c, NULL)) {
		CU_ASSERT_EQUAL_FATAL(c.status, WCS_SUCCESS);
		CU_ASSERT_TRUE_FATAL(c.imm < n && !seen[c.imm]);
		seen[c.imm] = 1;
		*count += 1;
		emu_recv(m, q, 0, m->c[q->client].mem, 64);
	}
}

/* Many messages to three peers over a wire that loses, repeats and reorders: each comes once. */
static void test_bad_wire(void)
{
	enum { N = 6000 };
	static u8 seen[N];
	struct emu_qp a, to[3];
	u32 ah, i, posted = 0, done = 0, came = 0, tail = 0;
	struct cqe c;

	memset(seen, 0, sizeof(seen));
	m = srd_world(7);
	a = srd_qp(m, 0, 256);
	for (i = 0; i < 3; i++) {
		to[i] = srd_qp(m, i + 1, 64);
		for (u32 k = 0; k < 64; k++)
			emu_recv(m, &to[i], k, m->c[i + 1].mem, 64);
	}
	ah = srd_address(m, 0, false);
	emu_wire(m,
		 &(struct emu_faults){
			 .loss = 50, .dup = 100, .late = 300, .delay = 1000, .jitter = 200 * MS });
	while (done < N) {
		for (; posted < N && posted - tail < 200; posted++)
			srd_post(m, &a, WR_SEND_WITH_IMM, posted, 0, 8, ah, &to[posted % 3])->imm =
				posted;
		emu_ring(m, &a);
		emu_run(m, m->clock + 50 * MS);
		for (i = 0; i < 3; i++)
			take(&to[i], seen, N, &came);
		while (emu_poll(m, &a.scq, &c, NULL)) {
			CU_ASSERT_EQUAL_FATAL(c.status, WCS_SUCCESS);
			tail = c.slot + 1;
			done++;
		}
		CU_ASSERT_TRUE_FATAL(m->clock < 3600 * SEC);
	}
	emu_run(m, m->clock + 10 * SEC);
	for (i = 0; i < 3; i++)
		take(&to[i], seen, N, &came);
	CU_ASSERT_EQUAL(came, N);
	emu_free(m);
}

/* A peer that does not answer holds up nothing but what goes to it. */
static void test_no_head_of_line(void)
{
	struct emu_qp a, b;
	struct cqe c;
	u32 nobody, ah, i;
	u64 start;

	m = srd_pair(64, &a, &b, &ah);
	nobody = srd_address(m, 0, true);
	srd_post(m, &a, WR_SEND, 1000, 0, 8, nobody, &b);
	for (i = 0; i < 40; i++) {
		emu_recv(m, &b, i, m->c[1].mem, 64);
		srd_post(m, &a, WR_SEND, i, 0, 8, ah, &b);
	}
	start = m->clock;
	emu_ring(m, &a);
	for (i = 0; i < 40; i++) {
		c = srd_poll(m, &a.scq, NULL);
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		CU_ASSERT_EQUAL(c.wr_id, i);
		/* The slot of the first one is not free. */
		CU_ASSERT_EQUAL(c.slot, ~0u);
	}
	CU_ASSERT_EQUAL(m->clock, start);
	emu_run(m, m->clock + 60 * SEC);
	c = srd_poll(m, &a.scq, NULL);
	CU_ASSERT_EQUAL(c.wr_id, 1000);
	CU_ASSERT_EQUAL(c.status, WCS_RESP_TIMEOUT_ERR);
	CU_ASSERT_EQUAL(c.vendor_err, SRD_LOCAL_UNRESP_REMOTE);
	CU_ASSERT_EQUAL(c.slot, 40);
	CU_ASSERT_EQUAL(emu_state(m, &a), QPS_RTS);
	emu_free(m);
}

static void test_rnr(void)
{
	struct hca_qp_attr attr = { .rnr_retry = 2 };
	struct emu_qp a, b;
	struct cqe c;
	u32 ah;

	m = srd_pair(64, &a, &b, &ah);
	srd_post(m, &a, WR_SEND, 1, 0, 8, ah, &b);
	emu_ring(m, &a);
	CU_ASSERT_FALSE(emu_run(m, m->clock + 10 * SEC));
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
	emu_recv(m, &b, 1, m->c[1].mem, 64);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(srd_poll(m, &a.scq, NULL).status, WCS_SUCCESS);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &attr, QPA_RNR_RETRY), 0);
	srd_post(m, &a, WR_SEND, 2, 0, 8, ah, &b);
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	c = srd_poll(m, &a.scq, NULL);
	CU_ASSERT_EQUAL(c.status, WCS_RNR_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(c.vendor_err, SRD_REMOTE_RNR);
	/* Those of the first message, which waited indefinitely, and three of the second. */
	CU_ASSERT_TRUE(m->hca->qp[a.slot].n_rnr > 3);
	CU_ASSERT_EQUAL(emu_state(m, &a), QPS_RTS);
	emu_free(m);
}

/* An error is one message's; the next one arrives. */
static void expect(struct emu_qp *a, u32 status, u32 vendor)
{
	struct cqe c;

	emu_ring(m, a);
	c = srd_poll(m, &a->scq, NULL);
	CU_ASSERT_EQUAL(c.status, status);
	CU_ASSERT_EQUAL(c.vendor_err, vendor);
	CU_ASSERT_EQUAL(emu_state(m, a), QPS_RTS);
}

static void test_errors(void)
{
	struct emu_qp a, b, none;
	struct sq_wqe *w;
	u32 ah;

	m = srd_pair(64, &a, &b, &ah);
	none = b;
	none.qpn ^= 0x10000;
	emu_recv(m, &b, 1, m->c[1].mem, 4);
	srd_post(m, &a, WR_SEND, 1, 0, 8, ah, &none);
	expect(&a, WCS_REM_INV_RD_REQ_ERR, SRD_REMOTE_BAD_DEST_QPN);
	srd_post(m, &a, WR_SEND, 1, 0, 8, ah, &b)->remote_qkey = 1;
	expect(&a, WCS_REM_INV_RD_REQ_ERR, SRD_REMOTE_BAD_DEST_QPN);
	srd_post(m, &a, WR_SEND, 1, 0, MTU + 1, ah, &b);
	expect(&a, WCS_LOC_LEN_ERR, SRD_LOCAL_BAD_LENGTH);
	srd_post(m, &a, WR_SEND, 1, 0, 8, ah, &b)->sge[0].lkey ^= 1;
	expect(&a, WCS_LOC_PROT_ERR, SRD_LOCAL_INVALID_LKEY);
	srd_post(m, &a, WR_SEND, 1, 0, 8, ah + 1, &b);
	expect(&a, WCS_LOC_QP_OP_ERR, SRD_LOCAL_INVALID_AH);
	srd_post(m, &a, WR_SEND, 1, 0, 8, ah, &b);
	expect(&a, WCS_REM_INV_REQ_ERR, SRD_REMOTE_BAD_LENGTH);
	srd_post(m, &a, WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8, ah, &b);
	expect(&a, WCS_LOC_QP_OP_ERR, SRD_LOCAL_UNSUPPORTED_OP);
	w = srd_post(m, &a, WR_RDMA_WRITE, 1, 0, 8, ah, &b);
	emu_remote(m, w, 1, m->c[1].mem + EMU_AREA - 7);
	expect(&a, WCS_REM_ACCESS_ERR, SRD_REMOTE_BAD_ADDRESS);
	w = srd_post(m, &a, WR_RDMA_READ, 1, 0, 8, ah, &b);
	emu_remote(m, w, 1, m->c[1].mem);
	w->rkey ^= 1;
	expect(&a, WCS_REM_ACCESS_ERR, SRD_REMOTE_BAD_ADDRESS);
	w = srd_post(m, &a, WR_RDMA_READ, 1, 0, 8, ah, &b);
	emu_remote(m, w, 1, m->c[1].mem);
	w->sge[0].lkey ^= 1;
	expect(&a, WCS_LOC_PROT_ERR, SRD_LOCAL_INVALID_LKEY);
	srd_post(m, &a, WR_SEND, 1, 0, 4, ah, &b);
	expect(&a, WCS_SUCCESS, 0);
	CU_ASSERT_EQUAL(srd_poll(m, &b.rcq, m->c[1].mem).byte_len, 4);
	emu_free(m);
}

/* In ERR what is under way is flushed, and what was complete is not reported again. */
static void test_flush(void)
{
	struct hca_qp_attr attr = { .state = QPS_ERR };
	struct emu_qp a, b;
	struct cqe c;
	u32 nobody, ah, i;

	m = srd_pair(64, &a, &b, &ah);
	nobody = srd_address(m, 0, true);
	for (i = 0; i < 10; i++) {
		emu_recv(m, &b, i, m->c[1].mem, 64);
		srd_post(m, &a, WR_SEND, i, 0, 8, i % 3 ? ah : nobody, &b);
	}
	emu_ring(m, &a);
	for (i = 0; i < 10; i++)
		if (i % 3)
			CU_ASSERT_EQUAL(srd_poll(m, &a.scq, NULL).wr_id, i);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &attr, QPA_STATE), 0);
	for (i = 0; i < 10; i += 3) {
		c = srd_poll(m, &a.scq, NULL);
		CU_ASSERT_EQUAL(c.wr_id, i);
		CU_ASSERT_EQUAL(c.status, WCS_WR_FLUSH_ERR);
	}
	CU_ASSERT_EQUAL(c.slot, 9);
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
	emu_free(m);
}

/* After a reset of either side nothing is taken for what was sent before. */
static void test_reset(void)
{
	struct emu_qp a, b;
	u32 ah, round, i;

	m = srd_pair(64, &a, &b, &ah);
	for (round = 0; round < 6; round++) {
		for (i = 0; i < 5; i++) {
			emu_recv(m, &b, i, m->c[1].mem, 64);
			srd_post(m, &a, WR_SEND, i, 0, 8, ah, &b);
		}
		emu_ring(m, &a);
		for (i = 0; i < 5; i++) {
			CU_ASSERT_EQUAL(srd_poll(m, &a.scq, NULL).status, WCS_SUCCESS);
			CU_ASSERT_EQUAL(srd_poll(m, &b.rcq, m->c[1].mem).status, WCS_SUCCESS);
		}
		reset_qp(round % 2 ? &b : &a);
	}
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "messages to two peers", test_sends },
	{ "READs and WRITEs of up to several segments, on good and bad wires", test_rdma },
	{ "on a bad wire each message comes once", test_bad_wire },
	{ "a silent peer holds up no other", test_no_head_of_line },
	{ "without a receive a message waits", test_rnr },
	{ "an error ends one message", test_errors },
	{ "a flush reports what was under way", test_flush },
	{ "a QP that was reset begins anew", test_reset },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("SRD", tests);
}
