/* SPDX-License-Identifier: MIT */
/*
 * A receive that is posted after a SEND has run out of RNR retries is too late, and stays posted,
 * also where the sender sees that only later; one that comes in time is not.
 *	app_qp_late_receive
 */
#include "tests/lib/c/vb.h"

#include <poll.h>

#define SEND 7
#define RECV 8

static struct vb_side *s;

/* Arm the send CQ of QP 0. */
static int arm(void)
{
	return ibv_req_notify_cq(s->qp[0].scq, 0);
}

/* Wait until the send CQ has an entry, without taking it or its event. */
static bool has_failed_unseen(void)
{
	struct pollfd pfd = { .fd = s->chan->fd, .events = POLLIN };

	return poll(&pfd, 1, VB_WAIT) == 1;
}

static bool take_event(void)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(s->chan, &cq, &context) || cq != s->qp[0].scq)
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void connect_both(const struct vb_spec *spec)
{
	if (vb_create(s, 0, spec) || vb_create(s, 1, spec) || vb_connect(s, 0, s, 1, spec) ||
	    vb_connect(s, 1, s, 0, spec))
		die("QPs do not connect");
}

/* @ops: 0: the SEND is posted with ibv_post_send(); else these of ibv_wr_*() */
static void test_late(uint64_t ops, const char *how)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct vb_wr wr[2] = { vb_wr(IBV_WR_SEND, SEND, s, s->buf, 64) };

	wr[1] = wr[0];
	wr[1].wr_id = SEND + 1;
	spec.chan = true;
	spec.ops = ops;
	spec.rnr_retry = 2;
	spec.min_rnr = 20; /* 10.24 ms */
	connect_both(&spec);
	ok(!arm() && !vb_sends(s, 0, ops != 0, wr, 2, NULL), "%s: two SENDs are posted", how);
	ok(has_failed_unseen(), "%s: one completes", how);
	ok(!vb_recv1(s, 1, RECV, s->buf + 4096, 64), "%s: a receive is posted", how);
	ok(take_event() && vb_status(s, 0, VB_SCQ, SEND, IBV_WC_RNR_RETRY_EXC_ERR),
	   "%s: the first has run out of RNR retries", how);
	ok(vb_status(s, 0, VB_SCQ, SEND + 1, IBV_WC_WR_FLUSH_ERR), "%s: the other is flushed", how);
	ok(vb_nothing(s, 1, VB_RCQ), "%s: the receive is still posted", how);
	vb_destroy(s, 0);
	vb_destroy(s, 1);
}

/* Post two SENDs and one receive. Return: whether that came in time for the first. */
static bool one_of_two(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct vb_wr wr = vb_wr(IBV_WR_SEND, SEND, s, s->buf, 64), next = wr;
	struct ibv_wc wc;
	bool good;

	next.wr_id = SEND + 1;
	spec.rnr_retry = 6;
	spec.min_rnr = 25; /* 61.44 ms */
	connect_both(&spec);
	good = !vb_send(s, 0, false, &wr) && !vb_send(s, 0, false, &next) &&
	       !vb_recv1(s, 1, RECV, s->buf + 4096, 64) && vb_poll(s, 0, VB_SCQ, VB_WAIT, &wc) &&
	       wc.status == IBV_WC_SUCCESS &&
	       vb_status(s, 0, VB_SCQ, SEND + 1, IBV_WC_RNR_RETRY_EXC_ERR) &&
	       !vb_recv1(s, 1, RECV + 1, s->buf + 4096, 64);
	vb_destroy(s, 0);
	vb_destroy(s, 1);
	return good;
}

static void test_one_of_two(void)
{
	int tries = 0;

	while (!one_of_two() && tries < 20)
		tries++;
	ok(tries < 20, "of two SENDs, one gets the receive");
}

int main(void)
{
	s = vb_local();
	vb_open(s);
	test_late(0, "ibv_post_send");
	test_late(IBV_QP_EX_WITH_SEND, "ibv_wr_send");
	test_one_of_two();
	vb_close(s);
	return tap_failed != 0;
}
