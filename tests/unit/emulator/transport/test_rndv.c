/* SPDX-License-Identifier: MIT */
/* Tag matching on the engine alone: rendezvous, failures, bad wires. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_tm.h"

#include "emulator/audit/audit.h"
#include "emulator/doorbell.h"

static void test_rndv(void)
{
	static const u32 sizes[] = { 0, 1, 1024, 5000, 3u << 20 };

	up();
	/* Nothing is ever sent from there, says its owner. */
	m->hca->qp[b.slot].sq_depth = 0;
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		fin_recvs(1);
		CU_ASSERT_EQUAL(add(50 + i, 200, sizes[i]), 0);
		say(&a, RNDV, 50 + i, i, sizes[i]);
		emu_ring(m, &a);
		emu_run(m, m->clock + SEC); /* more than one holding may do */
		CU_ASSERT_TRUE(sent(&a, i, WCS_SUCCESS));
		CU_ASSERT_TRUE(rndv_came(200, 50 + i, sizes[i], i));
		CU_ASSERT_TRUE(fin_came(0, 50 + i, i));
	}
	CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
	CU_ASSERT_EQUAL(m->hca->qp[b.slot].rndv, 0);
	emu_free(m);
}

/* Several at once, among work of the program's own in both directions. */
static void test_rndv_mixed(void)
{
	struct cqe c;

	up();
	recvs(2);
	for (u32 i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(add(i, i, SLOT), 0);
	for (u32 i = 0; i < 8; i++) {
		emu_recv(m, &a, i, buf_at(0, 1000), SLOT);
		emu_post(m, &b, WR_SEND, 300 + i, buf_at(1, 300), 5000);
		emu_recv(m, &a, i, buf_at(0, 1000), SLOT);
	}
	emu_publish(m, &b);
	for (u32 i = 0; i < 8; i++)
		say(&a, i % 2 ? EAGER : RNDV, i, i, 4000);
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	for (u32 i = 0; i < 8; i++)
		CU_ASSERT_TRUE(sent(&a, i, WCS_SUCCESS));
	for (u32 i = 0; i < 8; i++)
		CU_ASSERT_TRUE(sent(&b, 300 + i, WCS_SUCCESS));
	for (u32 i = 0; i < 16; i++)
		CU_ASSERT_TRUE(emu_poll(m, &a.rcq, &c, NULL) || i >= 12);
	for (u32 i = 0; emu_poll(m, &b.rcq, &c, NULL); i++)
		CU_ASSERT_TRUE(!c.status && i < 12);
	for (u32 i = 0; i < 8; i++)
		CU_ASSERT_TRUE(emu_filled(buf_at(1, i), 4000, i));
	CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
	emu_free(m);
}

static void bad_rkey(void)
{
	say(&a, RNDV, 1, 0, 4000);
	((struct header *)(void *)buf_at(0, 0))->rkey = 1;
	emu_ring(m, &a);
}

static void no_reads(void)
{
	m->hca->qp[b.slot].attr.max_rd_atomic = 0;
	say(&a, RNDV, 1, 0, 4000);
	emu_ring(m, &a);
}

static void local_memory(void)
{
	m->hca->tag[m->hca->srq[b.srq_index].tags - 1].sge.lkey = 1;
	say(&a, EAGER, 1, 0, 4000);
	emu_ring(m, &a);
}

static void too_long(void)
{
	say(&a, EAGER, 1, 0, SLOT + 1);
	emu_ring(m, &a);
}

static void rndv_too_long(void)
{
	say(&a, RNDV, 1, 0, SLOT + 1);
	emu_ring(m, &a);
}

static void test_failures(void)
{
	static const struct {
		void (*cause)(void);
		u32 a_status, b_status;
		bool match;
	} row[] = {
		{ bad_rkey, WCS_SUCCESS, WCS_TM_RNDV_INCOMPLETE, true },
		{ no_reads, WCS_SUCCESS, WCS_TM_RNDV_INCOMPLETE, true },
		{ local_memory, WCS_REM_OP_ERR, WCS_LOC_PROT_ERR, false },
		{ too_long, WCS_REM_INV_REQ_ERR, WCS_LOC_LEN_ERR, false },
		{ rndv_too_long, WCS_REM_INV_REQ_ERR, WCS_LOC_LEN_ERR, false },
	};
	struct cqe c;

	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		up();
		recvs(1);
		CU_ASSERT_EQUAL(add(1, 0, SLOT), 0);
		row[i].cause();
		emu_run(m, m->clock + 100 * SEC);
		CU_ASSERT_TRUE(sent(&a, 0, row[i].a_status));
		CU_ASSERT_TRUE(!row[i].match || is(0, WCO_TM_RECV, WCF_TM_MATCH, 1, &c));
		CU_ASSERT_TRUE(fails(0, row[i].b_status));
		CU_ASSERT_TRUE(nothing());
		CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
		CU_ASSERT_EQUAL(emu_event(m, 1), EV_QP_LAST_WQE_REACHED);
		emu_free(m);
	}
}

