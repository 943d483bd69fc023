/* SPDX-License-Identifier: MIT */
/**
 * DOC: limits of real devices that rules lower: `limit` of rdmaemu-faults(7).
 *
 * While there is such a rule, each call that creates an object or queries a device asks for the
 * limits in force. Queries show the lower of two values. A call that asks for more fails as on a
 * device with that limit: with EINVAL if a size is too large, and with ENOMEM if the device has too
 * many objects. What counts are the objects of this process on the device, in the tap's registry:
 * those that librdmacm has created, too, but no other process's.
 */
#include "libtap/users/limit_faults.h"
#include "libtap/users/fabric.h"
#include "traces/calls/desc.h"

#include <rdma/rdma_cma.h>

/* --- numbers of objects ----------------------------------------------------------------------- */

#define LIM(member) offsetof(struct hca_limits, member)

static u32 limit_read(const struct hca_limits *l, size_t at)
{
	u32 v;

	memcpy(&v, (const char *)l + at, sizeof(v));
	return v;
}

/* Return: the offset of the limit of their number; 0: there is none. */
static size_t limit_of_kind(u32 kind)
{
	static const u16 limits[VOBJ_COUNT] = {
		[VOBJ_PD] = LIM(max_pd),   [VOBJ_MR] = LIM(max_mr),	[VOBJ_MW] = LIM(max_mw),
		[VOBJ_CQ] = LIM(max_cq),   [VOBJ_SRQ] = LIM(max_srq),	[VOBJ_QP] = LIM(max_qp),
		[VOBJ_AH] = LIM(max_ah),   [VOBJ_XRCD] = LIM(max_xrcd), [VOBJ_WQ] = LIM(max_wq),
		[VOBJ_IND] = LIM(max_ind), [VOBJ_FLOW] = LIM(max_flow), [VOBJ_CNT] = LIM(max_ctr),
	};

	return kind < VOBJ_COUNT ? limits[kind] : 0;
}

/* The kind of object that a call creates; VOBJ_NONE: none that has a limit. */
static u32 kind_created(enum vcall call)
{
	switch (call) {
	case VCALL_rdma_create_qp:
	case VCALL_rdma_create_qp_ex:
		return VOBJ_QP;
	case VCALL_rdma_create_srq:
	case VCALL_rdma_create_srq_ex:
		return VOBJ_SRQ;
	case VCALL_ibv_import_pd: /* shows another process's */
	case VCALL_ibv_import_mr:
	case VCALL_ibv_open_qp:
		return VOBJ_NONE;
	default:
		return vcall_descs[call].ret < VRET_NEW ? VOBJ_NONE
							: vcall_descs[call].ret - VRET_NEW;
	}
}

/* The device of the object that the call is given first. */
static const struct ibv_device *call_device(const struct tap_call *c)
{
	const void *obj = (const void *)(uintptr_t)c->args[0];
	const u32 kind = vcall_descs[c->call].args[0].obj;
	const struct ibv_context *ctx;

	if (!obj)
		return NULL;
	ctx = kind == VOBJ_ID ? ((const struct rdma_cm_id *)obj)->verbs
			      : tap_obj_context((enum vobj)kind, obj);
	return ctx ? ctx->device : NULL;
}

#define DEVICES 64u /* that have objects; those beyond are not limited */

/** struct limit_device - the objects of a device, by kind, and those that are being created. */
struct limit_device {
	const struct ibv_device *device;
	u32 n[VOBJ_COUNT];
};

static struct limit_device devices[DEVICES];

/* Devices are few, and stay. Return: NULL: there are too many. */
static struct limit_device *limit_device_of(const struct ibv_device *device)
{
	const struct ibv_device *none;
	u32 i;

