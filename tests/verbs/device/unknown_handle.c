/* SPDX-License-Identifier: MIT */
/*
 * Calls on objects that are destroyed or belong to another context answer as the kernel does when
 * it looks their handles up: ENOENT, for channels EBADF.
 */
#include "tests/lib/c/raw.h"
#include "tests/lib/c/fails.h"
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <string.h>

/** struct objs - an object of each kind. */
struct objs {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *raw;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	struct ibv_xrcd *xrcd;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_counters *counters;
	struct ibv_flow *flow;
	struct ibv_dm *dm;
	struct ibv_td *td;
};

static struct vb_side *a, *b;

/* A check: @call returns no object, and errno is @want. */
#define NONE(call, want)                                                                           \
	do {                                                                                       \
		bool none_;                                                                        \
		errno = 0;                                                                         \
		none_ = !(call);                                                                   \
		if (!ok(none_ && errno == (want), "%s: %s", #call, #want))                         \
			note("errno %d", errno);                                                   \
	} while (0)

static struct ibv_qp *qp_new(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *srq,
			     enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = type,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};

	return ibv_create_qp(pd, &attr);
}

static struct ibv_qp *xrc_target_new(struct ibv_context *ctx, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};

	return ibv_create_qp_ex(ctx, &attr);
}

static struct ibv_qp *xrc_target_open(struct ibv_context *ctx, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
		.xrcd = xrcd,
	};

	return ibv_open_qp(ctx, &attr);
}

static struct ibv_srq *srq_new(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

static struct ibv_srq *xrc_srq_new(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq,
				   struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.cq = cq,
		.xrcd = xrcd,
	};

	return ibv_create_srq_ex(ctx, &attr);
}

static struct ibv_wq *wq_new(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq
	};

	return ibv_create_wq(ctx, &attr);
}

static struct ibv_rwq_ind_table *table_new(struct ibv_context *ctx, struct ibv_wq *wq)
{
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &wq };

	return ibv_create_rwq_ind_table(ctx, &attr);
}

static struct ibv_qp *rss_new(struct ibv_context *ctx, struct ibv_pd *pd,
			      struct ibv_rwq_ind_table *table)
{
	static uint8_t key[40];
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.pd = pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key, 0 },
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
	};

	return ibv_create_qp_ex(ctx, &attr);
}

static struct ibv_flow *flow_new(struct ibv_qp *qp, struct ibv_counters *counters)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	struct ibv_flow_spec_counter_action count = { IBV_FLOW_SPEC_ACTION_COUNT, sizeof(count),
						      counters };
	struct raw_rule rule;

	raw_rule(&rule, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec_dmac(&rule, mac);
	raw_spec(&rule, &count, sizeof(count));
	return ibv_create_flow(qp, &rule.attr);
}

static struct ibv_ah *ah_new(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = {
		.port_num = 1,
		.is_global = 1,
		.grh = { .dgid = a->info.gid, .sgid_index = (uint8_t)a->gid_index },
	};

	return ibv_create_ah(pd, &attr);
}

/* One object of each kind in the context of @s. */
static struct objs objs_new(const struct vb_side *s)
{
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = 0100 };
	struct ibv_counter_attach_attr point = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters_init_attr counters = { 0 };
	struct ibv_alloc_dm_attr dm = { .length = 4096 };
	struct ibv_td_init_attr td = { 0 };
	struct objs o = { .ctx = s->ctx };

	o.pd = ibv_alloc_pd(s->ctx);
	o.chan = ibv_create_comp_channel(s->ctx);
	o.cq = ibv_create_cq(s->ctx, 4, NULL, NULL, 0);
	o.srq = srq_new(o.pd);
	o.qp = qp_new(o.pd, o.cq, NULL, IBV_QPT_RC);
	o.raw = qp_new(o.pd, o.cq, NULL, IBV_QPT_RAW_PACKET);
	o.mr = ibv_reg_mr(o.pd, s->buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	o.mw = ibv_alloc_mw(o.pd, IBV_MW_TYPE_1);
	o.ah = ah_new(o.pd);
	o.xrcd = ibv_open_xrcd(s->ctx, &xrcd);
	o.wq = wq_new(s->ctx, o.pd, o.cq);
	o.table = table_new(s->ctx, o.wq);
	o.counters = ibv_create_counters(s->ctx, &counters);
	ibv_attach_counters_point_flow(o.counters, &point, NULL);
	o.flow = flow_new(o.raw, o.counters);
	o.dm = ibv_alloc_dm(s->ctx, &dm);
	o.td = ibv_alloc_td(s->ctx, &td);
	if (!ok(o.pd && o.chan && o.cq && o.srq && o.qp && o.raw && o.mr && o.mw && o.ah &&
			o.xrcd && o.wq && o.table && o.counters && o.flow && o.dm && o.td,
		"an object of each kind"))
		die("%s", strerror(errno));
	return o;
}

