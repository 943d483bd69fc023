/* SPDX-License-Identifier: MIT */
/*
 * Shared receive queues.
 *	app_srq_queue [local|remote]: where the other side lives
 *
 * B has QPs 1 to 3 on its SRQ 0; QPs 1 to 3 of A are their peers.
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 16
#define NQP   3

static struct vb_side *a, *b;

static void up(uint32_t depth, uint8_t rnr_retry)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC), on = spec;
	int ret = vb_srq(b, 0, depth, 4, false);

	on.srq = 1;
	spec.rnr_retry = rnr_retry;
	spec.min_rnr = on.min_rnr = 1;
	for (int i = 1; i <= NQP && !ret; i++)
		ret = vb_link(a, i, &spec, b, i, &on);
	if (ret) {
		ok(false, "queue pairs on an SRQ: %s", strerror(ret));
		exit(1);
	}
}

static void down(void)
{
	int ret = 0;

	for (int i = 1; i <= NQP; i++) {
		ret = ret ? ret : vb_destroy(a, i);
		ret = ret ? ret : vb_destroy(b, i);
	}
	ret = ret ? ret : vb_srq_destroy(b, 0);
	if (ret)
		die("cannot destroy: %s", strerror(ret));
	while (vb_event(b, 0) >= 0)
		;
}

/* Receives have a place each, by their wr_id. */
static uint8_t *place(uint64_t wr_id)
{
	return b->buf + (1u << 20) + (wr_id % 64) * 4096;
}

static bool post(uint64_t wr_id)
{
	return !vb_recv1(b, -1, wr_id, place(wr_id), 4096);
}

static bool say(int qp, uint64_t seed, uint32_t len)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, seed, a, a->buf, len);
	struct ibv_wc wc;

	fill(a->buf, len, seed);
	return !vb_send(a, qp, false, &wr) && vb_done(a, qp, VB_SCQ, seed, IBV_WC_SEND, &wc);
}

static bool heard(int qp, uint64_t wr_id, uint64_t seed, uint32_t len)
{
	struct ibv_wc wc;

	return vb_done(b, qp, VB_RCQ, wr_id, IBV_WC_RECV, &wc) && wc.byte_len == len &&
	       wc.qp_num == b->addr[qp].qpn && wc.src_qp == a->addr[qp].qpn &&
	       filled(place(wr_id), len, seed);
}

static void test_basic(void)
{
	static const uint32_t sizes[] = { 0, 8, 72, 73, 128, 129, 1024, 1025, 4096 };
	uint64_t id = 0, next = 0;
	bool good = true;

	for (; id < DEPTH; id++)
		good = good && post(id);
	ok(good, "%d receives", DEPTH);
	for (int i = 0; i < 200 && good; i++) {
		int qp = 1 + i % NQP;

		good = say(qp, next, sizes[i % 9]) && heard(qp, next, next, sizes[i % 9]) &&
		       post(id++);
		next++;
	}
	ok(good, "200 messages to three QPs, receives taken in order");
	ok(vb_srq_destroy(b, 0) == EBUSY, "an SRQ with QPs is not destroyed: EBUSY");
	ok(vb_recv1(b, 1, 0, b->buf, 8) == EINVAL, "ibv_post_recv on a QP with an SRQ: EINVAL");
}

/* --- Attributes */

struct attr {
	struct ibv_srq_attr attr;
	int mask; /* 0: query */
};

static int do_attr(struct vb_side *s, void *arg)
{
	struct attr *q = arg;

	return q->mask ? ibv_modify_srq(s->srq[0], &q->attr, q->mask)
		       : ibv_query_srq(s->srq[0], &q->attr);
}

static struct ibv_srq_attr query(void)
{
	struct attr q = { .mask = 0 };

	if (vb_call(b, do_attr, &q, sizeof(q)))
		note("ibv_query_srq failed");
	return q.attr;
}

static int modify(uint32_t max_wr, uint32_t limit, int mask)
{
	struct attr q = { .attr = { .max_wr = max_wr, .srq_limit = limit }, .mask = mask };

	return vb_call(b, do_attr, &q, sizeof(q));
}

