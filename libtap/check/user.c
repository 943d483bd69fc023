/* SPDX-License-Identifier: MIT */
/* The hooks of the checker. It only watches: each operation passes. */
#include "libtap/check/board.h"
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"
#include "libtap/check/watch.h"

static bool check_start(void)
{
	if (!check_report_start())
		return false;
	check_stack_start();
	return true;
}

static void check_forked(void)
{
	check_stack_fork();
	check_report_fork();
	check_fork_child(check_obj_fork());
	check_mr_fork();
	check_modify_fork();
	check_board_fork();
	check_guard_fork();
	check_watch_fork();
}

static void check_finish(void)
{
	check_guard_report();
	check_contexts_ending();
	check_obj_report_leaks();
	check_rights_finish();
	check_board_finish();
	check_report_finish();
}

/* The kernel looks up, and may write, what is registered. */
static void check_call_registers(const struct tap_call *c)
{
	u32 at;

	if (c->call == VCALL_ibv_rereg_mr)
		at = 3;
	else if (c->call == VCALL_ibv_reg_mr || c->call == VCALL_ibv_reg_mr_iova ||
		 c->call == VCALL_ibv_reg_mr_iova2)
		at = 1;
	else
		return;
	check_guard_pause(c->args[at], c->args[at + 1]);
	check_watch_pause(c->args[at], c->args[at + 1]);
}

/* A call has ended: what the library has used is watched again. */
static void check_resume(void)
{
	check_guard_resume();
	check_watch_resume();
}

static void check_memory_used(u64 addr, u64 len, enum tap_memory use)
{
	check_guard_memory(addr, len, use);
	check_watch_memory(addr, len, use);
}

static bool check_memory_fault(struct tap_fault *fault)
{
	return check_guard_fault(fault) || check_watch_fault(fault);
}

static enum tap_verdict check_call_begin(struct tap_call *c)
{
	const void *first = (void *)(uintptr_t)c->args[0];

	check_performance_break();
	check_guard_report();
	check_fork_called(c);
	check_call_registers(c);
	switch (c->call) {
	case VCALL_ibv_destroy_qp:
		check_qp_ending(first);
		check_context_ending(((const struct ibv_qp *)first)->context);
		check_events_ending(VOBJ_QP, first);
		break;
	case VCALL_rdma_destroy_qp:
		check_qp_ending(((const struct rdma_cm_id *)first)->qp);
		break;
	case VCALL_ibv_dereg_mr:
		check_mr_ending(first);
		break;
	case VCALL_ibv_destroy_ah:
		check_ah_ending(first);
		break;
	case VCALL_ibv_close_device:
		check_context_ending(first);
		break;
	case VCALL_ibv_destroy_cq:
		check_cq_ending(first);
		check_events_ending(VOBJ_CQ, first);
		break;
	case VCALL_ibv_destroy_srq:
		check_srq_ending(first);
		check_events_ending(VOBJ_SRQ, first);
		break;
	case VCALL_rdma_connect:
		check_id_connecting(first, (void *)(uintptr_t)c->args[1]);
		break;
	case VCALL_ibv_create_qp:
	case VCALL_ibv_create_qp_ex:
	case VCALL_rdma_create_qp_ex:
		check_asked_qp_begin(c, (void *)(uintptr_t)c->args[1]);
		break;
	case VCALL_rdma_create_qp:
		check_asked_qp_begin(c, (void *)(uintptr_t)c->args[2]);
		break;
	case VCALL_rdma_accept:
		check_id_accepting(first, (void *)(uintptr_t)c->args[1]);
		break;
	case VCALL_rdma_destroy_id:
		check_id_ending(first);
		check_events_ending(VOBJ_ID, first);
		break;
	case VCALL_ibv_ack_async_event:
		check_async_event(first, -1);
		break;
	case VCALL_rdma_ack_cm_event:
		check_cm_event(first, -1);
		break;
	default:
		break;
	}
	return TAP_PASS;
}

static void check_call_modified(const struct tap_call *c)
{
	if (c->failed == EINVAL)
		check_modify_failed(c);
	else if (!c->failed)
		check_modify_done(c);
}

static void check_call_took_cm_event(const struct rdma_cm_event *event)
{
	check_cm_event(event, 1);
	check_id_event(event);
}

static void check_call_took_async_event(const struct tap_call *c)
{
	struct check_obj *ctx = check_obj_find(VOBJ_CTX, (void *)(uintptr_t)c->args[0]);

	if (ctx)
		ctx->ctx.reads_events = true;
	check_async_event((void *)(uintptr_t)c->args[1], 1);
}

