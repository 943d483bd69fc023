// SPDX-License-Identifier: MIT
/*
 * Lines of text as calls.
 *
 * The fields of a call are taken in the order of its description, each where the next word of the line is its
 * own; what is not there is 0. A line is anybody's: nothing in it is believed, and what does not fit is
 * told by the word.
 */
#include "traces/callwalk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct reader - a line that is read.
 * @at, @end: the part of it that is not used yet
 * @bad: something was wrong, and p->why says what
 */
struct reader {
	struct vcall_parsed *p;
	const struct vcall_env *env;
	const char *at;
	const char *end;
	const uint64_t *facts;
	uint32_t n_facts;
	char path[160];
	uint32_t path_len;
	bool bad;
};

static __attribute__((format(printf, 2, 3))) void wrong(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	if (r->bad)
		return;
	r->bad = true;
	va_start(ap, fmt);
	vsnprintf(r->p->why, sizeof(r->p->why), fmt, ap);
	va_end(ap);
}

static void *arena(struct reader *r, size_t size)
{
	struct vcall_parsed *p = r->p;
	size_t at = (p->used + 15u) & ~(size_t)15;

	if (size > sizeof(p->arena) || at > sizeof(p->arena) - size) {
		wrong(r, "%s%s", r->path, "more than a call may take");
		return NULL;
	}
	p->used = (uint32_t)(at + size);
	memset(p->arena + at, 0, size);
	return p->arena + at;
}

/* A piece of the arena that knows how many things are in it: a call must not be told of more. */
static void *counted(struct reader *r, uint32_t n, size_t size)
{
	uint64_t *head = arena(r, sizeof(*head) * 2 + (size_t)n * size + 8);

	if (!head)
		return NULL;
	head[0] = n;
	return head + 2;
}

/* --- words ------------------------------------------------------------------------------------ */

struct word {
	const char *s;
	size_t len;
};

static size_t word_len(const struct reader *r)
{
	const char *space = memchr(r->at, ' ', (size_t)(r->end - r->at));

	return (size_t)((space ? space : r->end) - r->at);
}

/* Take the value of the next word, if its key is @name in the struct that is being read. */
static bool take(struct reader *r, const char *name, struct word *v)
{
	size_t len = word_len(r), key = r->path_len + strlen(name);

	if (r->bad || len <= key || r->at[key] != '=' || memcmp(r->at, r->path, r->path_len) ||
	    memcmp(r->at + r->path_len, name, key - r->path_len))
		return false;
	v->s = r->at + key + 1;
	v->len = len - key - 1;
	r->at += len;
	if (r->at < r->end)
		r->at++;
	return true;
}

static bool word_is(const struct word *v, const char *s)
{
	return v->len == strlen(s) && !memcmp(v->s, s, v->len);
}

/* A number in decimal or, with 0x, in hexadecimal digits. */
static bool word_number(const struct word *v, uint64_t *to)
{
	char text[32], *end;

	if (!v->len || v->len >= sizeof(text))
		return false;
	memcpy(text, v->s, v->len);
	text[v->len] = '\0';
	errno = 0;
	if (text[0] == '-')
		*to = (uint64_t)strtoll(text, &end, 10);
	else
		*to = strtoull(text, &end, 0);
	return !*end && !errno && end != text;
}

static uint64_t take_fact(struct reader *r, uint32_t kind)
{
	uint64_t v = 0;

	if (r->p->fact >= r->n_facts)
		wrong(r, "it has more than the %u values that its record has", r->n_facts);
	else
		v = r->facts[r->p->fact++];
	return r->env->fact && !r->bad ? r->env->fact(r->env->arg, kind, v) : v;
}

