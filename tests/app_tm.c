/* SPDX-License-Identifier: MIT */
/*
 * Tag matching: SRQs of type IBV_SRQT_TM, ibv_post_srq_ops(3).
 *	app_tm [local|remote]: where the receiving side lives
 *
 * QP 1 of A sends to QP 1 of B, which is on B's SRQ 0 and has no send queue. That SRQ has TAGS tags
 * and takes OPS operations at a time.
 */
#include "tests/vb.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/tm_types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAGS  8
#define OPS   6
#define DEPTH 16
#define BIG   (1200u << 10)
#define ROOM  (1300u << 10) /* where the receives and tags with small buffers begin */

static struct vb_side *a, *b;

struct header {
	struct ibv_tmh tmh;
	struct ibv_rvh rvh;
};

/* --- What is asked of the receiving side */

struct make {
	struct ibv_tm_cap cap;
	uint32_t max_wr, mask;
	enum ibv_qp_type qp; /* tried with the SRQ, which then goes again; 0: keep it */
};

static int try_qp(struct vb_side *s, struct ibv_srq *srq, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .cap = { 4, 0, 1, 0, 0 }, .qp_type = type
	};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &attr);
	int ret = errno;

	if (!qp)
		return ret;
	return ibv_destroy_qp(qp);
}

static int do_make(struct vb_side *s, void *arg)
{
	const struct make *k = arg;
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 64,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO,
	};
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = k->max_wr, .max_sge = 1 },
		.comp_mask = k->mask,
		.srq_type = IBV_SRQT_TM,
		.pd = s->pd,
		.tm_cap = k->cap,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(s->ctx, &cq_attr);
	int ret;

	if (!cq)
		return errno;
	attr.cq = ibv_cq_ex_to_cq(cq);
	s->srq[0] = ibv_create_srq_ex(s->ctx, &attr);
	s->srq_cq[0] = attr.cq;
	ret = s->srq[0] ? 0 : errno;
	if (!ret && !k->qp)
		return 0;
	if (!ret) {
		ret = try_qp(s, s->srq[0], attr.cq, k->qp);
		ibv_destroy_srq(s->srq[0]);
		s->srq[0] = NULL;
	}
	ibv_destroy_cq(attr.cq);
	s->srq_cq[0] = NULL;
	return ret;
}

struct wc {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t len, imm;
	struct ibv_wc_tm_info tm;
	int got;
};

static int do_poll(struct vb_side *s, void *arg)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)s->srq_cq[0];
	struct ibv_poll_cq_attr attr = { 0 };
	struct wc *w = arg;

	memset(w, 0, sizeof(*w));
	if (ibv_start_poll(cq, &attr))
		return 0;
	w->got = 1;
	w->wr_id = cq->wr_id;
	w->status = cq->status;
	w->opcode = ibv_wc_read_opcode(cq);
	w->flags = ibv_wc_read_wc_flags(cq);
	w->len = ibv_wc_read_byte_len(cq);
	w->imm = ibv_wc_read_imm_data(cq);
	ibv_wc_read_tm_info(cq, &w->tm);
	ibv_end_poll(cq);
	return 0;
}

#define MAX_OPS 8

struct ops {
	struct ibv_ops_wr wr[MAX_OPS];
	struct ibv_sge sge[MAX_OPS];
	int n, bad, basic;
};

static int do_ops(struct vb_side *s, void *arg)
{
	struct ibv_srq_init_attr basic = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ops *o = arg;
	struct ibv_srq *srq = o->basic ? ibv_create_srq(s->pd, &basic) : s->srq[0];
	struct ibv_ops_wr *bad = NULL;
	int ret;

	for (int i = 0; i < o->n; i++) {
		o->wr[i].tm.add.sg_list = &o->sge[i];
		o->wr[i].next = i + 1 < o->n ? &o->wr[i + 1] : NULL;
	}
	ret = ibv_post_srq_ops(srq, o->wr, &bad);
	o->bad = bad ? (int)(bad - o->wr) : -1;
	if (o->basic)
		ibv_destroy_srq(srq);
	return ret;
}

/* --- The test's side of that */

static int make(uint32_t tags, uint32_t ops, uint32_t without, enum ibv_qp_type qp)
{
	struct make k = {
		.cap = { tags, ops },
		.max_wr = DEPTH,
		.mask = (IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			 IBV_SRQ_INIT_ATTR_TM) &
			~without,
		.qp = qp,
	};

	return vb_call(b, do_make, &k, sizeof(k));
}

