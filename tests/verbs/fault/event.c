/* SPDX-License-Identifier: MIT */
/*
 * Events that rules raise, with their effects: states, completions, traffic afterwards.
 *	app_fault_event local|remote
 * Environment: RDMAEMU_BIN, the command that sets rules.
 */
#include "tests/lib/c/fault.h"
#include "tests/lib/c/vb.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct vb_side *a, *b;
static struct vb_pair p;

static void begin(enum ibv_qp_type type)
{
	struct vb_spec spec = vb_spec_of(type);
	int ret = vb_pair_up(&p, a, b, &spec);

	if (ret)
		die("a pair: %s", strerror(ret));
}

static void end(void)
{
	vb_pair_down(&p);
	while (vb_event(a, 0) >= 0 || vb_event(b, 0) >= 0)
		;
	fault_clear();
}

static bool none(struct vb_side *s)
{
	return vb_event(s, 0) < 0;
}

/*
 * The queue pair is lost: what is posted is flushed, what is posted later, too. The peer has no
 * word of it.
 */
static void test_fatal(enum ibv_qp_type type, enum ibv_event_type event, const char *name)
{
	struct vb_wr wr;

	begin(type);
	vb_recv1(b, p.recv, 1, b->buf, 4096);
	fault_add("event %s qp=%u", name, b->addr[1].qpn);
	ok(vb_event(b, VB_WAIT) == (int)event && vb_state(b, 1) == IBV_QPS_ERR, "%s: %s, and ERR",
	   vb_type_str(type), name);
	if (p.rcq != VB_SRQ_CQ) {
		ok(vb_status(b, p.rq, p.rcq, 1, IBV_WC_WR_FLUSH_ERR),
		   "the receive of the failed QP is flushed");
		ok(!vb_recv1(b, p.recv, 2, b->buf, 4096) &&
			   vb_status(b, p.rq, p.rcq, 2, IBV_WC_WR_FLUSH_ERR),
		   "a receive that is posted later is flushed, too");
	}
	ok(none(b) && (a == b || none(a)) && vb_state(a, 0) == IBV_QPS_RTS,
	   "nothing else, and the peer is in RTS");
	if (type == IBV_QPT_UC || type == IBV_QPT_UD) {
		wr = vb_pair_send(&p, 3, 100);
		ok(!vb_send(a, 0, false, &wr) && vb_status(a, 0, VB_SCQ, 3, IBV_WC_SUCCESS),
		   "packets to the failed QP are lost");
	}
	ok(fault_hits() == 1, "one hit");
	end();
}

/* Nothing but the event. */
static void test_told(enum ibv_event_type event, const char *name)
{
	begin(IBV_QPT_RC);
	fault_add("event %s qp=%u", name, b->addr[1].qpn);
	ok(vb_event(b, VB_WAIT) == (int)event && none(b), "%s", name);
	ok(vb_pair_alive(&p) && vb_state(b, 1) == IBV_QPS_RTS, "traffic continues");
	end();
}

/* What cannot come in a state does not. */
static void test_not_now(const char *name)
{
	begin(IBV_QPT_RC);
	fault_add("event %s qp=%u", name, b->addr[1].qpn);
	ok(none(b) && fault_hits() == 0 && vb_pair_alive(&p), "%s: not in RTS", name);
	end();
}

static void test_drained(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

	begin(IBV_QPT_RC);
	ok(!vb_modify(a, 0, &attr, IBV_QP_STATE), "to SQD");
	fault_add("event SQ_DRAINED qp=%u", a->addr[0].qpn);
	ok(vb_event(a, VB_WAIT) == IBV_EVENT_SQ_DRAINED, "SQ_DRAINED");
	end();
}

static int do_cq(struct vb_side *s, void *arg)
{
	*(uint32_t *)arg = s->qp[1].rcq->handle;
	return 0;
}

/* A CQ that takes nothing more: who has a completion for it is lost, as when it has overrun. */
static void test_cq(void)
{
	uint32_t cq;
	struct vb_wr wr;

	begin(IBV_QPT_RC);
	vb_call(b, do_cq, &cq, sizeof(cq));
	vb_recv1(b, p.recv, 1, b->buf + 65536, 4096);
	fault_add("event IBV_EVENT_CQ_ERR cq=%u", cq);
	ok(vb_event(b, VB_WAIT) == IBV_EVENT_CQ_ERR && none(b), "CQ_ERR");
	wr = vb_pair_send(&p, 2, 100);
	vb_send(a, 0, false, &wr);
	ok(vb_event(b, VB_WAIT) == IBV_EVENT_QP_FATAL && vb_state(b, 1) == IBV_QPS_ERR,
	   "the queue pair that completes to it: QP_FATAL, and ERR");
	ok(vb_nothing(b, p.rq, p.rcq), "no completion");
	end();
}

static int do_arm(struct vb_side *s, void *arg)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	*(uint32_t *)arg = s->srq[0]->handle;
	return ibv_modify_srq(s->srq[0], &attr, IBV_SRQ_LIMIT);
}

