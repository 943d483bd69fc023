/* SPDX-License-Identifier: MIT */
/*
 * The control path: wrappers of the exported functions, made of their description, and what a recorded call leaves behind:
 * a line, and objects that are known or known no more.
 */
#include "traces/record/record.h"
#include "traces/record/wrap.h"

#include "traces/calls/desc.h"

#include <sys/stat.h>

const struct vcall_env rec_env = { .name = rec_obj_name };

/* The one object that a call ends, by its description. */
static const struct vfield *rec_call_ended_arg(enum vcall call)
{
	const struct vcall_desc *d = &vcall_descs[call];
	u32 i;

	for (i = 0; i < d->n_args; i++)
		if (d->args[i].dir & VDIR_ENDS)
			return &d->args[i];
	return NULL;
}

/* What librdmacm has made for an identifier goes with it, or with its QP. */
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
		/* The program's own stay its own. */
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

	/* With an identifier goes its channel; of one that still is, what it no longer has. */
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
			rec_obj_drop(owned_kind[i], before.obj[i], before.ord[i]);
}

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

/* What a descriptor's number stands for: the same for all that have the file open, also in another program. */
static u64 rec_fd_file_id(u64 fd)
{
	struct stat st;

	if (fstat((int)fd, &st))
		return fd;
	return (mix64(mix64((u64)st.st_dev) ^ (u64)st.st_ino) >> 2) | VCALL_FILE;
}

