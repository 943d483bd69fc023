/* SPDX-License-Identifier: MIT */
/*
 * Completions that fail on purpose, on both sides: of each status, with each opcode and type of
 * queue pair that can have it.
 *	app_fault_wc local|remote
 * Environment: RDMAEMU_BIN, the command that sets rules.
 *
 * Each row has a fresh connection with four receives at B. A makes three requests; the rule applies
 * to the second, or to its receive.
 */
#include "tests/lib/c/fault.h"
#include "tests/lib/c/vb.h"

#include <stdio.h>
#include <string.h>

#define LEN   512
#define RECVS 4

static struct vb_side *a, *b;
static struct vb_pair p;
static unsigned int rows;

static const struct {
	enum ibv_wr_opcode op;
	const char *name;
	bool takes; /* a receive */
} ops[] = {
	{ IBV_WR_SEND, "SEND", true },
	{ IBV_WR_SEND_WITH_IMM, "SEND_WITH_IMM", true },
	{ IBV_WR_RDMA_WRITE, "RDMA_WRITE", false },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, "RDMA_WRITE_WITH_IMM", true },
	{ IBV_WR_RDMA_READ, "RDMA_READ", false },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, "ATOMIC_CMP_AND_SWP", false },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, "ATOMIC_FETCH_AND_ADD", false },
};

#define N_OPS ((int)(sizeof(ops) / sizeof(ops[0])))