static void test_srq(void)
{
	uint32_t srq;

	if (vb_srq(b, 0, 16, 1, false))
		die("an SRQ");
	vb_recv1(b, -1, 1, b->buf, 4096);
	vb_recv1(b, -1, 2, b->buf, 4096);
	fault_add("event SRQ_LIMIT_REACHED");
	ok(none(b) && fault_hits() == 0, "SRQ_LIMIT_REACHED: not where no limit is armed");
	ok(!vb_call(b, do_arm, &srq, sizeof(srq)), "ibv_modify_srq");
	fault_add("event SRQ_LIMIT_REACHED srq=%u", srq);
	ok(vb_event(b, VB_WAIT) == IBV_EVENT_SRQ_LIMIT_REACHED && none(b), "SRQ_LIMIT_REACHED");
	fault_add("event IBV_EVENT_SRQ_ERR srq=%u", srq);
	ok(vb_event(b, VB_WAIT) == IBV_EVENT_SRQ_ERR && none(b), "SRQ_ERR");
	ok(!vb_srq_destroy(b, 0), "the failed SRQ can be destroyed");
	fault_clear();
}

/* Work queues, of a side in this process. */
static void test_wq(struct vb_side *s)
{
	struct ibv_cq *cq = ibv_create_cq(s->ctx, 16, NULL, NULL, 0);
	struct ibv_wq_init_attr wa = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = s->pd, .cq = cq
	};
	struct ibv_wq_attr mod = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq *wq = cq ? ibv_create_wq(s->ctx, &wa) : NULL;
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

	if (!wq || ibv_modify_wq(wq, &mod) || ibv_post_wq_recv(wq, &wr, &bad))
		die("a WQ");
	fault_add("event WQ_FATAL pid=%d", (int)getpid());
	ok(vb_event(s, VB_WAIT) == IBV_EVENT_WQ_FATAL && none(s), "WQ_FATAL");
	ok(ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 1 && wc.status == IBV_WC_WR_FLUSH_ERR,
	   "the receive of the failed WQ is flushed");
	ok(!ibv_destroy_wq(wq) && !ibv_destroy_cq(cq), "the failed WQ can be destroyed");
	fault_clear();
}

static int do_pid(struct vb_side *s, void *arg)
{
	(void)s;
	*(int *)arg = getpid();
	return 0;
}

static void test_device(void)
{
	int pid;

	begin(IBV_QPT_RC);
	vb_call(b, do_pid, &pid, sizeof(pid));
	vb_recv1(b, p.recv, 1, b->buf, 4096);
	fault_add("event IBV_EVENT_DEVICE_FATAL pid=%d", pid);
	ok(vb_event(b, VB_WAIT) == IBV_EVENT_DEVICE_FATAL && vb_state(b, 1) == IBV_QPS_ERR &&
		   vb_status(b, p.rq, p.rcq, 1, IBV_WC_WR_FLUSH_ERR),
	   "DEVICE_FATAL: its queue pairs are in ERR");
	ok(pid == getpid() || (none(a) && vb_state(a, 0) == IBV_QPS_RTS), "not those of others");
	end();
}

/* By a packet instead of a time: the sender's queue pair, with its second message. */
static void test_triggered(void)
{
	struct vb_wr wr;
	int i;

	begin(IBV_QPT_RC);
	for (i = 0; i < 3; i++)
		vb_recv1(b, p.recv, 101 + (uint64_t)i, b->buf + 65536, 4096);
	fault_add("event QP_FATAL opcode=SEND_ONLY nth=2");
	wr = vb_pair_send(&p, 1, 100);
	ok(!vb_send(a, 0, false, &wr) && vb_status(a, 0, VB_SCQ, 1, IBV_WC_SUCCESS) &&
		   vb_status(b, p.rq, p.rcq, 101, IBV_WC_SUCCESS) && none(a),
	   "the first message is good");
	wr = vb_pair_send(&p, 2, 100);
	ok(!vb_send(a, 0, false, &wr) && vb_event(a, VB_WAIT) == IBV_EVENT_QP_FATAL &&
		   vb_state(a, 0) == IBV_QPS_ERR,
	   "with the second one its sender has QP_FATAL");
	ok(fault_hits() == 1, "one hit");
	end();
}

int main(int argc, char **argv)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						  IBV_QPT_XRC_SEND };
	size_t i;

	vb_open_two(argc, argv, &a, &b);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		test_fatal(types[i], IBV_EVENT_QP_FATAL, "IBV_EVENT_QP_FATAL");
		test_fatal(types[i], IBV_EVENT_QP_REQ_ERR, "QP_REQ_ERR");
		test_fatal(types[i], IBV_EVENT_QP_ACCESS_ERR, "QP_ACCESS_ERR");
	}
	test_told(IBV_EVENT_COMM_EST, "COMM_EST");
	test_told(IBV_EVENT_PATH_MIG, "PATH_MIG");
	test_told(IBV_EVENT_PATH_MIG_ERR, "PATH_MIG_ERR");
	test_not_now("SQ_DRAINED");
	test_not_now("QP_LAST_WQE_REACHED");
	test_drained();
	test_cq();
	test_srq();
	test_wq(a->fd < 0 ? a : b);
	test_device();
	test_triggered();
	vb_close_two(a, b);
	return tap_failed != 0;
}
