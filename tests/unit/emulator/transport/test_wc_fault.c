/* SPDX-License-Identifier: MIT */
/*
 * Completions that fail on purpose: which request and receive they hit, what comes before and
 * after, and what the peer learns of it; also on a wire that loses, where a request goes out
 * several times.
 */
#include "tests/unit/emulator/transport/wc_rule.h"

static bool told(const struct journal_entry *j, u32 kind, u32 status)
{
	return j->kind == kind && j->cause == CAUSE_FAULT && j->status == status && j->rule == 77;
}

/* Whether a completion with this status, or an event, is in the journal as the rule's doing. */
static bool by_rule(u32 status)
{
	const struct hca *hca = m->hca;

	for (u64 i = 0; i < hca->error_seq; i++)
		if (told(&hca->error[i], JRN_COMPLETION, status) ||
		    told(&hca->error[i], JRN_EVENT, status))
			return true;
	for (u64 i = 0; i < hca->notice_seq; i++)
		if (told(&hca->notice[i], JRN_EVENT, status))
			return true;
	return false;
}

/*
 * Three requests, of which the second fails: those before it complete first, those after it are
 * flushed.
 */
static void three(u32 opcode, u32 len, u32 status)
{
	for (u64 id = 1; id <= 3; id++)
		post(opcode, id, len);
	emu_ring(m, &a);
	emu_run(m, m->clock + 100 * SEC);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&a.scq, 2), status);
	CU_ASSERT_EQUAL(ends(&a.scq, 3), WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(ends(&a.scq, 0), 255);
	CU_ASSERT_EQUAL(rule.asked, 1);
	CU_ASSERT_EQUAL(rule.later, 0);
	CU_ASSERT_TRUE(by_rule(status));
}

static void test_own(void)
{
	static const u32 status[] = { WCS_LOC_LEN_ERR,	 WCS_LOC_QP_OP_ERR,	WCS_LOC_PROT_ERR,
				      WCS_RETRY_EXC_ERR, WCS_RNR_RETRY_EXC_ERR, WCS_GENERAL_ERR };
	static const u32 type[] = { QPT_RC, QPT_UC };

	for (u32 t = 0; t < ARRAY_SIZE(type); t++)
		for (u32 i = 0; i < ARRAY_SIZE(status); i++) {
			up(type[t], false, 2, status[i]);
			three(WR_SEND, 1000, status[i]);
			CU_ASSERT_EQUAL(emu_state(m, &a), t ? QPS_SQE : QPS_ERR);
			CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
			CU_ASSERT_EQUAL(ends(&b.rcq, 101), WCS_SUCCESS);
			CU_ASSERT_EQUAL(ends(&b.rcq, 0), 255);
			CU_ASSERT_EQUAL(emu_event(m, 0), -1);
			CU_ASSERT_EQUAL(emu_event(m, 1), -1);
			down();
		}
}

/* A UC queue pair goes on after its program has seen to it. */
static void test_sqe_goes_on(void)
{
	struct hca_qp_attr attr = { .state = QPS_RTS, .cur_state = QPS_SQE };

	up(QPT_UC, false, 1, WCS_LOC_PROT_ERR);
	post(WR_SEND, 1, 100);
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &attr, QPA_STATE | QPA_CUR_STATE), 0);
	post(WR_SEND, 2, 100);
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(ends(&a.scq, 2), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&b.rcq, 101), WCS_SUCCESS);
	down();
}

static void test_fatal(void)
{
	up(QPT_RC, false, 2, WCS_FATAL_ERR);
	three(WR_RDMA_WRITE, 1000, WCS_FATAL_ERR);
	CU_ASSERT_EQUAL(emu_event(m, 0), EV_QP_FATAL);
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
	down();
}

