/* SPDX-License-Identifier: MIT */
/*
 * The walker: goes over the arguments of a call, their structs, and the structs in those.
 *
 * It runs before the call to write what goes in, and after it to write what came out. A replay runs
 * it a third time, after it has carried the call out again: next to the recorded line, to report
 * which object now has which recorded ordinal.
 */
#include "traces/calls/walk.h"

#include <stdio.h>
#include <string.h>

uint64_t vfield_read_int(const void *at, uint32_t size)
{
	uint64_t v = 0;

	/* All supported machines are little-endian, as the layout of verbs.h assumes. */
	memcpy(&v, at, size > 8 ? 8 : size);
	return v;
}

static void *walk_pointer_at(const void *at)
{
	void *p;

	memcpy(&p, at, sizeof(p));
	return p;
}

/* Appends @name to the path. Return: the previous length, for walk_path_pop(). */
static uint32_t walk_path_push(struct vwalk *w, const char *name)
{
	uint32_t was = w->path_len;
	int n = snprintf(w->path + was, sizeof(w->path) - was, "%s.", name);

	if (n > 0 && was + (uint32_t)n < sizeof(w->path))
		w->path_len += (uint32_t)n;
	return was;
}

static void walk_path_pop(struct vwalk *w, uint32_t was)
{
	w->path_len = was;
	w->path[was] = '\0';
}

/* The field's count, or its mask. */
static uint64_t walk_count(const struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	switch (f->count_off) {
	case VCOUNT_NONE:
		return 0;
	case VCOUNT_RET:
		return (int64_t)w->ret > 0 ? w->ret : 0;
	case VCOUNT_NEXT:
		return vfield_read_int(base + f->off + 8, 8);
	default:
		return vfield_read_int(base + f->count_off, f->count_size);
	}
}

static void walk_struct(struct vwalk *w, const char *name, const struct vstruct *s, const void *at,
			uint64_t mask)
{
	uint32_t was = walk_path_push(w, name);

	if (s->mask_off != VCOUNT_NONE) {
		mask = vfield_read_int((const uint8_t *)at + s->mask_off, s->mask_size);
		if (w->dir == VDIR_IN && (mask & ~s->known))
			w->t->unknown++;
	}
	vwalk_walk_fields(w, s->fields, s->n, at, mask);
	walk_path_pop(w, was);
}

static void walk_pointer(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const void *p = walk_pointer_at(base + f->off);
	uint64_t mask = walk_count(w, f, base);

	if (!p) {
		if (w->dir == VDIR_IN) {
			vwalk_print_key(w, f->name);
			vwalk_print(w, "-");
		}
		return;
	}
	if (f->kind == VK_PMASK && w->dir == VDIR_OUT)
		mask = mask ? vfield_read_int((void *)(uintptr_t)mask, 4) : 0;
	else if (f->kind == VK_PMASK || f->count_off == VCOUNT_NONE)
		mask = ~0ULL;
	walk_struct(w, f->name, f->aux, p, mask);
}

static void walk_array(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const struct vstruct *s = f->aux;
	const uint8_t *p = walk_pointer_at(base + f->off);
	uint64_t i, n = p ? walk_count(w, f, base) : 0;
	char name[64];

	if (n > VCALL_ARRAY) {
		w->t->unknown++;
		n = VCALL_ARRAY;
	}
	if (n && !w->record) {
		vwalk_print_key(w, f->name);
		vwalk_print(w, "%u", (unsigned)n);
	}
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s[%u]", f->name, (unsigned)i);
		walk_struct(w, name, s, p + i * s->size, ~0ULL);
	}
}

static void walk_objects(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	void **p = walk_pointer_at(base + f->off);
	uint64_t log = walk_count(w, f, base);
	uint32_t i, n = 0;
	char name[64];

	if (p && log <= 8)
		n = 1u << log;
	else
		w->t->unknown++;
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s[%u]", f->name, i);
		vwalk_print_object(w, name, f->obj, p[i], false);
	}
}

static void walk_bytes(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const uint8_t *p = walk_pointer_at(base + f->off);
	uint64_t i, n = p ? walk_count(w, f, base) : 0, v;

	if (!n || w->record)
		return;
	vwalk_print_key(w, f->name);
	if (n > VCALL_BYTES) {
		w->t->unknown++;
		n = VCALL_BYTES;
	}
	vwalk_print(w, "%u:", (unsigned)n);
	if (f->kind == VK_BYTES) {
		vwalk_print_hex(w, p, n);
		return;
	}
	for (i = 0; i < n; i += 8) {
		v = 0;
		memcpy(&v, p + i, n - i < 8 ? n - i : 8);
		vwalk_print_fact(w, VFACT_BYTES, v);
	}
}

static void walk_u64s(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const uint64_t *p = walk_pointer_at(base + f->off);
	uint64_t i, n = p ? walk_count(w, f, base) : 0;

	if (n > VCALL_ARRAY)
		n = VCALL_ARRAY;
	if (!n || w->record)
		return;
	vwalk_print_key(w, f->name);
	vwalk_print(w, "%u:", (unsigned)n);
	for (i = 0; i < n; i++)
		vwalk_print_fact(w, f->fact, p[i]);
}