static uint32_t fill_up(void)
{
	uint32_t n = 0;

	while (post(n) && n < 100000)
		n++;
	return n;
}

static void test_attrs(void)
{
	uint32_t max = query().max_wr;

	ok(max >= DEPTH && query().max_sge >= 4 && query().srq_limit == 0,
	   "ibv_query_srq: %u requests", max);
	ok(modify(0, max + 1, IBV_SRQ_LIMIT) == EINVAL && query().srq_limit == 0,
	   "a limit beyond the size: EINVAL");
	ok(modify(0, 0, 1 << 5) == EINVAL, "an unknown attribute: EINVAL");
	ok(!modify(0, 3, IBV_SRQ_LIMIT) && query().srq_limit == 3, "a limit of 3");
	ok(!modify(0, 0, IBV_SRQ_LIMIT) && query().srq_limit == 0, "the limit is cleared");
	ok(fill_up() == max && vb_recv1(b, -1, 0, b->buf, 8) == ENOMEM, "a full SRQ: ENOMEM");
}

static void test_resize(void)
{
	uint32_t max = query().max_wr;

	if (!(b->info.dev.orig_attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE)) {
		ok(modify(max * 2, 0, IBV_SRQ_MAX_WR) != 0 && query().max_wr == max,
		   "no resizing, as the device says");
		return;
	}
	ok(modify(max * 2, max * 4, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) == EINVAL &&
		   query().max_wr == max && query().srq_limit == 0,
	   "a size and a limit beyond it: EINVAL, neither is changed");
	ok(!modify(max * 2, 0, IBV_SRQ_MAX_WR) && query().max_wr >= max * 2, "twice the size");
	ok(fill_up() == query().max_wr - max, "all entries of the larger SRQ can be used");
	ok(modify(1, 0, IBV_SRQ_MAX_WR) == EINVAL, "not less than is posted: EINVAL");
	ok(modify((uint32_t)b->info.dev.orig_attr.max_srq_wr + 1, 0, IBV_SRQ_MAX_WR) == EINVAL,
	   "not more than the device has: EINVAL");
	ok(say(1, 5, 100) && heard(1, 0, 5, 100),
	   "receives that were posted before the resize come first");
}

/* Attributes that cannot be, in this process. */
static void test_create(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a->pd, &init);
	struct ibv_recv_wr wr[3] = { { .wr_id = 1 }, { .wr_id = 2 }, { .wr_id = 3 } }, *bad = NULL;
	struct ibv_sge sge[64] = { { 0 } };
	const struct ibv_device_attr *dev = &a->info.dev.orig_attr;
	int sges;

	ok(srq && srq->context == a->ctx && srq->pd == a->pd && init.attr.max_wr >= 4 &&
		   init.attr.max_sge >= 1,
	   "ibv_create_srq says what was granted");
	if (!srq)
		return;
	sges = (int)init.attr.max_sge;
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	wr[1].sg_list = sge;
	wr[1].num_sge = sges + 1;
	ok(sges < 64 && ibv_post_srq_recv(srq, wr, &bad) == EINVAL && bad == &wr[1],
	   "too many entries in the second of three: EINVAL, bad_wr");
	ok(!ibv_destroy_srq(srq), "an SRQ with receives is destroyed");
	errno = 0;
	init.attr.max_wr = (uint32_t)dev->max_srq_wr + 1;
	init.attr.max_sge = 1;
	ok(!ibv_create_srq(a->pd, &init) && errno == EINVAL, "too many requests: EINVAL");
	errno = 0;
	init.attr.max_wr = 4;
	init.attr.max_sge = (uint32_t)dev->max_srq_sge + 1;
	ok(!ibv_create_srq(a->pd, &init) && errno == EINVAL, "too many entries: EINVAL");
}

/* --- The limit: an event, once, when fewer are left */