/* Errors that the responder detects: it goes to ERR, has its event, its receives are flushed. */
static void remote(u32 opcode, u32 len, u32 status, int event, const struct emu_faults *wire)
{
	u32 first = opcode == WR_SEND ? 102 : 101;

	up(QPT_RC, false, 2, status);
	emu_wire(m, wire);
	three(opcode, len, status);
	CU_ASSERT_EQUAL(emu_state(m, &a), QPS_ERR);
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
	CU_ASSERT_EQUAL(emu_event(m, 0), -1);
	CU_ASSERT_EQUAL(emu_event(m, 1), event);
	CU_ASSERT_EQUAL(emu_event(m, 1), -1);
	if (opcode == WR_SEND)
		CU_ASSERT_EQUAL(ends(&b.rcq, 101), WCS_SUCCESS);
	for (u32 id = first; id <= 104; id++)
		CU_ASSERT_EQUAL(ends(&b.rcq, id), WCS_WR_FLUSH_ERR);
	down();
}

static const struct {
	u32 status;
	int event;
} remotes[] = {
	{ WCS_REM_ACCESS_ERR, EV_QP_ACCESS_ERR },
	{ WCS_REM_INV_REQ_ERR, EV_QP_REQ_ERR },
	{ WCS_REM_OP_ERR, EV_QP_FATAL },
};

static void test_remote(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(remotes); i++) {
		remote(WR_RDMA_WRITE, 3000, remotes[i].status, remotes[i].event, NULL);
		remote(WR_RDMA_READ, 3000, remotes[i].status, remotes[i].event, NULL);
		remote(WR_ATOMIC_FETCH_AND_ADD, 8, remotes[i].status, remotes[i].event, NULL);
		remote(WR_SEND, 3000, remotes[i].status, remotes[i].event, NULL);
	}
}

/*
 * The request that is to be refused, or the refusal, gets lost: it is the same request that is
 * repeated.
 */
static void test_remote_lossy(void)
{
	const struct emu_faults wire = {
		.loss = 200, .dup = 50, .split = 500, .delay = 10000, .late = 300, .jitter = 50000
	};
	u32 i, n, s, heard = 0, silent = 0;

	for (n = 0; n < 20; n++)
		for (i = 0; i < ARRAY_SIZE(remotes); i++) {
			/*
			 * A responder in ERR says nothing more: what was lost of the first READ's
			 * response, or the NAK, is not repeated, and retries are used up.
			 */
			up(QPT_RC, false, 2, remotes[i].status);
			m->seed += n;
			emu_wire(m, &wire);
			for (u64 id = 1; id <= 3; id++)
				post(WR_RDMA_READ, id, 3000);
			emu_ring(m, &a);
			CU_ASSERT_TRUE(emu_run(m, m->clock + 3600 * SEC));
			s = ends(&a.scq, 1);
			CU_ASSERT_TRUE(!s || s == WCS_RETRY_EXC_ERR);
			silent += s == WCS_RETRY_EXC_ERR;
			if (!s)
				s = ends(&a.scq, 2);
			CU_ASSERT_TRUE(s == remotes[i].status || s == WCS_RETRY_EXC_ERR);
			heard += s == remotes[i].status;
			CU_ASSERT_EQUAL(emu_state(m, &a), QPS_ERR);
			CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
			CU_ASSERT_EQUAL(rule.asked, 1);
			down();
		}
	CU_ASSERT_TRUE(heard && silent);
}

static void test_bad_resp(void)
{
	static const u32 opcode[] = { WR_RDMA_READ, WR_ATOMIC_CMP_AND_SWP };

	for (u32 i = 0; i < ARRAY_SIZE(opcode); i++) {
		up(QPT_RC, false, 2, WCS_BAD_RESP_ERR);
		three(opcode[i], 8, WCS_BAD_RESP_ERR);
		CU_ASSERT_EQUAL(emu_state(m, &a), QPS_ERR);
		CU_ASSERT_EQUAL(emu_state(m, &b), QPS_RTS);
		CU_ASSERT_EQUAL(emu_event(m, 1), -1);
		down();
	}
}