	for (i = 0; device && i < DEVICES; i++) {
		none = NULL;
		if (load_acquire(&devices[i].device) == device ||
		    __atomic_compare_exchange_n(&devices[i].device, &none, device, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		    none == device)
			return &devices[i];
	}
	return NULL;
}

void limit_faults_start(void)
{
	memset(devices, 0, sizeof(devices));
}

/* Add an object, unless there are @max. */
static bool limit_count_up(u32 *n, u32 max)
{
	u32 now = load_relaxed(n);

	while (now < max)
		if (__atomic_compare_exchange_n(n, &now, now + 1, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

static u32 *limit_count_of(const struct tap_obj *o)
{
	const struct ibv_context *ctx =
		o->ctx_obj ? (const struct ibv_context *)(uintptr_t)o->ctx_obj->key : NULL;
	struct limit_device *d =
		ctx && limit_of_kind(o->kind) ? limit_device_of(ctx->device) : NULL;

	return d ? &d->n[o->kind] : NULL;
}

void limit_fault_object_new(struct tap_obj *o)
{
	u32 *n = limit_count_of(o);

	if (n)
		__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

void limit_fault_object_gone(struct tap_obj *o)
{
	u32 *n = limit_count_of(o);

	if (n)
		__atomic_fetch_sub(n, 1, __ATOMIC_RELAXED);
}

/*
 * The object that the call creates counts from here on, by a reservation that ends with the call:
 * two threads must not both get the last one.
 */
static bool limit_number_is_over(struct tap_call *c, const struct hca_limits *l)
{
	const u32 kind = kind_created(c->call);
	const size_t at = limit_of_kind(kind);
	const u32 max = at ? limit_read(l, at) : ~0u;
	struct limit_device *d = max == ~0u ? NULL : limit_device_of(call_device(c));

	if (!d)
		return false;
	if (!limit_count_up(&d->n[kind], max))
		return true;
	c->op.scratch[TAP_FAULTS].ptr = &d->n[kind];
	return false;
}

/* --- sizes ------------------------------------------------------------------------------------ */

static bool cap_is_over(const struct ibv_qp_cap *cap, const struct hca_limits *l)
{
	return cap->max_send_wr > l->max_qp_wr || cap->max_recv_wr > l->max_qp_wr ||
	       cap->max_send_sge > l->max_sge || cap->max_recv_sge > l->max_sge ||
	       cap->max_inline_data > l->max_inline;
}

static bool srq_is_over(const struct ibv_srq_attr *attr, const struct hca_limits *l)
{
	return attr->max_wr > l->max_srq_wr || attr->max_sge > l->max_srq_sge;
}

static bool modify_is_over(const struct ibv_qp_attr *attr, u64 mask, const struct hca_limits *l)
{
	return (mask & IBV_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > l->max_rd_atom) ||
	       (mask & IBV_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > l->max_rd_atom);
}

static bool limit_size_is_over(const struct tap_call *c, const struct hca_limits *l)
{
	const void *second = (const void *)(uintptr_t)c->args[1];
	const void *third = (const void *)(uintptr_t)c->args[2];

	switch (c->call) {
	case VCALL_ibv_create_cq:
	case VCALL_ibv_resize_cq:
		return (s64)c->args[1] > (s64)l->max_cqe;
	case VCALL_ibv_create_cq_ex:
		return second && ((const struct ibv_cq_init_attr_ex *)second)->cqe > l->max_cqe;
	case VCALL_ibv_create_qp:
		return second && cap_is_over(&((const struct ibv_qp_init_attr *)second)->cap, l);
	case VCALL_ibv_create_qp_ex:
	case VCALL_rdma_create_qp_ex:
		return second && cap_is_over(&((const struct ibv_qp_init_attr_ex *)second)->cap, l);
	case VCALL_rdma_create_qp:
		return third && cap_is_over(&((const struct ibv_qp_init_attr *)third)->cap, l);
	case VCALL_ibv_create_srq:
		return second && srq_is_over(&((const struct ibv_srq_init_attr *)second)->attr, l);
	case VCALL_ibv_create_srq_ex:
	case VCALL_rdma_create_srq_ex:
		return second &&
		       srq_is_over(&((const struct ibv_srq_init_attr_ex *)second)->attr, l);
	case VCALL_rdma_create_srq:
		return third && srq_is_over(&((const struct ibv_srq_init_attr *)third)->attr, l);
	case VCALL_ibv_reg_mr:
	case VCALL_ibv_reg_mr_iova:
	case VCALL_ibv_reg_mr_iova2:
	case VCALL_ibv_reg_dmabuf_mr:
		return c->args[2] > l->max_mr_size;
	case VCALL_ibv_modify_qp:
		return second && modify_is_over(second, c->args[2], l);
	default:
		return false;
	}
}

/* --- queries ---------------------------------------------------------------------------------- */

/* The members of ibv_query_device(3), which are all ints, and the limits that they show. */
static void attr_lower(struct ibv_device_attr *attr, const struct hca_limits *l)
{
#define ATTR(attr, lim)                                                                            \
	{                                                                                          \
		offsetof(struct ibv_device_attr, attr), LIM(lim)                                   \
	}
	static const struct {
		u16 attr;
		u16 lim;
	} shown[] = {
		ATTR(max_qp, max_qp),
		ATTR(max_qp_wr, max_qp_wr),
		ATTR(max_sge, max_sge),
		ATTR(max_cq, max_cq),
		ATTR(max_cqe, max_cqe),
		ATTR(max_mr, max_mr),
		ATTR(max_pd, max_pd),
		ATTR(max_mw, max_mw),
		ATTR(max_ah, max_ah),
		ATTR(max_srq, max_srq),
		ATTR(max_srq_wr, max_srq_wr),
		ATTR(max_srq_sge, max_srq_sge),
		ATTR(max_qp_rd_atom, max_rd_atom),
		ATTR(max_qp_init_rd_atom, max_rd_atom),
	};
#undef ATTR
	u32 i, max;
	s32 now;

	for (i = 0; i < ARRAY_SIZE(shown); i++) {
		max = limit_read(l, shown[i].lim);
		memcpy(&now, (char *)attr + shown[i].attr, sizeof(now));
		if (now > 0 && (u32)now > max)
			memcpy((char *)attr + shown[i].attr, &max, sizeof(max));
	}
	attr->max_mr_size = attr->max_mr_size < l->max_mr_size ? attr->max_mr_size : l->max_mr_size;
}

static void attr_ex_lower(struct ibv_device_attr_ex *attr, const struct hca_limits *l)
{
	attr_lower(&attr->orig_attr, l);
	attr->max_wq_type_rq = min_u32(attr->max_wq_type_rq, l->max_wq);
	attr->rss_caps.max_rwq_indirection_tables =
		min_u32(attr->rss_caps.max_rwq_indirection_tables, l->max_ind);
}

/* --- hooks ------------------------------------------------------------------------------------ */

static bool limit_call_matters(enum vcall call)
{
	return limit_of_kind(kind_created(call)) || call == VCALL_ibv_resize_cq ||
	       call == VCALL_ibv_modify_qp;
}

int limit_fault_error(struct tap_call *c)
{
	struct hca_limits l;

	c->op.scratch[TAP_FAULTS].ptr = NULL;
	if (likely(!tap_fabric_has_limits()))
		return 0;
	if (!limit_call_matters(c->call) || !tap_fabric_limits(&l))
		return 0;
	if (limit_size_is_over(c, &l))
		return EINVAL;
	return limit_number_is_over(c, &l) ? ENOMEM : 0;
}

void limit_fault_call_returned(struct tap_call *c)
{
	struct hca_limits l;

	if (likely(!tap_fabric_has_limits()))
		return;
	if (c->ret || (c->call != VCALL_ibv_query_device && c->call != VCALL_ibv_query_device_ex) ||
	    !tap_fabric_limits(&l))
		return;
	if (c->call == VCALL_ibv_query_device)
		attr_lower((struct ibv_device_attr *)(uintptr_t)c->args[1], &l);
	else
		attr_ex_lower((struct ibv_device_attr_ex *)(uintptr_t)c->args[2], &l);
}

void limit_fault_call_end(struct tap_call *c)
{
	u32 *reserved = c->op.scratch[TAP_FAULTS].ptr;

	if (reserved)
		__atomic_fetch_sub(reserved, 1, __ATOMIC_RELAXED);
}
