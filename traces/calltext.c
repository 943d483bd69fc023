// SPDX-License-Identifier: MIT
/*
 * Calls as lines of text.
 *
 * One walker goes over the arguments of a call, their structs and the structs in those. It does so before the
 * call (what goes in), behind it (what came out), and in a replay, behind the call that was carried out
 * again, beside the line of the record: then it only tells which object now has which ordinal of the record.
 */
#include "traces/callwalk.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint64_t vfield_int(const void *at, uint32_t size)
{
	uint64_t v = 0;

	/* All machines that this runs on are little-endian (verbs.h's layout is compiled in). */
	memcpy(&v, at, size > 8 ? 8 : size);
	return v;
}

static void *pointer_at(const void *at)
{
	void *p;

	memcpy(&p, at, sizeof(p));
	return p;
}

/* --- text ------------------------------------------------------------------------------------- */

static __attribute__((format(printf, 2, 3))) void add(struct vwalk *w, const char *fmt, ...)
{
	struct vcall_text *t = w->t;
	size_t room = sizeof(t->text) - t->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->text + t->len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room) {
		t->lost = true;
		t->text[t->len] = '\0';
		return;
	}
	t->len += (uint32_t)n;
}

static void fact(struct vwalk *w, uint32_t kind, uint64_t value)
{
	struct vcall_text *t = w->t;

	if (t->n_facts == VCALL_FACTS) {
		t->lost = true;
		return;
	}
	add(w, "~");
	if (t->lost)
		return;
	t->facts[t->n_facts].value = value;
	t->facts[t->n_facts++].kind = kind;
}

static void key(struct vwalk *w, const char *name)
{
	add(w, " %s%s=", w->path, name);
}

static void quoted(struct vwalk *w, const char *s, size_t max)
{
	size_t i;

	add(w, "\"");
	for (i = 0; i < max && s[i]; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c <= ' ' || c == '"' || c == '\\' || c >= '~')
			add(w, "\\x%02x", c);
		else
			add(w, "%c", c);
	}
	add(w, "\"");
}

static void hex(struct vwalk *w, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;
	size_t i;

	for (i = 0; i < n; i++)
		add(w, "%02x", b[i]);
}

static void named(struct vwalk *w, const struct vnames *names, uint64_t v)
{
	uint32_t i;

	for (i = 0; i < names->n; i++)
		if (names->name[i].value == v) {
			add(w, "%s", names->name[i].name);
			return;
		}
	add(w, "%llu", (unsigned long long)v);
}

static void flags(struct vwalk *w, const struct vnames *names, uint64_t v)
{
	const char *sep = "";
	uint32_t i;

	for (i = 0; i < names->n; i++)
		if (v & names->name[i].value) {
			add(w, "%s%s", sep, names->name[i].name);
			v &= ~names->name[i].value;
			sep = "|";
		}
	if (v)
		add(w, "%s%#llx", sep, (unsigned long long)v);
}

static void object(struct vwalk *w, const char *name, enum vobj kind, void *obj, bool fresh)
{
	uint32_t ord;

	if (w->record) {
		vwalk_bind(w, name, kind, obj);
		return;
	}
	if (!obj)
		return;
	ord = w->env->name ? w->env->name(w->env->arg, kind, obj, fresh) : 0;
	key(w, name);
	if (ord)
		add(w, "%s%u", vobj_names[kind], ord);
	else
		add(w, "?");
}

/* ADDRESS:PORT; the port of an address that came out is the system's choice as often as not. */
static void address(struct vwalk *w, const char *name, const struct sockaddr *sa,
		    uint32_t port_fact)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;
	char text[INET6_ADDRSTRLEN];
	uint16_t port;

	if (!sa || !sa->sa_family || w->record)
		return;
	key(w, name);
	switch (sa->sa_family) {
	case AF_INET:
		add(w, "%s:", inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)));
		port = ntohs(in->sin_port);
		break;
	case AF_INET6:
		add(w, "[%s%%%u]:", inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text)),
		    in6->sin6_scope_id);
		port = ntohs(in6->sin6_port);
		break;
	case VCALL_AF_IB:
		add(w, "ib:");
		hex(w, sa, VCALL_SIZE_IB);
		return;
	default:
		add(w, "family%u", sa->sa_family);
		w->t->unknown++;
		return;
	}
	if (port_fact)
		fact(w, port_fact, port);
	else
		add(w, "%u", port);
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* @name is put behind the path for what lies in it. Return: where the path was, for path_back(). */
static uint32_t path_into(struct vwalk *w, const char *name)
{
	uint32_t was = w->path_len;
	int n = snprintf(w->path + was, sizeof(w->path) - was, "%s.", name);

	if (n > 0 && was + (uint32_t)n < sizeof(w->path))
		w->path_len += (uint32_t)n;
	return was;
}

