/* SPDX-License-Identifier: MIT */
/* The objects of a side. See tests/lib/c/vb.h. */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct vb_spec vb_spec_of(enum ibv_qp_type type)
{
	return (struct vb_spec){
		.type = type,
		.send_wr = 32,
		.recv_wr = 32,
		.send_sge = 4,
		.recv_sge = 4,
		.cqe = 128,
		.qkey = VB_QKEY,
		.psn = 0xabcdef,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ |
			  (type == IBV_QPT_UC ? 0 : IBV_ACCESS_REMOTE_ATOMIC),
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr = 12,
		.rd_atomic = 4,
		.mtu = IBV_MTU_1024,
	};
}

static int error(void)
{
	return errno ? errno : -1;
}

/* XRC needs a domain; the side has one of its own, without an inode, from the first use on. */
static int need_xrcd(struct vb_side *s)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	errno = 0;
	if (!s->xrcd)
		s->xrcd = ibv_open_xrcd(s->ctx, &attr);
	return s->xrcd ? 0 : error();
}

struct create {
	int i;
	struct vb_spec spec;
	struct vb_addr addr;
};

static int make_cqs(struct vb_side *s, struct vb_qp *q, const struct vb_spec *spec)
{
	struct ibv_comp_channel *chan = spec->chan ? s->chan : NULL;

	q->cqs_lent = spec->cqs_of != 0;
	if (q->cqs_lent) {
		q->scq = s->qp[spec->cqs_of - 1].scq;
		q->rcq = s->qp[spec->cqs_of - 1].rcq;
		return 0;
	}
	errno = 0;
	q->scq = ibv_create_cq(s->ctx, (int)spec->cqe, q, chan, 0);
	q->rcq = ibv_create_cq(s->ctx, (int)spec->cqe, q, chan, 0);
	return q->scq && q->rcq ? 0 : error();
}

static void free_cqs(struct vb_qp *q)
{
	if (!q->cqs_lent && q->scq)
		ibv_destroy_cq(q->scq);
	if (!q->cqs_lent && q->rcq)
		ibv_destroy_cq(q->rcq);
	memset(q, 0, sizeof(*q));
}

static struct ibv_qp *make_qp(struct vb_side *s, struct vb_qp *q, const struct vb_spec *spec,
			      struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = q->scq,
		.recv_cq = q->rcq,
		.cap = { spec->send_wr, spec->recv_wr, spec->send_sge, spec->recv_sge, spec->inl },
		.srq = spec->srq ? s->srq[spec->srq - 1] : NULL,
		.qp_type = spec->type,
		.sq_sig_all = spec->sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = s->pd,
	};
	struct ibv_qp *qp;

	if (spec->type == IBV_QPT_XRC_RECV) {
		attr = (struct ibv_qp_init_attr_ex){
			.qp_type = spec->type,
			.comp_mask = IBV_QP_INIT_ATTR_XRCD,
			.xrcd = s->xrcd,
		};
	}
	if (spec->type == IBV_QPT_XRC_SEND)
		attr.recv_cq = NULL;
	if (spec->ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = spec->ops;
	}
	if (spec->max_tso) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
		attr.max_tso_header = spec->max_tso;
	}
	errno = 0;
	if (spec->ops || spec->max_tso || spec->type == IBV_QPT_XRC_RECV)
		qp = ibv_create_qp_ex(s->ctx, &attr);
	else
		qp = ibv_create_qp(s->pd, (struct ibv_qp_init_attr *)&attr);
	*cap = attr.cap;
	return qp;
}

