/* SPDX-License-Identifier: MIT */
/*
 * A call of the control path: writes its line, by which new objects are registered, and forgets the
 * objects that it has destroyed.
 */
#include "libtap/call.h"
#include "libtap/object_table.h"
#include "traces/calls/desc.h"

#include <stdlib.h>

static const struct vcall_env tap_env = { .name = tap_obj_name };

/* --- destroyed objects --- */

static void tap_obj_free(struct tap_obj *o)
{
	TAP_EACH(object_gone, o);
	tap_obj_leave(o);
	if (o->kind == VOBJ_CTX)
		free(o->ctx);
	else if (o->kind == VOBJ_QP)
		free(o->wr);
	else if (o->kind == VOBJ_CQ)
		free(o->cq_ex);
	free(o);
}

static void tap_call_drop_object(enum vobj kind, const void *obj, u32 ord)
{
	struct tap_obj *o = tap_obj_remove(kind, obj, ord);

	if (o)
		tap_obj_free(o);
}

/* Returns the argument whose object the call destroys, or NULL. */
static const struct vfield *tap_call_ended_arg(enum vcall call)
{
	const struct vcall_desc *d = &vcall_descs[call];
	u32 i;

	for (i = 0; i < d->n_args; i++)
		if (d->args[i].dir & VDIR_ENDS)
			return &d->args[i];
	return NULL;
}

/*
 * struct owned - objects that librdmacm has created for an identifier. They are destroyed with it,
 * or with its QP.
 */
struct owned {
	void *obj[7];
	u32 ord[7];
};

static const u8 owned_kind[7] = {
	VOBJ_QP, VOBJ_CQ, VOBJ_CQ, VOBJ_CH, VOBJ_CH, VOBJ_SRQ, VOBJ_EVCH
};

static void tap_owned_read(void *obj[7], const struct rdma_cm_id *id)
{
	obj[0] = id->qp;
	obj[1] = id->send_cq;
	obj[2] = id->recv_cq;
	obj[3] = id->send_cq_channel;
	obj[4] = id->recv_cq_channel;
	obj[5] = id->srq;
	obj[6] = id->channel;
}

static void tap_owned_save(struct owned *o, const struct rdma_cm_id *id)
{
	struct tap_obj *known;
	bool is_cq;
	u32 i;

	tap_owned_read(o->obj, id);
	for (i = 0; i < ARRAY_SIZE(o->obj); i++) {
		known = o->obj[i] ? tap_obj_find(owned_kind[i], o->obj[i]) : NULL;
		/*
		 * Objects of the program itself stay, but for CQs and their channels, which
		 * rdma_destroy_qp() destroys also if the program has put them there.
		 */
		is_cq = owned_kind[i] == VOBJ_CQ || owned_kind[i] == VOBJ_CH;
		o->ord[i] = known && (known->passing || is_cq) ? known->ord : 0;
	}
}

static __thread struct owned before __attribute__((tls_model("initial-exec")));

static bool tap_call_ends_owned(enum vcall call)
{
	return call == VCALL_rdma_destroy_qp || call == VCALL_rdma_destroy_ep ||
	       call == VCALL_rdma_destroy_srq || call == VCALL_rdma_destroy_id;
}

static void tap_owned_drop(enum vcall call, const struct rdma_cm_id *id)
{
	void *now[ARRAY_SIZE(before.obj)] = { NULL };
	u32 i;

	/*
	 * Destroying an identifier destroys its objects, except its channel. Otherwise those are
	 * gone that the identifier does not have any more.
	 */
	if (call == VCALL_rdma_destroy_id) {
		memcpy(now, before.obj, sizeof(now));
		now[6] = NULL;
	} else if (call != VCALL_rdma_destroy_ep) {
		tap_owned_read(now, id);
	}
	for (i = 0; i < ARRAY_SIZE(before.obj); i++)
		if (before.ord[i] && before.obj[i] != now[i])
			tap_call_drop_object(owned_kind[i], before.obj[i], before.ord[i]);
}

/* --- new objects --- */

/* Frees objects whose address the call has reused. */
static void tap_call_add_objects(void)
{
	struct tap_obj *o;

	for (o = tap_thread.fresh; o; o = o->next_fresh) {
		if (o->replaced)
			tap_obj_free(o->replaced);
		o->replaced = NULL;
		TAP_EACH(object_new, o);
	}
}

static void tap_call_set_lkey(const struct ibv_mr *mr)
{
	struct tap_obj *o = tap_obj_find(VOBJ_MR, mr);

	if (o)
		tap_obj_set_alias(o, mr->lkey);
}

/* --- the call --- */

void tap_call_fail(struct tap_call *c, int err)
{
	c->err = err;
	c->ret = vcall_failure(c->call, err);
}

bool tap_call_begin(struct tap_call *c, enum vcall call, const u64 *args)
{
	const struct vfield *end = tap_call_ended_arg(call);
	int saved = errno;
	bool carry_out;

	c->call = call;
	c->args = args;
	c->ret = 0;
	c->err = c->failed = 0;
	c->inexact = false;
	c->text = tap_thread.text;
	c->ending = end ? tap_obj_ord(end->obj, (void *)args[end->off / 8]) : 0;
	vcall_print_in(c->text, call, args, &tap_env);
	if (tap_call_ends_owned(call) && args[0])
		tap_owned_save(&before, (void *)args[0]);
	carry_out = TAP_BEGIN(call_begin, c);
	errno = saved;
	return carry_out;
}

/* Completes the line, and registers the objects that the call has created. */
static void tap_call_complete(struct tap_call *c)
{
	c->failed = vcall_error(c->call, c->ret, c->err);
	tap_thread.makes = c->failed ? 0 : vcall_made_kinds(c->call, c->args);
	vcall_print_out(c->text, c->call, c->args, c->ret, c->err, &tap_env);
	tap_thread.makes = 0;
	tap_call_add_objects();
	if (c->failed)
		return;
	if (vcall_descs[c->call].ret == VRET_NEW + VOBJ_MR)
		tap_call_set_lkey((void *)c->ret);
	else if (c->call == VCALL_ibv_rereg_mr)
		tap_call_set_lkey((void *)c->args[0]);
}

/* Forgets the objects that the call has destroyed. */
static void tap_call_drop_objects(const struct tap_call *c)
{
	const struct vfield *end = tap_call_ended_arg(c->call);

	if (tap_call_ends_owned(c->call) && c->args[0])
		tap_owned_drop(c->call, (void *)c->args[0]);
	if (end)
		tap_call_drop_object(end->obj, (void *)c->args[end->off / 8], c->ending);
}

u32 tap_end_begin(enum vcall call, const void *obj)
{
	const enum vobj kind = tap_call_ended_arg(call)->obj;
	const u32 ord = tap_obj_ord(kind, obj);

	if (kind != VOBJ_CTX)
		return ord;
	tap_call_drop_object(kind, obj, ord);
	return 0;
}

void tap_end(enum vcall call, const void *obj, u32 ord)
{
	int saved = errno;

	if (ord)
		tap_call_drop_object(tap_call_ended_arg(call)->obj, obj, ord);
	errno = saved;
}

void tap_call_end(struct tap_call *c)
{
	if (!c->op.answered)
		c->err = errno;
	TAP_END(call_returned, c);
	tap_call_complete(c);
	TAP_END(call_end, c);
	if (!c->failed)
		tap_call_drop_objects(c);
	errno = c->err;
}
