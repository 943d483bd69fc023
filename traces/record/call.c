/* SPDX-License-Identifier: MIT */
/*
 * Records a call of the control path: writes its line, and updates the registry of objects, their
 * memory and their receives.
 */
#include "traces/record/call.h"
#include "traces/calls/desc.h"
#include "traces/record/devices.h"
#include "traces/record/memory.h"
#include "traces/record/object_table.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static const struct vcall_env rec_env = { .name = rec_obj_name };

/* --- destroyed objects --- */

static void rec_obj_free(struct rec_obj *o)
{
	if (o->kind == VOBJ_MR)
		rec_mr_free(o);
	else if (o->kind == VOBJ_QP)
		free(o->wr);
	else if (o->kind == VOBJ_CQ)
		rec_cqex_free(o);
	else if (o->kind == VOBJ_CTX)
		free(o->ctx);
	rec_recv_free(o);
	free(o);
}

static void rec_call_drop_object(enum vobj kind, const void *obj, u32 ord)
{
	struct rec_obj *o = rec_obj_remove(kind, obj, ord);

	if (o)
		rec_obj_free(o);
}

/* Returns the argument whose object the call destroys, or NULL. */
static const struct vfield *rec_call_ended_arg(enum vcall call)
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

static void rec_owned_save(struct owned *o, const struct rdma_cm_id *id)
{
	struct rec_obj *known;
	u32 i;

	o->obj[0] = id->qp;
	o->obj[1] = id->send_cq;
	o->obj[2] = id->recv_cq;
	o->obj[3] = id->send_cq_channel;
	o->obj[4] = id->recv_cq_channel;
	o->obj[5] = id->srq;
	o->obj[6] = id->channel;
	for (i = 0; i < ARRAY_SIZE(o->obj); i++) {
		known = o->obj[i] ? rec_obj_find(owned_kind[i], o->obj[i]) : NULL;
		/* Objects that the program created itself stay. */
		o->ord[i] = known && known->passing ? known->ord : 0;
	}
}

static __thread struct owned before __attribute__((tls_model("initial-exec")));

static bool rec_call_ends_owned(enum vcall call)
{
	return call == VCALL_rdma_destroy_qp || call == VCALL_rdma_destroy_ep ||
	       call == VCALL_rdma_destroy_srq || call == VCALL_rdma_destroy_id;
}

static void rec_owned_drop(enum vcall call, const struct rdma_cm_id *id)
{
	const void *now[ARRAY_SIZE(before.obj)] = { NULL };
	u32 i;

	/*
	 * Destroying an identifier destroys its objects, except its channel. Otherwise those are
	 * gone that the identifier does not have any more.
	 */
	if (call == VCALL_rdma_destroy_id) {
		memcpy(now, before.obj, sizeof(now));
		now[6] = NULL;
	} else if (call != VCALL_rdma_destroy_ep) {
		now[0] = id->qp;
		now[1] = id->send_cq;
		now[2] = id->recv_cq;
		now[3] = id->send_cq_channel;
		now[4] = id->recv_cq_channel;
		now[5] = id->srq;
		now[6] = id->channel;
	}
	for (i = 0; i < ARRAY_SIZE(before.obj); i++)
		if (before.ord[i] && before.obj[i] != now[i])
			rec_call_drop_object(owned_kind[i], before.obj[i], before.ord[i]);
}

/* --- lines --- */

void rec_call_begin(struct rec_call *c, enum vcall call, const u64 *args)
{
	const struct vfield *end = rec_call_ended_arg(call);
	int saved = errno;

	c->call = call;
	c->args = args;
	c->ending = end ? rec_obj_ord(end->obj, (void *)args[end->off / 8]) : 0;
	vcall_print_in(rec_thread.text, call, args, &rec_env);
	rec_mem_scan_exposed(false);
	if (call == VCALL_ibv_dereg_mr && c->ending)
		rec_mr_final(rec_obj_find(VOBJ_MR, (void *)args[0]));
	else if (call == VCALL_ibv_destroy_cq && c->ending)
		rec_poll_record_empty(rec_obj_find(VOBJ_CQ, (void *)args[0]));
	if (rec_call_ends_owned(call) && args[0])
		rec_owned_save(&before, (void *)args[0]);
	errno = saved;
	c->span = rec_span_begin();
}

/*
 * Returns an id of a descriptor's file, which is the same in all programs that have the file open.
 */
static u64 rec_fd_file_id(u64 fd)
{
	struct stat st;

	if (fstat((int)fd, &st))
		return fd;
	return (mix64(mix64((u64)st.st_dev) ^ (u64)st.st_ino) >> 2) | VCALL_FILE;
}

