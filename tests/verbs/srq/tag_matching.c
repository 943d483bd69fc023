/* SPDX-License-Identifier: MIT */
/*
 * Tag matching: SRQs of type IBV_SRQT_TM, ibv_post_srq_ops(3).
 *	app_srq_tag_matching [local|remote]: where the receiving side lives
 */
#include "tests/lib/c/vb_tm.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

static struct vb_side *a, *b;

static void test_create(void)
{
	const struct ibv_tm_caps *caps = &b->info.dev.tm_caps;
	struct tm_ops o = { .basic = 1 };

	ok((caps->flags & IBV_TM_CAP_RC) && caps->max_num_tags && caps->max_ops && caps->max_sge &&
		   caps->max_rndv_hdr_size >= sizeof(struct tm_header),
	   "the device has tag matching");
	ok(tm_make(0, OPS, 0, 0) == EINVAL, "no tags: EINVAL");
	ok(tm_make(caps->max_num_tags + 1, OPS, 0, 0) == EINVAL, "too many tags: EINVAL");
	ok(tm_make(TAGS, 0, 0, 0) == EINVAL, "no operations: EINVAL");
	ok(tm_make(TAGS, caps->max_ops + 1, 0, 0) == EINVAL, "too many operations: EINVAL");
	ok(tm_make(TAGS, OPS, IBV_SRQ_INIT_ATTR_TM, 0) == EINVAL, "without tm_cap: EINVAL");
	ok(tm_make(TAGS, OPS, IBV_SRQ_INIT_ATTR_CQ, 0) == EINVAL, "without a CQ: EINVAL");
	ok(tm_make(caps->max_num_tags, caps->max_ops, 0, IBV_QPT_UD) == EINVAL,
	   "a UD QP on it: EINVAL");
	ok(tm_make(caps->max_num_tags, caps->max_ops, 0, IBV_QPT_RC) == 0,
	   "max_num_tags and max_ops are accepted");
	tm_append_tag(&o, 0, b->buf, 8);
	ok(tm_post(&o) == EINVAL && o.bad == 0, "operations on a basic SRQ: EINVAL");
}

static void test_ops(void)
{
	struct ibv_ops_wr wr = tm_op(7, 5);
	struct tm_ops o = { 0 };
	uint32_t handle[2];
	struct tm_wc w;
	bool good;

	tm_append_tag(&o, 1, tm_place(1), 4096);
	tm_append_tag(&o, 2, tm_place(2), 4096);
	tm_append(&o, &wr);
	tm_append_tag(&o, 3, tm_place(3), 4096);
	ok(tm_post(&o) == EINVAL && o.bad == 2,
	   "an unknown opcode is the bad one of a list: EINVAL");
	ok(tm_good(1001, IBV_WC_TM_ADD, 0, &w) && tm_good(1002, IBV_WC_TM_ADD, 0, &w) &&
		   tm_silent(),
	   "those before it are done");
	handle[0] = o.wr[0].tm.handle;
	handle[1] = o.wr[1].tm.handle;
	ok(handle[0] != handle[1], "tags have handles");
	o.n = 0;
	tm_append_tag(&o, 4, tm_place(4), 4096);
	o.wr[0].tm.add.num_sge = 2;
	ok(tm_post(&o) == EINVAL && o.bad == 0, "a tag with two buffers: EINVAL");
	o.n = 0;
	for (int i = 0; i < OPS + 1; i++) {
		wr = tm_op(IBV_WR_TAG_SYNC, (uint64_t)i);
		tm_append(&o, &wr);
	}
	ok(tm_post(&o) == ENOMEM && o.bad == OPS, "one operation too many: ENOMEM");
	good = true;
	for (int i = 0; i < OPS; i++)
		good = good && tm_good((uint64_t)i, IBV_WC_TM_SYNC, 0, &w);
	ok(good, "the others end in order");
	for (uint64_t i = 2; i < TAGS; i++)
		good = good && tm_tag(100 + i, tm_place(i), 4096, NULL);
	o.n = 0;
	tm_append_tag(&o, 200, tm_place(0), 4096);
	ok(good && tm_post(&o) == ENOMEM && o.bad == 0, "one tag too many: ENOMEM");
	o.n = 0;
	for (int i = 0; i < 2; i++) {
		wr = tm_op(IBV_WR_TAG_DEL, 50 + (uint64_t)i);
		wr.tm.handle = handle[0];
		tm_append(&o, &wr);
	}
	ok(!tm_post(&o) && tm_good(50, IBV_WC_TM_DEL, 0, &w), "a tag deleted");
	ok(tm_bad(51, IBV_WC_TM_ERR), "once more: TM_ERR");
	ok(tm_tag(1, tm_place(1), 4096, NULL), "the place of a removed tag is free");
}

