/* SPDX-License-Identifier: MIT */
/*
 * Parses lines of text into calls.
 *
 * The parser goes through the fields of a call in the order of its description. A field takes the
 * next word of the line if the word carries its key; otherwise the field is 0. Lines come from
 * files that anybody may have written: every value is checked, and an error names the word that is
 * wrong.
 */
#include "traces/calls/word.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- kinds --- */

static void call_parse_store(void *at, uint32_t size, uint64_t v)
{
	memcpy(at, &v, size > 8 ? 8 : size);
}

static void call_parse_store_pointer(uint8_t *at, const void *p)
{
	memcpy(at, &p, sizeof(p));
}

static void call_parse_integer(struct vread *r, const struct vfield *f, uint8_t *at)
{
	struct vread_word v;
	uint64_t to = 0;
	bool ok;

	if (!vread_take_word(r, f->name, &v))
		return;
	if (f->fact && vread_word_is(&v, "~"))
		to = vread_take_fact(r, f->fact), ok = true;
	else if (f->kind == VK_ENUM)
		ok = vread_word_name(&v, f->aux, &to);
	else if (f->kind == VK_FLAGS)
		ok = vread_word_flags(&v, f->aux, &to);
	else
		ok = vread_word_number(&v, &to);
	if (!ok)
		vread_fail_word(r, f->name, &v, "a number or a name that verbs.h has");
	else if (f->size < 8 && to >> (8 * f->size) && (int64_t)to > 0)
		vread_fail_word(r, f->name, &v, "a smaller number");
	else
		call_parse_store(at, f->size, to);
}

static void call_parse_fields(struct vread *r, const struct vfield *f, uint32_t n, uint8_t *base);

static void call_parse_struct(struct vread *r, const char *name, const struct vstruct *s,
			      uint8_t *at)
{
	uint32_t was = r->path_len;
	int n = snprintf(r->path + was, sizeof(r->path) - was, "%s.", name);

	if (n > 0 && was + (uint32_t)n < sizeof(r->path))
		r->path_len += (uint32_t)n;
	call_parse_fields(r, s->fields, s->n, at);
	r->path_len = was;
	r->path[was] = '\0';
}

/* Flow specifications of any length follow the attributes. */
#define FLOW_ROOM (8u << 10)

static void call_parse_pointer(struct vread *r, const struct vfield *f, uint8_t *at)
{
	const struct vstruct *s = f->aux;
	struct vread_word v;
	uint8_t *p;

	if (vread_take_word(r, f->name, &v)) {
		if (!vread_word_is(&v, "-"))
			vread_fail_word(r, f->name, &v, "\"-\", or fields of the struct");
		return;
	}
	p = vread_alloc(r, s == &vstruct_flow_attr ? s->size + FLOW_ROOM : s->size);
	if (!p)
		return;
	call_parse_store_pointer(at, p);
	call_parse_struct(r, f->name, s, p);
}

static bool call_parse_count(struct vread *r, const struct vfield *f, uint32_t max,
			     struct vread_word *rest, uint32_t *n)
{
	const char *colon;
	struct vread_word v;
	uint64_t count;

	if (!vread_take_word(r, f->name, &v))
		return false;
	colon = memchr(v.s, ':', v.len);
	*rest = v;
	if (colon) {
		rest->s = colon + 1;
		rest->len = (size_t)(v.s + v.len - rest->s);
		v.len = (size_t)(colon - v.s);
	}
	if (!vread_word_number(&v, &count) || count > max) {
		vread_fail_word(r, f->name, &v, "a number that is not too large");
		return false;
	}
	*n = (uint32_t)count;
	return true;
}

static void call_parse_array(struct vread *r, const struct vfield *f, uint8_t *at)
{
	const struct vstruct *s = f->aux;
	struct vread_word rest;
	uint32_t i, n;
	char name[64];
	uint8_t *p;

	if (!call_parse_count(r, f, VCALL_ARRAY, &rest, &n))
		return;
	p = vread_alloc_array(r, n, s->size);
	if (!p)
		return;
	call_parse_store_pointer(at, p);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s[%u]", f->name, i);
		call_parse_struct(r, name, s, p + (size_t)i * s->size);
	}
}