static void path_back(struct vwalk *w, uint32_t was)
{
	w->path_len = was;
	w->path[was] = '\0';
}

/* How many, or which mask, as the field says. */
static uint64_t count_of(const struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	switch (f->count_off) {
	case VCOUNT_NONE:
		return 0;
	case VCOUNT_RET:
		return (int64_t)w->ret > 0 ? w->ret : 0;
	case VCOUNT_NEXT:
		return vfield_int(base + f->off + 8, 8);
	default:
		return vfield_int(base + f->count_off, f->count_size);
	}
}

static void walk_fields(struct vwalk *w, const struct vfield *f, uint32_t n, const uint8_t *base,
			uint64_t mask);

static void walk_struct(struct vwalk *w, const char *name, const struct vstruct *s, const void *at,
			uint64_t mask)
{
	uint32_t was = path_into(w, name);

	if (s->mask_off != VCOUNT_NONE) {
		mask = vfield_int((const uint8_t *)at + s->mask_off, s->mask_size);
		if (w->dir == VDIR_IN && (mask & ~s->known))
			w->t->unknown++;
	}
	walk_fields(w, s->fields, s->n, at, mask);
	path_back(w, was);
}

static void walk_pointer(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const void *p = pointer_at(base + f->off);
	uint64_t mask = count_of(w, f, base);

	if (!p) {
		if (w->dir == VDIR_IN) {
			key(w, f->name);
			add(w, "-");
		}
		return;
	}
	if (f->kind == VK_PMASK)
		mask = w->dir == VDIR_OUT ? vfield_int((void *)(uintptr_t)mask, 4) : ~0ULL;
	else if (f->count_off == VCOUNT_NONE)
		mask = ~0ULL;
	walk_struct(w, f->name, f->aux, p, mask);
}

static void walk_array(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const struct vstruct *s = f->aux;
	const uint8_t *p = pointer_at(base + f->off);
	uint64_t i, n = p ? count_of(w, f, base) : 0;
	char name[64];

	if (n > VCALL_ARRAY) {
		w->t->unknown++;
		n = VCALL_ARRAY;
	}
	if (n && !w->record) {
		key(w, f->name);
		add(w, "%u", (unsigned)n);
	}
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s[%u]", f->name, (unsigned)i);
		walk_struct(w, name, s, p + i * s->size, ~0ULL);
	}
}

static void walk_objects(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	void **p = pointer_at(base + f->off);
	uint64_t log = count_of(w, f, base);
	uint32_t i, n = 0;
	char name[64];

	if (p && log <= 8)
		n = 1u << log;
	else
		w->t->unknown++;
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s[%u]", f->name, i);
		object(w, name, f->obj, p[i], false);
	}
}

static void walk_bytes(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const uint8_t *p = pointer_at(base + f->off);
	uint64_t i, n = p ? count_of(w, f, base) : 0, v;

	if (!n || w->record)
		return;
	key(w, f->name);
	if (n > VCALL_BYTES) {
		w->t->unknown++;
		n = VCALL_BYTES;
	}
	add(w, "%u:", (unsigned)n);
	if (f->kind == VK_BYTES) {
		hex(w, p, n);
		return;
	}
	for (i = 0; i < n; i += 8) {
		v = 0;
		memcpy(&v, p + i, n - i < 8 ? n - i : 8);
		fact(w, VFACT_BYTES, v);
	}
}

static void walk_u64s(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const uint64_t *p = pointer_at(base + f->off);
	uint64_t i, n = p ? count_of(w, f, base) : 0;

	if (n > VCALL_ARRAY)
		n = VCALL_ARRAY;
	if (!n || w->record)
		return;
	key(w, f->name);
	add(w, "%u:", (unsigned)n);
	for (i = 0; i < n; i++)
		fact(w, f->fact, p[i]);
}