static struct ibv_ops_wr operation(enum ibv_ops_wr_opcode opcode, uint64_t wr_id)
{
	return (struct ibv_ops_wr){ .wr_id = wr_id, .opcode = opcode, .flags = IBV_OPS_SIGNALED };
}

static void append(struct ops *o, const struct ibv_ops_wr *wr)
{
	o->wr[o->n++] = *wr;
}

static void append_tag(struct ops *o, uint64_t tag, void *buf, uint32_t len)
{
	struct ibv_ops_wr wr = operation(IBV_WR_TAG_ADD, 1000 + tag);

	wr.tm.add.recv_wr_id = tag;
	wr.tm.add.num_sge = 1;
	wr.tm.add.tag = tag;
	wr.tm.add.mask = UINT64_MAX;
	o->sge[o->n] = (struct ibv_sge){ (uintptr_t)buf, len, b->info.lkey };
	append(o, &wr);
}

static int post(struct ops *o)
{
	return vb_call(b, do_ops, o, sizeof(*o));
}

static bool poll_wc(int ms, struct wc *w)
{
	for (; ms >= 0; ms--) {
		vb_call(b, do_poll, w, sizeof(*w));
		if (w->got)
			return true;
		usleep(1000);
	}
	return false;
}

static bool good_wc(uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags, struct wc *w)
{
	bool got = poll_wc(VB_WAIT, w);

	if (got && w->wr_id == wr_id && w->status == IBV_WC_SUCCESS && w->opcode == opcode &&
	    w->flags == flags)
		return true;
	printf("# wanted wr_id %llu opcode %d flags %x; got %d: %llu %s opcode %d flags %x\n",
	       (unsigned long long)wr_id, opcode, flags, got, (unsigned long long)w->wr_id,
	       ibv_wc_status_str(w->status), w->opcode, w->flags);
	return false;
}

static bool bad_wc(uint64_t wr_id, enum ibv_wc_status status)
{
	struct wc w;

	return poll_wc(VB_WAIT, &w) && w.wr_id == wr_id && w.status == status;
}

static bool silent(void)
{
	struct wc w;

	return !poll_wc(VB_SHORT, &w);
}

/* Post a tag and see it confirmed. */
static bool tag(uint64_t value, void *buf, uint32_t len, uint32_t *handle)
{
	struct ops o = { 0 };
	struct wc w;

	append_tag(&o, value, buf, len);
	if (post(&o))
		return false;
	if (handle)
		*handle = o.wr[0].tm.handle;
	return good_wc(1000 + value, IBV_WC_TM_ADD, 0, &w);
}

static void up(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC), on = spec;
	int ret = make(TAGS, OPS, 0, 0);

	on.srq = 1;
	on.send_wr = on.recv_wr = on.send_sge = on.recv_sge = 0;
	on.rnr_retry = 2;
	ret = ret ? ret : vb_create(a, 1, &spec);
	ret = ret ? ret : vb_create(b, 1, &on);
	ret = ret ? ret : vb_connect(b, 1, a, 1, &on);
	ret = ret ? ret : vb_connect(a, 1, b, 1, &spec);
	if (ret)
		die("queue pairs with tags: %s", strerror(ret));
}

static void down(void)
{
	int ret = vb_destroy(a, 1);

	ret = ret ? ret : vb_destroy(b, 1);
	ret = ret ? ret : vb_srq_destroy(b, 0);
	if (ret)
		die("cannot destroy: %s", strerror(ret));
	while (vb_event(b, 0) >= 0 || vb_event(a, 0) >= 0)
		;
}

/* Receives of the SRQ have a place each, by their wr_id. */
static uint8_t *place(uint64_t wr_id)
{
	return b->buf + ROOM + wr_id % DEPTH * 4096;
}

static bool recvs(uint64_t from, int n)
{
	bool good = true;

	for (int i = 0; i < n; i++)
		good = good &&
		       !vb_recv1(b, -1, from + (uint64_t)i, place(from + (uint64_t)i), 4096);
	return good;
}