static void test_limit(void)
{
	uint64_t id = 0, next = 0;
	bool good = true;

	for (; id < 10; id++)
		good = good && post(id);
	good = good && !modify(0, 8, IBV_SRQ_LIMIT) && vb_event(b, VB_SHORT) == -1;
	for (; next < 2; next++)
		good = good && say(1, next, 50) && heard(1, next, next, 50);
	ok(good && vb_event(b, VB_SHORT) == -1 && query().srq_limit == 8,
	   "at the limit: no event yet");
	good = say(2, next, 50) && heard(2, next, next, 50) &&
	       vb_event(b, VB_WAIT) == IBV_EVENT_SRQ_LIMIT_REACHED;
	next++;
	ok(good && query().srq_limit == 0, "below the limit: SRQ_LIMIT_REACHED");
	good = say(3, next, 50) && heard(3, next, next, 50);
	next++;
	ok(good && vb_event(b, VB_SHORT) == -1, "once");
	good = !modify(0, 5, IBV_SRQ_LIMIT) && say(1, next, 50) && heard(1, next, next, 50);
	next++;
	good = good && vb_event(b, VB_SHORT) == -1 && say(1, next, 50) && heard(1, next, next, 50);
	next++;
	ok(good && vb_event(b, VB_WAIT) == IBV_EVENT_SRQ_LIMIT_REACHED &&
		   vb_event(b, VB_SHORT) == -1,
	   "armed again: once more");
	/* More than there are: the next one taken says so at the latest. */
	good = !modify(0, 12, IBV_SRQ_LIMIT) && say(2, next, 50) && heard(2, next, next, 50);
	ok(good && vb_event(b, VB_WAIT) == IBV_EVENT_SRQ_LIMIT_REACHED &&
		   vb_event(b, VB_SHORT) == -1,
	   "a limit above what is posted");
}

/* --- Empty */

static void test_rnr(void)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, a, a->buf, 100);
	struct ibv_wc wc;
	bool good;

	fill(a->buf, 100, 9);
	good = !vb_send(a, 1, false, &wr) && vb_nothing(a, 1, VB_SCQ) && post(7) &&
	       vb_done(a, 1, VB_SCQ, 1, IBV_WC_SEND, &wc);
	ok(good && heard(1, 7, 9, 100),
	   "an empty SRQ, rnr_retry 7: waits until a receive is there");
}

static void test_rnr_exceeded(void)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, a, a->buf, 100);
	bool good;

	good = !vb_send(a, 1, false, &wr) && vb_status(a, 1, VB_SCQ, 1, IBV_WC_RNR_RETRY_EXC_ERR) &&
	       vb_state(b, 1) == IBV_QPS_RTS && vb_state(a, 1) == IBV_QPS_ERR;
	ok(good, "an empty SRQ, rnr_retry 0: RNR_RETRY_EXC_ERR");
	ok(post(3) && say(2, 4, 60) && heard(2, 3, 4, 60), "the SRQ serves the others");
}

/* --- A QP in ERR takes nothing with it */

static void test_last_wqe(void)
{
	bool good = true;

	for (uint64_t id = 0; id < 4; id++)
		good = good && post(id);
	good = good && !vb_to_state(b, 1, IBV_QPS_ERR) &&
	       vb_event(b, VB_WAIT) == IBV_EVENT_QP_LAST_WQE_REACHED;
	ok(good && vb_event(b, VB_SHORT) == -1 && vb_nothing(b, 1, VB_RCQ),
	   "to ERR: QP_LAST_WQE_REACHED once, nothing is flushed");
	ok(!vb_to_state(b, 1, IBV_QPS_ERR) && vb_event(b, VB_SHORT) == -1,
	   "in ERR already: no event");
	ok(say(2, 11, 500) && heard(2, 0, 11, 500) && say(3, 12, 500) && heard(3, 1, 12, 500),
	   "the SRQ's receives are for the other QPs");
}

static void test_last_wqe_remote(void)
{
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 1, a, a->buf, 100);
	int one, two;
	bool good;

	wr.raddr = (uintptr_t)b->buf;
	wr.rkey = b->info.rkey ^ 0x5a5a00;
	good = post(2) && !vb_send(a, 1, false, &wr) &&
	       vb_status(a, 1, VB_SCQ, 1, IBV_WC_REM_ACCESS_ERR);
	one = vb_event(b, VB_WAIT);
	two = vb_event(b, VB_WAIT);
	ok(good && one == IBV_EVENT_QP_ACCESS_ERR && two == IBV_EVENT_QP_LAST_WQE_REACHED &&
		   vb_nothing(b, 1, VB_RCQ),
	   "an access error of the peer: QP_ACCESS_ERR, QP_LAST_WQE_REACHED (%d, %d)", one, two);
	ok(say(2, 11, 500) && heard(2, 2, 11, 500), "the receive is for the others");
}

