/* SPDX-License-Identifier: MIT */
/* Creation and destruction of queue pairs. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <errno.h>
#include <string.h>

bool vqp_is_xrc(const struct vobj *o)
{
	return o->qp.type == IBV_QPT_XRC_SEND || o->qp.type == IBV_QPT_XRC_RECV;
}

static enum ibv_qp_type some_type(void)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC,	  IBV_QPT_RC,	      IBV_QPT_RC,	IBV_QPT_UC,
		IBV_QPT_UC,	  IBV_QPT_UD,	      IBV_QPT_XRC_SEND, IBV_QPT_XRC_SEND,
		IBV_QPT_XRC_RECV, IBV_QPT_RAW_PACKET,
	};

	return types[vpick(sizeof(types) / sizeof(*types))];
}

/* Attributes of a part that the QP does not have are ignored. */
static int spoil(struct ibv_qp_init_attr_ex *init)
{
	bool recv = !init->srq && init->qp_type != IBV_QPT_XRC_SEND;
	struct ibv_device_attr dev;

	if (ibv_query_device(ctx, &dev))
		vfail("ibv_query_device");
	switch (vpick(recv ? 6 : 4)) {
	case 0:
		init->cap.max_send_wr = (uint32_t)dev.max_qp_wr + 1 + vpick(1000);
		break;
	case 1:
		init->cap.max_send_sge = (uint32_t)dev.max_sge + 1 + vpick(1000);
		break;
	case 2:
		init->cap.max_inline_data = 1u << 24;
		break;
	case 3:
		init->comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_PD;
		break;
	case 4:
		init->cap.max_recv_wr = (uint32_t)dev.max_qp_wr + 1 + vpick(1000);
		break;
	default:
		init->cap.max_recv_sge = (uint32_t)dev.max_sge + 1 + vpick(1000);
	}
	return EINVAL;
}

static uint64_t ops_of(enum ibv_qp_type type)
{
	const uint64_t conn = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			      IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |
			      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_BIND_MW |
			      IBV_QP_EX_WITH_LOCAL_INV;
	const uint64_t rd = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE |
			    VB_QP_EX_FLUSH;

	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return conn | rd;
	case IBV_QPT_UC:
		return conn;
	case IBV_QPT_UD:
		return IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	default:
		return IBV_QP_EX_WITH_SEND;
	}
}

/* One that has the builders; or is to have one that its type knows not. Return: the answer. */
static int ask_for_ops(struct ibv_qp_init_attr_ex *init)
{
	init->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init->send_ops_flags = ops_of(init->qp_type);
	if (!vchance(10) || init->qp_type == IBV_QPT_RC || init->qp_type == IBV_QPT_XRC_SEND)
		return 0;
	init->send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ;
	return EOPNOTSUPP;
}

static void check_grant(const struct ibv_qp_init_attr_ex *init, const struct ibv_qp_cap *asked)
{
	const struct ibv_qp_cap *c = &init->cap;
	bool recv = init->qp_type != IBV_QPT_XRC_SEND;

	if (c->max_send_wr < asked->max_send_wr || c->max_send_sge < asked->max_send_sge ||
	    c->max_inline_data < asked->max_inline_data || c->max_send_wr > VDEPTH ||
	    (recv && (c->max_recv_wr < asked->max_recv_wr ||
		      c->max_recv_sge < asked->max_recv_sge || c->max_recv_wr > VDEPTH)))
		vfail("ibv_create_qp grants %u, %u, %u, %u, %u", c->max_send_wr, c->max_recv_wr,
		      c->max_send_sge, c->max_recv_sge, c->max_inline_data);
}

static void take_over(struct vobj *o, struct ibv_qp *qp, const struct ibv_qp_init_attr_ex *init)
{
	memset(&o->qp, 0, sizeof(o->qp));
	o->qp.type = init->qp_type;
	o->qp.qpn = qp->qp_num;
	o->qp.builder = init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	o->qp.sig_all = init->sq_sig_all;
	if (init->qp_type != IBV_QPT_XRC_RECV) {
		o->qp.max_inline = init->cap.max_inline_data;
		o->qp.sq.depth = init->cap.max_send_wr;
		o->qp.sq.max_sge = init->cap.max_send_sge;
		o->qp.rq.depth = init->cap.max_recv_wr;
		o->qp.rq.max_sge = init->cap.max_recv_sge;
	}
	vborn(o, qp);
}

/* A target: it has a domain and nothing else. */
static void create_target(struct vobj *o)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct vobj *xrcd = vany(me, V_XRCD);
	struct ibv_qp *qp;
	int want = 0;

	if (!xrcd)
		return;
	o->uses[U_XRCD] = xrcd;
	init.xrcd = xrcd->ptr;
	if (vchance(8)) {
		init.comp_mask = 0;
		want = EINVAL;
	}
	errno = 0;
	qp = ibv_create_qp_ex(ctx, &init);
	if (expect_ptr("ibv_create_qp_ex", qp, want))
		take_over(o, qp, &init);
}

/* Picks the objects that it refers to. Return: false if one is missing. */
static bool fill_uses(struct vobj *o, struct ibv_qp_init_attr_ex *init)
{
	struct vobj *pd = vany(me, V_PD), *scq = vany(me, V_CQ), *rcq = vany(me, V_CQ),
		    *srq = vany(me, V_SRQ);
	bool shares = init->qp_type == IBV_QPT_RC || init->qp_type == IBV_QPT_UD;

	if (!pd || !scq || !rcq)
		return false;
	o->uses[U_PD] = pd;
	o->uses[U_CQ] = scq;
	init->pd = pd->ptr;
	init->send_cq = scq->ptr;
	if (init->qp_type == IBV_QPT_XRC_SEND)
		return true;
	o->uses[U_RCQ] = rcq;
	init->recv_cq = rcq->ptr;
	if (shares && srq && !srq->srq.xrc && vchance(3)) {
		o->uses[U_SRQ] = srq;
		init->srq = srq->ptr;
		init->cap.max_recv_wr = init->cap.max_recv_sge = 0;
	}
	return true;
}

void vqp_create(struct vobj *o)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = { 1 + vpick(VDEPTH), 1 + vpick(VDEPTH), 1 + vpick(VSGE), 1 + vpick(VSGE),
			 vpick(200) },
		.qp_type = some_type(),
		.sq_sig_all = (int)vpick(2),
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct ibv_qp_cap asked;
	struct ibv_qp *qp;
	int want = 0;

	if (init.qp_type == IBV_QPT_XRC_RECV) {
		create_target(o);
		return;
	}
	if (!fill_uses(o, &init))
		return;
	asked = init.cap;
	if (vchance(2))
		want = ask_for_ops(&init);
	if (!want && vchance(8))
		want = spoil(&init);
	errno = 0;
	if (want || init.comp_mask != IBV_QP_INIT_ATTR_PD)
		qp = ibv_create_qp_ex(ctx, &init);
	else /* the extended structure begins with the plain one */
		qp = ibv_create_qp(init.pd, (struct ibv_qp_init_attr *)&init);
	if (!expect_ptr("ibv_create_qp", qp, want))
		return;
	check_grant(&init, &asked);
	take_over(o, qp, &init);
}

int vqp_destroy(struct vobj *o)
{
	int ret = ibv_destroy_qp(o->ptr);

	if (ret)
		return ret;
	vmodel_drop_windows(o);
	vmodel_reset(o);
	return 0;
}
