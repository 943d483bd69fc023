/* SPDX-License-Identifier: MIT */
/* Requests that a responder answers with a NAK, and those that it drops silently. */
#include "emulator/transport/wire.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

static struct emu *m;
static struct emu_qp a, b;

static void up(void)
{
	m = emu_new(1);
	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
}

static void test_late_read(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct hca_cmd reg = { .op = CMD_REG_MR };
	struct burst again = { .op = BOP_READ_REQ, .flags = BF_FIRST | BF_LAST, .npkts = 1 };
	struct sq_wqe *w;
	struct cqe c;

	up();
	reg.mr = (struct cmd_reg_mr){ .addr = (uintptr_t)m->c[1].mem,
				      .iova = (uintptr_t)m->c[1].mem,
				      .len = 4096,
				      .pd = m->c[1].pd,
				      .access = ACC_REMOTE_READ };
	CU_ASSERT_EQUAL_FATAL(emu_cmd(m, 1, &reg), 0);
	w = emu_post(m, &a, WR_RDMA_READ, 1, m->c[0].mem, 8);
	emu_remote(m, w, 1, m->c[1].mem);
	w->rkey = reg.mr.key;
	emu_ring(m, &a);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_SUCCESS);
	reg.op = CMD_DEREG_MR;
	CU_ASSERT_EQUAL(emu_cmd(m, 1, &reg), 0);
	again.src_qpn = a.qpn;
	again.dst_qpn = b.qpn;
	again.src_port = again.dst_port = 1;
	again.pkey = IB_DEFAULT_PKEY;
	again.dst_type = QPT_RC;
	again.mtu = m->hca->qp[b.slot].mtu;
	again.psn = o.psn_a;
	again.va = (uintptr_t)m->c[1].mem;
	again.rkey = reg.mr.key;
	again.dma_len = 8;
	engine_enter(&m->fabric);
	CU_ASSERT_EQUAL(hca_input(&m->fabric, &again), 0);
	/* It was taken for a duplicate. */
	CU_ASSERT_EQUAL(m->hca->dev[0].port[1].counters[CNT_DUP_REQUEST], 1);
	engine_leave(&m->fabric);
	CU_ASSERT_EQUAL(emu_state(m, &a), QPS_RTS);
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
	CU_ASSERT_EQUAL(emu_event(m, 1), -1);
	emu_free(m);
}

static void test_source_gone(void)
{
	struct cqe c;

	up();
	emu_recv(m, &b, 7, m->c[1].mem, 4096);
	emu_post(m, &a, WR_SEND, 1, m->c[0].mem, 2000);
	m->copy_error = -EFAULT_SRC;
	emu_ring(m, &a);
	emu_run(m, m->clock + 1000000000);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_REM_OP_ERR);
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
	CU_ASSERT_EQUAL(emu_event(m, 1), EV_QP_FATAL);
	CU_ASSERT_TRUE(emu_poll(m, &b.rcq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_WR_FLUSH_ERR);
	emu_free(m);
}

/* A region of client 0 of its own, for a READ. */
static struct hca_cmd local_region(void)
{
	struct hca_cmd reg = { .op = CMD_REG_MR };

	reg.mr = (struct cmd_reg_mr){ .addr = (uintptr_t)m->c[0].mem,
				      .iova = (uintptr_t)m->c[0].mem,
				      .len = 4096,
				      .pd = m->c[0].pd,
				      .access = ACC_LOCAL_WRITE };
	CU_ASSERT_EQUAL_FATAL(emu_cmd(m, 0, &reg), 0);
	return reg;
}

static void test_local_region_goes(void)
{
	const struct emu_faults slow = { .delay = 1000000 };
	struct hca_cmd reg;
	struct sq_wqe *w;
	struct cqe c;

	up();
	emu_wire(m, &slow);
	reg = local_region();
	w = emu_post(m, &a, WR_RDMA_READ, 1, m->c[0].mem, 2000);
	emu_remote(m, w, 1, m->c[1].mem);
	w->sge[0].lkey = reg.mr.key;
	emu_ring(m, &a);
	/* The request has arrived, the response has not. */
	emu_run(m, m->clock + slow.delay + slow.delay / 2);
	reg.op = CMD_DEREG_MR;
	CU_ASSERT_EQUAL(emu_cmd(m, 0, &reg), 0);
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
	emu_run(m, m->clock + 1000000000);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(emu_state(m, &a), QPS_ERR);
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
	emu_free(m);
}