/* The line of a call, with the facts in it. */
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
	for (i = 0; i < t->n_facts; i++)
		facts[i] = t->facts[i].kind == VFACT_FD ? rec_fd_file_id(t->facts[i].value)
							: t->facts[i].value;
	if (t->lost)
		rec_note("%s: the line is longer than %u bytes", vcall_descs[c->call].name,
			 VCALL_LINE);
	if (t->unknown)
		rec_note("%s: it has attributes that are not recorded: %.120s",
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

/* Functions of QPs and CQs that are more than those of their context. */
static void rec_call_attach_extended(enum vcall call, const u64 *args, u64 ret)
{
	const struct ibv_qp_init_attr_ex *attr = (void *)args[1];
	__typeof__(&ibv_qp_to_qp_ex) to_ex;
	struct rec_obj *o;
	static void *slot;

	if (call == VCALL_ibv_create_cq_ex) {
		o = rec_obj_find(VOBJ_CQ, (void *)ret);
		if (o)
			rec_cqex_attach(o, (void *)ret);
		return;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return;
	if (call == VCALL_rdma_create_qp_ex)
		ret = (uintptr_t)((struct rdma_cm_id *)args[0])->qp;
	o = rec_obj_find(VOBJ_QP, (void *)ret);
	to_ex = (__typeof__(to_ex))rec_next_symbol(&slot, "ibv_qp_to_qp_ex");
	if (o && to_ex && to_ex((void *)ret))
		rec_wr_attach(o, to_ex((void *)ret));
}

void rec_call_end(struct rec_call *c, u64 ret)
{
	const struct vfield *end = rec_call_ended_arg(c->call);
	int err = errno;
	int failed = vcall_error(c->call, ret, err);

	/* Asked without waiting, and there was none: as good as an empty poll. */
	if (failed == EAGAIN &&
	    (c->call == VCALL_rdma_get_cm_event || c->call == VCALL_ibv_get_async_event))
		return;
	rec_call_write_line(c, ret, err);
	if (!failed) {
		rec_devices_add_address(c->call, c->args);
		if (vcall_descs[c->call].ret == VRET_NEW + VOBJ_MR)
			rec_call_mr_new(c->call, c->args, (void *)ret);
		else if (c->call == VCALL_ibv_create_cq_ex || c->call == VCALL_ibv_create_qp_ex ||
			 c->call == VCALL_rdma_create_qp_ex)
			rec_call_attach_extended(c->call, c->args, ret);
		if (rec_call_ends_owned(c->call) && c->args[0])
			rec_owned_drop(c->call, (void *)c->args[0]);
		if (end)
			rec_obj_drop(end->obj, (void *)c->args[end->off / 8], c->ending);
	}
	if (c->call == VCALL_ibv_rereg_mr && !failed)
		rec_call_mr_changed(c->args);
	if (c->call == VCALL_ibv_modify_qp && !failed && c->args[2] & IBV_QP_STATE &&
	    ((const struct ibv_qp_attr *)c->args[1])->qp_state == IBV_QPS_RESET)
		rec_recv_reset(rec_obj_find(VOBJ_QP, (void *)c->args[0]));
	errno = err;
}

/* --- the functions --- */

/* Somebody has found a function here that the library below does not have. Return: what says so. */
static __cold u64 wrap_missing_symbol(enum vcall call)
{
	errno = ENOSYS;
	switch (vcall_descs[call].ret) {
	case VRET_ERR:
		return ENOSYS;
	case VRET_M1:
	case VRET_REREG:
		return (u64)-1;
	case VRET_COUNT:
		return (u64)-ENOSYS;
	default:
		return 0;
	}
}

/* Calls that programs reach as functions. Others, and those that are more than their description, follow. */
#define EXPORT_SYM(name, ret, ...)                                                                 \
	SHIM_EXPORT VR_##ret wrap_##name(REC_PARAMS(__VA_ARGS__)) __asm__(#name);                  \
	VR_##ret wrap_##name(REC_PARAMS(__VA_ARGS__))                                              \
	{                                                                                          \
		static void *slot;                                                                 \
		__typeof__(&wrap_##name) lower =                                                   \
			(__typeof__(&wrap_##name))rec_next_symbol(&slot, #name);                   \
                                                                                                   \
		if (unlikely(!lower))                                                              \
			REC_JOIN(REC_GIVE_, REC_KIND(ret))                                         \
		(VR_##ret, wrap_missing_symbol(VCALL_##name));                                     \
		REC_BODY(name, ret, lower, ##__VA_ARGS__)                                          \
	}
#define EXPORT_INL(name, ret, ...)
#define EXPORT_OWN(name, ret, ...)
#define EXPORT(name, ret, way, ...) EXPORT_##way(name, ret, ##__VA_ARGS__)
VCALLS(EXPORT)

/* The functions that verbs.h's inlines of the same name hand the size of their struct to. */
SHIM_EXPORT int wrap_query_gid_ex(struct ibv_context *context, uint32_t port_num,
				  uint32_t gid_index, struct ibv_gid_entry *entry, uint32_t flags,
				  size_t entry_size) __asm__("_ibv_query_gid_ex");
SHIM_EXPORT ssize_t wrap_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
					 size_t max_entries, uint32_t flags,
					 size_t entry_size) __asm__("_ibv_query_gid_table");

int wrap_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)context, port_num, gid_index, (uintptr_t)entry,
				       flags };
	static void *slot;
	__typeof__(&wrap_query_gid_ex) lower;
	struct rec_call c;
	int ret;

	lower = (__typeof__(lower))rec_next_symbol(&slot, "_ibv_query_gid_ex");
	if (!lower)
		return ENOSYS;
	if (entry_size < sizeof(*entry) || !rec_enter())
		return lower(context, port_num, gid_index, entry, flags, entry_size);
	rec_call_begin(&c, VCALL_ibv_query_gid_ex, args);
	ret = lower(context, port_num, gid_index, entry, flags, entry_size);
	rec_call_end(&c, (u64)(int64_t)ret);
	rec_leave();
	return ret;
}

ssize_t wrap_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)context, (uintptr_t)entries, max_entries, flags };
	static void *slot;
	__typeof__(&wrap_query_gid_table) lower;
	struct rec_call c;
	ssize_t ret;

	lower = (__typeof__(lower))rec_next_symbol(&slot, "_ibv_query_gid_table");
	if (!lower)
		return -ENOSYS;
	if (entry_size != sizeof(*entries) || !rec_enter())
		return lower(context, entries, max_entries, flags, entry_size);
	rec_call_begin(&c, VCALL_ibv_query_gid_table, args);
	ret = lower(context, entries, max_entries, flags, entry_size);
	rec_call_end(&c, (u64)ret);
	rec_leave();
	return ret;
}