/* A message that does not fit uses up its receive, and only that one. */
static void test_too_long(void)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, a, a->buf, 5000);
	bool good;

	good = post(5) && post(6) && !vb_send(a, 1, false, &wr) &&
	       vb_status(a, 1, VB_SCQ, 1, IBV_WC_REM_INV_REQ_ERR) &&
	       vb_status(b, 1, VB_RCQ, 5, IBV_WC_LOC_LEN_ERR) && vb_nothing(b, 1, VB_RCQ);
	ok(good && vb_state(b, 1) == IBV_QPS_ERR &&
		   vb_event(b, VB_WAIT) == IBV_EVENT_QP_LAST_WQE_REACHED,
	   "a message that is too long: LOC_LEN_ERR, nothing flushed, QP_LAST_WQE_REACHED");
	ok(say(2, 11, 500) && heard(2, 6, 11, 500), "the next receive is for the others");
}

/* --- Slots: what was not polled yet keeps its own */

static void test_two_cqs(void)
{
	uint32_t len[2] = { 40, 3000 };
	bool good = true;

	for (int k = 0; k < 2; k++) {
		uint64_t id = 0, base = 100 * ((uint64_t)k + 1);

		for (; id < DEPTH; id++)
			good = good && post(base + id);
		for (uint64_t i = 0; i < DEPTH / 2; i++)
			good = good && say(1, base + i, len[k]);
		/* Those of QP 1 wait, while the others are used over and over. */
		for (uint64_t i = DEPTH / 2; good && i < 48; i++) {
			good = say(2, base + i, len[k]) && heard(2, base + i, base + i, len[k]);
			if (i < 48 - DEPTH / 2)
				good = good && post(base + id++);
		}
		for (uint64_t i = 0; i < DEPTH / 2; i++)
			good = good && heard(1, base + i, base + i, len[k]);
		ok(good, "completions of %u bytes polled out of order", len[k]);
		if (!good)
			return;
	}
}

/* At random: a receive is used once, by whichever QP, and holds that QP's message. */
static void test_random(void)
{
	uint64_t seed = 12345, id = 0, seq[NQP + 1] = { 0 }, heard_seq[NQP + 1] = { 0 };
	uint32_t posted = 0, waiting = 0;
	bool used[64] = { false };
	bool good = true;

	for (int i = 0; i < 6000 && good; i++) {
		uint64_t r = rnd(&seed) >> 33;
		int qp = 1 + (int)(r % NQP);
		struct ibv_wc wc;

		if (r / 8 % 3 == 0 && posted + waiting < DEPTH && !used[id % 64]) {
			used[id % 64] = true;
			good = post(id++);
			posted++;
		} else if (r / 8 % 3 == 1 && posted) {
			uint64_t s = (uint64_t)qp << 32 | seq[qp]++;

			good = say(qp, s, 16 + (uint32_t)(s % 3000));
			posted--;
			waiting++;
		} else if (vb_poll(b, qp, VB_RCQ, 0, &wc)) {
			uint64_t s = (uint64_t)qp << 32 | heard_seq[qp]++;

			good = !wc.status && used[wc.wr_id % 64] && wc.wr_id < id &&
			       wc.byte_len == 16 + s % 3000 &&
			       filled(place(wc.wr_id), wc.byte_len, s);
			used[wc.wr_id % 64] = false;
			waiting--;
		}
	}
	ok(good, "6000 random steps: %lu messages", (unsigned long)(seq[1] + seq[2] + seq[3]));
}