static void bad_word(struct reader *r, const char *name, const struct word *v, const char *expected)
{
	wrong(r, "%s%s=%.*s: expected %s", r->path, name, v->len > 40 ? 40 : (int)v->len, v->s,
	      expected);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Return: whether @v was pairs of hexadecimal digits, not more than @max of them. */
static bool word_hex(const struct word *v, uint8_t *to, size_t max)
{
	size_t i;

	if (v->len % 2 || v->len / 2 > max)
		return false;
	for (i = 0; i < v->len; i += 2) {
		int hi = digit(v->s[i]), lo = digit(v->s[i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		to[i / 2] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

static bool word_name(const struct word *v, const struct vnames *names, uint64_t *to)
{
	uint32_t i;

	for (i = 0; i < names->n; i++)
		if (word_is(v, names->name[i].name)) {
			*to = names->name[i].value;
			return true;
		}
	return word_number(v, to);
}

static bool word_flags(const struct word *v, const struct vnames *names, uint64_t *to)
{
	struct word one = { v->s, 0 };
	const char *end = v->s + v->len, *bar;
	uint64_t bit;

	*to = 0;
	for (;;) {
		bar = memchr(one.s, '|', (size_t)(end - one.s));
		one.len = (size_t)((bar ? bar : end) - one.s);
		if (!word_name(&one, names, &bit))
			return false;
		*to |= bit;
		if (!bar)
			return true;
		one.s = bar + 1;
	}
}

/* A text in quotes, into the arena. */
static char *word_text(struct reader *r, const char *name, const struct word *v)
{
	size_t i, n = 0;
	char *to;

	if (v->len < 2 || v->s[0] != '"' || v->s[v->len - 1] != '"') {
		bad_word(r, name, v, "a text in quotes");
		return NULL;
	}
	to = arena(r, v->len);
	for (i = 1; to && i < v->len - 1; i++) {
		int hi, lo;

		if (v->s[i] != '\\') {
			to[n++] = v->s[i];
			continue;
		}
		hi = i + 4 < v->len ? digit(v->s[i + 2]) : -1;
		lo = hi >= 0 ? digit(v->s[i + 3]) : -1;
		if (lo < 0 || v->s[i + 1] != 'x') {
			bad_word(r, name, v, "a backslash before x and two digits only");
			return NULL;
		}
		to[n++] = (char)(hi << 4 | lo);
		i += 3;
	}
	return to;
}

/* "qp3": its ordinal. Return: 0: it is not of this kind. */
static uint32_t word_ordinal(const struct word *v, enum vobj kind)
{
	size_t n = strlen(vobj_names[kind]);
	struct word number = { v->s + n, v->len - n };
	uint64_t ord;

	if (v->len <= n || memcmp(v->s, vobj_names[kind], n) || digit(v->s[n]) < 0 ||
	    !word_number(&number, &ord) || ord > UINT32_MAX)
		return 0;
	return (uint32_t)ord;
}

static void *word_object(struct reader *r, const char *name, const struct word *v, enum vobj kind)
{
	uint32_t ord = word_ordinal(v, kind);
	void *obj;

	if (!ord) {
		bad_word(r, name, v, vobj_names[kind]);
		return NULL;
	}
	if (!r->env->find)
		return NULL;
	obj = r->env->find(r->env->arg, kind, ord);
	if (!obj)
		wrong(r, "%s%s=%s%u: there is none", r->path, name, vobj_names[kind], ord);
	return obj;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* ADDRESS:PORT, [ADDRESS%SCOPE]:PORT, ib:BYTES. */
static bool word_address(const struct word *v, struct sockaddr_storage *to)
{
	struct sockaddr_in6 *in6 = (void *)to;
	struct sockaddr_in *in = (void *)to;
	struct word ib = { v->s + 3, v->len - 3 };
	char text[96], *colon, *percent, *end;
	unsigned long port, scope = 0;

	if (v->len > 3 && !memcmp(v->s, "ib:", 3))
		return ib.len == 2 * VCALL_SIZE_IB && word_hex(&ib, (uint8_t *)to, VCALL_SIZE_IB);
	if (v->len >= sizeof(text))
		return false;
	memcpy(text, v->s, v->len);
	text[v->len] = '\0';
	colon = strrchr(text, ':');
	if (!colon || digit(colon[1]) < 0)
		return false;
	port = strtoul(colon + 1, &end, 10);
	if (*end || port > 65535)
		return false;
	*colon = '\0';
	if (text[0] != '[') {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		return inet_pton(AF_INET, text, &in->sin_addr) == 1;
	}
	percent = strchr(text, '%');
	if (colon == text || colon[-1] != ']' || !percent)
		return false;
	colon[-1] = '\0';
	*percent = '\0';
	scope = strtoul(percent + 1, NULL, 10);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)port);
	in6->sin6_scope_id = (uint32_t)scope;
	return inet_pton(AF_INET6, text + 1, &in6->sin6_addr) == 1;
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void store(void *at, uint32_t size, uint64_t v)
{
	memcpy(at, &v, size > 8 ? 8 : size);
}

static void store_pointer(uint8_t *at, const void *p)
{
	memcpy(at, &p, sizeof(p));
}

static void read_integer(struct reader *r, const struct vfield *f, uint8_t *at)
{
	struct word v;
	uint64_t to = 0;
	bool ok;

	if (!take(r, f->name, &v))
		return;
	if (f->fact && word_is(&v, "~"))
		to = take_fact(r, f->fact), ok = true;
	else if (f->kind == VK_ENUM)
		ok = word_name(&v, f->aux, &to);
	else if (f->kind == VK_FLAGS)
		ok = word_flags(&v, f->aux, &to);
	else
		ok = word_number(&v, &to);
	if (!ok)
		bad_word(r, f->name, &v, "a number or a name that verbs.h has");
	else if (f->size < 8 && to >> (8 * f->size) && (int64_t)to > 0)
		bad_word(r, f->name, &v, "a smaller number");
	else
		store(at, f->size, to);
}

static void read_fields(struct reader *r, const struct vfield *f, uint32_t n, uint8_t *base);

static void read_struct(struct reader *r, const char *name, const struct vstruct *s, uint8_t *at)
{
	uint32_t was = r->path_len;
	int n = snprintf(r->path + was, sizeof(r->path) - was, "%s.", name);

	if (n > 0 && was + (uint32_t)n < sizeof(r->path))
		r->path_len += (uint32_t)n;
	read_fields(r, s->fields, s->n, at);
	r->path_len = was;
	r->path[was] = '\0';
}

/* What follows a flow's attributes is of any length. */
#define FLOW_ROOM (8u << 10)

static void read_pointer(struct reader *r, const struct vfield *f, uint8_t *at)
{
	const struct vstruct *s = f->aux;
	struct word v;
	uint8_t *p;

	if (take(r, f->name, &v)) {
		if (!word_is(&v, "-"))
			bad_word(r, f->name, &v, "\"-\", or fields of the struct");
		return;
	}
	p = arena(r, s == &vstruct_flow_attr ? s->size + FLOW_ROOM : s->size);
	if (!p)
		return;
	store_pointer(at, p);
	read_struct(r, f->name, s, p);
}

static bool take_count(struct reader *r, const struct vfield *f, uint32_t max, struct word *rest,
		       uint32_t *n)
{
	const char *colon;
	struct word v;
	uint64_t count;

	if (!take(r, f->name, &v))
		return false;
	colon = memchr(v.s, ':', v.len);
	*rest = v;
	if (colon) {
		rest->s = colon + 1;
		rest->len = (size_t)(v.s + v.len - rest->s);
		v.len = (size_t)(colon - v.s);
	}
	if (!word_number(&v, &count) || count > max) {
		bad_word(r, f->name, &v, "a number that is not too large");
		return false;
	}
	*n = (uint32_t)count;
	return true;
}

static void read_array(struct reader *r, const struct vfield *f, uint8_t *at)
{
	const struct vstruct *s = f->aux;
	struct word rest;
	uint32_t i, n;
	char name[64];
	uint8_t *p;

	if (!take_count(r, f, VCALL_ARRAY, &rest, &n))
		return;
	p = counted(r, n, s->size);
	if (!p)
		return;
	store_pointer(at, p);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s[%u]", f->name, i);
		read_struct(r, name, s, p + (size_t)i * s->size);
	}
}

static void read_objects(struct reader *r, const struct vfield *f, uint8_t *base)
{
	uint64_t log = vfield_int(base + f->count_off, f->count_size);
	struct word v;
	char name[64];
	void **p;
	uint32_t i;

	if (log > 8) {
		wrong(r, "%s%s: a table of more than 256", r->path, f->name);
		return;
	}
	p = arena(r, sizeof(*p) << log);
	if (!p)
		return;
	for (i = 0; i < 1u << log; i++) {
		snprintf(name, sizeof(name), "%s[%u]", f->name, i);
		if (take(r, name, &v))
			p[i] = word_object(r, name, &v, f->obj);
	}
	store_pointer(base + f->off, p);
}

static void read_bytes(struct reader *r, const struct vfield *f, uint8_t *at)
{
	struct word rest;
	uint32_t i, n;
	uint64_t v;
	uint8_t *p;

	if (!take_count(r, f, VCALL_BYTES, &rest, &n))
		return;
	p = counted(r, n, 1);
	if (!p)
		return;
	store_pointer(at, p);
	if (f->kind == VK_BYTES) {
		if (rest.len != 2 * (size_t)n || !word_hex(&rest, p, n))
			bad_word(r, f->name, &rest, "as many bytes in hexadecimal digits");
		return;
	}
	if (rest.len != (n + 7) / 8) {
		bad_word(r, f->name, &rest, "a ~ for each eight bytes");
		return;
	}
	for (i = 0; i < n; i += 8) {
		v = take_fact(r, VFACT_BYTES);
		memcpy(p + i, &v, n - i < 8 ? n - i : 8);
	}
}

static void read_element(struct reader *r, const struct vfield *f, uint8_t *base)
{
	static const enum vobj kinds[] = { VOBJ_CQ, VOBJ_QP, VOBJ_SRQ, VOBJ_WQ };
	struct ibv_async_event *e = (void *)base;
	struct word v;
	uint64_t port;
	uint32_t i;

	if (!take(r, f->name, &v))
		return;
	for (i = 0; i < VDESC_COUNT(kinds); i++)
		if (word_ordinal(&v, kinds[i])) {
			e->element.qp = word_object(r, f->name, &v, kinds[i]);
			return;
		}
	if (word_number(&v, &port) && port <= 255)
		e->element.port_num = (int)port;
	else
		bad_word(r, f->name, &v, "an object or a port");
}

static void read_specs(struct reader *r, const struct vfield *f, uint8_t *base)
{
	uint64_t n = vfield_int(base + f->count_off, f->count_size);
	uint8_t *p = base + f->off, *end = p + FLOW_ROOM;
	uint16_t size;
	struct word v;
	void *obj;

	for (; n && take(r, "spec", &v); n--) {
		if (v.len < 16 || !word_hex(&v, p, (size_t)(end - p))) {
			bad_word(r, "spec", &v, "bytes in hexadecimal digits");
			return;
		}
		memcpy(&size, p + sizeof(enum ibv_flow_spec_type), sizeof(size));
		if (size != v.len / 2) {
			bad_word(r, "spec", &v, "as many bytes as its size says");
			return;
		}
		if (take(r, "spec.counters", &v)) {
			obj = word_object(r, "spec.counters", &v, VOBJ_CNT);
			if (size != sizeof(struct ibv_flow_spec_counter_action)) {
				wrong(r, "%sspec.counters: not behind one that counts", r->path);
				return;
			}
			memcpy(p + offsetof(struct ibv_flow_spec_counter_action, counters), &obj,
			       sizeof(obj));
		}
		p += size;
	}
	if (n)
		wrong(r, "%sspec: %llu more expected", r->path, (unsigned long long)n);
}

static void read_device(struct reader *r, const struct vfield *f, uint8_t *at)
{
	struct ibv_device *dev;
	struct word v;
	char *name;

	if (!take(r, f->name, &v))
		return;
	name = word_text(r, f->name, &v);
	if (!name || !r->env->device)
		return;
	dev = r->env->device(r->env->arg, name);
	if (!dev)
		wrong(r, "%s=\"%s\": there is no such device", f->name, name);
	store_pointer(at, dev);
}

/* Room for what is stored there, unless the program did not want it. */
static void read_out(struct reader *r, const struct vfield *f, uint8_t *at)
{
	struct word v;

	if (!take(r, f->name, &v))
		store_pointer(at, arena(r, 8));
	else if (!word_is(&v, "-"))
		bad_word(r, f->name, &v, "\"-\"");
}

static void read_value(struct reader *r, const struct vfield *f, uint8_t *at)
{
	struct sockaddr_storage *sa;
	struct word v;
	uint8_t *p = at;

	if (f->kind == VK_PGID && (f->dir & VDIR_OUT)) {
		store_pointer(at, arena(r, sizeof(union ibv_gid)));
		return;
	}
	if (!take(r, f->name, &v))
		return;
	switch (f->kind) {
	case VK_OBJ:
		store_pointer(at, word_object(r, f->name, &v, f->obj));
		break;
	case VK_STR:
		store_pointer(at, word_text(r, f->name, &v));
		break;
	case VK_PGID:
		p = arena(r, sizeof(union ibv_gid));
		store_pointer(at, p);
		if (p && !word_hex(&v, p, sizeof(union ibv_gid)))
			bad_word(r, f->name, &v, "32 hexadecimal digits");
		break;
	case VK_PSOCKADDR:
		sa = counted(r, sizeof(*sa), 1);
		store_pointer(at, sa);
		if (sa && !word_address(&v, sa))
			bad_word(r, f->name, &v, "ADDRESS:PORT or [ADDRESS%SCOPE]:PORT");
		break;
	default: /* bytes that lie here */
		if (v.len != 2 * (size_t)f->size || !word_hex(&v, at, f->size))
			bad_word(r, f->name, &v, "hexadecimal digits, two a byte");
	}
}

static void read_field(struct reader *r, const struct vfield *f, uint8_t *base)
{
	uint8_t *at = base + f->off;

	switch (f->kind) {
	case VK_UINT:
	case VK_INT:
	case VK_HEX:
	case VK_ENUM:
	case VK_FLAGS:
		read_integer(r, f, at);
		break;
	case VK_BE:
	case VK_OBJ:
	case VK_STR:
	case VK_GID:
	case VK_HERE:
	case VK_PGID:
	case VK_PSOCKADDR:
		read_value(r, f, at);
		break;
	case VK_DEV:
		read_device(r, f, at);
		break;
	case VK_STRUCT:
		read_struct(r, f->name, f->aux, at);
		break;
	case VK_PTR:
	case VK_PMASK:
		read_pointer(r, f, at);
		break;
	case VK_ARRAY:
		read_array(r, f, at);
		break;
	case VK_OBJS:
		read_objects(r, f, base);
		break;
	case VK_BYTES:
	case VK_PRIVATE:
		read_bytes(r, f, at);
		break;
	case VK_OUT:
	case VK_OUTOBJ:
	case VK_OUTPTR:
		read_out(r, f, at);
		break;
	case VK_ELEMENT:
		read_element(r, f, base);
		break;
	case VK_SPECS:
		read_specs(r, f, base);
		break;
	default:
		break;
	}
}

/* A call reads as many things as it is told of: there must be as many. */
static void check_count(struct reader *r, const struct vfield *f, const uint8_t *base)
{
	bool args = base == (const uint8_t *)r->p->args;
	uint64_t n, *p;

	memcpy(&p, base + f->off, sizeof(p));
	n = f->count_off == VCOUNT_NEXT ? vfield_int(base + f->off + 8, 8)
					: vfield_int(base + f->count_off, f->count_size);
	/* A struct may do without; libraries look at such a pointer. */
	if (p ? n > p[-2] : n && args)
		wrong(r, "%s%s: fewer than the %llu that the call is told of", r->path, f->name,
		      (unsigned long long)n);
}

static bool is_counted(const struct vfield *f)
{
	return (f->kind == VK_BYTES || f->kind == VK_PRIVATE || f->kind == VK_ARRAY ||
		f->kind == VK_PSOCKADDR) &&
	       f->dir & VDIR_IN && f->count_off < VCOUNT_RET;
}

static void read_fields(struct reader *r, const struct vfield *f, uint32_t n, uint8_t *base)
{
	bool args = base == (uint8_t *)r->p->args;
	uint32_t i;

	/* Arguments that only take something up need room nevertheless. */
	for (i = 0; i < n && !r->bad; i++)
		if (args ? f[i].dir : f[i].dir & VDIR_IN)
			read_field(r, &f[i], base);
	for (i = 0; i < n && !r->bad; i++)
		if (is_counted(&f[i]))
			check_count(r, &f[i], base);
}

/* Room for arrays that the call fills, as many as the argument behind says. */
static void make_room(struct reader *r, const struct vcall_desc *d)
{
	const struct vfield *f;
	uint64_t n, size;
	uint32_t i;

	for (i = 0; i < d->n_args && !r->bad; i++) {
		f = &d->args[i];
		if (f->dir != VDIR_OUT || r->p->args[i] ||
		    (f->kind != VK_BYTES && f->kind != VK_ARRAY && f->kind != VK_U64S))
			continue;
		/* Of bytes that are read from device memory the length is the last argument. */
		n = r->p->args[f->kind == VK_BYTES ? d->n_args - 1u : i + 1u];
		size = f->kind == VK_BYTES  ? 1
		       : f->kind == VK_U64S ? 8
					    : ((const struct vstruct *)f->aux)->size;
		if (n > VCALL_ARENA)
			wrong(r, "%s: more than a call may take", f->name);
		else
			r->p->args[i] = (uintptr_t)arena(r, n * size);
	}
}

int vcall_parse(struct vcall_parsed *p, const char *line, size_t len, const uint64_t *facts,
		uint32_t n, const struct vcall_env *env)
{
	struct reader r = { .p = p, .env = env, .at = line, .facts = facts, .n_facts = n };
	const char *out = memmem(line, len, " = ", 3);
	size_t name;
	int call;

	p->used = 0;
	p->fact = 0;
	p->why[0] = '\0';
	memset(p->args, 0, sizeof(p->args));
	r.end = out ? out : line + len;
	name = word_len(&r);
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
	read_fields(&r, vcall_descs[call].args, vcall_descs[call].n_args, (uint8_t *)p->args);
	make_room(&r, &vcall_descs[call]);
	if (!r.bad && r.at < r.end)
		wrong(&r, "%.*s: not expected here", word_len(&r) > 60 ? 60 : (int)word_len(&r),
		      r.at);
	return r.bad ? -EINVAL : 0;
}

/* --- objects that a call has made ------------------------------------------------------------- */

void vwalk_bind(struct vwalk *w, const char *name, enum vobj kind, void *obj)
{
	const char *at = w->record, *end = w->record + w->record_len;
	size_t len = w->path_len + strlen(name);
	struct word v;
	uint32_t ord;

	while (obj && (at = memchr(at, ' ', (size_t)(end - at)))) {
		at++;
		if ((size_t)(end - at) <= len || at[len] != '=' ||
		    memcmp(at, w->path, w->path_len) ||
		    memcmp(at + w->path_len, name, len - w->path_len))
			continue;
		v.s = at + len + 1;
		at = memchr(v.s, ' ', (size_t)(end - v.s));
		v.len = (size_t)((at ? at : end) - v.s);
		ord = word_ordinal(&v, kind);
		if (ord && w->env->bind)
			w->env->bind(w->env->arg, kind, ord, obj);
		return;
	}
}

void vcall_bind(struct vcall_parsed *p, const char *line, size_t len, uint64_t ret,
		const struct vcall_env *env)
{
	struct vwalk w = { .env = env,
			   .args = p->args,
			   .dir = VDIR_OUT,
			   .ret = ret,
			   .record = line + p->out,
			   .record_len = (uint32_t)(len - p->out) };
	const struct vcall_desc *d = &vcall_descs[p->call];
	const char *space = memchr(w.record, ' ', w.record_len);
	struct word v = { w.record, space ? (size_t)(space - w.record) : w.record_len };
	uint32_t ord;

	if (d->ret >= VRET_NEW && ret) {
		ord = word_ordinal(&v, d->ret - VRET_NEW);
		if (ord && env->bind)
			env->bind(env->arg, d->ret - VRET_NEW, ord, (void *)(uintptr_t)ret);
	}
	if (!vcall_failed(p->call, ret, 0))
		vcall_walk_bind(&w, p->call);
}
