/* SPDX-License-Identifier: MIT */
/* Tag matching's receiver and sender. See tests/lib/c/vb_tm.h. */
#include "tests/lib/c/vb_tm.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct vb_side *a, *b; /* sender and receiver */

/* --- Requests to the receiving side */

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

static int do_poll(struct vb_side *s, void *arg)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)s->srq_cq[0];
	struct ibv_poll_cq_attr attr = { 0 };
	struct tm_wc *w = arg;

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

static int do_ops(struct vb_side *s, void *arg)
{
	struct ibv_srq_init_attr basic = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct tm_ops *o = arg;
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

int tm_make(uint32_t tags, uint32_t ops, uint32_t without, enum ibv_qp_type qp)
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

struct ibv_ops_wr tm_op(enum ibv_ops_wr_opcode opcode, uint64_t wr_id)
{
	return (struct ibv_ops_wr){ .wr_id = wr_id, .opcode = opcode, .flags = IBV_OPS_SIGNALED };
}

void tm_append(struct tm_ops *o, const struct ibv_ops_wr *wr)
{
	o->wr[o->n++] = *wr;
}

void tm_append_tag(struct tm_ops *o, uint64_t tag, void *buf, uint32_t len)
{
	struct ibv_ops_wr wr = tm_op(IBV_WR_TAG_ADD, 1000 + tag);

	wr.tm.add.recv_wr_id = tag;
	wr.tm.add.num_sge = 1;
	wr.tm.add.tag = tag;
	wr.tm.add.mask = UINT64_MAX;
	o->sge[o->n] = (struct ibv_sge){ (uintptr_t)buf, len, b->info.lkey };
	tm_append(o, &wr);
}

int tm_post(struct tm_ops *o)
{
	return vb_call(b, do_ops, o, sizeof(*o));
}

static bool poll_wc(int ms, struct tm_wc *w)
{
	for (; ms >= 0; ms--) {
		vb_call(b, do_poll, w, sizeof(*w));
		if (w->got)
			return true;
		usleep(1000);
	}
	return false;
}

bool tm_good(uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags, struct tm_wc *w)
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

bool tm_bad(uint64_t wr_id, enum ibv_wc_status status)
{
	struct tm_wc w;

	return poll_wc(VB_WAIT, &w) && w.wr_id == wr_id && w.status == status;
}

bool tm_silent(void)
{
	struct tm_wc w;

	return !poll_wc(VB_SHORT, &w);
}

bool tm_tag(uint64_t value, void *buf, uint32_t len, uint32_t *handle)
{
	struct tm_ops o = { 0 };
	struct tm_wc w;

	tm_append_tag(&o, value, buf, len);
	if (tm_post(&o))
		return false;
	if (handle)
		*handle = o.wr[0].tm.handle;
	return tm_good(1000 + value, IBV_WC_TM_ADD, 0, &w);
}

static void up(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC), on = spec;
	int ret = tm_make(TAGS, OPS, 0, 0);

	on.srq = 1;
	on.send_wr = on.recv_wr = on.send_sge = on.recv_sge = 0;
	on.rnr_retry = 2;
	ret = ret ? ret : vb_link(a, 1, &spec, b, 1, &on);
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

uint8_t *tm_place(uint64_t wr_id)
{
	return b->buf + ROOM + wr_id % DEPTH * 4096;
}

bool tm_recvs(uint64_t from, int n)
{
	bool good = true;

	for (int i = 0; i < n; i++)
		good = good &&
		       !vb_recv1(b, -1, from + (uint64_t)i, tm_place(from + (uint64_t)i), 4096);
	return good;
}

bool tm_say(enum ibv_tmh_op op, uint64_t value, uint32_t len, enum ibv_wr_opcode opcode)
{
	struct tm_header h = {
		.tmh = { .opcode = op, .app_ctx = htonl(77), .tag = htobe64(value) }
	};
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

bool tm_said(uint64_t value)
{
	struct ibv_wc wc;

	return vb_done(a, 1, VB_SCQ, value, IBV_WC_SEND, &wc);
}

void tm_with(void (*test)(void))
{
	up();
	test();
	down();
}

void tm_open(int argc, char **argv, struct vb_side **sender, struct vb_side **receiver)
{
	vb_open_two(argc, argv, &a, &b);
	*sender = a;
	*receiver = b;
}

void tm_close(void)
{
	vb_close_two(a, b);
}
