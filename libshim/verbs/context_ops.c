/* SPDX-License-Identifier: MIT */
/**
 * DOC: the tables of operations of a context.
 *
 * Most of the data path is inline in verbs.h and calls through these tables. The files of the verbs
 * themselves export those verbs that libibverbs exports as functions.
 */
#include "libshim/interpose/interpose.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/flow.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/qp.h"
#include "libshim/verbs/srq.h"
#include "libshim/verbs/wq.h"

static const struct ibv_context_ops live_ops = {
	.alloc_mw = shim_alloc_mw,
	.bind_mw = shim_bind_mw,
	.dealloc_mw = shim_dealloc_mw,
	.poll_cq = shim_poll_cq,
	.req_notify_cq = shim_req_notify_cq,
	.post_srq_recv = shim_post_srq_recv,
	.post_send = shim_post_send,
	.post_recv = shim_post_recv,
};

static int dead_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	return -EIO;
}

static int dead_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return EIO;
}

static int dead_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	if (bad)
		*bad = wr;
	return EIO;
}

static int dead_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	if (bad)
		*bad = wr;
	return EIO;
}

static int dead_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	if (bad)
		*bad = wr;
	return EIO;
}

static int dead_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EIO;
}

void shim_context_set_dead(struct shim_context *ctx)
{
	struct ibv_context_ops *ops = &ctx->verbs.context.ops;

	ctx->dead = true;
	ops->poll_cq = dead_poll_cq;
	ops->req_notify_cq = dead_req_notify_cq;
	ops->post_send = dead_post_send;
	ops->post_recv = dead_post_recv;
	ops->post_srq_recv = dead_post_srq_recv;
	ops->bind_mw = dead_bind_mw;
}

void shim_context_set_ops(struct shim_context *ctx)
{
	struct verbs_context *v = &ctx->verbs;

	v->sz = sizeof(*v);
	v->priv = ops_padding();
	v->query_port = shim_query_port;
	v->query_device_ex = shim_query_device_ex;
	v->query_rt_values = shim_query_rt_values;
	v->advise_mr = shim_advise_mr;
	v->create_cq_ex = shim_create_cq_ex;
	v->create_qp_ex = shim_create_qp_ex;
	v->open_qp = shim_open_qp;
	v->create_srq_ex = shim_create_srq_ex;
	v->get_srq_num = shim_get_srq_num;
	v->post_srq_ops = shim_post_srq_ops;
	v->open_xrcd = shim_open_xrcd;
	v->close_xrcd = shim_close_xrcd;
	v->alloc_null_mr = shim_alloc_null_mr;
	v->alloc_dm = shim_alloc_dm;
	v->free_dm = shim_free_dm;
	v->reg_dm_mr = shim_reg_dm_mr;
	v->create_wq = shim_create_wq;
	v->modify_wq = shim_modify_wq;
	v->destroy_wq = shim_destroy_wq;
	v->create_rwq_ind_table = shim_create_rwq_ind_table;
	v->destroy_rwq_ind_table = shim_destroy_rwq_ind_table;
	v->ibv_create_flow = shim_create_flow;
	v->ibv_destroy_flow = shim_destroy_flow;
	v->create_counters = shim_create_counters;
	v->destroy_counters = shim_destroy_counters;
	v->attach_counters_point_flow = shim_attach_counters_point_flow;
	v->read_counters = shim_read_counters;
	v->alloc_td = shim_alloc_td;
	v->dealloc_td = shim_dealloc_td;
	v->alloc_parent_domain = shim_alloc_parent_domain;
	v->modify_cq = shim_modify_cq;
	v->modify_qp_rate_limit = shim_modify_qp_rate_limit;
	v->context.ops = live_ops;
}
