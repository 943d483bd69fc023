/* SPDX-License-Identifier: MIT */
/*
 * Calls that programs make through function pointers, and patching the objects that have these.
 *
 * verbs.h's inlines call through ibv_context.ops and struct verbs_context. The tap replaces the
 * functions in those tables, as far as they are set, and keeps the originals in struct tap_ctx.
 * A wrapper finds them by the context of its first argument.
 */
#include "libtap/ops.h"
#include "libtap/call.h"
#include "libtap/cq_ex.h"
#include "libtap/dm.h"
#include "libtap/next_symbol.h"
#include "libtap/object_table.h"
#include "libtap/poll.h"
#include "libtap/post.h"
#include "libtap/wr.h"
#include "libtap/wrap.h"
#include "traces/calls/desc.h"

#include <stdlib.h>

static struct tap_ctx *tap_ctx_find_for_call(enum vcall call, u64 first)
{
	/*
	 * Programs must not pass anything else; if one does, it crashes here as in verbs.h's
	 * inline.
	 */
	return tap_ctx_find(tap_obj_context(vcall_descs[call].args[0].obj, (void *)first));
}

/* Where struct tap_ctx has the function of each call. */
#define LOW_ibv_query_rt_values_ex	   vx.query_rt_values
#define LOW_ibv_alloc_td		   vx.alloc_td
#define LOW_ibv_dealloc_td		   vx.dealloc_td
#define LOW_ibv_alloc_parent_domain	   vx.alloc_parent_domain
#define LOW_ibv_open_xrcd		   vx.open_xrcd
#define LOW_ibv_close_xrcd		   vx.close_xrcd
#define LOW_ibv_reg_dm_mr		   vx.reg_dm_mr
#define LOW_ibv_alloc_null_mr		   vx.alloc_null_mr
#define LOW_ibv_advise_mr		   vx.advise_mr
#define LOW_ibv_alloc_mw		   ops.alloc_mw
#define LOW_ibv_dealloc_mw		   ops.dealloc_mw
#define LOW_ibv_bind_mw			   ops.bind_mw
#define LOW_ibv_alloc_dm		   vx.alloc_dm
#define LOW_ibv_free_dm			   vx.free_dm
#define LOW_ibv_create_cq_ex		   vx.create_cq_ex
#define LOW_ibv_modify_cq		   vx.modify_cq
#define LOW_ibv_create_srq_ex		   vx.create_srq_ex
#define LOW_ibv_get_srq_num		   vx.get_srq_num
#define LOW_ibv_create_qp_ex		   vx.create_qp_ex
#define LOW_ibv_open_qp			   vx.open_qp
#define LOW_ibv_modify_qp_rate_limit	   vx.modify_qp_rate_limit
#define LOW_ibv_create_wq		   vx.create_wq
#define LOW_ibv_modify_wq		   vx.modify_wq
#define LOW_ibv_destroy_wq		   vx.destroy_wq
#define LOW_ibv_create_rwq_ind_table	   vx.create_rwq_ind_table
#define LOW_ibv_destroy_rwq_ind_table	   vx.destroy_rwq_ind_table
#define LOW_ibv_create_flow		   vx.ibv_create_flow
#define LOW_ibv_destroy_flow		   vx.ibv_destroy_flow
#define LOW_ibv_create_counters		   vx.create_counters
#define LOW_ibv_destroy_counters	   vx.destroy_counters
#define LOW_ibv_attach_counters_point_flow vx.attach_counters_point_flow
#define LOW_ibv_read_counters		   vx.read_counters