/* The object that an asynchronous event is about. */
static void walk_element(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const struct ibv_async_event *e = (const void *)base;

	switch (e->event_type) {
	case IBV_EVENT_CQ_ERR:
		object(w, f->name, VOBJ_CQ, e->element.cq, false);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		object(w, f->name, VOBJ_QP, e->element.qp, false);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		object(w, f->name, VOBJ_SRQ, e->element.srq, false);
		break;
	case IBV_EVENT_WQ_FATAL:
		object(w, f->name, VOBJ_WQ, e->element.wq, false);
		break;
	default:
		if (!w->record) {
			key(w, f->name);
			add(w, "%d", e->element.port_num);
		}
	}
}

/* What came with an event of the rdma_cm; others than these leave it undefined. */
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

/* Specifications of a flow, as they lie; pointers in them stand behind. */
static void walk_specs(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	uint32_t i, n = (uint32_t)count_of(w, f, base);
	struct ibv_flow_spec_counter_action count;
	const uint8_t *p = base + f->off;
	struct {
		enum ibv_flow_spec_type type;
		uint16_t size;
	} head;

	for (i = 0; i < n && !w->record; i++) {
		memcpy(&head, p, sizeof(head));
		key(w, "spec");
		switch (head.type) {
		case IBV_FLOW_SPEC_ACTION_COUNT:
			memcpy(&count, p, sizeof(count));
			hex(w, p, offsetof(struct ibv_flow_spec_counter_action, counters));
			hex(w, (uint8_t[sizeof(void *)]){ 0 }, sizeof(void *));
			object(w, "spec.counters", VOBJ_CNT, count.counters, false);
			break;
		case IBV_FLOW_SPEC_ACTION_HANDLE:
			w->t->unknown++;
			add(w, "?");
			break;
		default:
			hex(w, p, head.size < sizeof(head) || head.size > sizeof(struct ibv_flow_spec) ?
					  sizeof(head) :
					  head.size);
		}
		/* None that there is: where the next one would be nobody can tell. */
		if (head.size < sizeof(head) || head.size > sizeof(struct ibv_flow_spec)) {
			w->t->unknown++;
			return;
		}
		p += head.size;
	}
}

static void walk_out_object(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	void **p = pointer_at(base + f->off);

	if (!p || !*p)
		return;
	object(w, f->name, f->obj, *p, f->dir & VDIR_FRESH);
	if (f->aux)
		walk_struct(w, f->name, f->aux, *p, ~0ULL);
}

static void walk_out_int(struct vwalk *w, const struct vfield *f, const uint8_t *base)
{
	const void *p = pointer_at(base + f->off);
	uint64_t v = p && w->dir == VDIR_OUT ? vfield_int(p, f->size) : 0;

	if (!p && w->dir == VDIR_IN) {
		key(w, f->name);
		add(w, "-");
	}
	if (!p || w->record || w->dir == VDIR_IN)
		return;
	key(w, f->name);
	if (f->fact)
		fact(w, f->fact, v);
	else if (f->aux == &vnames_qp_mask)
		flags(w, f->aux, v);
	else if (f->aux)
		hex(w, p, f->size);
	else
		add(w, "%llu", (unsigned long long)v);
}

static void walk_integer(struct vwalk *w, const struct vfield *f, uint64_t v)
{
	if (w->record || (!v && !f->fact && f->kind != VK_ENUM))
		return;
	key(w, f->name);
	if (f->fact)
		fact(w, f->fact, v);
	else if (f->kind == VK_INT && f->size == 4)
		add(w, "%d", (int)v);
	else if (f->kind == VK_INT)
		add(w, "%lld", (long long)v);
	else if (f->kind == VK_HEX)
		add(w, "%#llx", (unsigned long long)v);
	else if (f->kind == VK_ENUM)
		named(w, f->aux, f->size == 4 ? (uint32_t)v : v);
	else if (f->kind == VK_FLAGS)
		flags(w, f->aux, v);
	else
		add(w, "%llu", (unsigned long long)v);
}

static void walk_text(struct vwalk *w, const struct vfield *f, const char *s, size_t max)
{
	if (!s || w->record)
		return;
	key(w, f->name);
	quoted(w, s, max);
}

