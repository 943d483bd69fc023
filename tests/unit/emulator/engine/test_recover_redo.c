/* SPDX-License-Identifier: MIT */
/* Steps that a token holder did not finish when it died, and doorbells that are lost. */
#include "emulator/doorbell.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include <pthread.h>
#include <setjmp.h>

#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp a, b;

/* Completions of @cq raise events on the channel after the async one. */
static void arm(const struct emu_cq *cq)
{
	struct cq_ctl *ctl = (void *)((u8 *)m->c[cq->client].seg + cq->ring);

	m->hca->cq[cq->index].chan = 2;
	ctl->armed = CQ_ARM_ANY;
}

static jmp_buf survivor;

/* Client 0 does no more. */
static void die(void *ctx, u32 client, u32 chan)
{
	(void)ctx;
	(void)client;
	(void)chan;
	longjmp(survivor, 1);
}

/* The event is in the ring, its reader not yet woken: a third party must see to it. */
static void test_event(void)
{
	struct engine_ops dying;
	struct cqe c;

	m = emu_new(1);
	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
	arm(&b.rcq);
	emu_recv(m, &b, 1, m->c[1].mem, 64);
	emu_post(m, &a, WR_SEND, 1, m->c[0].mem, 64);
	dying = *m->c[0].e.ops;
	dying.notify = die;
	m->c[0].e.ops = &dying;
	if (!setjmp(survivor)) {
		emu_ring(m, &a);
		CU_FAIL("client 0 woke nobody");
	}
	m->c[0].e.ops = m->fabric.ops;
	CU_ASSERT_EQUAL(m->c[1].notified, 0);
	CU_ASSERT_TRUE(engine_steal(&m->fabric, m->c[0].e.token));
	engine_leave(&m->fabric);
	CU_ASSERT_EQUAL(m->c[1].notified, 1);
	CU_ASSERT_EQUAL(m->c[1].seg->chan[1].prod, 1);
	CU_ASSERT_TRUE(emu_poll(m, &b.rcq, &c, m->c[1].mem));
	emu_free(m);
}

/* The result is noted, the step not committed: the request comes again, as a new one. */
static void test_atomic(void)
{
	struct resp_state before;
	struct sq_wqe *w;
	struct hca_qp *qp;
	struct cqe c;
	u64 *word;

	m = emu_new(1);
	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
	qp = &m->hca->qp[b.slot];
	word = (void *)m->c[1].mem;
	for (u32 i = 0; i < 40; i++) {
		struct req_state sent = m->hca->qp[a.slot].req;

		before = qp->resp;
		w = emu_post(m, &a, WR_ATOMIC_FETCH_AND_ADD, i, m->c[0].mem, 8);
		emu_remote(m, w, 1, word);
		w->compare_add = 1;
		emu_ring(m, &a);
		qp->resp = before;
		m->hca->qp[a.slot].req = sent;
		emu_ring(m, &a);
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		CU_ASSERT_EQUAL(c.wr_id, i);
		CU_ASSERT_EQUAL(*(u64 *)(void *)m->c[0].mem, i);
		CU_ASSERT_EQUAL(*word, i + 1);
	}
	emu_free(m);
}

/*
 * The program resets its queue pair instead of waiting, but the peer's stays as it is. The next
 * atomic has the ordinal and the PSN of the one that a dead holder executed, and is a new one.
 */
static void test_atomic_of_next_connection(void)
{
	struct resp_state before;
	struct hca_qp *qp;
	struct sq_wqe *w;
	struct cqe c;
	u64 *word;
	u32 i;

	m = emu_new(1);
	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
	qp = &m->hca->qp[b.slot];
	before = qp->resp;
	word = (void *)m->c[1].mem;
	for (i = 0; i < 2; i++) {
		w = emu_post(m, &a, WR_ATOMIC_FETCH_AND_ADD, i, m->c[0].mem, 8);
		emu_remote(m, w, 1, word);
		w->compare_add = 1;
		emu_ring(m, &a);
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		CU_ASSERT_EQUAL(*(u64 *)(void *)m->c[0].mem, i);
		CU_ASSERT_EQUAL(*word, i + 1);
		qp->resp = before;
		emu_reconnect(m, &a, &b, before.epsn, &emu_conn_defaults);
	}
	emu_free(m);
}

static bool stop;

static void *reaper(void *arg)
{
	(void)arg;
	while (!load_relaxed(&stop))
		engine_reap(&m->fabric, 5);
	return NULL;
}

/* Doorbells are rung without the token: clearing a client away must not lose a neighbour's. */
static void test_reap_and_ring(void)
{
	u32 i, lost = 0;
	pthread_t t;

	m = emu_new(1);
	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
	stop = false;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, reaper, NULL), 0);
	for (i = 0; i < 300000; i++) {
		engine_ring(&m->c[0].e, 0, a.slot);
		lost += !(load_relaxed(&m->hca->pending_clients[0]) & 1);
		fetch_and(&m->hca->pending_clients[0], ~1ULL);
	}
	store_relaxed(&stop, true);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(lost, 0);
	emu_free(m);
}