/* Post a message of @len bytes with seed @tag; a rendezvous offers them instead. */
static bool say(enum ibv_tmh_op op, uint64_t value, uint32_t len, enum ibv_wr_opcode opcode)
{
	struct header h = { .tmh = { .opcode = op, .app_ctx = htonl(77), .tag = htobe64(value) } };
	uint8_t *data = a->buf + (op == IBV_TMH_RNDV ? 64 : sizeof(h.tmh));
	size_t head = op == IBV_TMH_RNDV ? sizeof(h) : sizeof(h.tmh);
	struct vb_wr wr;

	h.rvh.va = htobe64((uintptr_t)data);
	h.rvh.rkey = htonl(a->info.rkey);
	h.rvh.len = htonl(len);
	fill(data, len, value);
	memcpy(a->buf, &h, head);
	wr = vb_wr(opcode, value, a, a->buf, (uint32_t)(op == IBV_TMH_RNDV ? head : head + len));
	wr.imm = htonl(99);
	return !vb_send(a, 1, false, &wr);
}

static bool said(uint64_t value)
{
	struct ibv_wc wc;

	return vb_done(a, 1, VB_SCQ, value, IBV_WC_SEND, &wc);
}

/* --- Tests */

static void test_create(void)
{
	const struct ibv_tm_caps *caps = &b->info.dev.tm_caps;
	struct ops o = { .basic = 1 };

	ok((caps->flags & IBV_TM_CAP_RC) && caps->max_num_tags && caps->max_ops && caps->max_sge &&
		   caps->max_rndv_hdr_size >= sizeof(struct header),
	   "the device has tag matching");
	ok(make(0, OPS, 0, 0) == EINVAL, "no tags: EINVAL");
	ok(make(caps->max_num_tags + 1, OPS, 0, 0) == EINVAL, "too many tags: EINVAL");
	ok(make(TAGS, 0, 0, 0) == EINVAL, "no operations: EINVAL");
	ok(make(TAGS, caps->max_ops + 1, 0, 0) == EINVAL, "too many operations: EINVAL");
	ok(make(TAGS, OPS, IBV_SRQ_INIT_ATTR_TM, 0) == EINVAL, "without tm_cap: EINVAL");
	ok(make(TAGS, OPS, IBV_SRQ_INIT_ATTR_CQ, 0) == EINVAL, "without a CQ: EINVAL");
	ok(make(caps->max_num_tags, caps->max_ops, 0, IBV_QPT_UD) == EINVAL,
	   "a UD QP on it: EINVAL");
	ok(make(caps->max_num_tags, caps->max_ops, 0, IBV_QPT_RC) == 0, "as much as there is");
	append_tag(&o, 0, b->buf, 8);
	ok(post(&o) == EINVAL && o.bad == 0, "operations on a basic SRQ: EINVAL");
}

static void test_ops(void)
{
	struct ibv_ops_wr wr = operation(7, 5);
	struct ops o = { 0 };
	uint32_t handle[2];
	struct wc w;
	bool good;

	append_tag(&o, 1, place(1), 4096);
	append_tag(&o, 2, place(2), 4096);
	append(&o, &wr);
	append_tag(&o, 3, place(3), 4096);
	ok(post(&o) == EINVAL && o.bad == 2, "an unknown opcode is the bad one of a list: EINVAL");
	ok(good_wc(1001, IBV_WC_TM_ADD, 0, &w) && good_wc(1002, IBV_WC_TM_ADD, 0, &w) && silent(),
	   "those before it are done");
	handle[0] = o.wr[0].tm.handle;
	handle[1] = o.wr[1].tm.handle;
	ok(handle[0] != handle[1], "tags have handles");
	o.n = 0;
	append_tag(&o, 4, place(4), 4096);
	o.wr[0].tm.add.num_sge = 2;
	ok(post(&o) == EINVAL && o.bad == 0, "a tag with two buffers: EINVAL");
	o.n = 0;
	for (int i = 0; i < OPS + 1; i++) {
		wr = operation(IBV_WR_TAG_SYNC, (uint64_t)i);
		append(&o, &wr);
	}
	ok(post(&o) == ENOMEM && o.bad == OPS, "one operation too many: ENOMEM");
	good = true;
	for (int i = 0; i < OPS; i++)
		good = good && good_wc((uint64_t)i, IBV_WC_TM_SYNC, 0, &w);
	ok(good, "the others end in order");
	for (uint64_t i = 2; i < TAGS; i++)
		good = good && tag(100 + i, place(i), 4096, NULL);
	o.n = 0;
	append_tag(&o, 200, place(0), 4096);
	ok(good && post(&o) == ENOMEM && o.bad == 0, "one tag too many: ENOMEM");
	o.n = 0;
	for (int i = 0; i < 2; i++) {
		wr = operation(IBV_WR_TAG_DEL, 50 + (uint64_t)i);
		wr.tm.handle = handle[0];
		append(&o, &wr);
	}
	ok(!post(&o) && good_wc(50, IBV_WC_TM_DEL, 0, &w), "a tag deleted");
	ok(bad_wc(51, IBV_WC_TM_ERR), "once more: TM_ERR");
	ok(tag(1, place(1), 4096, NULL), "its place is free");
}