static bool objs_destroy(const struct objs *o)
{
	return !ibv_destroy_flow(o->flow) && !ibv_destroy_counters(o->counters) &&
	       !ibv_destroy_rwq_ind_table(o->table) && !ibv_destroy_wq(o->wq) &&
	       !ibv_close_xrcd(o->xrcd) && !ibv_destroy_ah(o->ah) && !ibv_dealloc_mw(o->mw) &&
	       !ibv_dereg_mr(o->mr) && !ibv_destroy_qp(o->raw) && !ibv_destroy_qp(o->qp) &&
	       !ibv_destroy_srq(o->srq) && !ibv_destroy_cq(o->cq) &&
	       !ibv_destroy_comp_channel(o->chan) && !ibv_free_dm(o->dm) &&
	       !ibv_dealloc_td(o->td) && !ibv_dealloc_pd(o->pd);
}

static void test_second_destroy(const struct objs *o)
{
	FAILS(ibv_destroy_flow(o->flow), ENOENT);
	FAILS(ibv_destroy_counters(o->counters), ENOENT);
	FAILS(ibv_destroy_rwq_ind_table(o->table), ENOENT);
	FAILS(ibv_destroy_wq(o->wq), ENOENT);
	FAILS(ibv_close_xrcd(o->xrcd), ENOENT);
	FAILS(ibv_destroy_ah(o->ah), ENOENT);
	FAILS(ibv_dealloc_mw(o->mw), ENOENT);
	FAILS(ibv_dereg_mr(o->mr), ENOENT);
	FAILS(ibv_destroy_qp(o->qp), ENOENT);
	FAILS(ibv_destroy_srq(o->srq), ENOENT);
	FAILS(ibv_destroy_cq(o->cq), ENOENT);
	FAILS(ibv_free_dm(o->dm), ENOENT);
	FAILS(ibv_dealloc_td(o->td), ENOENT);
	FAILS(ibv_dealloc_pd(o->pd), ENOENT);
	ok(ibv_destroy_comp_channel(o->chan) == EBADF, "ibv_destroy_comp_channel(): EBADF");
}

/* Modify, query and the like: of a destroyed object. */
static void test_use(const struct objs *o)
{
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 1000 };
	struct ibv_wq_attr wq_attr = { .attr_mask = IBV_WQ_ATTR_STATE };
	struct ibv_modify_cq_attr cq_attr = { .attr_mask = IBV_CQ_ATTR_MODERATE };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_srq_attr srq_attr = { .srq_limit = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_cq *cq;
	uint64_t value;
	void *cq_ctx;

	FAILS(ibv_modify_qp(o->qp, &attr, IBV_QP_STATE), ENOENT);
	FAILS(ibv_query_qp(o->qp, &attr, IBV_QP_STATE, &init), ENOENT);
	FAILS(ibv_modify_qp_rate_limit(o->qp, &rate), ENOENT);
	FAILS(ibv_attach_mcast(o->qp, &a->info.gid, 0), ENOENT);
	FAILS(ibv_detach_mcast(o->qp, &a->info.gid, 0), ENOENT);
	FAILS(ibv_modify_srq(o->srq, &srq_attr, IBV_SRQ_LIMIT), ENOENT);
	FAILS(ibv_query_srq(o->srq, &srq_attr), ENOENT);
	FAILS(ibv_resize_cq(o->cq, 8), ENOENT);
	FAILS(ibv_modify_cq(o->cq, &cq_attr), ENOENT);
	FAILS(ibv_modify_wq(o->wq, &wq_attr), ENOENT);
	FAILS(ibv_read_counters(o->counters, &value, 1, 0), ENOENT);
	errno = 0;
	ok(ibv_rereg_mr(o->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ==
			   IBV_REREG_MR_ERR_CMD &&
		   errno == ENOENT,
	   "ibv_rereg_mr(): the command's ENOENT");
	errno = 0;
	ok(ibv_get_cq_event(o->chan, &cq, &cq_ctx) == -1 && errno == EBADF,
	   "ibv_get_cq_event(): EBADF");
}

/* Verbs that create something in a protection domain that is destroyed. */
static void test_pd(struct ibv_pd *pd, const struct objs *mine)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, 64, a->mr->lkey };
	struct ibv_grh grh = { 0 };
	struct ibv_wc wc = { 0 };

	NONE(ibv_reg_mr(pd, a->buf, 4096, 0), ENOENT);
	NONE(ibv_reg_mr_iova(pd, a->buf, 4096, 0, 0), ENOENT);
	NONE(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0), ENOENT);
	NONE(ibv_reg_dm_mr(pd, mine->dm, 0, 64, IBV_ACCESS_ZERO_BASED), ENOENT);
	NONE(ibv_alloc_null_mr(pd), ENOENT);
	NONE(ibv_alloc_mw(pd, IBV_MW_TYPE_1), ENOENT);
	NONE(ah_new(pd), ENOENT);
	NONE(ibv_create_ah_from_wc(pd, &wc, &grh, 1), ENOENT);
	NONE(srq_new(pd), ENOENT);
	NONE(qp_new(pd, mine->cq, NULL, IBV_QPT_RC), ENOENT);
	FAILS(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
}