static void walk_raw(struct vwalk *w, const char *name, const void *p, size_t n)
{
	static const uint8_t zero[16];

	if (!p || w->record || (n <= sizeof(zero) && !memcmp(p, zero, n)))
		return;
	key(w, name);
	hex(w, p, n);
}

static void walk_device(struct vwalk *w, const struct vfield *f, const struct ibv_device *dev)
{
	walk_text(w, f, dev ? dev->name : NULL, sizeof(dev->name));
}

static void walk_object(struct vwalk *w, const struct vfield *f, void *obj)
{
	/* An argument was named when it went in; in a struct it comes out. */
	if (w->dir == VDIR_IN || !w->args_level)
		object(w, f->name, f->obj, obj, false);
	if (w->dir == VDIR_OUT && f->obj == VOBJ_QP && obj && !w->args_level && !w->record) {
		add(w, " %s%s.qp_num=", w->path, f->name);
		fact(w, VFACT_QPN, ((const struct ibv_qp *)obj)->qp_num);
	}
	if (w->dir == VDIR_OUT && f->aux && obj)
		walk_struct(w, f->name, f->aux, obj, ~0ULL);
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
		walk_integer(w, f, vfield_int(at, f->size));
		break;
	case VK_BE:
		walk_raw(w, f->name, at, f->size);
		break;
	case VK_OBJ:
		walk_object(w, f, pointer_at(at));
		break;
	case VK_DEV:
		walk_device(w, f, pointer_at(at));
		break;
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
	case VK_U64S:
		walk_u64s(w, f, base);
		break;
	case VK_CHARS:
		walk_text(w, f, (const char *)at, f->size);
		break;
	case VK_STR:
		walk_text(w, f, pointer_at(at), VCALL_BYTES);
		break;
	case VK_GID:
	case VK_HERE:
		walk_raw(w, f->name, at, f->size);
		break;
	case VK_PGID:
		walk_raw(w, f->name, pointer_at(at), sizeof(union ibv_gid));
		break;
	case VK_BYTES:
	case VK_PRIVATE:
		walk_bytes(w, f, base);
		break;
	case VK_SOCKADDR:
		address(w, f->name, (const struct sockaddr *)at, f->fact);
		break;
	case VK_PSOCKADDR:
		address(w, f->name, pointer_at(at), f->fact);
		break;
	case VK_OUT:
		walk_out_int(w, f, base);
		break;
	case VK_OUTOBJ:
		walk_out_object(w, f, base);
		break;
	case VK_OUTPTR:
		at = pointer_at(at);
		if (at && pointer_at(at))
			walk_struct(w, f->name, f->aux, pointer_at(at), ~0ULL);
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

static void walk_fields(struct vwalk *w, const struct vfield *f, uint32_t n, const uint8_t *base,
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

/* --- calls ------------------------------------------------------------------------------------ */

uint32_t vcall_makes(enum vcall call, const uint64_t *args)
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

int vcall_failed(enum vcall call, uint64_t ret, int err)
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
	default:
		return ret ? 0 : (err ? err : EIO);
	}
}

static void put_error(struct vwalk *w, int err)
{
	const char *name = strerrorname_np(err);

	if (name)
		add(w, "%s", name);
	else
		add(w, "%d", err);
}

static void put_devices(struct vwalk *w, struct ibv_device **list)
{
	for (; *list; list++) {
		add(w, " ");
		quoted(w, (*list)->name, sizeof((*list)->name));
	}
}

static void put_contexts(struct vwalk *w, struct ibv_context **list)
{
	char name[16];
	uint32_t i;

	for (i = 0; list[i] && i < VCALL_ARRAY; i++) {
		snprintf(name, sizeof(name), "[%u]", i);
		object(w, name, VOBJ_CTX, list[i], false);
	}
}