static int do_create(struct vb_side *s, void *arg)
{
	struct create *c = arg;
	struct vb_qp *q = &s->qp[c->i];
	int ret = 0;

	memset(q, 0, sizeof(*q));
	if (c->spec.type == IBV_QPT_XRC_RECV)
		ret = need_xrcd(s);
	else
		ret = make_cqs(s, q, &c->spec);
	if (!ret) {
		q->qp = make_qp(s, q, &c->spec, &c->addr.cap);
		ret = q->qp ? 0 : error();
	}
	if (ret || !q->qp) {
		free_cqs(q);
		return ret;
	}
	if (c->spec.ops)
		q->ex = ibv_qp_to_qp_ex(q->qp);
	c->addr.qpn = q->qp->qp_num;
	c->addr.psn = c->spec.psn;
	c->addr.gid = s->info.gid;
	return 0;
}

int vb_create(struct vb_side *s, int i, const struct vb_spec *spec)
{
	struct create c = { .i = i, .spec = *spec };
	int ret = vb_call(s, do_create, &c, sizeof(c));

	s->addr[i] = c.addr;
	return ret;
}

static int do_destroy(struct vb_side *s, void *arg)
{
	struct vb_qp *q = &s->qp[*(int *)arg];
	int ret = q->flow ? ibv_destroy_flow(q->flow) : 0;

	q->flow = NULL;
	if (!ret && q->qp)
		ret = ibv_destroy_qp(q->qp);
	if (!ret)
		free_cqs(q);
	return ret;
}

int vb_destroy(struct vb_side *s, int i)
{
	return vb_call(s, do_destroy, &i, sizeof(i));
}

struct srq {
	int i;
	bool xrc;
	uint32_t max_wr, max_sge, num;
};

static int do_srq(struct vb_side *s, void *arg)
{
	struct srq *q = arg;
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = q->max_wr, .max_sge = q->max_sge },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = s->pd,
	};
	int ret;

	errno = 0;
	if (!q->xrc) {
		struct ibv_srq_init_attr basic = { .attr = attr.attr };

		s->srq[q->i] = ibv_create_srq(s->pd, &basic);
		return s->srq[q->i] ? 0 : error();
	}
	ret = need_xrcd(s);
	if (ret)
		return ret;
	s->srq_cq[q->i] = ibv_create_cq(s->ctx, 256, s, s->chan, 0);
	if (!s->srq_cq[q->i])
		return error();
	attr.xrcd = s->xrcd;
	attr.cq = s->srq_cq[q->i];
	s->srq[q->i] = ibv_create_srq_ex(s->ctx, &attr);
	if (!s->srq[q->i])
		return error();
	return ibv_get_srq_num(s->srq[q->i], &q->num);
}

int vb_srq(struct vb_side *s, int i, uint32_t max_wr, uint32_t max_sge, bool xrc)
{
	struct srq q = { .i = i, .xrc = xrc, .max_wr = max_wr, .max_sge = max_sge };
	int ret = vb_call(s, do_srq, &q, sizeof(q));

	s->srqn[i] = q.num;
	return ret;
}

static int do_srq_destroy(struct vb_side *s, void *arg)
{
	int i = *(int *)arg;
	int ret = s->srq[i] ? ibv_destroy_srq(s->srq[i]) : 0;

	if (ret)
		return ret;
	s->srq[i] = NULL;
	if (s->srq_cq[i])
		ret = ibv_destroy_cq(s->srq_cq[i]);
	s->srq_cq[i] = NULL;
	return ret;
}

int vb_srq_destroy(struct vb_side *s, int i)
{
	return vb_call(s, do_srq_destroy, &i, sizeof(i));
}

struct ah {
	int i;
	union ibv_gid dgid;
};

static int do_ah(struct vb_side *s, void *arg)
{
	const struct ah *a = arg;
	struct ibv_ah_attr attr = {
		.grh = { .dgid = a->dgid, .sgid_index = (uint8_t)s->gid_index, .hop_limit = 64 },
		.is_global = 1,
		.port_num = 1,
	};

	errno = 0;
	s->ah[a->i] = ibv_create_ah(s->pd, &attr);
	return s->ah[a->i] ? 0 : error();
}

int vb_ah(struct vb_side *s, int i, const union ibv_gid *dgid)
{
	struct ah a = { .i = i, .dgid = *dgid };

	return vb_call(s, do_ah, &a, sizeof(a));
}