static void test_eager(void)
{
	static const uint32_t sizes[] = { 0, 8, 56, 57, 112, 113, 1008, 1009, 4000, BIG };
	struct tm_wc w;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t len = sizes[i];
		uint64_t value = UINT64_MAX / 3 + i;
		bool imm = i & 1, good;

		memset(b->buf, 0, len + 1);
		good = tm_tag(value, b->buf, len, NULL) &&
		       tm_say(IBV_TMH_EAGER, value, len,
			      imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND) &&
		       tm_said(value);
		good = good &&
		       tm_good(value, IBV_WC_TM_RECV,
			       IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID | (imm ? IBV_WC_WITH_IMM : 0),
			       &w);
		ok(good && w.len == len && w.tm.tag == value && w.tm.priv == 77 &&
			   (!imm || w.imm == htonl(99)) && filled(b->buf, len, value) &&
			   !b->buf[len],
		   "%u bytes into a tag, without their header", len);
	}
}

static bool whole(uint64_t wr_id, uint64_t value, uint32_t len)
{
	struct ibv_tmh *h = (void *)tm_place(wr_id);

	return be64toh(h->tag) == value && filled(tm_place(wr_id) + sizeof(*h), len, value);
}

static void test_unexpected(void)
{
	struct tm_ops o = { 0 };
	struct ibv_ops_wr wr;
	struct tm_wc w;

	ok(tm_recvs(0, 4) && tm_say(IBV_TMH_EAGER, 5, 2000, IBV_WR_SEND) && tm_said(5) &&
		   tm_good(0, IBV_WC_TM_RECV, 0, &w) && w.len == 2016 && !w.tm.tag &&
		   whole(0, 5, 2000),
	   "without a tag the whole message goes to a receive");
	tm_append_tag(&o, 6, b->buf, 4096);
	ok(!tm_post(&o) && tm_good(1006, IBV_WC_TM_ADD, IBV_WC_TM_SYNC_REQ, &w),
	   "a tag posted then asks for a count");
	ok(tm_say(IBV_TMH_EAGER, 6, 100, IBV_WR_SEND) && tm_said(6) &&
		   tm_good(1, IBV_WC_TM_RECV, 0, &w) && whole(1, 6, 100),
	   "a tag that waits for a count matches nothing");
	o.n = 0;
	wr = tm_op(IBV_WR_TAG_SYNC, 1);
	wr.flags |= IBV_OPS_TM_SYNC;
	wr.tm.unexpected_cnt = 2;
	tm_append(&o, &wr);
	ok(!tm_post(&o) && tm_good(1, IBV_WC_TM_SYNC, 0, &w) &&
		   tm_say(IBV_TMH_EAGER, 6, 100, IBV_WR_SEND) && tm_said(6) &&
		   tm_good(6, IBV_WC_TM_RECV, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, &w),
	   "until the count is given");
	ok(tm_say(IBV_TMH_NO_TAG, 6, 100, IBV_WR_SEND) && tm_said(6) &&
		   tm_good(2, IBV_WC_TM_NO_TAG, 0, &w) && w.len == 116 && whole(2, 6, 100),
	   "a message without a tag");
	ok(tm_tag(7, b->buf, 10, NULL), "is not counted");
}

static void test_rndv(void)
{
	static const uint32_t sizes[] = { 0, 1, 1024, 4097, BIG };
	struct tm_header *fin = (void *)(a->buf + 2 * ROOM);
	struct ibv_wc wc;
	struct tm_wc w;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t len = sizes[i];
		bool good;

		memset(b->buf, 0, len + 1);
		good = tm_tag(i, b->buf, BIG, NULL) && !vb_recv1(a, 1, i, fin, sizeof(*fin)) &&
		       tm_say(IBV_TMH_RNDV, i, len, IBV_WR_SEND) && tm_said(i) &&
		       tm_good(i, IBV_WC_TM_RECV, IBV_WC_TM_MATCH, &w) && w.tm.tag == i &&
		       w.tm.priv == 77;
		good = good && tm_good(i, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID, &w);
		good = good && vb_done(a, 1, VB_RCQ, i, IBV_WC_RECV, &wc);
		ok(good && w.len == len && filled(b->buf, len, i) && !b->buf[len] &&
			   wc.byte_len == sizeof(fin->tmh) && fin->tmh.opcode == IBV_TMH_FIN &&
			   fin->tmh.app_ctx == htonl(77) && be64toh(fin->tmh.tag) == i,
		   "a rendezvous of %u bytes is read and ended", len);
	}
	ok(tm_recvs(0, 1) && tm_say(IBV_TMH_RNDV, 9, 100, IBV_WR_SEND) && tm_said(9) &&
		   tm_good(0, IBV_WC_TM_RECV, 0, &w) && w.len == sizeof(*fin),
	   "one without a tag goes to a receive");
}