enum vobj vwalk_event_object(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return VOBJ_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return VOBJ_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return VOBJ_SRQ;
	case IBV_EVENT_WQ_FATAL:
		return VOBJ_WQ;
	default:
		return VOBJ_NONE;
	}
}

/* Writes the object that an asynchronous event is about. */
static void walk_element(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const struct ibv_async_event *e = (const void *)base;
	enum vobj kind = vwalk_event_object(e->event_type);

	/* A union of pointers to objects, and the port. */
	if (kind) {
		vwalk_print_object(w, f->name, kind, e->element.qp, false);
	} else if (!w->record) {
		vwalk_print_key(w, f->name);
		vwalk_print(w, "%d", e->element.port_num);
	}
}

/* Writes the parameters of an rdma_cm event. Only these events define them. */
static void walk_param(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const struct rdma_cm_event *e = (const void *)base;
	bool ud = e->id && (e->id->ps == RDMA_PS_UDP || e->id->ps == RDMA_PS_IPOIB);

	switch (e->event) {
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		walk_struct(w, f->name, &vstruct_ud_param, &e->param.ud, ~0ULL);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_ESTABLISHED:
		if (ud)
			walk_struct(w, f->name, &vstruct_ud_param, &e->param.ud, ~0ULL);
		else
			walk_struct(w, f->name, &vstruct_conn_param, &e->param.conn, ~0ULL);
		break;
	default:
		break;
	}
}

/* Writes the specifications of a flow as bytes. Objects that they point to follow as words. */
static void walk_specs(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	uint32_t i, n = (uint32_t)walk_count(w, f, base);
	struct ibv_flow_spec_action_handle action;
	struct ibv_flow_spec_counter_action count;
	const uint8_t *p = base + f->off;
	struct {
		enum ibv_flow_spec_type type;
		uint16_t size;
	} head;

	for (i = 0; i < n && !w->record; i++) {
		memcpy(&head, p, sizeof(head));
		vwalk_print_key(w, "spec");
		switch (head.type) {
		case IBV_FLOW_SPEC_ACTION_COUNT:
			memcpy(&count, p, sizeof(count));
			vwalk_print_hex(w, p,
					offsetof(struct ibv_flow_spec_counter_action, counters));
			vwalk_print_hex(w, (uint8_t[sizeof(void *)]){ 0 }, sizeof(void *));
			vwalk_print_object(w, "spec.counters", VOBJ_CNT, count.counters, false);
			break;
		case IBV_FLOW_SPEC_ACTION_HANDLE:
			/* The address of an action has no meaning in another run. */
			w->t->unknown++;
			memcpy(&action, p, sizeof(action));
			action.action = NULL;
			vwalk_print_hex(w, (const uint8_t *)&action, sizeof(action));
			break;
		default:
			vwalk_print_hex(w, p,
					head.size < sizeof(head) ||
							head.size > sizeof(struct ibv_flow_spec)
						? sizeof(head)
						: head.size);
		}
		/* An invalid size: the position of the next specification is unknown. */
		if (head.size < sizeof(head) || head.size > sizeof(struct ibv_flow_spec)) {
			w->t->unknown++;
			return;
		}
		p += head.size;
	}
}

static void walk_out_object(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	void **p = walk_pointer_at(base + f->off);

	if (!p || !*p)
		return;
	vwalk_print_object(w, f->name, f->obj, *p, f->dir & VDIR_FRESH);
	if (f->aux)
		walk_struct(w, f->name, f->aux, *p, ~0ULL);
}

static void walk_out_int(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const void *p = walk_pointer_at(base + f->off);
	uint64_t v = p && w->dir == VDIR_OUT ? vfield_read_int(p, f->size) : 0;

	if (!p && w->dir == VDIR_IN) {
		vwalk_print_key(w, f->name);
		vwalk_print(w, "-");
	}
	if (!p || w->record || w->dir == VDIR_IN)
		return;
	vwalk_print_key(w, f->name);
	if (f->fact)
		vwalk_print_fact(w, f->fact, v);
	else if (f->aux == &vnames_qp_mask)
		vwalk_print_flags(w, f->aux, v);
	else if (f->aux)
		vwalk_print_hex(w, p, f->size);
	else
		vwalk_print(w, "%llu", (unsigned long long)v);
}

static void walk_integer(struct vwalk *w, const struct vfield *f, uint64_t v)
{
	if (w->record || (!v && !f->fact && f->kind != VK_ENUM))
		return;
	vwalk_print_key(w, f->name);
	if (f->fact)
		vwalk_print_fact(w, f->fact, v);
	else if (f->kind == VK_INT && f->size == 4)
		vwalk_print(w, "%d", (int)v);
	else if (f->kind == VK_INT)
		vwalk_print(w, "%lld", (long long)v);
	else if (f->kind == VK_HEX)
		vwalk_print(w, "%#llx", (unsigned long long)v);
	else if (f->kind == VK_ENUM)
		vwalk_print_name(w, f->aux, f->size == 4 ? (uint32_t)v : v);
	else if (f->kind == VK_FLAGS)
		vwalk_print_flags(w, f->aux, v);
	else
		vwalk_print(w, "%llu", (unsigned long long)v);
}