/* Completions that find no room take the QP down, and the tag goes all the same. */
static void test_overrun(void)
{
	static const struct {
		u32 kind, before, ends;
		bool ignore;
	} row[] = {
		{ EAGER, 0, QPS_ERR, false }, { EAGER, 0, QPS_RTS, true },
		{ RNDV, 0, QPS_ERR, false },  { RNDV, 0, QPS_RTS, true },
		{ RNDV, 1, QPS_ERR, false },  { RNDV, 1, QPS_RTS, true },
	};
	struct hca_cq *cq;
	struct cqe c;

	for (u32 i = 0; i < ARRAY_SIZE(row); i++) {
		up();
		fin_recvs(1);
		cq = &m->hca->cq[b.rcq.index];
		cq->ignore_overrun = row[i].ignore;
		CU_ASSERT_EQUAL(add(1, 0, SLOT), 0);
		say(&a, row[i].kind, 1, 0, 4000);
		if (row[i].before) {
			m->hca->qp[b.slot].state = QPS_RTR; /* it may not send yet */
			emu_ring(m, &a);
			m->hca->qp[b.slot].state = QPS_RTS;
			CU_ASSERT_TRUE(is(0, WCO_TM_RECV, WCF_TM_MATCH, 1, &c));
		}
		cq->overrun = 1;
		emu_ring(m, &a);
		engine_ring(&m->c[1].e, 1, b.slot);
		emu_run(m, m->clock + SEC);
		CU_ASSERT_TRUE(sent(&a, 0, WCS_SUCCESS));
		CU_ASSERT_TRUE(nothing());
		CU_ASSERT_EQUAL(emu_state(m, &b), row[i].ends);
		CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
		CU_ASSERT_TRUE(!row[i].before || emu_event(m, 1) == EV_COMM_EST);
		CU_ASSERT_TRUE(row[i].ignore || emu_event(m, 1) == EV_QP_FATAL);
		emu_free(m);
	}
}

/* Messages that are none: too short for their header, or of an unknown kind. */
static void test_malformed(void)
{
	static const u32 len[] = { 0, 15, 31, 65, 16 };
	u8 *src;

	for (u32 i = 0; i < ARRAY_SIZE(len); i++) {
		up();
		recvs(1);
		CU_ASSERT_EQUAL(add(0, 0, SLOT), 0);
		src = buf_at(0, 0);
		memset(src, 0, 100);
		src[0] = len[i] == 16 ? 4 : RNDV;
		emu_post(m, &a, WR_SEND, 0, src, len[i]);
		emu_ring(m, &a);
		CU_ASSERT_TRUE(sent(&a, 0, WCS_REM_INV_REQ_ERR));
		CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
		CU_ASSERT_EQUAL(emu_event(m, 1), EV_QP_REQ_ERR);
		CU_ASSERT_TRUE(nothing());
		emu_free(m);
	}
}

/* The sender is gone before its data were read; the last word cannot be said to it either. */
static void test_peer_gone(void)
{
	struct cqe c;

	up();
	CU_ASSERT_EQUAL(add(1, 0, SLOT), 0);
	CU_ASSERT_EQUAL(add(2, 1, SLOT), 0);
	m->hca->qp[b.slot].state = QPS_RTR; /* it may not send yet */
	say(&a, RNDV, 1, 0, 4000);
	say(&a, RNDV, 2, 1, 4000);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(is(0, WCO_TM_RECV, WCF_TM_MATCH, 1, &c));
	CU_ASSERT_TRUE(is(1, WCO_TM_RECV, WCF_TM_MATCH, 2, &c));
	CU_ASSERT_TRUE(nothing());
	emu_destroy(m, &a);
	m->hca->qp[b.slot].state = QPS_RTS;
	engine_ring(&m->c[1].e, 1, b.slot);
	emu_run(m, m->clock + 100 * SEC);
	CU_ASSERT_TRUE(fails(0, WCS_TM_RNDV_INCOMPLETE));
	CU_ASSERT_TRUE(fails(1, WCS_TM_RNDV_INCOMPLETE));
	CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
	emu_free(m);
	up();
	CU_ASSERT_EQUAL(add(1, 0, SLOT), 0);
	m->hca->qp[b.slot].attr.rnr_retry = m->hca->qp[b.slot].req.rnr_retry = 1;
	say(&a, RNDV, 1, 0, 4000);
	emu_ring(m, &a); /* it has no receive for the FIN */
	emu_run(m, m->clock + 100 * SEC);
	CU_ASSERT_TRUE(rndv_came(0, 1, 4000, 0));
	CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
	CU_ASSERT_EQUAL(emu_event(m, 1), EV_QP_FATAL);
	emu_free(m);
}

