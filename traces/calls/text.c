/* SPDX-License-Identifier: MIT */
/* Writes single values of a line: numbers, names, objects, addresses. */
#include "traces/calls/walk.h"
#include "traces/calls/word.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vwalk_print(struct vwalk *w, const char *fmt, ...)
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

void vwalk_print_fact(struct vwalk *w, uint32_t kind, uint64_t value)
{
	struct vcall_text *t = w->t;

	if (t->n_facts == VCALL_FACTS) {
		t->lost = true;
		return;
	}
	vwalk_print(w, "~");
	if (t->lost)
		return;
	t->facts[t->n_facts].value = value;
	t->facts[t->n_facts++].kind = kind;
}

void vwalk_print_key(struct vwalk *w, const char *name)
{
	vwalk_print(w, " %s%s=", w->path, name);
}

void vwalk_print_quoted(struct vwalk *w, const char *s, size_t max)
{
	size_t i;

	vwalk_print(w, "\"");
	for (i = 0; i < max && s[i]; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c <= ' ' || c == '"' || c == '\\' || c >= '~')
			vwalk_print(w, "\\x%02x", c);
		else
			vwalk_print(w, "%c", c);
	}
	vwalk_print(w, "\"");
}

void vwalk_print_hex(struct vwalk *w, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;
	size_t i;

	for (i = 0; i < n; i++)
		vwalk_print(w, "%02x", b[i]);
}

void vwalk_print_name(struct vwalk *w, const struct vnames *names, uint64_t v)
{
	uint32_t i;

	for (i = 0; i < names->n; i++)
		if (names->name[i].value == v) {
			vwalk_print(w, "%s", names->name[i].name);
			return;
		}
	vwalk_print(w, "%llu", (unsigned long long)v);
}

void vwalk_print_flags(struct vwalk *w, const struct vnames *names, uint64_t v)
{
	const char *sep = "";
	uint32_t i;

	for (i = 0; i < names->n; i++)
		if (v & names->name[i].value) {
			vwalk_print(w, "%s%s", sep, names->name[i].name);
			v &= ~names->name[i].value;
			sep = "|";
		}
	if (v)
		vwalk_print(w, "%s%#llx", sep, (unsigned long long)v);
}

/* Binds the object that the record names so; its name is searched in the recorded line. */
static void vwalk_bind_object(struct vwalk *w, const char *name, enum vobj kind, void *obj)
{
	const char *at = w->record, *end = w->record + w->record_len;
	size_t len = w->path_len + strlen(name);
	struct vread_word v;
	uint32_t ord;

	while (obj && (at = memchr(at, ' ', (size_t)(end - at)))) {
		at++;
		if ((size_t)(end - at) <= len || at[len] != '=' ||
		    memcmp(at, w->path, w->path_len) != 0 ||
		    memcmp(at + w->path_len, name, len - w->path_len) != 0)
			continue;
		v.s = at + len + 1;
		at = memchr(v.s, ' ', (size_t)(end - v.s));
		v.len = (size_t)((at ? at : end) - v.s);
		ord = vread_word_ordinal(&v, kind);
		if (ord && w->env->bind)
			w->env->bind(w->env->arg, kind, ord, obj);
		return;
	}
}

void vwalk_print_object(struct vwalk *w, const char *name, enum vobj kind, void *obj, bool fresh)
{
	uint32_t ord;

	if (w->record) {
		vwalk_bind_object(w, name, kind, obj);
		return;
	}
	if (!obj)
		return;
	ord = w->env->name ? w->env->name(w->env->arg, kind, obj, fresh) : 0;
	vwalk_print_key(w, name);
	if (ord)
		vwalk_print(w, "%s%u", vobj_names[kind], ord);
	else
		vwalk_print(w, "?");
}

void vwalk_print_contexts(struct vwalk *w, struct ibv_context **list)
{
	char name[16];
	uint32_t i;

	for (i = 0; i < VCALL_ARRAY && list[i]; i++) {
		snprintf(name, sizeof(name), "[%u]", i);
		vwalk_print_object(w, name, VOBJ_CTX, list[i], false);
	}
}

/* @port_fact: the system often chooses the port of an address that comes out of a call. */
void vwalk_print_address(struct vwalk *w, const char *name, const struct sockaddr *sa,
			 uint32_t port_fact)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;
	char text[INET6_ADDRSTRLEN];
	uint16_t port;

	if (!sa || !sa->sa_family || w->record)
		return;
	vwalk_print_key(w, name);
	switch (sa->sa_family) {
	case AF_INET:
		vwalk_print(w, "%s:", inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)));
		port = ntohs(in->sin_port);
		break;
	case AF_INET6:
		vwalk_print(w,
			    "[%s%%%u]:", inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text)),
			    in6->sin6_scope_id);
		port = ntohs(in6->sin6_port);
		break;
	case VCALL_AF_IB:
		vwalk_print(w, "ib:");
		vwalk_print_hex(w, sa, VCALL_SIZE_IB);
		return;
	default:
		vwalk_print(w, "family%u", sa->sa_family);
		w->t->unknown++;
		return;
	}
	if (port_fact)
		vwalk_print_fact(w, port_fact, port);
	else
		vwalk_print(w, "%u", port);
}
