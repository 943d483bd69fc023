/* SPDX-License-Identifier: MIT */
/*
 * Objects whose library does without locks: those with a thread domain, and CQs that were created
 * for one thread. Threads may take turns, so only two that are in a call at the same time are
 * reported.
 */
#include "libtap/check/object.h"
#include "traces/calls/desc.h"

u32 check_thread_self(void)
{
	static __thread u32 self __attribute__((tls_model("initial-exec")));
	static u32 latest;

	if (unlikely(!self))
		self = __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);
	return self;
}

/* --- objects without locks --- */

static bool thread_pd_is_single(const struct ibv_pd *pd)
{
	const struct check_obj *c = check_obj_find(VOBJ_PD, pd);

	return c && c->single;
}

static bool thread_cq_is_single(const struct ibv_cq_init_attr_ex *attr)
{
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return true;
	return (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	       thread_pd_is_single(attr->parent_domain);
}

static bool thread_qp_ex_is_single(const struct ibv_qp_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_QP_INIT_ATTR_PD) && thread_pd_is_single(attr->pd);
}

void check_thread_call(const struct tap_call *c)
{
	const void *first = (void *)(uintptr_t)c->args[0], *attr = (void *)(uintptr_t)c->args[1];
	const void *made = (void *)(uintptr_t)c->ret;
	struct check_obj *o;

	if (c->failed)
		return;
	switch (c->call) {
	case VCALL_ibv_alloc_parent_domain:
		o = check_obj_find(VOBJ_PD, made);
		if (o)
			o->single = ((const struct ibv_parent_domain_init_attr *)attr)->td;
		break;
	case VCALL_ibv_create_cq_ex:
		o = check_obj_find(VOBJ_CQ, made);
		if (o)
			o->single = thread_cq_is_single(attr);
		break;
	case VCALL_ibv_create_qp_ex:
		o = check_obj_find(VOBJ_QP, made);
		if (o)
			o->single = thread_qp_ex_is_single(attr);
		break;
	default: /* ibv_create_qp() */
		o = check_obj_find(VOBJ_QP, made);
		if (o)
			o->single = thread_pd_is_single(first);
		break;
	}
}

/* --- calls --- */

/* A word says which thread is in a call for a queue, and where if that matters: 0: none. */
static u64 *thread_use(struct check_obj *c, enum check_side side)
{
	return &c->use[side != CHECK_SENDS];
}

static bool thread_is_watched(const struct check_obj *c, enum check_side side)
{
	return unlikely(c->single) || (side == CHECK_COMPLETIONS &&
				       unlikely(check_report_is_on(FINDING_CQ_POLL_CONTENDED)));
}

bool check_thread_enter(struct check_obj *c, enum check_side side)
{
	static const char *const names[] = { "posts sends to", "posts receives to", "polls" };
	u32 self = check_thread_self();
	u64 word = (u64)self << 32, other;

	if (!thread_is_watched(c, side))
		return false;
	if (unlikely(c->single))
		word |= check_stack_here();
	other = __atomic_exchange_n(thread_use(c, side), word, __ATOMIC_RELAXED);
	if (!other || other >> 32 == self)
		return false;
	if (__atomic_exchange_n(&c->single, false, __ATOMIC_RELAXED))
		check_report(FINDING_OBJECT_THREAD_CONCURRENT,
			     (struct check_other){ "the other thread", (check_stack)other },
			     "a thread %s %s%u, which has no locks, and another one does so at "
			     "the same time",
			     names[side], vobj_names[c->tap->kind], c->ord);
	return true;
}

void check_thread_leave(struct check_obj *c, enum check_side side)
{
	if (thread_is_watched(c, side))
		__atomic_store_n(thread_use(c, side), 0, __ATOMIC_RELAXED);
}