static void put_result(struct vwalk *w, uint32_t kind, uint64_t ret, int failed)
{
	uint32_t ord;

	switch (kind) {
	case VRET_VOID:
		add(w, "void");
		break;
	case VRET_INT:
	case VRET_COUNT:
		if (failed)
			put_error(w, failed);
		else
			add(w, "%lld", (long long)ret);
		break;
	case VRET_ERR:
		if (failed)
			put_error(w, failed);
		else
			add(w, "0");
		break;
	case VRET_M1:
	case VRET_REREG:
		add(w, "%d", (int)ret);
		break;
	case VRET_DEVS:
	case VRET_CTXS:
		add(w, "%s", ret ? "list" : "NULL");
		break;
	default:
		ord = ret && w->env->name ? w->env->name(w->env->arg, kind - VRET_NEW,
							 (void *)(uintptr_t)ret, true)
					  : 0;
		if (ord)
			add(w, "%s%u", vobj_names[kind - VRET_NEW], ord);
		else
			add(w, "%s", ret ? "?" : "NULL");
	}
	if (failed && kind != VRET_ERR && kind != VRET_COUNT) {
		add(w, " ");
		put_error(w, failed);
	}
}

/* What a new object's own numbers are: others are told them. */
static void put_numbers(struct vwalk *w, uint32_t kind, const void *obj)
{
	const struct ibv_mr *mr = obj;
	const struct ibv_qp *qp = obj;
	const struct ibv_mw *mw = obj;

	if (kind == VRET_NEW + VOBJ_MR) {
		add(w, " addr=");
		fact(w, VFACT_ADDR, (uintptr_t)mr->addr);
		add(w, " length=%llu lkey=", (unsigned long long)mr->length);
		fact(w, VFACT_KEY, mr->lkey);
		add(w, " rkey=");
		fact(w, VFACT_KEY, mr->rkey);
	} else if (kind == VRET_NEW + VOBJ_QP) {
		add(w, " qp_num=");
		fact(w, VFACT_QPN, qp->qp_num);
	} else if (kind == VRET_NEW + VOBJ_MW) {
		add(w, " rkey=");
		fact(w, VFACT_KEY, mw->rkey);
	} else if (kind == VRET_NEW + VOBJ_CQ) {
		add(w, " cqe=%d", ((const struct ibv_cq *)obj)->cqe);
	}
}

void vcall_put_in(struct vcall_text *t, enum vcall call, const uint64_t *args,
		  const struct vcall_env *env)
{
	const struct vcall_desc *d = &vcall_descs[call];
	struct vwalk w = { .t = t, .env = env, .args = args, .dir = VDIR_IN };

	t->len = 0;
	t->n_facts = 0;
	t->lost = false;
	t->unknown = 0;
	add(&w, "%s", d->name);
	walk_fields(&w, d->args, d->n_args, (const uint8_t *)args, ~0ULL);
}

void vcall_put_out(struct vcall_text *t, enum vcall call, const uint64_t *args, uint64_t ret,
		   int err, const struct vcall_env *env)
{
	const struct vcall_desc *d = &vcall_descs[call];
	struct vwalk w = { .t = t, .env = env, .args = args, .dir = VDIR_OUT, .ret = ret };
	int failed = vcall_failed(call, ret, err);

	add(&w, " = ");
	put_result(&w, d->ret, ret, failed);
	if (failed)
		return;
	if (d->ret >= VRET_NEW)
		put_numbers(&w, d->ret, (void *)(uintptr_t)ret);
	else if (d->ret == VRET_DEVS)
		put_devices(&w, (struct ibv_device **)(uintptr_t)ret);
	else if (d->ret == VRET_CTXS)
		put_contexts(&w, (struct ibv_context **)(uintptr_t)ret);
	else if (call == VCALL_ibv_rereg_mr)
		put_numbers(&w, VRET_NEW + VOBJ_MR, (void *)(uintptr_t)args[0]);
	else if (call == VCALL_ibv_bind_mw)
		put_numbers(&w, VRET_NEW + VOBJ_MW, (void *)(uintptr_t)args[1]);
	w.makes = vcall_makes(call, args);
	walk_fields(&w, d->args, d->n_args, (const uint8_t *)args, ~0ULL);
}

void vcall_walk_bind(struct vwalk *w, enum vcall call)
{
	const struct vcall_desc *d = &vcall_descs[call];

	w->makes = vcall_makes(call, w->args);
	if (d->ret == VRET_CTXS && w->ret)
		put_contexts(w, (struct ibv_context **)(uintptr_t)w->ret);
	walk_fields(w, d->args, d->n_args, (const uint8_t *)w->args, ~0ULL);
}
