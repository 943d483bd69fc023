/* SPDX-License-Identifier: MIT */
/* Requests that a response answers: ATOMIC WRITE and FLUSH count as READs (IBTA annex A19). */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp a, b;

static void up(const struct emu_conn *o)
{
	m = emu_new(1);
	emu_connect(m, 0, 1, o, &a, &b);
}

static void request_post(u32 opcode, u64 wr_id)
{
	struct sq_wqe *w = emu_post(m, &a, opcode, wr_id, m->c[0].mem, 8);

	emu_remote(m, w, 1, m->c[1].mem + 64);
}

static u32 next_status(void)
{
	struct cqe c = { .status = 255 };

	emu_poll(m, &a.scq, &c, NULL);
	return c.status;
}

static const u8 counted[] = { WR_RDMA_READ, WR_ATOMIC_FETCH_AND_ADD, WR_ATOMIC_WRITE, WR_FLUSH };

/* A wire with a delay: nothing is answered before the clock moves. */
static void test_outstanding_at_most_max_rd_atomic(void)
{
	const struct emu_faults slow = { .delay = 1000 };
	struct emu_conn o = emu_conn_defaults;

	o.rd_atomic = 2;
	for (u32 i = 0; i < ARRAY_SIZE(counted); i++) {
		up(&o);
		emu_wire(m, &slow);
		for (u32 k = 0; k < 5; k++)
			request_post(counted[i], k);
		emu_ring(m, &a);
		CU_ASSERT_EQUAL(m->hca->qp[a.slot].req.rd_out, 2);
		CU_ASSERT_EQUAL(m->hca->qp[a.slot].req.next - m->hca->qp[a.slot].req.una, 2);
		emu_run(m, m->clock + SEC);
		for (u32 k = 0; k < 5; k++)
			CU_ASSERT_EQUAL(next_status(), WCS_SUCCESS);
		CU_ASSERT_EQUAL(m->hca->qp[a.slot].req.rd_out, 0);
		emu_free(m);
	}
}

static void test_fence_waits_for_response(void)
{
	const struct emu_faults slow = { .delay = 1000 };

	for (u32 i = 0; i < ARRAY_SIZE(counted); i++) {
		up(&emu_conn_defaults);
		emu_wire(m, &slow);
		request_post(counted[i], 1);
		emu_post(m, &a, WR_RDMA_WRITE, 2, m->c[0].mem, 0)->send_flags |= SEND_FENCE;
		emu_ring(m, &a);
		CU_ASSERT_EQUAL(m->hca->qp[a.slot].req.next - m->hca->qp[a.slot].req.una, 1);
		emu_run(m, m->clock + SEC);
		CU_ASSERT_EQUAL(next_status(), WCS_SUCCESS);
		CU_ASSERT_EQUAL(next_status(), WCS_SUCCESS);
		emu_free(m);
	}
}

static void test_no_resources(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(counted); i++) {
		up(&emu_conn_defaults);
		m->hca->qp[b.slot].attr.max_dest_rd_atomic = 0;
		request_post(counted[i], 1);
		emu_ring(m, &a);
		CU_ASSERT_EQUAL(next_status(), WCS_REM_INV_REQ_ERR);
		CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
		emu_free(m);
		up(&emu_conn_defaults);
		m->hca->qp[a.slot].attr.max_rd_atomic = 0;
		request_post(counted[i], 1);
		emu_ring(m, &a);
		CU_ASSERT_EQUAL(next_status(), WCS_LOC_QP_OP_ERR);
		CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
		emu_free(m);
	}
}

/* The response is lost: the request comes again, and is answered without being executed. */
static void test_lost_response_is_repeated(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(counted); i++) {
		const struct emu_faults slow = { .delay = 1000 };
		u64 *word;

		up(&emu_conn_defaults);
		emu_wire(m, &slow);
		word = (u64 *)(uintptr_t)(m->c[1].mem + 64);
		memset(m->c[0].mem, 1, 8);
		request_post(counted[i], 1);
		m->lose = 2;
		emu_ring(m, &a);
		emu_run(m, m->clock + 1500);
		if (counted[i] == WR_ATOMIC_WRITE) {
			CU_ASSERT_EQUAL(*word, 0x0101010101010101ULL);
			*word = 7;
		}
		emu_run(m, m->clock + SEC);
		CU_ASSERT_EQUAL(next_status(), WCS_SUCCESS);
		CU_ASSERT_EQUAL(m->lost, 1);
		if (counted[i] == WR_ATOMIC_WRITE)
			CU_ASSERT_EQUAL(*word, 7);
		emu_free(m);
	}
}

static const struct cu_test tests[] = {
	{ "at most max_rd_atomic requests are outstanding",
	  test_outstanding_at_most_max_rd_atomic },
	{ "a fence waits for the response", test_fence_waits_for_response },
	{ "a request without resources is refused", test_no_resources },
	{ "a lost response is repeated, ATOMIC WRITE not executed again",
	  test_lost_response_is_repeated },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("requests that get a response", tests);
}