static void call_parse_objects(struct vread *r, const struct vfield *f, uint8_t *base)
{
	uint64_t log = vfield_read_int(base + f->count_off, f->count_size);
	struct vread_word v;
	char name[64];
	void **p;
	uint32_t i;

	if (log > 8) {
		vread_fail(r, "%s%s: a table of more than 256", r->path, f->name);
		return;
	}
	p = vread_alloc(r, sizeof(*p) << log);
	if (!p)
		return;
	for (i = 0; i < 1u << log; i++) {
		snprintf(name, sizeof(name), "%s[%u]", f->name, i);
		if (vread_take_word(r, name, &v))
			p[i] = vread_word_object(r, name, &v, f->obj);
	}
	call_parse_store_pointer(base + f->off, p);
}

static void call_parse_bytes(struct vread *r, const struct vfield *f, uint8_t *at)
{
	struct vread_word rest;
	uint32_t i, n;
	uint64_t v;
	uint8_t *p;

	if (!call_parse_count(r, f, VCALL_BYTES, &rest, &n))
		return;
	p = vread_alloc_array(r, n, 1);
	if (!p)
		return;
	call_parse_store_pointer(at, p);
	if (f->kind == VK_BYTES) {
		if (rest.len != 2 * (size_t)n || !vread_word_hex(&rest, p, n))
			vread_fail_word(r, f->name, &rest, "as many bytes in hexadecimal digits");
		return;
	}
	if (rest.len != (n + 7) / 8) {
		vread_fail_word(r, f->name, &rest, "a ~ for each eight bytes");
		return;
	}
	for (i = 0; i < n; i += 8) {
		v = vread_take_fact(r, VFACT_BYTES);
		memcpy(p + i, &v, n - i < 8 ? n - i : 8);
	}
}

static void call_parse_element(struct vread *r, const struct vfield *f, uint8_t *base)
{
	static const enum vobj kinds[] = { VOBJ_CQ, VOBJ_QP, VOBJ_SRQ, VOBJ_WQ };
	struct ibv_async_event *e = (void *)base;
	struct vread_word v;
	uint64_t port;
	uint32_t i;

	if (!vread_take_word(r, f->name, &v))
		return;
	for (i = 0; i < VDESC_COUNT(kinds); i++)
		if (vread_word_ordinal(&v, kinds[i])) {
			e->element.qp = vread_word_object(r, f->name, &v, kinds[i]);
			return;
		}
	if (vread_word_number(&v, &port) && port <= 255)
		e->element.port_num = (int)port;
	else
		vread_fail_word(r, f->name, &v, "an object or a port");
}

static void call_parse_specs(struct vread *r, const struct vfield *f, uint8_t *base)
{
	uint64_t n = vfield_read_int(base + f->count_off, f->count_size);
	uint8_t *p = base + f->off, *end = p + FLOW_ROOM;
	uint16_t size;
	struct vread_word v;
	void *obj;

	for (; n && vread_take_word(r, "spec", &v); n--) {
		if (v.len < 16 || !vread_word_hex(&v, p, (size_t)(end - p))) {
			vread_fail_word(r, "spec", &v, "bytes in hexadecimal digits");
			return;
		}
		memcpy(&size, p + sizeof(enum ibv_flow_spec_type), sizeof(size));
		/*
		 * An invalid specification is written as its head alone, and nothing can follow it.
		 */
		if (v.len == 16 && (size < 8 || size > sizeof(struct ibv_flow_spec)))
			return;
		if (size != v.len / 2) {
			vread_fail_word(r, "spec", &v, "as many bytes as its size says");
			return;
		}
		if (vread_take_word(r, "spec.counters", &v)) {
			obj = vread_word_object(r, "spec.counters", &v, VOBJ_CNT);
			if (size != sizeof(struct ibv_flow_spec_counter_action)) {
				vread_fail(r, "%sspec.counters: not behind one that counts",
					   r->path);
				return;
			}
			memcpy(p + offsetof(struct ibv_flow_spec_counter_action, counters), &obj,
			       sizeof(obj));
		}
		p += size;
	}
	if (n)
		vread_fail(r, "%sspec: %llu more expected", r->path, (unsigned long long)n);
}