/* Describes devices that the call has opened. Frees objects whose address it has reused. */
static void rec_call_add_objects(void)
{
	struct rec_obj *o;

	for (o = rec_thread.fresh; o; o = o->next_fresh) {
		if (o->replaced)
			rec_obj_free(o->replaced);
		o->replaced = NULL;
		if (o->kind == VOBJ_CTX)
			rec_devices_add((struct ibv_context *)(uintptr_t)o->key);
	}
}

/* Completes the line of a call, and writes it with its facts. */
static void rec_call_write_line(struct rec_call *c, u64 ret, int err)
{
	struct vcall_text *t = rec_thread.text;
	u64 facts[VCALL_FACTS];
	struct vt_rec like;
	u32 i;

	memset(&like, 0, sizeof(like));
	rec_record_stamp(&like, c->span);
	rec_thread.makes = vcall_error(c->call, ret, err) ? 0 : vcall_made_kinds(c->call, c->args);
	vcall_print_out(t, c->call, c->args, ret, err, &rec_env);
	rec_thread.makes = 0;
	rec_call_add_objects();
	for (i = 0; i < t->n_facts; i++)
		facts[i] = t->facts[i].kind == VFACT_FD ? rec_fd_file_id(t->facts[i].value)
							: t->facts[i].value;
	if (t->lost)
		rec_note("%s: the line is longer than %u bytes", vcall_descs[c->call].name,
			 VCALL_LINE);
	if (t->unknown)
		rec_note("%s: has attributes that are not recorded: %.120s",
			 vcall_descs[c->call].name, t->text);
	vt_writer_put_call(&rec.w, &like, t->text, t->len, facts, t->n_facts);
}

static void rec_call_mr_new(enum vcall call, const u64 *args, struct ibv_mr *mr)
{
	struct rec_obj *o = rec_obj_find(VOBJ_MR, mr);

	if (!o)
		return;
	rec_obj_set_alias(o, mr->lkey);
	switch (call) {
	case VCALL_ibv_reg_mr:
		rec_mr_new(o, args[1], args[2], args[1], args[3]);
		break;
	case VCALL_ibv_reg_mr_iova:
	case VCALL_ibv_reg_mr_iova2:
		rec_mr_new(o, args[1], args[2], args[3], args[4]);
		break;
	default: /* memory of a device or of another process */
		rec_mr_new(o, 0, 0, 0, 0);
	}
	o->mr.rkey = mr->rkey;
}

static void rec_call_mr_changed(const u64 *args)
{
	struct ibv_mr *mr = (void *)args[0];
	struct rec_obj *o = rec_obj_find(VOBJ_MR, mr);

	if (!o)
		return;
	rec_obj_set_alias(o, mr->lkey);
	if (args[1] & (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS)) {
		bool moved = args[1] & IBV_REREG_MR_CHANGE_TRANSLATION;
		u64 addr = moved ? args[3] : o->mr.addr, len = moved ? args[4] : o->mr.len;
		u64 iova = o->mr.iova;
		u64 access = args[1] & IBV_REREG_MR_CHANGE_ACCESS ? args[5]
			     : o->mr.exposed			  ? IBV_ACCESS_REMOTE_READ
								  : 0;

		rec_mr_free(o);
		rec_mr_new(o, addr, len, moved ? addr : iova, access);
	}
	o->mr.rkey = mr->rkey;
}

void rec_call_end(struct rec_call *c, u64 ret)
{
	const struct vfield *end = rec_call_ended_arg(c->call);
	int err = errno;
	int failed = vcall_error(c->call, ret, err);

	c->failed = failed;
	/* A non-blocking call found no event: like an empty poll, it is not recorded. */
	if (failed == EAGAIN &&
	    (c->call == VCALL_rdma_get_cm_event || c->call == VCALL_ibv_get_async_event))
		return;
	rec_call_write_line(c, ret, err);
	if (!failed) {
		rec_devices_add_address(c->call, c->args);
		if (vcall_descs[c->call].ret == VRET_NEW + VOBJ_MR)
			rec_call_mr_new(c->call, c->args, (void *)ret);
		if (rec_call_ends_owned(c->call) && c->args[0])
			rec_owned_drop(c->call, (void *)c->args[0]);
		if (end)
			rec_call_drop_object(end->obj, (void *)c->args[end->off / 8], c->ending);
	}
	if (c->call == VCALL_ibv_rereg_mr && !failed)
		rec_call_mr_changed(c->args);
	if (c->call == VCALL_ibv_modify_qp && !failed && c->args[2] & IBV_QP_STATE &&
	    ((const struct ibv_qp_attr *)c->args[1])->qp_state == IBV_QPS_RESET)
		rec_recv_reset(rec_obj_find(VOBJ_QP, (void *)c->args[0]));
	errno = err;
}
