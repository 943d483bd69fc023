/* SPDX-License-Identifier: MIT */
/* Writes the parts of a line that belong to the call as a whole: its name and its result. */
#include "traces/calls/walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

uint32_t vcall_made_kinds(enum vcall call, const uint64_t *args)
{
	const uint32_t ctx = 1u << VOBJ_CTX | 1u << VOBJ_PD, evch = 1u << VOBJ_EVCH;
	const uint32_t queues = 1u << VOBJ_QP | 1u << VOBJ_CQ | 1u << VOBJ_CH;
	struct rdma_cm_event **e;

	switch (call) {
	case VCALL_rdma_get_devices:
		return 1u << VOBJ_CTX;
	case VCALL_rdma_create_id:
		return evch;
	case VCALL_rdma_bind_addr:
	case VCALL_rdma_resolve_addr:
		return ctx;
	case VCALL_rdma_create_ep:
		return ctx | queues | 1u << VOBJ_SRQ | evch;
	case VCALL_rdma_get_request:
		return ctx | queues | 1u << VOBJ_SRQ | evch | 1u << VOBJ_EV;
	case VCALL_rdma_create_qp:
	case VCALL_rdma_create_qp_ex:
		return ctx | queues;
	case VCALL_rdma_create_srq:
	case VCALL_rdma_create_srq_ex:
		return ctx | queues | 1u << VOBJ_SRQ;
	case VCALL_rdma_get_cm_event:
		e = (struct rdma_cm_event **)(uintptr_t)args[1];
		if ((*e)->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			return ctx | 1u << VOBJ_ID;
		return (*e)->event == RDMA_CM_EVENT_ADDR_RESOLVED ? ctx : 0;
	default:
		return 0;
	}
}

int vcall_error(enum vcall call, uint64_t ret, int err)
{
	int r = (int)ret;

	switch (vcall_descs[call].ret) {
	case VRET_VOID:
	case VRET_INT:
		return 0;
	case VRET_ERR:
		return r;
	case VRET_M1:
	case VRET_REREG:
		return r ? (err ? err : EIO) : 0;
	case VRET_COUNT:
		return (int64_t)ret < 0 ? (int)-(int64_t)ret : 0;
	case VRET_INDEX:
		return r < 0 ? (err ? err : EIO) : 0;
	default:
		return ret ? 0 : (err ? err : EIO);
	}
}

uint64_t vcall_failure(enum vcall call, int err)
{
	switch (vcall_descs[call].ret) {
	case VRET_ERR:
		return (uint64_t)err;
	case VRET_M1:
	case VRET_INDEX:
		return UINT64_MAX;
	case VRET_REREG:
		return (uint64_t)(int64_t)IBV_REREG_MR_ERR_CMD;
	case VRET_COUNT:
		return (uint64_t) - (int64_t)err;
	default:
		return 0;
	}
}

static void call_print_error(struct vwalk *w, int err)
{
	const char *name = strerrorname_np(err);

	if (name)
		vwalk_print(w, "%s", name);
	else
		vwalk_print(w, "%d", err);
}

static void call_print_devices(struct vwalk *w, struct ibv_device **list)
{
	for (; *list; list++) {
		vwalk_print(w, " ");
		vwalk_print_quoted(w, (*list)->name, sizeof((*list)->name));
	}
}

static void call_print_result(struct vwalk *w, uint32_t kind, uint64_t ret, int failed)
{
	uint32_t ord;

	switch (kind) {
	case VRET_VOID:
		vwalk_print(w, "void");
		break;
	case VRET_INDEX:
		vwalk_print(w, "%d", (int)ret);
		return;
	case VRET_INT:
	case VRET_COUNT:
		if (failed)
			call_print_error(w, failed);
		else
			vwalk_print(w, "%lld", (long long)ret);
		break;
	case VRET_ERR:
		if (failed)
			call_print_error(w, failed);
		else
			vwalk_print(w, "0");
		break;
	case VRET_M1:
	case VRET_REREG:
		vwalk_print(w, "%d", (int)ret);
		break;
	case VRET_DEVS:
	case VRET_CTXS:
		vwalk_print(w, "%s", ret ? "list" : "NULL");
		break;
	default:
		ord = ret && w->env->name ? w->env->name(w->env->arg, kind - VRET_NEW,
							 (void *)(uintptr_t)ret, true)
					  : 0;
		if (ord)
			vwalk_print(w, "%s%u", vobj_names[kind - VRET_NEW], ord);
		else
			vwalk_print(w, "%s", ret ? "?" : "NULL");
	}
	if (failed && kind != VRET_ERR && kind != VRET_COUNT) {
		vwalk_print(w, " ");
		call_print_error(w, failed);
	}
}

/* Numbers of a new object that other programs or later calls may use. */
static void call_print_numbers(struct vwalk *w, uint32_t kind, const void *obj)
{
	const struct ibv_mr *mr = obj;
	const struct ibv_qp *qp = obj;
	const struct ibv_mw *mw = obj;

	if (!obj)
		return;
	if (kind == VRET_NEW + VOBJ_MR) {
		vwalk_print(w, " addr=");
		vwalk_print_fact(w, VFACT_ADDR, (uintptr_t)mr->addr);
		vwalk_print(w, " length=%llu lkey=", (unsigned long long)mr->length);
		vwalk_print_fact(w, VFACT_KEY, mr->lkey);
		vwalk_print(w, " rkey=");
		vwalk_print_fact(w, VFACT_KEY, mr->rkey);
		vwalk_print(w, " handle=");
		vwalk_print_fact(w, VFACT_HANDLE, mr->handle);
	} else if (kind == VRET_NEW + VOBJ_PD) {
		vwalk_print(w, " handle=");
		vwalk_print_fact(w, VFACT_HANDLE, ((const struct ibv_pd *)obj)->handle);
	} else if (kind == VRET_NEW + VOBJ_DM) {
		vwalk_print(w, " handle=");
		vwalk_print_fact(w, VFACT_HANDLE, ((const struct ibv_dm *)obj)->handle);
	} else if (kind == VRET_NEW + VOBJ_QP) {
		vwalk_print(w, " qp_num=");
		vwalk_print_fact(w, VFACT_QPN, qp->qp_num);
	} else if (kind == VRET_NEW + VOBJ_MW) {
		vwalk_print(w, " rkey=");
		vwalk_print_fact(w, VFACT_KEY, mw->rkey);
	} else if (kind == VRET_NEW + VOBJ_CTX) {
		/* Another program may import the context by this descriptor. */
		vwalk_print(w, " cmd_fd=");
		vwalk_print_fact(w, VFACT_FD,
				 (uint64_t)(int64_t)((const struct ibv_context *)obj)->cmd_fd);
	} else if (kind == VRET_NEW + VOBJ_CQ) {
		vwalk_print(w, " cqe=%d", ((const struct ibv_cq *)obj)->cqe);
	}
}

void vcall_print_in(struct vcall_text *t, enum vcall call, const uint64_t *args,
		    const struct vcall_env *env)
{
	const struct vcall_desc *d = &vcall_descs[call];
	struct vwalk w = { .t = t, .env = env, .args = args, .dir = VDIR_IN };

	t->len = 0;
	t->n_facts = 0;
	t->lost = false;
	t->unknown = 0;
	vwalk_print(&w, "%s", d->name);
	vwalk_walk_fields(&w, d->args, d->n_args, (const uint8_t *)args, ~0ULL);
}

void vcall_print_out(struct vcall_text *t, enum vcall call, const uint64_t *args, uint64_t ret,
		     int err, const struct vcall_env *env)
{
	const struct vcall_desc *d = &vcall_descs[call];
	struct vwalk w = { .t = t, .env = env, .args = args, .dir = VDIR_OUT, .ret = ret };
	int failed = vcall_error(call, ret, err);

	vwalk_print(&w, " = ");
	call_print_result(&w, d->ret, ret, failed);
	if (failed)
		return;
	if (d->ret >= VRET_NEW)
		call_print_numbers(&w, d->ret, (void *)(uintptr_t)ret);
	else if (d->ret == VRET_DEVS)
		call_print_devices(&w, (struct ibv_device **)(uintptr_t)ret);
	else if (d->ret == VRET_CTXS)
		vwalk_print_contexts(&w, (struct ibv_context **)(uintptr_t)ret);
	else if (call == VCALL_ibv_rereg_mr)
		call_print_numbers(&w, VRET_NEW + VOBJ_MR, (void *)(uintptr_t)args[0]);
	else if (call == VCALL_ibv_bind_mw)
		call_print_numbers(&w, VRET_NEW + VOBJ_MW, (void *)(uintptr_t)args[1]);
	w.makes = vcall_made_kinds(call, args);
	vwalk_walk_fields(&w, d->args, d->n_args, (const uint8_t *)args, ~0ULL);
}