static int do_ah_destroy(struct vb_side *s, void *arg)
{
	int i = *(int *)arg;
	int ret = s->ah[i] ? ibv_destroy_ah(s->ah[i]) : 0;

	if (!ret)
		s->ah[i] = NULL;
	return ret;
}

int vb_ah_destroy(struct vb_side *s, int i)
{
	return vb_call(s, do_ah_destroy, &i, sizeof(i));
}

struct modify {
	int i, mask;
	struct ibv_qp_attr attr;
};

static int do_modify(struct vb_side *s, void *arg)
{
	struct modify *m = arg;

	return ibv_modify_qp(s->qp[m->i].qp, &m->attr, m->mask);
}

int vb_modify(struct vb_side *s, int i, const struct ibv_qp_attr *attr, int mask)
{
	struct modify m = { .i = i, .mask = mask, .attr = *attr };

	return vb_call(s, do_modify, &m, sizeof(m));
}

int vb_to_state(struct vb_side *s, int i, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return vb_modify(s, i, &attr, IBV_QP_STATE);
}

static int do_state(struct vb_side *s, void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(s->qp[*(int *)arg].qp, &attr, IBV_QP_STATE, &init))
		return -1;
	return (int)attr.qp_state;
}

int vb_state(struct vb_side *s, int i)
{
	return vb_call(s, do_state, &i, sizeof(i));
}

struct connect {
	int i;
	struct vb_spec spec;
	struct vb_addr peer;
	uint32_t psn;
};

static int init_mask(const struct vb_spec *spec)
{
	if (spec->type == IBV_QPT_RAW_PACKET)
		return IBV_QP_STATE | IBV_QP_PORT;
	return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       (spec->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
}

static int rtr_mask(const struct vb_spec *spec)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	switch (spec->type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_RECV:
		return mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
		return mask;
	default:
		return IBV_QP_STATE;
	}
}

static int rts_mask(const struct vb_spec *spec)
{
	switch (spec->type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	case IBV_QPT_XRC_RECV:
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN;
	case IBV_QPT_RAW_PACKET:
		return IBV_QP_STATE;
	default:
		return IBV_QP_STATE | IBV_QP_SQ_PSN;
	}
}

static int do_connect(struct vb_side *s, void *arg)
{
	const struct connect *c = arg;
	const struct vb_spec *o = &c->spec;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = o->qkey,
		.qp_access_flags = (unsigned int)o->access,
		.path_mtu = o->mtu,
		.dest_qp_num = c->peer.qpn,
		.rq_psn = c->peer.psn,
		.sq_psn = c->psn,
		.max_dest_rd_atomic = o->rd_atomic,
		.max_rd_atomic = o->rd_atomic,
		.min_rnr_timer = o->min_rnr,
		.timeout = o->timeout,
		.retry_cnt = o->retry_cnt,
		.rnr_retry = o->rnr_retry,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};
	struct ibv_qp *qp = s->qp[c->i].qp;
	int ret;

	attr.ah_attr.dlid = c->peer.lid;
	attr.ah_attr.grh.dgid = c->peer.gid;
	attr.ah_attr.grh.sgid_index = (uint8_t)s->gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	ret = ibv_modify_qp(qp, &attr, init_mask(o));
	attr.qp_state = IBV_QPS_RTR;
	if (!ret)
		ret = ibv_modify_qp(qp, &attr, rtr_mask(o));
	attr.qp_state = IBV_QPS_RTS;
	if (!ret)
		ret = ibv_modify_qp(qp, &attr, rts_mask(o));
	return ret;
}

int vb_connect(struct vb_side *s, int i, const struct vb_side *peer, int to,
	       const struct vb_spec *spec)
{
	struct connect c = { .i = i, .spec = *spec, .psn = s->addr[i].psn };

	if (peer)
		c.peer = peer->addr[to];
	return vb_call(s, do_connect, &c, sizeof(c));
}