/* Verbs that create something of objects that are destroyed, or of another context. */
static void test_made_of(const struct objs *o, const struct objs *mine)
{
	struct ibv_context *ctx = mine->ctx;
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = IBV_QPT_UD,
		.pd = o->pd,
		.send_cq = mine->cq,
		.recv_cq = mine->cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	NONE(ibv_create_qp_ex(ctx, &ex), ENOENT);
	NONE(qp_new(mine->pd, o->cq, NULL, IBV_QPT_RC), ENOENT);
	NONE(qp_new(mine->pd, mine->cq, o->srq, IBV_QPT_RC), ENOENT);
	NONE(xrc_target_new(ctx, o->xrcd), ENOENT);
	NONE(xrc_target_open(ctx, o->xrcd), EINVAL);
	NONE(xrc_srq_new(ctx, o->pd, mine->cq, mine->xrcd), ENOENT);
	NONE(xrc_srq_new(ctx, mine->pd, o->cq, mine->xrcd), ENOENT);
	NONE(xrc_srq_new(ctx, mine->pd, mine->cq, o->xrcd), ENOENT);
	NONE(wq_new(ctx, o->pd, mine->cq), ENOENT);
	NONE(wq_new(ctx, mine->pd, o->cq), ENOENT);
	NONE(table_new(ctx, o->wq), ENOENT);
	NONE(rss_new(ctx, mine->pd, o->table), ENOENT);
	NONE(flow_new(mine->raw, o->counters), ENOENT);
	NONE(ibv_reg_dm_mr(mine->pd, o->dm, 0, 64, IBV_ACCESS_ZERO_BASED), ENOENT);
	NONE(ibv_create_cq(ctx, 4, NULL, o->chan, 0), EBADF);
	errno = 0;
	ok(ibv_rereg_mr(mine->mr, IBV_REREG_MR_CHANGE_PD, o->pd, NULL, 0, 0) ==
			   IBV_REREG_MR_ERR_CMD &&
		   errno == ENOENT,
	   "ibv_rereg_mr() to that PD: the command's ENOENT");
}

/* A context that is closed, and nothing is left in it. */
static void test_closed_context(void)
{
	struct ibv_context *ctx = ibv_open_device(a->ctx->device);
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	ok(ctx && !ibv_close_device(ctx), "closed once");
	FAILS(ibv_query_device(ctx, &attr), EBADF);
	FAILS(ibv_query_device_ex(ctx, NULL, &ex), EBADF);
	FAILS(ibv_query_port(ctx, 1, &port), EBADF);
	FAILS(ibv_query_rt_values_ex(ctx, &values), EBADF);
	ok(ibv_query_gid_ex(ctx, 1, 0, &entry, 0) == EBADF, "ibv_query_gid_ex(): EBADF");
	NONE(ibv_query_gid(ctx, 1, 0, &gid) == 0, EBADF);
	NONE(ibv_query_pkey(ctx, 1, 0, &pkey) == 0, EBADF);
	NONE(ibv_get_pkey_index(ctx, 1, 0xffff) >= 0, EBADF);
	NONE(ibv_alloc_pd(ctx), EBADF);
	NONE(ibv_create_cq(ctx, 4, NULL, NULL, 0), EBADF);
	NONE(ibv_create_comp_channel(ctx), EBADF);
	NONE(ibv_close_device(ctx) == 0, EBADF);
}

int main(void)
{
	char *argv[] = { (char *)"unknown_handle", (char *)"local", NULL };
	struct objs mine, gone, foreign;

	vb_open_two(2, argv, &a, &b);
	mine = objs_new(a);
	gone = objs_new(a);
	foreign = objs_new(b);
	ok(objs_destroy(&gone), "destroyed once");
	test_second_destroy(&gone);
	test_use(&gone);
	NONE(flow_new(gone.raw, mine.counters), ENOENT);
	test_pd(gone.pd, &mine);
	test_made_of(&gone, &mine);
	test_made_of(&foreign, &mine);
	test_closed_context();
	ok(objs_destroy(&mine) && objs_destroy(&foreign), "all others are as they were");
	vb_close_two(a, b);
	return tap_failed != 0;
}