/* Responses arrive in part, and requests get lost: a repeated READ request has the same bounds. */
static void test_read_portions(void)
{
	struct emu_conn o = emu_conn_defaults;
	const u32 len = 5 << 20;
	struct sq_wqe *w;
	struct cqe c;

	o.mtu = 5;
	o.timeout = 12;
	for (u64 s = 0; s < 20; s++) {
		m = emu_new(s);
		emu_connect(m, 0, 1, &o, &a, &b);
		emu_wire(m, &(struct emu_faults){ .loss = 20, .split = 1000, .delay = 2000 });
		w = emu_post(m, &a, WR_RDMA_READ, s, m->c[0].mem, len);
		emu_remote(m, w, 1, m->c[1].mem);
		emu_fill(m->c[1].mem, len, s);
		emu_ring(m, &a);
		emu_run(m, m->clock + 3600 * SEC);
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
		CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
		CU_ASSERT_TRUE(emu_filled(m->c[0].mem, len, s));
		emu_free(m);
	}
}

/* A change of attributes in SQD is not another drain. */
static void test_drained_once(void)
{
	struct hca_qp_attr attr = { .state = QPS_SQD, .en_sqd_async_notify = 1, .retry_cnt = 3 };
	int n = 0;

	m = emu_new(1);
	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &attr, QPA_STATE | QPA_EN_SQD_ASYNC_NOTIFY), 0);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &attr, QPA_STATE | QPA_RETRY_CNT), 0);
	while (emu_event(m, 0) == EV_SQ_DRAINED)
		n++;
	CU_ASSERT_EQUAL(n, 1);
	emu_free(m);
}

/* That it is drained is told to who asked for it, each time. */
static void test_drained_asked(void)
{
	struct hca_qp_attr sqd = { .state = QPS_SQD, .en_sqd_async_notify = 1 };
	struct hca_qp_attr rts = { .state = QPS_RTS };

	m = emu_new(1);
	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &sqd, QPA_STATE | QPA_EN_SQD_ASYNC_NOTIFY), 0);
	CU_ASSERT_EQUAL(emu_event(m, 0), EV_SQ_DRAINED);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &rts, QPA_STATE), 0);
	CU_ASSERT_EQUAL(emu_modify(m, &a, &sqd, QPA_STATE), 0);
	CU_ASSERT_EQUAL(emu_event(m, 0), -1);
	emu_free(m);
}

/* Requests that are posted in SQD are not even validated. */
static void test_sqd_begins_nothing(void)
{
	struct hca_qp_attr sqd = { .state = QPS_SQD }, rts = { .state = QPS_RTS };
	struct sq_wqe *w;
	struct cqe c;

	for (u32 bad = 0; bad < 2; bad++) {
		m = emu_new(1);
		emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
		CU_ASSERT_EQUAL(emu_modify(m, &a, &sqd, QPA_STATE), 0);
		for (u32 i = 0; i < 3; i++) {
			w = emu_post(m, &a, WR_RDMA_WRITE, i, m->c[0].mem, 100);
			emu_remote(m, w, 1, m->c[1].mem);
			if (bad)
				w->sge[0].lkey = 0x777;
			emu_ring(m, &a);
		}
		CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
		CU_ASSERT_EQUAL(emu_state(m, &a), QPS_SQD);
		CU_ASSERT_EQUAL(emu_modify(m, &a, &rts, QPA_STATE), 0);
		CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
		CU_ASSERT_EQUAL(c.status, bad ? WCS_LOC_PROT_ERR : WCS_SUCCESS);
		emu_free(m);
	}
}

/* Path MTUs that differ: nothing is lost silently. */
static void test_mtus(void)
{
	static const u32 ops[] = { WR_RDMA_READ, WR_RDMA_WRITE };

	for (u32 i = 0; i < ARRAY_SIZE(ops); i++) {
		struct sq_wqe *w;
		struct cqe c;

		m = emu_new(1);
		emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
		m->hca->qp[b.slot].mtu = 256;
		for (u32 len = 256; len < 258; len++) {
			w = emu_post(m, &a, ops[i], len, m->c[0].mem, len);
			emu_remote(m, w, 1, m->c[1].mem);
			emu_ring(m, &a);
			CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
			CU_ASSERT_EQUAL(c.status, len > 256 ? WCS_REM_INV_REQ_ERR : WCS_SUCCESS);
		}
		CU_ASSERT_EQUAL(emu_state(m, &b), QPS_ERR);
		CU_ASSERT_EQUAL(emu_event(m, 1), EV_QP_REQ_ERR);
		emu_free(m);
	}
}

static const struct cu_test tests[] = {
	{ "an event that a dead holder was sending arrives", test_event },
	{ "an atomic that a dead holder executed is not executed again", test_atomic },
	{ "but one of the next connection is", test_atomic_of_next_connection },
	{ "a doorbell rung while a neighbour is cleared away is not lost", test_reap_and_ring },
	{ "a READ is repeated in the same portions", test_read_portions },
	{ "a queue that stays in SQD drains once", test_drained_once },
	{ "SQ_DRAINED is raised if the modify requested it", test_drained_asked },
	{ "in SQD nothing is begun, nothing refused", test_sqd_begins_nothing },
	{ "path MTUs that differ are refused", test_mtus },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("repair", tests);
}