static void call_parse_device(struct vread *r, const struct vfield *f, uint8_t *at)
{
	struct ibv_device *dev;
	struct vread_word v;
	char *name;

	if (!vread_take_word(r, f->name, &v))
		return;
	name = vread_word_text(r, f->name, &v);
	if (!name || !r->env->device)
		return;
	dev = r->env->device(r->env->arg, name);
	if (!dev)
		vread_fail(r, "%s=\"%s\": no such device", f->name, name);
	call_parse_store_pointer(at, dev);
}

/* Allocates room for an output, unless the program passed NULL ("-"). */
static void call_parse_out(struct vread *r, const struct vfield *f, uint8_t *at)
{
	struct vread_word v;

	if (!vread_take_word(r, f->name, &v))
		call_parse_store_pointer(at, vread_alloc(r, 8));
	else if (!vread_word_is(&v, "-"))
		vread_fail_word(r, f->name, &v, "\"-\"");
}

/* A port that the system chose has another number in this run: env->port() maps it. */
static void call_parse_address(struct vread *r, const struct vfield *f, const struct vread_word *v,
			       uint8_t *at)
{
	struct sockaddr_storage *sa = vread_alloc_array(r, sizeof(*sa), 1);
	/* sin_port and sin6_port have the same offset. */
	struct sockaddr_in *in = (void *)sa;

	call_parse_store_pointer(at, sa);
	if (sa && !vread_word_address(v, sa))
		vread_fail_word(r, f->name, v, "ADDRESS:PORT or [ADDRESS%SCOPE]:PORT");
	else if (sa && r->env->port && (sa->ss_family == AF_INET || sa->ss_family == AF_INET6))
		in->sin_port = htons(r->env->port(r->env->arg, ntohs(in->sin_port)));
}

static void call_parse_value(struct vread *r, const struct vfield *f, uint8_t *at)
{
	struct vread_word v;
	uint8_t *p = at;

	if (f->kind == VK_PGID && (f->dir & VDIR_OUT)) {
		call_parse_store_pointer(at, vread_alloc(r, sizeof(union ibv_gid)));
		return;
	}
	if (!vread_take_word(r, f->name, &v))
		return;
	switch (f->kind) {
	case VK_OBJ:
		call_parse_store_pointer(at, vread_word_object(r, f->name, &v, f->obj));
		break;
	case VK_STR:
		call_parse_store_pointer(at, vread_word_text(r, f->name, &v));
		break;
	case VK_PGID:
		p = vread_alloc(r, sizeof(union ibv_gid));
		call_parse_store_pointer(at, p);
		if (p && !vread_word_hex(&v, p, sizeof(union ibv_gid)))
			vread_fail_word(r, f->name, &v, "32 hexadecimal digits");
		break;
	case VK_PSOCKADDR:
		call_parse_address(r, f, &v, at);
		break;
	default: /* bytes inside the struct */
		if (v.len != 2 * (size_t)f->size || !vread_word_hex(&v, at, f->size))
			vread_fail_word(r, f->name, &v, "hexadecimal digits, two a byte");
	}
}

static void call_parse_field(struct vread *r, const struct vfield *f, uint8_t *base)
{
	uint8_t *at = base + f->off;

	switch (f->kind) {
	case VK_UINT:
	case VK_INT:
	case VK_HEX:
	case VK_ENUM:
	case VK_FLAGS:
		call_parse_integer(r, f, at);
		break;
	case VK_BE:
	case VK_OBJ:
	case VK_STR:
	case VK_GID:
	case VK_HERE:
	case VK_PGID:
	case VK_PSOCKADDR:
		call_parse_value(r, f, at);
		break;
	case VK_DEV:
		call_parse_device(r, f, at);
		break;
	case VK_STRUCT:
		call_parse_struct(r, f->name, f->aux, at);
		break;
	case VK_PTR:
	case VK_PMASK:
		call_parse_pointer(r, f, at);
		break;
	case VK_ARRAY:
		call_parse_array(r, f, at);
		break;
	case VK_OBJS:
		call_parse_objects(r, f, base);
		break;
	case VK_BYTES:
	case VK_PRIVATE:
		call_parse_bytes(r, f, at);
		break;
	case VK_OUT:
	case VK_OUTOBJ:
	case VK_OUTPTR:
		call_parse_out(r, f, at);
		break;
	case VK_ELEMENT:
		call_parse_element(r, f, base);
		break;
	case VK_SPECS:
		call_parse_specs(r, f, base);
		break;
	default:
		break;
	}
}