/* Large messages of two QPs at once: each its own receives, none mixed. */
static void test_interleaved(void)
{
	const uint32_t len = 250000;
	struct vb_wr wr[2][4];
	struct ibv_wc wc;
	uint64_t got[3] = { 0 };
	bool good = true;

	for (uint64_t i = 0; i < 8; i++) {
		unsigned int qp = i & 1;

		fill(a->buf + i * len, len, 1000 + i);
		good = good && !vb_recv1(b, -1, i, b->buf + i * len, len);
		wr[qp][i / 2] = vb_wr(IBV_WR_SEND, i, a, a->buf + i * len, len);
	}
	good = good && !vb_sends(a, 1, false, wr[0], 4, NULL) &&
	       !vb_sends(a, 2, false, wr[1], 4, NULL);
	for (uint64_t i = 0; good && i < 4; i++)
		good = vb_done(a, 1, VB_SCQ, 2 * i, IBV_WC_SEND, &wc) &&
		       vb_done(a, 2, VB_SCQ, 2 * i + 1, IBV_WC_SEND, &wc);
	for (int i = 0; good && i < 8; i++) {
		int qp = 1 + i % 2;

		good = vb_poll(b, qp, VB_RCQ, VB_WAIT, &wc) && !wc.status && wc.byte_len == len &&
		       wc.wr_id < 8 &&
		       filled(b->buf + wc.wr_id * len, len,
			      1000 + 2 * got[qp]++ + (uint64_t)(qp - 1));
	}
	ok(good, "messages of many packets from two QPs");
}

/* --- Datagrams, and SRQs whose creation is refused */

static void test_ud(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	struct vb_wr wr;
	struct ibv_wc wc;
	bool good = true;
	int ret;

	ret = vb_create(a, 4, &spec);
	spec.srq = 1;
	/* Ignored, with an SRQ. */
	spec.recv_wr = 1u << 30;
	spec.recv_sge = 1u << 20;
	for (int i = 4; i < 6 && !ret; i++)
		ret = vb_create(b, i, &spec) || vb_connect(b, i, NULL, 0, &spec);
	ret = ret || vb_connect(a, 4, NULL, 0, &spec) || vb_ah(a, 0, &b->info.gid);
	if (!ok(!ret, "UD queue pairs on an SRQ"))
		return;
	for (uint64_t i = 0; i < 50 && good; i++) {
		int qp = 4 + (int)(i % 2);

		fill(a->buf, 700, i);
		wr = vb_wr(IBV_WR_SEND, i, a, a->buf, 700);
		wr.ah = 1;
		wr.rqpn = b->addr[qp].qpn;
		wr.rqkey = VB_QKEY;
		good = post(i) && !vb_send(a, 4, false, &wr) &&
		       vb_done(a, 4, VB_SCQ, i, IBV_WC_SEND, &wc) &&
		       vb_done(b, qp, VB_RCQ, i, IBV_WC_RECV, &wc) && wc.byte_len == VB_GRH + 700 &&
		       wc.qp_num == b->addr[qp].qpn && filled(place(i) + VB_GRH, 700, i);
	}
	ok(good, "datagrams to two QPs of an SRQ");
	good = !vb_destroy(a, 4) && !vb_destroy(b, 4) && !vb_destroy(b, 5) && !vb_ah_destroy(a, 0);
	ok(good, "the SRQs can be destroyed");
}

static void with(uint32_t depth, uint8_t rnr_retry, void (*test)(void))
{
	up(depth, rnr_retry);
	test();
	down();
}

static void test_attrs_and_resize(void)
{
	test_attrs();
	test_resize();
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	with(DEPTH, 7, test_basic);
	with(DEPTH, 7, test_attrs_and_resize);
	test_create();
	with(DEPTH, 7, test_limit);
	with(DEPTH, 7, test_rnr);
	with(DEPTH, 0, test_rnr_exceeded);
	with(DEPTH, 7, test_last_wqe);
	with(DEPTH, 7, test_last_wqe_remote);
	with(DEPTH, 7, test_too_long);
	with(DEPTH, 7, test_two_cqs);
	with(DEPTH, 7, test_random);
	with(DEPTH, 7, test_interleaved);
	with(DEPTH, 7, test_ud);
	vb_close_two(a, b);
	return tap_failed != 0;
}