static void walk_text(struct vwalk *w, const struct vfield *f, const char *s, size_t max)
{
	if (!s || w->record)
		return;
	vwalk_print_key(w, f->name);
	vwalk_print_quoted(w, s, max);
}

static void walk_raw(struct vwalk *w, const char *name, const void *p, size_t n)
{
	static const uint8_t zero[16];

	if (!p || w->record || (n <= sizeof(zero) && !memcmp(p, zero, n)))
		return;
	vwalk_print_key(w, name);
	vwalk_print_hex(w, p, n);
}

static void walk_device(struct vwalk *w, const struct vfield *f, const struct ibv_device *dev)
{
	walk_text(w, f, dev ? dev->name : NULL, sizeof(dev->name));
}

static void walk_object(struct vwalk *w, const struct vfield *f, void *obj)
{
	/* An argument is written when it goes in; a member of a struct when it comes out. */
	if (w->dir == VDIR_IN || !w->args_level)
		vwalk_print_object(w, f->name, f->obj, obj, false);
	if (w->dir == VDIR_OUT && f->obj == VOBJ_QP && obj && !w->args_level && !w->record) {
		vwalk_print(w, " %s%s.qp_num=", w->path, f->name);
		vwalk_print_fact(w, VFACT_QPN, ((const struct ibv_qp *)obj)->qp_num);
	}
	if (w->dir == VDIR_OUT && f->aux && obj)
		walk_struct(w, f->name, f->aux, obj, ~0ULL);
}

/* Structs, arrays of them, and objects with members. */
static void walk_nested_field(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const uint8_t *at = base + f->off;

	switch (f->kind) {
	case VK_STRUCT:
		walk_struct(w, f->name, f->aux, at, ~0ULL);
		break;
	case VK_PTR:
	case VK_PMASK:
		walk_pointer(w, f, base);
		break;
	case VK_ARRAY:
		walk_array(w, f, base);
		break;
	case VK_OBJS:
		walk_objects(w, f, base);
		break;
	case VK_OUTOBJ:
		walk_out_object(w, f, base);
		break;
	case VK_OUTPTR:
		at = walk_pointer_at(at);
		if (at && walk_pointer_at(at))
			walk_struct(w, f->name, f->aux, walk_pointer_at(at), ~0ULL);
		break;
	case VK_ELEMENT:
		walk_element(w, f, base);
		break;
	case VK_EVPARAM:
		walk_param(w, f, base);
		break;
	case VK_SPECS:
		walk_specs(w, f, base);
		break;
	default:
		break;
	}
}

static void walk_field(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const uint8_t *at = base + f->off;

	switch (f->kind) {
	case VK_UINT:
	case VK_INT:
	case VK_HEX:
	case VK_ENUM:
	case VK_FLAGS:
		walk_integer(w, f, vfield_read_int(at, f->size));
		break;
	case VK_BE:
		walk_raw(w, f->name, at, f->size);
		break;
	case VK_OBJ:
		walk_object(w, f, walk_pointer_at(at));
		break;
	case VK_DEV:
		walk_device(w, f, walk_pointer_at(at));
		break;
	case VK_U64S:
		walk_u64s(w, f, base);
		break;
	case VK_CHARS:
		walk_text(w, f, (const char *)at, f->size);
		break;
	case VK_STR:
		walk_text(w, f, walk_pointer_at(at), VCALL_BYTES);
		break;
	case VK_GID:
	case VK_HERE:
		walk_raw(w, f->name, at, f->size);
		break;
	case VK_PGID:
		walk_raw(w, f->name, walk_pointer_at(at), sizeof(union ibv_gid));
		break;
	case VK_BYTES:
	case VK_PRIVATE:
		walk_bytes(w, f, base);
		break;
	case VK_SOCKADDR:
		vwalk_print_address(w, f->name, (const struct sockaddr *)at, f->fact);
		break;
	case VK_PSOCKADDR:
		vwalk_print_address(w, f->name, walk_pointer_at(at), f->fact);
		break;
	case VK_OUT:
		walk_out_int(w, f, base);
		break;
	default:
		walk_nested_field(w, f, base);
	}
}

void vwalk_walk_fields(struct vwalk *w, const struct vfield *f, uint32_t n, const uint8_t *base,
		       uint64_t mask)
{
	bool args_level = w->args_level;
	uint32_t i;

	w->args_level = base == (const uint8_t *)w->args;
	for (i = 0; i < n; i++)
		if ((f[i].dir & w->dir) && (!f[i].when || (mask & f[i].when)) &&
		    (!(f[i].dir & VDIR_MADE) || (w->makes & 1u << f[i].obj)))
			walk_field(w, &f[i], base);
	w->args_level = args_level;
}