/* Only patched contexts call these, and all of them are known. */
#define WRAP_INL(name, ret, first, ...)                                                            \
	static VR_##ret inl_##name(TAP_PARAMS(first, ##__VA_ARGS__))                               \
	{                                                                                          \
		const u64 args_[] = { TAP_VALUES(first, ##__VA_ARGS__) };                          \
		struct tap_ctx *ctx = tap_ctx_find_for_call(VCALL_##name, args_[0]);               \
                                                                                                   \
		TAP_BODY(name, ret, ctx->LOW_##name, first, ##__VA_ARGS__)                         \
	}
#define WRAP_SYM(name, ret, ...)
#define WRAP_END(name, ret, ...)
#define WRAP_OWN(name, ret, ...)
#define WRAP(name, ret, way, ...) WRAP_##way(name, ret, ##__VA_ARGS__)
VCALLS(WRAP)

/* --- calls with other parameters than their description --- */

/* verbs.h's inline passes the size of the struct. */
static int wrap_query_port(struct ibv_context *context, uint8_t port_num,
			   struct ibv_port_attr *attr, size_t len)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)context, port_num, (uintptr_t)attr };
	struct tap_ctx *ctx = tap_ctx_find(context);
	struct tap_call c;

	if (len < sizeof(*attr) || !tap_enter())
		return ctx->vx.query_port(context, port_num, attr, len);
	if (tap_call_begin(&c, VCALL_ibv_query_port, args))
		c.ret = (u64)ctx->vx.query_port(context, port_num, attr, len);
	tap_call_end(&c);
	tap_leave();
	return (int)c.ret;
}

static int wrap_query_device_ex(struct ibv_context *context,
				const struct ibv_query_device_ex_input *input,
				struct ibv_device_attr_ex *attr, size_t size)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)context, (uintptr_t)input, (uintptr_t)attr };
	struct tap_ctx *ctx = tap_ctx_find(context);
	struct tap_call c;

	if (size < sizeof(*attr) || !tap_enter())
		return ctx->vx.query_device_ex(context, input, attr, size);
	if (tap_call_begin(&c, VCALL_ibv_query_device_ex, args))
		c.ret = (u64)ctx->vx.query_device_ex(context, input, attr, size);
	tap_call_end(&c);
	tap_leave();
	return (int)c.ret;
}

/* --- patching --- */

static void tap_wq_attach(struct tap_obj *o, struct ibv_wq *wq)
{
	o->low[0] = (void *)wq->post_recv;
	wq->post_recv = tap_post_wq_recv;
}

#define PUT_OP(member, fn)                                                                         \
	do {                                                                                       \
		if (ctx->ops.member)                                                               \
			ctx->ops.member = fn;                                                      \
	} while (0)
#define PUT_VX(member, fn)                                                                         \
	do {                                                                                       \
		struct verbs_context *v_ = verbs_get_ctx_op(ctx, member);                          \
                                                                                                   \
		if (v_) {                                                                          \
			c->vx.member = v_->member;                                                 \
			v_->member = fn;                                                           \
		}                                                                                  \
	} while (0)

static void tap_ctx_attach_vx(struct ibv_context *ctx, struct tap_ctx *c)
{
	PUT_VX(query_port, wrap_query_port);
	PUT_VX(query_device_ex, wrap_query_device_ex);
	PUT_VX(post_srq_ops, tap_post_srq_ops);
	PUT_VX(query_rt_values, inl_ibv_query_rt_values_ex);
	PUT_VX(alloc_td, inl_ibv_alloc_td);
	PUT_VX(dealloc_td, inl_ibv_dealloc_td);
	PUT_VX(alloc_parent_domain, inl_ibv_alloc_parent_domain);
	PUT_VX(open_xrcd, inl_ibv_open_xrcd);
	PUT_VX(close_xrcd, inl_ibv_close_xrcd);
	PUT_VX(reg_dm_mr, inl_ibv_reg_dm_mr);
	PUT_VX(alloc_null_mr, inl_ibv_alloc_null_mr);
	PUT_VX(advise_mr, inl_ibv_advise_mr);
	PUT_VX(alloc_dm, inl_ibv_alloc_dm);
	PUT_VX(free_dm, inl_ibv_free_dm);
	PUT_VX(create_cq_ex, inl_ibv_create_cq_ex);
	PUT_VX(modify_cq, inl_ibv_modify_cq);
	PUT_VX(create_srq_ex, inl_ibv_create_srq_ex);
	PUT_VX(get_srq_num, inl_ibv_get_srq_num);
	PUT_VX(create_qp_ex, inl_ibv_create_qp_ex);
	PUT_VX(open_qp, inl_ibv_open_qp);
	PUT_VX(modify_qp_rate_limit, inl_ibv_modify_qp_rate_limit);
	PUT_VX(create_wq, inl_ibv_create_wq);
	PUT_VX(modify_wq, inl_ibv_modify_wq);
	PUT_VX(destroy_wq, inl_ibv_destroy_wq);
	PUT_VX(create_rwq_ind_table, inl_ibv_create_rwq_ind_table);
	PUT_VX(destroy_rwq_ind_table, inl_ibv_destroy_rwq_ind_table);
	PUT_VX(ibv_create_flow, inl_ibv_create_flow);
	PUT_VX(ibv_destroy_flow, inl_ibv_destroy_flow);
	PUT_VX(create_counters, inl_ibv_create_counters);
	PUT_VX(destroy_counters, inl_ibv_destroy_counters);
	PUT_VX(attach_counters_point_flow, inl_ibv_attach_counters_point_flow);
	PUT_VX(read_counters, inl_ibv_read_counters);
}