/* An atomic whose response was bad was executed all the same. */
static void test_bad_resp_executed(void)
{
	u64 *word;

	up(QPT_RC, false, 1, WCS_BAD_RESP_ERR);
	word = (u64 *)(void *)m->c[1].mem;
	*word = 41;
	emu_post(m, &a, WR_ATOMIC_FETCH_AND_ADD, 1, m->c[0].mem, 8)->compare_add = 1;
	emu_remote(m, (void *)((u8 *)m->c[0].seg + a.sq + sizeof(struct wq_ctl)), 1, word);
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_BAD_RESP_ERR);
	CU_ASSERT_EQUAL(*word, 42);
	down();
}

/* Work that no packet is sent for. */
static void test_local_work(void)
{
	up(QPT_RC, false, 2, WCS_MW_BIND_ERR);
	post(WR_SEND, 1, 100);
	emu_post(m, &a, WR_LOCAL_INV, 2, NULL, 0);
	post(WR_SEND, 3, 100);
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&a.scq, 2), WCS_MW_BIND_ERR);
	CU_ASSERT_EQUAL(ends(&a.scq, 3), WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(rule.asked, 1);
	down();
}

/*
 * A receive that fails: of reliable queue pairs both sides hear of it, of others the receiver does.
 */
static void receive(u32 type, u32 opcode, u32 status, u32 peer)
{
	up(type, true, 102, status);
	for (u64 id = 1; id <= 3; id++)
		post(opcode, id, 1000);
	emu_ring(m, &a);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&a.scq, 2), peer);
	CU_ASSERT_EQUAL(ends(&a.scq, 3), peer ? WCS_WR_FLUSH_ERR : WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&b.rcq, 101), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&b.rcq, 102), status);
	CU_ASSERT_EQUAL(ends(&b.rcq, 103), WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(ends(&b.rcq, 104), WCS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(emu_state(m, &a), peer ? QPS_ERR : QPS_RTS);
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
	CU_ASSERT_EQUAL(rule.asked, 1);
	CU_ASSERT_TRUE(by_rule(status));
	down();
}

static void test_receives(void)
{
	static const u32 opcode[] = { WR_SEND, WR_SEND_WITH_IMM, WR_RDMA_WRITE_WITH_IMM };

	for (u32 i = 0; i < ARRAY_SIZE(opcode); i++) {
		receive(QPT_RC, opcode[i], WCS_LOC_LEN_ERR, WCS_REM_INV_REQ_ERR);
		receive(QPT_RC, opcode[i], WCS_LOC_PROT_ERR, WCS_REM_OP_ERR);
		receive(QPT_UC, opcode[i], WCS_LOC_LEN_ERR, 0);
		receive(QPT_UC, opcode[i], WCS_LOC_PROT_ERR, 0);
	}
}

/* A packet that is offered again, since its memory was out of reach, is asked about once. */
static void test_receive_again(void)
{
	up(QPT_RC, true, 101, 0);
	post(WR_SEND, 1, 1000);
	m->copy_error = -EAGAIN;
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	CU_ASSERT_EQUAL(ends(&a.scq, 1), WCS_SUCCESS);
	CU_ASSERT_EQUAL(rule.asked, 1);
	down();
}

/* What waits for its turn keeps the answer that it was given. */
static void test_waits(void)
{
	const struct emu_faults wire = { .delay = 100000 };

	up(QPT_RC, false, 2, WCS_LOC_PROT_ERR);
	emu_wire(m, &wire);
	three(WR_SEND, 1000, WCS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(ends(&b.rcq, 101), WCS_SUCCESS);
	CU_ASSERT_EQUAL(ends(&b.rcq, 102), 255);
	down();
}

static const struct cu_test tests[] = {
	{ "statuses of the requester's own", test_own },
	{ "SQE, and on", test_sqe_goes_on },
	{ "fatal error", test_fatal },
	{ "the responder refuses", test_remote },
	{ "the responder refuses, on a wire that loses", test_remote_lossy },
	{ "a bad response", test_bad_resp },
	{ "a bad response to what was executed", test_bad_resp_executed },
	{ "work without packets", test_local_work },
	{ "receives", test_receives },
	{ "a receive that is tried again", test_receive_again },
	{ "a request that waits for its turn", test_waits },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("faultwork", tests);
}