static void test_eager(void)
{
	static const uint32_t sizes[] = { 0, 8, 56, 57, 1008, 1009, 4000, BIG };
	struct wc w;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t len = sizes[i];
		uint64_t value = UINT64_MAX / 3 + i;
		bool imm = i & 1, good;

		memset(b->buf, 0, len + 1);
		good = tag(value, b->buf, len, NULL) &&
		       say(IBV_TMH_EAGER, value, len, imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND) &&
		       said(value);
		good = good &&
		       good_wc(value, IBV_WC_TM_RECV,
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
	struct ibv_tmh *h = (void *)place(wr_id);

	return be64toh(h->tag) == value && filled(place(wr_id) + sizeof(*h), len, value);
}

static void test_unexpected(void)
{
	struct ops o = { 0 };
	struct ibv_ops_wr wr;
	struct wc w;

	ok(recvs(0, 4) && say(IBV_TMH_EAGER, 5, 2000, IBV_WR_SEND) && said(5) &&
		   good_wc(0, IBV_WC_TM_RECV, 0, &w) && w.len == 2016 && !w.tm.tag &&
		   whole(0, 5, 2000),
	   "without a tag the whole message goes to a receive");
	append_tag(&o, 6, b->buf, 4096);
	ok(!post(&o) && good_wc(1006, IBV_WC_TM_ADD, IBV_WC_TM_SYNC_REQ, &w),
	   "a tag posted then asks for a count");
	ok(say(IBV_TMH_EAGER, 6, 100, IBV_WR_SEND) && said(6) &&
		   good_wc(1, IBV_WC_TM_RECV, 0, &w) && whole(1, 6, 100),
	   "and matches nothing");
	o.n = 0;
	wr = operation(IBV_WR_TAG_SYNC, 1);
	wr.flags |= IBV_OPS_TM_SYNC;
	wr.tm.unexpected_cnt = 2;
	append(&o, &wr);
	ok(!post(&o) && good_wc(1, IBV_WC_TM_SYNC, 0, &w) &&
		   say(IBV_TMH_EAGER, 6, 100, IBV_WR_SEND) && said(6) &&
		   good_wc(6, IBV_WC_TM_RECV, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, &w),
	   "until the count is given");
	ok(say(IBV_TMH_NO_TAG, 6, 100, IBV_WR_SEND) && said(6) &&
		   good_wc(2, IBV_WC_TM_NO_TAG, 0, &w) && w.len == 116 && whole(2, 6, 100),
	   "a message without a tag");
	ok(tag(7, b->buf, 10, NULL), "is not counted");
}

static void test_rndv(void)
{
	static const uint32_t sizes[] = { 0, 1, 1024, 4097, BIG };
	struct header *fin = (void *)(a->buf + 2 * ROOM);
	struct ibv_wc wc;
	struct wc w;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t len = sizes[i];
		bool good;

		memset(b->buf, 0, len + 1);
		good = tag(i, b->buf, BIG, NULL) && !vb_recv1(a, 1, i, fin, sizeof(*fin)) &&
		       say(IBV_TMH_RNDV, i, len, IBV_WR_SEND) && said(i) &&
		       good_wc(i, IBV_WC_TM_RECV, IBV_WC_TM_MATCH, &w) && w.tm.tag == i &&
		       w.tm.priv == 77;
		good = good && good_wc(i, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID, &w);
		good = good && vb_done(a, 1, VB_RCQ, i, IBV_WC_RECV, &wc);
		ok(good && w.len == len && filled(b->buf, len, i) && !b->buf[len] &&
			   wc.byte_len == sizeof(fin->tmh) && fin->tmh.opcode == IBV_TMH_FIN &&
			   fin->tmh.app_ctx == htonl(77) && be64toh(fin->tmh.tag) == i,
		   "a rendezvous of %u bytes is read and ended", len);
	}
	ok(recvs(0, 1) && say(IBV_TMH_RNDV, 9, 100, IBV_WR_SEND) && said(9) &&
		   good_wc(0, IBV_WC_TM_RECV, 0, &w) && w.len == sizeof(*fin),
	   "one without a tag goes to a receive");
}

