/* SPDX-License-Identifier: MIT */
/**
 * DOC: modifying and querying queue pairs. The state machine itself is in the engine.
 */
#include "emulator/hca.h"
#include "emulator/ib.h"
#include "emulator/obj.h"
#include "emulator/seg.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"
#include "libshim/verbs/queue.h"

void shim_av_from_ah(struct hca_av *av, const struct ibv_ah_attr *ah)
{
	memcpy(av->dgid, ah->grh.dgid.raw, sizeof(av->dgid));
	av->dst_dev = ~0u; /* the engine looks it up */
	av->flow_label = ah->grh.flow_label;
	av->is_global = ah->is_global;
	av->sgid_index = ah->grh.sgid_index;
	av->hop_limit = ah->grh.hop_limit;
	av->traffic_class = ah->grh.traffic_class;
	av->dlid = ah->dlid;
	av->sl = ah->sl;
	av->src_path_bits = ah->src_path_bits;
	av->static_rate = ah->static_rate;
	av->port_num = ah->port_num;
}

void shim_ah_from_av(struct ibv_ah_attr *ah, const struct hca_av *av)
{
	memcpy(ah->grh.dgid.raw, av->dgid, sizeof(av->dgid));
	ah->grh.flow_label = av->flow_label;
	ah->is_global = av->is_global;
	ah->grh.sgid_index = av->sgid_index;
	ah->grh.hop_limit = av->hop_limit;
	ah->grh.traffic_class = av->traffic_class;
	ah->dlid = av->dlid;
	ah->sl = av->sl;
	ah->src_path_bits = av->src_path_bits;
	ah->static_rate = av->static_rate;
	ah->port_num = av->port_num;
}

/* The engine uses only fields that the mask names: the others may be uninitialised. */
static void qp_attr_from_ib(struct hca_qp_attr *a, const struct ibv_qp_attr *ib, u32 mask)
{
	memset(a, 0, sizeof(*a));
	a->state = ib->qp_state;
	a->cur_state = ib->cur_qp_state;
	a->path_mtu = ib->path_mtu;
	a->path_mig_state = ib->path_mig_state;
	a->qkey = ib->qkey;
	a->rq_psn = ib->rq_psn;
	a->sq_psn = ib->sq_psn;
	a->dest_qpn = ib->dest_qp_num;
	a->access = ib->qp_access_flags;
	a->pkey_index = ib->pkey_index;
	a->max_rd_atomic = ib->max_rd_atomic;
	a->max_dest_rd_atomic = ib->max_dest_rd_atomic;
	a->min_rnr_timer = ib->min_rnr_timer;
	a->port_num = ib->port_num;
	a->timeout = ib->timeout;
	a->retry_cnt = ib->retry_cnt;
	a->rnr_retry = ib->rnr_retry;
	a->en_sqd_async_notify = ib->en_sqd_async_notify;
	if (mask & IBV_QP_RATE_LIMIT) /* newer than the rest of the structure */
		a->rate_limit = ib->rate_limit;
	if (mask & IBV_QP_AV)
		shim_av_from_ah(&a->av, &ib->ah_attr);
}

void shim_qp_attr_to_ib(struct ibv_qp_attr *ib, const struct hca_qp_attr *a)
{
	/* Not the whole structure: callers built against old headers have no rate_limit. */
	memset(ib, 0, offsetof(struct ibv_qp_attr, rate_limit));
	ib->qp_state = a->state;
	ib->cur_qp_state = a->state;
	ib->path_mtu = a->path_mtu;
	ib->path_mig_state = a->path_mig_state;
	ib->qkey = a->qkey;
	ib->rq_psn = a->rq_psn;
	ib->sq_psn = a->sq_psn;
	ib->dest_qp_num = a->dest_qpn;
	ib->qp_access_flags = a->access;
	ib->pkey_index = (u16)a->pkey_index;
	ib->sq_draining = (u8)a->sq_draining;
	ib->max_rd_atomic = (u8)a->max_rd_atomic;
	ib->max_dest_rd_atomic = (u8)a->max_dest_rd_atomic;
	ib->min_rnr_timer = (u8)a->min_rnr_timer;
	ib->port_num = (u8)a->port_num;
	ib->timeout = (u8)a->timeout;
	ib->retry_cnt = (u8)a->retry_cnt;
	ib->rnr_retry = (u8)a->rnr_retry;
	shim_ah_from_av(&ib->ah_attr, &a->av);
}