/* The list's second entry is bad: what fits into the first has arrived before. */
static void test_second_entry(void)
{
	const struct emu_faults pieces = { .delay = 1000, .split = 1000 };
	struct sq_wqe *w;
	struct cqe c;
	u32 i;

	for (i = 0; i < 2; i++) {
		up();
		if (i)
			emu_wire(m, &pieces);
		w = emu_post(m, &a, WR_RDMA_READ, 1, m->c[0].mem, 60000);
		emu_remote(m, w, 1, m->c[1].mem);
		w->num_sge = 2;
		w->sge[1] = (struct wq_sge){ (uintptr_t)m->c[0].mem + 60000, 60000, 0x12345 };
		emu_ring(m, &a);
		emu_run(m, m->clock + 1000000000);
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_LOC_PROT_ERR);
		CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
		emu_free(m);
	}
}

static void test_atomic_executed(void)
{
	u64 *word;
	struct sq_wqe *w;
	struct cqe c;

	up();
	word = (u64 *)(void *)m->c[1].mem;
	*word = 40;
	w = emu_post(m, &a, WR_ATOMIC_FETCH_AND_ADD, 1, m->c[0].mem, 8);
	emu_remote(m, w, 1, word);
	w->compare_add = 2;
	w->sge[0].lkey = 0x12345;
	emu_ring(m, &a);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(*word, 42);
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
	emu_free(m);
}

/* The requester's memory would take the result; the responder finds its own mistake first. */
static void test_both_keys(void)
{
	static const u32 ops[] = { WR_RDMA_READ, WR_ATOMIC_FETCH_AND_ADD, WR_ATOMIC_CMP_AND_SWP };
	struct sq_wqe *w;
	struct cqe c;
	u32 i, odd;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (odd = 0; odd < (ops[i] == WR_RDMA_READ ? 1 : 2); odd++) {
			up();
			w = emu_post(m, &a, ops[i], 1, m->c[0].mem, 8);
			emu_remote(m, w, 1, m->c[1].mem + 4 * odd);
			w->sge[0].lkey = 0x12345;
			if (!odd)
				w->rkey = 0x54321;
			emu_ring(m, &a);
			CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
			CU_ASSERT_EQUAL(c.status, odd ? WCS_REM_INV_REQ_ERR : WCS_REM_ACCESS_ERR);
			CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
			emu_free(m);
		}
}

/* Class J: only the responder's program is told. */
static void test_invalidate_refused(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct sq_wqe *w;
	struct cqe c;
	u32 i;

	for (i = 0; i < 2; i++) {
		m = emu_new(1);
		o.srq = i;
		emu_connect(m, 0, 1, &o, &a, &b);
		emu_recv(m, &b, 7, m->c[1].mem, 4096);
		emu_recv(m, &b, 8, m->c[1].mem, 4096);
		w = emu_post(m, &a, WR_SEND_WITH_INV, 1, m->c[0].mem, 2000);
		w->rkey = m->c[1].key;
		emu_ring(m, &a);
		CU_ASSERT_TRUE(emu_poll(m, &b.rcq, &c, NULL));
		CU_ASSERT_TRUE(c.status == WCS_REM_INV_REQ_ERR && c.wr_id == 7);
		CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
		CU_ASSERT_EQUAL(m->hca->dev[0].port[1].counters[CNT_NAK_SENT], 0);
		CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
		emu_run(m, m->clock + 100000000000);
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL) && c.status == WCS_RETRY_EXC_ERR);
		CU_ASSERT_EQUAL(emu_event(m, 1), i ? EV_QP_LAST_WQE_REACHED : -1);
		CU_ASSERT_EQUAL(emu_poll(m, &b.rcq, &c, NULL), !i);
		emu_free(m);
	}
}

static const struct cu_test tests[] = {
	{ "a READ that comes late again, for a region that has gone, is dropped", test_late_read },
	{ "a SEND whose data cannot be read takes the QP down with an event", test_source_gone },
	{ "a READ whose own region goes before the response comes", test_local_region_goes },
	{ "a READ into a list whose second entry is bad", test_second_entry },
	{ "an atomic with a bad lkey is executed", test_atomic_executed },
	{ "with both keys bad the responder's error counts", test_both_keys },
	{ "SEND_WITH_INV of a region: no NAK, the receive fails", test_invalidate_refused },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("refused requests", tests);
}