static bool refused(enum ibv_tmh_op op, uint32_t len)
{
	struct ibv_wc wc;

	if (!tag(1, b->buf, 4000, NULL) || !say(op, 1, len, IBV_WR_SEND))
		return false;
	return vb_poll(a, 1, VB_SCQ, VB_WAIT, &wc) && wc.status == IBV_WC_REM_INV_REQ_ERR &&
	       bad_wc(1, IBV_WC_LOC_LEN_ERR) && vb_state(b, 1) == IBV_QPS_ERR;
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
	struct wc w;
	bool good;

	a->info.rkey = rkey ^ 1;
	good = tag(1, b->buf, 4000, NULL) && say(IBV_TMH_RNDV, 1, 4000, IBV_WR_SEND) && said(1) &&
	       good_wc(1, IBV_WC_TM_RECV, IBV_WC_TM_MATCH, &w);
	a->info.rkey = rkey;
	ok(good && bad_wc(1, IBV_WC_TM_RNDV_INCOMPLETE),
	   "a rendezvous with a bad rkey: TM_RNDV_INCOMPLETE");
	ok(vb_state(b, 1) == IBV_QPS_ERR && vb_state(a, 1) == IBV_QPS_ERR &&
		   vb_event(a, VB_WAIT) == IBV_EVENT_QP_ACCESS_ERR,
	   "both QPs are in ERR, and the sender is told why");
}

static void test_no_fin(void)
{
	struct wc w;

	ok(tag(1, b->buf, 4000, NULL) && say(IBV_TMH_RNDV, 1, 4000, IBV_WR_SEND) && said(1) &&
		   good_wc(1, IBV_WC_TM_RECV, IBV_WC_TM_MATCH, &w) &&
		   good_wc(1, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID, &w) &&
		   vb_event(b, VB_WAIT) == IBV_EVENT_QP_FATAL && vb_state(b, 1) == IBV_QPS_ERR,
	   "a sender without a receive for the end: QP_FATAL");
}

static void test_short(void)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, a, a->buf, 15);
	struct ibv_wc wc;

	ok(recvs(0, 1) && !vb_send(a, 1, false, &wr) && vb_poll(a, 1, VB_SCQ, VB_WAIT, &wc) &&
		   wc.status == IBV_WC_REM_INV_REQ_ERR &&
		   vb_event(b, VB_WAIT) == IBV_EVENT_QP_REQ_ERR,
	   "a message shorter than its header: REM_INV_REQ_ERR, QP_REQ_ERR");
}

/* Nobody here has windows: the key goes nowhere, and with it the message. */
static void test_inv(void)
{
	ok(tag(1, b->buf, 4000, NULL) && say(IBV_TMH_EAGER, 1, 100, IBV_WR_SEND_WITH_INV) &&
		   vb_status(a, 1, VB_SCQ, 1, IBV_WC_REM_ACCESS_ERR) &&
		   bad_wc(1, IBV_WC_WR_FLUSH_ERR) &&
		   vb_event(b, VB_WAIT) == IBV_EVENT_QP_ACCESS_ERR,
	   "SEND_WITH_INV of a bad key: REM_ACCESS_ERR, the tag is flushed");
}

static void with(void (*test)(void))
{
	up();
	test();
	down();
}

int main(int argc, char **argv)
{
	b = argc > 1 && !strcmp(argv[1], "remote") ? vb_fork() : vb_local();
	a = vb_local();
	vb_open(a);
	vb_open(b);
	test_create();
	with(test_ops);
	with(test_eager);
	with(test_unexpected);
	with(test_rndv);
	with(test_too_long);
	with(test_rndv_too_long);
	with(test_rndv_fails);
	with(test_no_fin);
	with(test_short);
	with(test_inv);
	vb_close(b);
	vb_close(a);
	return tap_failed != 0;
}