/* A call reads as many entries as its count argument says: the array must have at least as many. */
static void call_parse_check_count(struct vread *r, const struct vfield *f, const uint8_t *base)
{
	bool args = base == (const uint8_t *)r->p->args;
	uint64_t n, *p;

	memcpy(&p, base + f->off, sizeof(p));
	n = f->count_off == VCOUNT_NEXT ? vfield_read_int(base + f->off + 8, 8)
					: vfield_read_int(base + f->count_off, f->count_size);
	/*
	 * Structs may have NULL here. Libraries dereference a NULL argument whose count is not 0.
	 */
	if (p ? n > p[-2] : n && args)
		vread_fail(r, "%s%s: fewer than the %llu that the call expects", r->path, f->name,
			   (unsigned long long)n);
}

static bool field_is_counted(const struct vfield *f)
{
	return (f->kind == VK_BYTES || f->kind == VK_PRIVATE || f->kind == VK_ARRAY ||
		f->kind == VK_PSOCKADDR) &&
	       f->dir & VDIR_IN && f->count_off < VCOUNT_RET;
}

static void call_parse_fields(struct vread *r, const struct vfield *f, uint32_t n, uint8_t *base)
{
	bool args = base == (uint8_t *)r->p->args;
	uint32_t i;

	/* Arguments that only receive a result need memory, too. */
	for (i = 0; i < n && !r->bad; i++)
		if (args ? f[i].dir : f[i].dir & VDIR_IN)
			call_parse_field(r, &f[i], base);
	for (i = 0; i < n && !r->bad; i++)
		if (field_is_counted(&f[i]))
			call_parse_check_count(r, &f[i], base);
}

/* Allocates arrays that the call fills; the argument after the array is their size. */
static void call_parse_make_room(struct vread *r, const struct vcall_desc *d)
{
	const struct vfield *f;
	uint64_t n, size;
	uint32_t i;

	for (i = 0; i < d->n_args && !r->bad; i++) {
		f = &d->args[i];
		if (f->dir != VDIR_OUT || r->p->args[i] ||
		    (f->kind != VK_ARRAY && f->kind != VK_U64S))
			continue;
		n = r->p->args[i + 1];
		size = f->kind == VK_U64S ? 8 : ((const struct vstruct *)f->aux)->size;
		if (n > VCALL_ARENA)
			vread_fail(r, "%s: more than a call may take", f->name);
		else
			r->p->args[i] = (uintptr_t)vread_alloc(r, n * size);
	}
}

int vcall_parse(struct vcall_parsed *p, const char *line, size_t len, const uint64_t *facts,
		uint32_t n, const struct vcall_env *env)
{
	struct vread r = { .p = p, .env = env, .at = line, .facts = facts, .n_facts = n };
	const char *out = memmem(line, len, " = ", 3);
	size_t name;
	int call;

	p->used = 0;
	p->fact = 0;
	p->why[0] = '\0';
	memset(p->args, 0, sizeof(p->args));
	r.end = out ? out : line + len;
	name = vread_word_len(&r);
	call = vcall_find(line, name);
	if (call < 0 || !out) {
		snprintf(p->why, sizeof(p->why),
			 call < 0 ? "%.*s: not a call that is known"
				  : "%.*s: the line has no \" = \"",
			 name > 40 ? 40 : (int)name, line);
		return -EINVAL;
	}
	p->call = (enum vcall)call;
	p->out = (uint32_t)(out + 3 - line);
	r.at += name < (size_t)(r.end - line) ? name + 1 : name;
	call_parse_fields(&r, vcall_descs[call].args, vcall_descs[call].n_args, (uint8_t *)p->args);
	call_parse_make_room(&r, &vcall_descs[call]);
	if (!r.bad && r.at < r.end)
		vread_fail(&r, "%.*s: not expected here",
			   vread_word_len(&r) > 60 ? 60 : (int)vread_word_len(&r), r.at);
	return r.bad ? -EINVAL : 0;
}

bool vcall_has_stale_object(const char *line)
{
	const char *out = strstr(line, " = "), *at = strstr(line, "=? ");

	return out && at && at < out &&
	       (!strncmp(out, " = -1 E", 7) || !strncmp(out, " = NULL E", 9) ||
		!strncmp(out, " = E", 4));
}
