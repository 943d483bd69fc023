/* SPDX-License-Identifier: MIT */
/*
 * CQ moderation as programs see it; tests/unit/emulator/queue/test_cq_moderate.c checks the
 * times.
 *	app_cq_moderation [local|remote]: where the receiver lives
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static struct vb_side *a, *b;
static struct vb_pair p;

struct modify {
	struct ibv_modify_cq_attr attr;
};

static int do_modify(struct vb_side *s, void *arg)
{
	struct modify *m = arg;

	return ibv_modify_cq(s->qp[1].rcq, &m->attr);
}

static int modify(uint32_t mask, uint16_t count, uint16_t period)
{
	struct modify m = { { mask, { count, period } } };

	return vb_call(b, do_modify, &m, sizeof(m));
}

static int do_arm(struct vb_side *s, void *arg)
{
	return ibv_req_notify_cq(s->qp[1].rcq, *(int *)arg);
}

static int arm(int solicited)
{
	return vb_call(b, do_arm, &solicited, sizeof(solicited));
}

/* The next event of the receive CQ within *ms: 1, or 0 for none. */
static int do_event(struct vb_side *s, void *arg)
{
	struct pollfd fd = { s->chan->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, *(int *)arg) <= 0)
		return 0;
	if (ibv_get_cq_event(s->chan, &cq, &context))
		return -1;
	ibv_ack_cq_events(cq, 1);
	return cq == s->qp[1].rcq ? 1 : -2;
}

static int event(int ms)
{
	return vb_call(b, do_event, &ms, sizeof(ms));
}

static bool message(void)
{
	struct vb_wr wr = vb_pair_send(&p, 1, 8);
	struct ibv_wc wc;

	return !vb_recv1(b, p.recv, 1, b->buf, 64) && !vb_send(a, 0, false, &wr) &&
	       vb_done(a, 0, VB_SCQ, 1, IBV_WC_SEND, &wc);
}

static bool messages(int n)
{
	bool good = true;

	while (n--)
		good = message() && good;
	return good;
}

static void drain(void)
{
	struct ibv_wc wc;

	while (vb_poll(b, p.rq, p.rcq, 0, &wc))
		;
}

static void test_limits(void)
{
	const struct ibv_cq_moderation_caps *caps = &b->info.dev.cq_mod_caps;

	ok(caps->max_cq_count > 2 && caps->max_cq_period > 2, "cq_mod_caps: %u entries, %u us",
	   caps->max_cq_count, caps->max_cq_period);
	ok(modify(0, 1, 1) == EINVAL, "no attribute: EINVAL");
	ok(modify(IBV_CQ_ATTR_MODERATE | IBV_CQ_ATTR_RESERVED, 1, 1) == EINVAL,
	   "unknown attribute: EINVAL");
	ok(modify(IBV_CQ_ATTR_MODERATE, 1, caps->max_cq_period + 1) == EINVAL,
	   "more than max_cq_period: EINVAL");
	ok(!modify(IBV_CQ_ATTR_MODERATE, caps->max_cq_count, caps->max_cq_period), "the largest");
	ok(!modify(IBV_CQ_ATTR_MODERATE, 0, 0), "none");
}

static void test_count(void)
{
	ok(!modify(IBV_CQ_ATTR_MODERATE, 3, 0) && !arm(0) && messages(2) && !event(VB_SHORT),
	   "an event for 3: none for 2");
	ok(message() && event(VB_WAIT) == 1 && !event(0), "one for the third");
	ok(messages(4) && !event(VB_SHORT), "none while it is not armed");
	drain();
	ok(!arm(1) && messages(4) && !event(VB_SHORT), "armed for solicited: others do not count");
	drain();
}

static void test_period(void)
{
	ok(!modify(IBV_CQ_ATTR_MODERATE, 0, 3000) && !arm(0) && messages(1) && event(VB_WAIT) == 1,
	   "an event after 3 ms at most");
	ok(!event(VB_SHORT), "and not again");
	drain();
	ok(!modify(IBV_CQ_ATTR_MODERATE, 100, 2000) && !arm(0) && messages(5) &&
		   event(VB_WAIT) == 1 && !event(VB_SHORT),
	   "fewer than the count: one event by time");
	drain();
	ok(!modify(IBV_CQ_ATTR_MODERATE, 100, 0) && !arm(0) && messages(2) && !event(VB_SHORT) &&
		   !modify(IBV_CQ_ATTR_MODERATE, 0, 0) && event(VB_WAIT) == 1,
	   "what waits comes when moderation ends");
	ok(!arm(0) && message() && event(VB_WAIT) == 1, "and each has its event again");
	drain();
}

int main(int argc, char **argv)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	bool remote = argc > 1 && !strcmp(argv[1], "remote");

	spec.chan = true;
	a = vb_local();
	b = remote ? vb_fork() : vb_local();
	vb_open(a);
	vb_open(b);
	if (vb_pair_up(&p, a, b, &spec))
		die("cannot connect: %s", strerror(errno));
	test_limits();
	test_count();
	test_period();
	vb_pair_down(&p);
	if (remote)
		vb_close(b);
	return tap_failed != 0;
}