static struct tap_ctx *tap_ctx_attach(struct ibv_context *ctx)
{
	struct tap_ctx *c = calloc(1, sizeof(*c));

	if (!c) {
		tap_note("a context is not recorded: %s", strerror(ENOMEM));
		return NULL;
	}
	c->ops = ctx->ops;
	PUT_OP(post_send, tap_post_send);
	PUT_OP(post_recv, tap_post_recv);
	PUT_OP(post_srq_recv, tap_post_srq_recv);
	PUT_OP(poll_cq, tap_poll_cq);
	PUT_OP(req_notify_cq, tap_req_notify_cq);
	PUT_OP(alloc_mw, inl_ibv_alloc_mw);
	PUT_OP(dealloc_mw, inl_ibv_dealloc_mw);
	PUT_OP(bind_mw, inl_ibv_bind_mw);
	tap_ctx_attach_vx(ctx, c);
	return c;
}

/* Patches the functions of extended QPs and CQs. */
static void tap_ext_attach(enum vcall call, const u64 *args, u64 ret)
{
	const struct ibv_qp_init_attr_ex *attr = (void *)args[1];
	__typeof__(&ibv_qp_to_qp_ex) to_ex;
	struct tap_obj *o;
	static void *slot;

	if (call == VCALL_ibv_create_cq_ex) {
		o = tap_obj_find(VOBJ_CQ, (void *)ret);
		if (o)
			tap_cqex_attach(o, (void *)ret);
		return;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return;
	if (call == VCALL_rdma_create_qp_ex)
		ret = (uintptr_t)((struct rdma_cm_id *)args[0])->qp;
	o = tap_obj_find(VOBJ_QP, (void *)ret);
	to_ex = (__typeof__(to_ex))tap_next_symbol(&slot, "ibv_qp_to_qp_ex");
	if (o && to_ex && to_ex((void *)ret))
		tap_wr_attach(o, to_ex((void *)ret), attr->send_ops_flags);
}

static void tap_obj_attach(struct tap_obj *o)
{
	void *obj = (void *)(uintptr_t)o->key;

	if (o->kind == VOBJ_CTX)
		o->ctx = tap_ctx_attach(obj);
	else if (o->kind == VOBJ_WQ)
		tap_wq_attach(o, obj);
	else if (o->kind == VOBJ_DM)
		tap_dm_attach(o, obj);
}

void tap_objects_attach(const struct tap_call *c)
{
	struct tap_obj *o = tap_thread.fresh, *next;
	int saved = errno;

	for (; o; o = next) {
		next = o->next_fresh;
		o->next_fresh = NULL;
		tap_obj_attach(o);
	}
	tap_thread.fresh = NULL;
	if (!c->failed && (c->call == VCALL_ibv_create_cq_ex || c->call == VCALL_ibv_create_qp_ex ||
			   c->call == VCALL_rdma_create_qp_ex))
		tap_ext_attach(c->call, c->args, c->ret);
	errno = saved;
}