/* Calls that take an event. */
static void check_call_took_event(const struct tap_call *c)
{
	if (c->failed)
		return;
	if (c->call == VCALL_ibv_get_async_event)
		check_call_took_async_event(c);
	else
		check_call_took_cm_event(*(struct rdma_cm_event *const *)(uintptr_t)c->args[1]);
}

static void check_call_created_srq(const struct tap_call *c, struct check_obj *srq)
{
	const struct ibv_srq_init_attr_ex *ex = (void *)(uintptr_t)c->args[1];

	check_asked_need(srq, "it is an SRQ");
	if (c->call == VCALL_ibv_create_srq || !(ex->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) ||
	    ex->srq_type == IBV_SRQT_BASIC)
		check_srq_new(srq);
}

/* Calls that create an object, or ask for what the device has. */
static void check_call_created(const struct tap_call *c)
{
	const void *first = (void *)(uintptr_t)c->args[0], *made = (void *)(uintptr_t)c->ret;
	struct check_obj *o = NULL;

	switch (c->call) {
	case VCALL_ibv_query_device:
	case VCALL_ibv_query_device_ex:
	case VCALL_ibv_query_port:
		check_asked_context(c);
		break;
	case VCALL_ibv_create_qp:
	case VCALL_ibv_create_qp_ex:
		check_asked_qp_end(c, made);
		check_thread_call(c);
		break;
	case VCALL_ibv_alloc_parent_domain:
	case VCALL_ibv_create_cq_ex:
		check_thread_call(c);
		break;
	case VCALL_ibv_fork_init:
		if (!c->failed)
			check_fork_init();
		break;
	case VCALL_rdma_create_qp:
	case VCALL_rdma_create_qp_ex:
		check_asked_qp_end(c, ((const struct rdma_cm_id *)first)->qp);
		break;
	case VCALL_ibv_create_srq:
	case VCALL_ibv_create_srq_ex:
		o = c->failed ? NULL : check_obj_find(VOBJ_SRQ, made);
		if (o)
			check_call_created_srq(c, o);
		break;
	case VCALL_ibv_create_ah:
		o = c->failed ? NULL : check_obj_find(VOBJ_AH, made);
		if (o)
			check_peer_handle(o, (void *)(uintptr_t)c->args[1]);
		break;
	case VCALL_ibv_alloc_mw:
		o = c->failed ? NULL : check_obj_find(VOBJ_MW, made);
		if (o)
			check_asked_need(o, "it is a memory window");
		break;
	default:
		break;
	}
}

static void check_call_registered(const struct ibv_mr *ibmr)
{
	const struct check_obj *mr = check_obj_find(VOBJ_MR, ibmr);

	if (mr)
		check_performance_registered(mr);
}