static bool refused(enum ibv_tmh_op op, uint32_t len)
{
	struct ibv_wc wc;

	if (!tm_tag(1, b->buf, 4000, NULL) || !tm_say(op, 1, len, IBV_WR_SEND))
		return false;
	return vb_poll(a, 1, VB_SCQ, VB_WAIT, &wc) && wc.status == IBV_WC_REM_INV_REQ_ERR &&
	       tm_bad(1, IBV_WC_LOC_LEN_ERR) && vb_state(b, 1) == IBV_QPS_ERR;
}

static void test_too_long(void)
{
	ok(refused(IBV_TMH_EAGER, 4001), "longer than the tag's buffer: LOC_LEN_ERR");
}

static void test_rndv_too_long(void)
{
	ok(refused(IBV_TMH_RNDV, 4001), "a rendezvous longer than that: the same");
}

static void test_rndv_fails(void)
{
	uint32_t rkey = a->info.rkey;
	struct tm_wc w;
	bool good;

	a->info.rkey = rkey ^ 1;
	good = tm_tag(1, b->buf, 4000, NULL) && tm_say(IBV_TMH_RNDV, 1, 4000, IBV_WR_SEND) &&
	       tm_said(1) && tm_good(1, IBV_WC_TM_RECV, IBV_WC_TM_MATCH, &w);
	a->info.rkey = rkey;
	ok(good && tm_bad(1, IBV_WC_TM_RNDV_INCOMPLETE),
	   "a rendezvous with a bad rkey: TM_RNDV_INCOMPLETE");
	ok(vb_state(b, 1) == IBV_QPS_ERR && vb_state(a, 1) == IBV_QPS_ERR &&
		   vb_event(a, VB_WAIT) == IBV_EVENT_QP_ACCESS_ERR,
	   "both QPs are in ERR, and the sender's completion says why");
}

static void test_no_fin(void)
{
	struct tm_wc w;

	ok(tm_tag(1, b->buf, 4000, NULL) && tm_say(IBV_TMH_RNDV, 1, 4000, IBV_WR_SEND) &&
		   tm_said(1) && tm_good(1, IBV_WC_TM_RECV, IBV_WC_TM_MATCH, &w) &&
		   tm_good(1, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID, &w) &&
		   vb_event(b, VB_WAIT) == IBV_EVENT_QP_FATAL && vb_state(b, 1) == IBV_QPS_ERR,
	   "a sender without a receive for the end: QP_FATAL");
}

static void test_short(void)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, a, a->buf, 15);
	struct ibv_wc wc;

	ok(tm_recvs(0, 1) && !vb_send(a, 1, false, &wr) && vb_poll(a, 1, VB_SCQ, VB_WAIT, &wc) &&
		   wc.status == IBV_WC_REM_INV_REQ_ERR &&
		   vb_event(b, VB_WAIT) == IBV_EVENT_QP_REQ_ERR,
	   "a message shorter than its header: REM_INV_REQ_ERR, QP_REQ_ERR");
}

/* Nobody here has windows: the key goes nowhere, and with it the message. */
static void test_inv(void)
{
	ok(tm_tag(1, b->buf, 4000, NULL) && tm_say(IBV_TMH_EAGER, 1, 100, IBV_WR_SEND_WITH_INV) &&
		   tm_bad(1, IBV_WC_REM_INV_REQ_ERR) &&
		   vb_status(a, 1, VB_SCQ, 1, IBV_WC_RETRY_EXC_ERR) &&
		   vb_event(b, VB_WAIT) == IBV_EVENT_QP_LAST_WQE_REACHED &&
		   vb_event(b, VB_SHORT) == -1,
	   "SEND_WITH_INV of a bad key: the tag ends with REM_INV_REQ_ERR, no NAK");
}

int main(int argc, char **argv)
{
	tm_open(argc, argv, &a, &b);
	test_create();
	tm_with(test_ops);
	tm_with(test_eager);
	tm_with(test_unexpected);
	tm_with(test_rndv);
	tm_with(test_too_long);
	tm_with(test_rndv_too_long);
	tm_with(test_rndv_fails);
	tm_with(test_no_fin);
	tm_with(test_short);
	tm_with(test_inv);
	tm_close();
	return tap_failed != 0;
}