/* Memory that cannot be reached at once, at each copy in turn. */
static void test_again(void)
{
	for (u32 kind = RNDV; kind <= EAGER; kind += EAGER - RNDV)
		for (u32 i = 0; i < 4; i++) {
			up();
			fin_recvs(1);
			CU_ASSERT_EQUAL(add(1, 0, SLOT), 0);
			say(&a, kind, 1, 0, 4000);
			m->copy_skip = i;
			m->copy_error = -EAGAIN;
			emu_ring(m, &a);
			emu_run(m, m->clock + SEC);
			CU_ASSERT_TRUE(sent(&a, 0, WCS_SUCCESS));
			CU_ASSERT_TRUE(kind == EAGER
					       ? eager_came(0, 1, 4000, 0)
					       : rndv_came(0, 1, 4000, 0) && fin_came(0, 1, 0));
			CU_ASSERT_TRUE(nothing());
			emu_free(m);
		}
}

#define ROUNDS 300
#define CONNS  3

/*
 * Three connections to one SRQ over a wire that loses, doubles and reorders: each message finds the
 * tag that was posted for it, or, unexpected, a receive; once, and with its data.
 */
static void test_wire(void)
{
	static const struct emu_faults bad = {
		.loss = 30, .dup = 20, .split = 500, .late = 100, .delay = 2000, .jitter = 50000
	};
	struct emu_qp from[CONNS], to[CONNS];
	u32 unexpected = 0, fins = 0, seen[3] = { 0 }, want[3] = { 0 };
	struct cqe c;

	up();
	from[0] = a;
	to[0] = b;
	tagged.share = &b;
	for (u32 i = 1; i < CONNS; i++) {
		from[i] = emu_qp_new(m, 0, &plain, 4);
		to[i] = emu_qp_new(m, 1, &tagged, 4);
		emu_pair(m, &from[i], &to[i], &plain);
	}
	emu_wire(m, &bad);
	for (u32 r = 0; r < ROUNDS; r++) {
		u32 kinds[CONNS], len[CONNS];

		for (u32 i = 0; i < CONNS; i++) {
			u32 k = (u32)(emu_rnd(&m->seed) % 3), tag = r * CONNS + i;

			kinds[i] = k;
			len[i] = (u32)(emu_rnd(&m->seed) % 5000);
			want[k]++;
			recvs(k == 2);
			CU_ASSERT_TRUE(k == 2 || !op(ADD, COUNTED, tag, i, SLOT, unexpected, NULL));
			if (!k)
				emu_recv(m, &from[i], i, buf_at(0, 1000), 64);
			say(&from[i], k == 0 ? RNDV : EAGER, tag, i, len[i]);
			emu_publish(m, &from[i]);
		}
		CU_ASSERT_TRUE(emu_run(m, m->clock + 1000 * SEC));
		while (emu_poll(m, &b.rcq, &c, NULL)) {
			CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
			unexpected += !c.wc_flags;
			if (c.wc_flags != WCF_TM_MATCH)
				seen[!c.wc_flags ? 2 : c.wc_flags & WCF_TM_MATCH ? 1 : 0]++;
		}
		for (u32 i = 0; i < CONNS; i++) {
			CU_ASSERT_TRUE(sent(&from[i], i, WCS_SUCCESS));
			CU_ASSERT_TRUE(kinds[i] == 2 || emu_filled(buf_at(1, i), len[i], i));
			while (emu_poll(m, &from[i].rcq, &c, NULL))
				fins++;
		}
	}
	for (u32 k = 0; k < 3; k++)
		CU_ASSERT_EQUAL(seen[k], want[k]);
	CU_ASSERT_EQUAL(fins, want[0]);
	CU_ASSERT_EQUAL(m->hca->tab[TAB_TAG].n, 0);
	CU_ASSERT_TRUE(m->lost && m->dups);
	emu_free(m);
}

/* Whatever a tag-matching QP is in the middle of, the audit knows it. */
static void test_audit(void)
{
	const struct emu_faults slow = { .split = 1000, .delay = 10000, .jitter = 1 };
	char why[200];
	bool clean = true;

	up();
	emu_wire(m, &slow);
	fin_recvs(1);
	recvs(1);
	CU_ASSERT_EQUAL(add(1, 0, SLOT), 0);
	say(&a, RNDV, 1, 0, 3000);
	say(&a, NO_TAG, 0, 1, 3000);
	emu_publish(m, &a);
	for (u32 i = 0; i < 1000 && clean; i++) {
		emu_run(m, m->clock + 1000);
		clean = !hca_audit(m->hca, why, sizeof(why));
	}
	if (!clean)
		printf("# %s\n", why);
	CU_ASSERT_TRUE(clean);
	CU_ASSERT_TRUE(emu_filled(buf_at(1, 0), 3000, 0));
	CU_ASSERT_TRUE(emu_modify(m, &b, &(struct hca_qp_attr){ .state = QPS_ERR }, QPA_STATE) ==
		       0);
	CU_ASSERT_EQUAL(hca_audit(m->hca, why, sizeof(why)), 0);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "read without a send queue", test_rndv },
	{ "among other work", test_rndv_mixed },
	{ "what goes wrong", test_failures },
	{ "a full completion queue", test_overrun },
	{ "malformed messages", test_malformed },
	{ "the sender has gone", test_peer_gone },
	{ "memory out of reach for a while", test_again },
	{ "several QPs on a bad wire", test_wire },
	{ "in the middle of things an audit finds nothing wrong", test_audit },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("rndv", tests);
}