/* A call has failed, because others use the object that it should destroy. */
static void check_call_busy(const struct tap_call *c)
{
	static const struct {
		enum vcall call;
		enum vobj kind;
	} calls[] = {
		{ VCALL_ibv_dealloc_pd, VOBJ_PD },   { VCALL_ibv_destroy_cq, VOBJ_CQ },
		{ VCALL_ibv_destroy_srq, VOBJ_SRQ }, { VCALL_ibv_destroy_qp, VOBJ_QP },
		{ VCALL_ibv_dereg_mr, VOBJ_MR },     { VCALL_ibv_free_dm, VOBJ_DM },
		{ VCALL_ibv_close_xrcd, VOBJ_XRCD }, { VCALL_ibv_destroy_comp_channel, VOBJ_CH },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (c->call == calls[i].call)
			check_busy(calls[i].kind, (void *)(uintptr_t)c->args[0]);
}

static void check_call_end(struct tap_call *c)
{
	const void *first = (void *)(uintptr_t)c->args[0];
	struct check_obj *qp;

	check_call_created(c);
	if (c->failed == EBUSY)
		check_call_busy(c);
	switch (c->call) {
	case VCALL_ibv_reg_mr:
	case VCALL_ibv_reg_mr_iova:
	case VCALL_ibv_reg_mr_iova2:
	case VCALL_ibv_rereg_mr:
		check_mr_call(c);
		if (!c->failed && c->call != VCALL_ibv_rereg_mr)
			check_call_registered((void *)(uintptr_t)c->ret);
		break;
	case VCALL_ibv_bind_mw:
		/* It posts a work request that nobody shows. */
		qp = check_obj_find(VOBJ_QP, first);
		if (qp)
			check_qp_lose(qp);
		break;
	case VCALL_ibv_get_async_event:
	case VCALL_rdma_get_cm_event:
		check_call_took_event(c);
		break;
	case VCALL_ibv_modify_qp:
		check_call_modified(c);
		break;
	case VCALL_ibv_modify_srq:
		if (!c->failed)
			check_srq_limited(c);
		break;
	default:
		break;
	}
	check_resume();
}

static void check_object_new(struct tap_obj *o)
{
	struct check_obj *c = check_obj_new(o);

	if (c && o->kind == VOBJ_QP)
		check_qp_new(c);
	else if (c && o->kind == VOBJ_MR)
		check_mr_new(c);
}

static void check_region_gone(const struct check_obj *mr)
{
	check_watch_remove(mr);
	check_mr_keep(mr);
	check_rights_judge(mr);
	if (check_report_is_on(FINDING_WR_RKEY_INVALID))
		check_board_region_gone(mr);
}

static void check_queue_pair_gone(struct check_obj *qp)
{
	check_performance_unused(qp);
	check_qp_gone(qp);
}

static void check_object_gone(struct tap_obj *o)
{
	struct check_obj *c = check_obj_of(o);

	if (!c)
		return;
	if (o->kind == VOBJ_QP)
		check_queue_pair_gone(c);
	else if (o->kind == VOBJ_MR)
		check_region_gone(c);
	else if (o->kind == VOBJ_SRQ)
		check_srq_gone(c);
	check_obj_gone(c);
}

static enum tap_verdict check_poll_begin(struct tap_poll *p)
{
	struct check_obj *c = check_obj_of(p->obj);

	check_guard_report();
	check_fork_used(p->obj, "polls");
	if (c && check_thread_enter(c, CHECK_COMPLETIONS))
		check_performance_contended(c);
	return TAP_PASS;
}

static void check_poll_end(struct tap_poll *p)
{
	struct check_obj *c = check_obj_of(p->obj);
	int i;

	if (c) {
		check_thread_leave(c, CHECK_COMPLETIONS);
		check_performance_poll(c, p->n, p->ret);
	}
	for (i = 0; c && i < p->ret; i++) {
		check_completion(c, &p->wc[i]);
		if (p->wc[i].status != IBV_WC_SUCCESS)
			check_field_spoil(&p->wc[i]);
	}
	check_resume();
	check_cq_polled(p->obj, p->ret < p->n);
}

static enum tap_verdict check_cqex_begin(struct tap_cqex *p)
{
	struct check_obj *c = check_obj_of(p->obj);

	if (p->what == TAP_CQEX_START) {
		check_guard_report();
		check_fork_used(p->obj, "polls");
	}
	if (c && p->what == TAP_CQEX_START && check_thread_enter(c, CHECK_COMPLETIONS))
		check_performance_contended(c);
	return TAP_PASS;
}

static void check_cqex_end(struct tap_cqex *p)
{
	struct check_obj *c = check_obj_of(p->obj);
	struct ibv_wc wc;
	u64 ts;

	check_performance_break();
	check_resume();
	if (c)
		check_field_show(c, p->ex);
	/* A start that finds nothing has no end. */
	if (c && (p->what == TAP_CQEX_END || (p->what == TAP_CQEX_START && p->ret)))
		check_thread_leave(c, CHECK_COMPLETIONS);
	if (p->what != TAP_CQEX_END)
		check_cq_polled(p->obj, p->ret == ENOENT);
	if (!c || p->ret || p->what == TAP_CQEX_END)
		return;
	tap_cqex_read(p->obj, p->ex, &wc, &ts);
	if (wc.status != IBV_WC_SUCCESS)
		check_field_hide(c, p->ex);
	/* A CQ without IBV_WC_EX_WITH_QP_NUM does not say whose completion it is. */
	if (wc.qp_num)
		check_completion(c, &wc);
	else
		check_cq_lose(c);
}

static const struct tap_user check_user = {
	.slot = TAP_CHECK,
	.objects = true,
	.start = check_start,
	.fork_child = check_forked,
	.finish = check_finish,
	.call_begin = check_call_begin,
	.call_end = check_call_end,
	.object_new = check_object_new,
	.object_gone = check_object_gone,
	.post_begin = check_post_begin,
	.post_end = check_post_end,
	.wr = check_wr_call,
	.wr_batch_end = check_wr_batch_end,
	.poll_begin = check_poll_begin,
	.poll_end = check_poll_end,
	.cqex_begin = check_cqex_begin,
	.cqex_end = check_cqex_end,
	.cq_begin = check_cq_begin,
	.cq_end = check_cq_end,
	.wait = check_wait,
	.memory = check_memory_used,
	.fault = check_memory_fault,
	.stepped = check_watch_stepped,
};

TAP_USER(check_user);