static void qp_reset_queue(struct shim_wq *q)
{
	shim_lock(&q->lock);
	q->head = 0;
	store_release(&q->tail, 0);
	if (q->ctl)
		store_release(&q->ctl->prod, 0);
	shim_unlock(&q->lock);
}

/*
 * The QP was reset. In RESET the engine reads neither queue and posts are refused, so the queues
 * can be emptied now. Completions go first: polling one would advance a queue's tail.
 */
static void qp_reset_queues(struct shim_qp *qp)
{
	store_relaxed(&qp->state, QPS_RESET);
	if (qp->qp.send_cq)
		shim_cq_forget_qp(to_cq(qp->qp.send_cq), qp);
	if (qp->qp.recv_cq && qp->qp.recv_cq != qp->qp.send_cq)
		shim_cq_forget_qp(to_cq(qp->qp.recv_cq), qp);
	qp_reset_queue(&qp->sq);
	qp_reset_queue(&qp->rq);
	store_relaxed(&qp->maybe_err, false);
}

static bool qp_state_drops_sends(enum ibv_qp_state state)
{
	return state == IBV_QPS_ERR || state == IBV_QPS_RESET;
}

/** ibv_modify_qp() - ibv_modify_qp(3). Return: 0, or errno value and nothing was modified. */
ERRNO_EXPORT(ibv_modify_qp, (struct ibv_qp * ibqp, struct ibv_qp_attr *attr, int attr_mask),
	     (ibqp, attr, attr_mask))
{
	struct shim_context *ctx = shim_qp_context(ibqp);
	struct shim_qp *qp = to_qp(ibqp);
	struct hca_cmd cmd = { .op = CMD_MODIFY_QP };
	int ret;

	if (call_fails(CALL_ibv_modify_qp))
		return errno;
	if (!ctx)
		return shim_unknown(ibqp);
	cmd.handle = ibqp->handle;
	cmd.mod.mask = (u32)attr_mask;
	cmd.mod.opened = qp->opened;
	qp_attr_from_ib(&cmd.mod.attr, attr, (u32)attr_mask);
	if ((attr_mask & IBV_QP_STATE) && qp_state_drops_sends(attr->qp_state))
		shim_sends_settle(ibqp->handle);
	ret = shim_obj_cmd(ctx, &cmd);
	if (ret || !(attr_mask & IBV_QP_STATE))
		return -ret;
	if (attr->qp_state == IBV_QPS_RESET)
		qp_reset_queues(qp);
	else
		store_relaxed(&qp->state, (u32)attr->qp_state);
	ibqp->state = attr->qp_state;
	return 0;
}

/** ibv_query_qp() - ibv_query_qp(3). All attributes are given. Return: 0 or errno value. */
ERRNO_EXPORT(ibv_query_qp,
	     (struct ibv_qp * ibqp, struct ibv_qp_attr *attr, int attr_mask,
	      struct ibv_qp_init_attr *init_attr),
	     (ibqp, attr, attr_mask, init_attr))
{
	struct shim_context *ctx = shim_qp_context(ibqp);
	struct shim_qp *qp = to_qp(ibqp);
	struct hca_cmd cmd = { .op = CMD_QUERY_QP };
	int ret;

	if (call_fails(CALL_ibv_query_qp))
		return errno;
	(void)attr_mask; /* a hint: the attributes that the caller needs */
	if (!ctx)
		return shim_unknown(ibqp);
	cmd.handle = ibqp->handle;
	cmd.mod.opened = qp->opened;
	ret = shim_obj_cmd(ctx, &cmd);
	if (ret)
		return -ret;
	shim_qp_attr_to_ib(attr, &cmd.mod.attr);
	attr->cap = qp->cap;
	ibqp->state = attr->qp_state;
	init_attr->qp_context = ibqp->qp_context;
	init_attr->send_cq = ibqp->send_cq;
	init_attr->recv_cq = ibqp->recv_cq;
	init_attr->srq = ibqp->srq;
	init_attr->cap = qp->cap;
	init_attr->qp_type = ibqp->qp_type;
	init_attr->sq_sig_all = qp->sig_all;
	return 0;
}