static bool answered(enum ibv_wr_opcode op)
{
	return op == IBV_WR_RDMA_READ || op == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool reliable(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

static bool has_op(enum ibv_qp_type type, enum ibv_wr_opcode op)
{
	if (type == IBV_QPT_RAW_PACKET)
		return op == IBV_WR_SEND;
	if (type == IBV_QPT_UD)
		return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM;
	return reliable(type) || !answered(op);
}

/* A's three requests, rung together. */
static void three(enum ibv_wr_opcode op)
{
	struct vb_wr wr[3];
	int i, bad, ret;

	for (i = 0; i < 3; i++)
		wr[i] = vb_pair_wr(&p, op, (uint64_t)i + 1, 0, answered(op) ? 8 : LEN);
	ret = vb_sends(a, 0, false, wr, 3, &bad);
	if (ret)
		die("posting: %s", strerror(ret));
}

static void begin(enum ibv_qp_type type)
{
	struct vb_spec spec = vb_spec_of(type);
	int i, ret;

	ret = vb_pair_up(&p, a, b, &spec);
	for (i = 0; i < RECVS && !ret; i++)
		ret = vb_recv1(b, p.recv, 101 + (uint64_t)i, b->buf + 65536 + i * 4096, 4096);
	if (ret)
		die("a pair: %s", strerror(ret));
	rows++;
}

static void end(void)
{
	vb_pair_down(&p);
	while (vb_event(a, 0) >= 0 || vb_event(b, 0) >= 0)
		;
	fault_clear();
}

/* What B's receives of wr_id @from on do: of an own queue they are flushed, of an SRQ they stay. */
static bool flushed(int from)
{
	bool good = true;
	int i;

	if (p.rcq == VB_SRQ_CQ)
		return true;
	for (i = from; i <= 100 + RECVS; i++)
		good = good && vb_status(b, p.rq, p.rcq, (uint64_t)i, IBV_WC_WR_FLUSH_ERR);
	return good;
}

/* The second request ends with @status, those after it are flushed. */
static bool ends(enum ibv_wc_status status)
{
	return vb_status(a, 0, VB_SCQ, 1, IBV_WC_SUCCESS) && vb_status(a, 0, VB_SCQ, 2, status) &&
	       vb_status(a, 0, VB_SCQ, 3, IBV_WC_WR_FLUSH_ERR);
}

static const struct own {
	enum ibv_wc_status status;
	const char *name;
	bool all; /* types; else only reliable ones */
} owns[] = {
	{ IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR", true },
	{ IBV_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR", true },
	{ IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR", true },
	{ IBV_WC_GENERAL_ERR, "GENERAL_ERR", true },
	{ IBV_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR", false },
	{ IBV_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR", false },
	{ IBV_WC_REM_ABORT_ERR, "REM_ABORT_ERR", false },
	{ IBV_WC_RESP_TIMEOUT_ERR, "RESP_TIMEOUT_ERR", false },
	{ IBV_WC_FATAL_ERR, "FATAL_ERR", false },
};

/* Nothing of it is sent: B has the first message, and goes on. */
static void test_own(enum ibv_qp_type type, int k, const struct own *o)
{
	enum ibv_qp_state state = reliable(type) ? IBV_QPS_ERR : IBV_QPS_SQE;

	begin(type);
	fault_add("wc status=%s opcode=%s type=%s wr_id=2", o->name, ops[k].name,
		  vb_type_str(type));
	three(ops[k].op);
	ok(ends(o->status) && vb_state(a, 0) == (int)state, "%s %s: %s, A is in %s",
	   vb_type_str(type), ops[k].name, o->name, reliable(type) ? "ERR" : "SQE");
	if (o->status == IBV_WC_FATAL_ERR)
		ok(vb_event(a, VB_WAIT) == IBV_EVENT_QP_FATAL, "A: QP_FATAL");
	ok((!ops[k].takes || vb_status(b, p.rq, p.rcq, 101, IBV_WC_SUCCESS)) &&
		   vb_nothing(b, p.rq, p.rcq) && vb_event(b, 0) < 0 &&
		   (type == IBV_QPT_XRC_SEND || vb_state(b, 1) == IBV_QPS_RTS),
	   "B has the first one, and knows of nothing");
	end();
}

/* What B finds: it is in ERR, too, with its event. */
static void test_remote(enum ibv_qp_type type, int k, enum ibv_wc_status status, const char *name,
			enum ibv_event_type event)
{
	begin(type);
	fault_add("wc status=%s opcode=%s type=%s wr_id=2", name, ops[k].name, vb_type_str(type));
	three(ops[k].op);
	ok(ends(status) && vb_state(a, 0) == IBV_QPS_ERR, "%s %s: %s", vb_type_str(type),
	   ops[k].name, name);
	ok(vb_event(b, VB_WAIT) == (int)event && vb_state(b, 1) == IBV_QPS_ERR, "B: %s, and ERR",
	   ibv_event_type_str(event));
	ok((!ops[k].takes || vb_status(b, p.rq, p.rcq, 101, IBV_WC_SUCCESS)) &&
		   flushed(ops[k].takes ? 102 : 101),
	   "B's receives");
	end();
}

static void test_bad_resp(enum ibv_qp_type type, int k)
{
	begin(type);
	fault_add("wc status=%s opcode=%s type=%s wr_id=2", "BAD_RESP_ERR", ops[k].name,
		  vb_type_str(type));
	three(ops[k].op);
	ok(ends(IBV_WC_BAD_RESP_ERR) && vb_state(a, 0) == IBV_QPS_ERR && vb_event(b, 0) < 0,
	   "%s %s: BAD_RESP_ERR, B knows of nothing", vb_type_str(type), ops[k].name);
	end();
}

/* B's second receive: of reliable queue pairs A is told. */
static void test_recv(enum ibv_qp_type type, int k, enum ibv_wc_status status, const char *name,
		      enum ibv_wc_status told)
{
	const char *there = type == IBV_QPT_XRC_SEND ? "XRC_RECV" : vb_type_str(type);
	bool hears = reliable(type);

	begin(type);
	fault_add("wc status=%s opcode=%s type=%s wr_id=102", name, "RECV", there);
	three(ops[k].op);
	ok(vb_status(a, 0, VB_SCQ, 1, IBV_WC_SUCCESS) &&
		   vb_status(a, 0, VB_SCQ, 2, hears ? told : IBV_WC_SUCCESS) &&
		   vb_status(a, 0, VB_SCQ, 3, hears ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS) &&
		   vb_state(a, 0) == (hears ? IBV_QPS_ERR : IBV_QPS_RTS),
	   "%s, receive of a %s: %s: what A is told", vb_type_str(type), ops[k].name, name);
	ok(vb_status(b, p.rq, p.rcq, 101, IBV_WC_SUCCESS) &&
		   vb_status(b, p.rq, p.rcq, 102, status) && flushed(103) &&
		   vb_state(b, 1) == IBV_QPS_ERR,
	   "B's receives, and ERR");
	end();
}

/* A shared queue: what else is in it stays. */
static void test_shared(enum ibv_wc_status status, const char *name, enum ibv_wc_status told)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC), there = spec;
	int i, ret;

	there.srq = 1;
	p = (struct vb_pair){ .a = a, .b = b, .type = IBV_QPT_RC, .rq = 1, .rcq = VB_RCQ };
	ret = vb_srq(b, 0, 16, 1, false);
	ret = ret ? ret : vb_link(a, 0, &spec, b, 1, &there);
	for (i = 0; i < RECVS && !ret; i++)
		ret = vb_recv1(b, -1, 101 + (uint64_t)i, b->buf + 65536 + i * 4096, 4096);
	if (ret)
		die("a pair with an SRQ: %s", strerror(ret));
	rows++;
	fault_add("wc status=%s opcode=RECV type=RC wr_id=102", name);
	three(IBV_WR_SEND);
	ok(vb_status(a, 0, VB_SCQ, 1, IBV_WC_SUCCESS) && vb_status(a, 0, VB_SCQ, 2, told) &&
		   vb_status(a, 0, VB_SCQ, 3, IBV_WC_WR_FLUSH_ERR),
	   "RC, receive of an SRQ: %s: what A is told", name);
	ok(vb_status(b, 1, VB_RCQ, 101, IBV_WC_SUCCESS) && vb_status(b, 1, VB_RCQ, 102, status) &&
		   vb_state(b, 1) == IBV_QPS_ERR &&
		   vb_event(b, VB_WAIT) == IBV_EVENT_QP_LAST_WQE_REACHED &&
		   vb_nothing(b, 1, VB_RCQ),
	   "the SRQ keeps the rest");
	ret = vb_destroy(a, 0);
	ret = ret ? ret : vb_destroy(b, 1);
	ret = ret ? ret : vb_srq_destroy(b, 0);
	if (ret)
		die("a pair with an SRQ: %s", strerror(ret));
	fault_clear();
}

static void test_op(enum ibv_qp_type type, int k)
{
	enum ibv_wr_opcode op = ops[k].op;
	size_t i;

	for (i = 0; i < sizeof(owns) / sizeof(owns[0]); i++)
		if ((owns[i].all || reliable(type)) &&
		    (owns[i].status != IBV_WC_RNR_RETRY_EXC_ERR || op != IBV_WR_RDMA_WRITE))
			test_own(type, k, &owns[i]);
	/* No packet of RoCE v2 tells another host's responder of a rule. */
	if (reliable(type) && !rc_by_wire()) {
		test_remote(type, k, IBV_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR",
			    IBV_EVENT_QP_REQ_ERR);
		test_remote(type, k, IBV_WC_REM_OP_ERR, "REM_OP_ERR", IBV_EVENT_QP_FATAL);
		if (op != IBV_WR_SEND && op != IBV_WR_SEND_WITH_IMM)
			test_remote(type, k, IBV_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR",
				    IBV_EVENT_QP_ACCESS_ERR);
	}
	if (reliable(type) && answered(op))
		test_bad_resp(type, k);
	/* Another fabric's receives are that fabric's rules' business. */
	if (!ops[k].takes || type == IBV_QPT_RAW_PACKET || peer_far())
		return;
	test_recv(type, k, IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR", IBV_WC_REM_INV_REQ_ERR);
	test_recv(type, k, IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR", IBV_WC_REM_OP_ERR);
}

int main(int argc, char **argv)
{
	int t, k;

	vb_open_two(argc, argv, &a, &b);
	for (t = 0; t < VB_TYPES; t++)
		for (k = 0; k < N_OPS; k++)
			if (has_op(vb_types[t], ops[k].op) && vb_crosses(vb_types[t]))
				test_op(vb_types[t], k);
	if (!peer_far()) {
		test_shared(IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR", IBV_WC_REM_INV_REQ_ERR);
		test_shared(IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR", IBV_WC_REM_OP_ERR);
	}
	printf("# %u rows\n", rows);
	vb_close_two(a, b);
	return tap_failed != 0;
}
