/* SPDX-License-Identifier: MIT */
/*
 * Records a call of the control path: its line, the memory of its MR, and the receives of its QP.
 */
#include "traces/record/batch.h"
#include "traces/record/devices.h"
#include "traces/record/hooks.h"
#include "traces/record/memory.h"
#include "traces/record/object.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* --- objects --- */

static void rec_object_keep(struct tap_obj *o)
{
	struct rec_obj *mine = calloc(1, sizeof(*mine));

	if (!mine) {
		rec_note("%s%u: its memory, polls or receives are not recorded: %s",
			 vobj_names[o->kind], o->ord, strerror(ENOMEM));
		return;
	}
	mine->tap = o;
	o->user[TAP_RECORD] = mine;
}

void rec_object_new(struct tap_obj *o)
{
	switch (o->kind) {
	case VOBJ_CTX:
		rec_devices_add((struct ibv_context *)(uintptr_t)o->key);
		break;
	case VOBJ_MR:
	case VOBJ_CQ:
	case VOBJ_QP:
	case VOBJ_SRQ:
		rec_object_keep(o);
		break;
	default:
		break;
	}
}

void rec_object_gone(struct tap_obj *o)
{
	struct rec_obj *mine = rec_obj_of(o);

	if (!mine)
		return;
	if (o->kind == VOBJ_MR)
		rec_mr_free(mine);
	else if (o->kind == VOBJ_QP)
		free(mine->batch);
	else if (o->kind == VOBJ_CQ)
		rec_cqex_free(mine);
	rec_recv_free(mine);
	free(mine);
}

/* An extended CQ or QP has room for the completions, or work requests, of a record. */
static void rec_object_extend(const struct tap_call *c)
{
	const struct ibv_qp_init_attr_ex *attr = (void *)c->args[1];
	const void *obj = (void *)c->ret;
	struct rec_obj *o;

	if (c->call == VCALL_ibv_create_cq_ex) {
		o = rec_obj_find(VOBJ_CQ, obj);
		if (o)
			o->ex = calloc(1, sizeof(*o->ex));
		if (o && !o->ex)
			rec_note("cq%u: ibv_start_poll() is not recorded: %s", o->tap->ord,
				 strerror(ENOMEM));
		return;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return;
	if (c->call == VCALL_rdma_create_qp_ex)
		obj = ((struct rdma_cm_id *)c->args[0])->qp;
	o = rec_obj_find(VOBJ_QP, obj);
	if (o)
		o->batch = calloc(1, sizeof(*o->batch));
	if (o && !o->batch)
		rec_note("qp%u: ibv_wr_...() is not recorded: %s", o->tap->ord, strerror(ENOMEM));
}

/* --- lines --- */

enum tap_verdict rec_call_begin(struct tap_call *c)
{
	rec_mem_scan_exposed(false);
	if (c->call == VCALL_ibv_dereg_mr && c->ending)
		rec_mr_final(rec_obj_find(VOBJ_MR, (void *)c->args[0]));
	else if (c->call == VCALL_ibv_destroy_cq && c->ending)
		rec_poll_record_empty(rec_obj_find(VOBJ_CQ, (void *)c->args[0]));
	rec_span_keep(&c->op.scratch[TAP_RECORD], rec_span_begin());
	return TAP_PASS;
}

void rec_call_returned(struct tap_call *c)
{
	c->op.scratch[TAP_RECORD].word[2] = vt_order_next(&rec.w);
	c->op.scratch[TAP_RECORD].word[3] = vt_now();
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

/* Writes the line of a call with its facts. */
static void rec_call_write_line(const struct tap_call *c)
{
	const struct tap_scratch *mine = &c->op.scratch[TAP_RECORD];
	const struct vcall_text *t = c->text;
	u64 facts[VCALL_FACTS];
	struct vt_rec like;
	u32 i;

	memset(&like, 0, sizeof(like));
	like.thread = rec_thread.ord;
	like.begin = mine->word[0];
	like.t_begin = mine->word[1];
	like.end = mine->word[2];
	like.t_end = mine->word[3];
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

static bool rec_call_found_nothing(const struct tap_call *c)
{
	return c->failed == EAGAIN &&
	       (c->call == VCALL_rdma_get_cm_event || c->call == VCALL_ibv_get_async_event);
}

/* Follows what a successful call has done to objects. */
static void rec_call_follow(const struct tap_call *c)
{
	rec_devices_add_address(c->call, c->args);
	if (vcall_descs[c->call].ret == VRET_NEW + VOBJ_MR)
		rec_call_mr_new(c->call, c->args, (void *)c->ret);
	switch (c->call) {
	case VCALL_ibv_rereg_mr:
		rec_call_mr_changed(c->args);
		break;
	case VCALL_ibv_create_cq_ex:
	case VCALL_ibv_create_qp_ex:
	case VCALL_rdma_create_qp_ex:
		rec_object_extend(c);
		break;
	case VCALL_ibv_modify_qp:
		if (c->args[2] & IBV_QP_STATE &&
		    ((const struct ibv_qp_attr *)c->args[1])->qp_state == IBV_QPS_RESET)
			rec_recv_reset(rec_obj_find(VOBJ_QP, (void *)c->args[0]));
		break;
	default:
		break;
	}
}

void rec_call_end(struct tap_call *c)
{
	/* A non-blocking call found no event: like an empty poll, it is not recorded. */
	if (rec_call_found_nothing(c) || (c->failed && c->inexact))
		return;
	rec_call_write_line(c);
	if (!c->failed)
		rec_call_follow(c);
}
