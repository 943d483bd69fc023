/* SPDX-License-Identifier: MIT */
/*
 * Reads the words of a line, and allocates memory for their values. Every value is checked: the
 * file may come from anybody.
 */
#include "traces/calls/word.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vread_fail(struct vread *r, const char *fmt, ...)
{
	va_list ap;

	if (r->bad)
		return;
	r->bad = true;
	va_start(ap, fmt);
	vsnprintf(r->p->why, sizeof(r->p->why), fmt, ap);
	va_end(ap);
}

void *vread_alloc(struct vread *r, size_t size)
{
	struct vcall_parsed *p = r->p;
	size_t at = (p->used + 15u) & ~(size_t)15;

	if (size > sizeof(p->arena) || at > sizeof(p->arena) - size) {
		vread_fail(r, "%s%s", r->path, "more than a call may take");
		return NULL;
	}
	p->used = (uint32_t)(at + size);
	memset(p->arena + at, 0, size);
	return p->arena + at;
}

/*
 * Stores the number of entries in front of the array, so that the count argument can be checked
 * against it.
 */
void *vread_alloc_array(struct vread *r, uint32_t n, size_t size)
{
	uint64_t *head = vread_alloc(r, sizeof(*head) * 2 + (size_t)n * size + 8);

	if (!head)
		return NULL;
	head[0] = n;
	return head + 2;
}

/* --- words --- */

size_t vread_word_len(const struct vread *r)
{
	const char *space = memchr(r->at, ' ', (size_t)(r->end - r->at));

	return (size_t)((space ? space : r->end) - r->at);
}

/* Takes the next word's value if the word's key is @name, below the current path. */
bool vread_take_word(struct vread *r, const char *name, struct vread_word *v)
{
	size_t len = vread_word_len(r), key = r->path_len + strlen(name);

	if (r->bad || len <= key || r->at[key] != '=' || memcmp(r->at, r->path, r->path_len) != 0 ||
	    memcmp(r->at + r->path_len, name, key - r->path_len) != 0)
		return false;
	v->s = r->at + key + 1;
	v->len = len - key - 1;
	r->at += len;
	if (r->at < r->end)
		r->at++;
	return true;
}

bool vread_word_is(const struct vread_word *v, const char *s)
{
	return v->len == strlen(s) && !memcmp(v->s, s, v->len);
}

/* Decimal, or hexadecimal after 0x. */
bool vread_word_number(const struct vread_word *v, uint64_t *to)
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

uint64_t vread_take_fact(struct vread *r, uint32_t kind)
{
	uint64_t v = 0;

	if (r->p->fact >= r->n_facts)
		vread_fail(r, "it has more than the %u values that its record has", r->n_facts);
	else
		v = r->facts[r->p->fact++];
	return r->env->fact && !r->bad ? r->env->fact(r->env->arg, kind, v) : v;
}

void vread_fail_word(struct vread *r, const char *name, const struct vread_word *v,
		     const char *expected)
{
	vread_fail(r, "%s%s=%.*s: expected %s", r->path, name, v->len > 40 ? 40 : (int)v->len, v->s,
		   expected);
}

static int word_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Return: whether @v consists of at most @max pairs of hexadecimal digits. */
bool vread_word_hex(const struct vread_word *v, uint8_t *to, size_t max)
{
	size_t i;

	if (v->len % 2 || v->len / 2 > max)
		return false;
	for (i = 0; i < v->len; i += 2) {
		int hi = word_digit(v->s[i]), lo = word_digit(v->s[i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		to[i / 2] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

bool vread_word_name(const struct vread_word *v, const struct vnames *names, uint64_t *to)
{
	uint32_t i;

	for (i = 0; i < names->n; i++)
		if (vread_word_is(v, names->name[i].name)) {
			*to = names->name[i].value;
			return true;
		}
	return vread_word_number(v, to);
}

bool vread_word_flags(const struct vread_word *v, const struct vnames *names, uint64_t *to)
{
	struct vread_word one = { v->s, 0 };
	const char *end = v->s + v->len, *bar;
	uint64_t bit;

	*to = 0;
	for (;;) {
		bar = memchr(one.s, '|', (size_t)(end - one.s));
		one.len = (size_t)((bar ? bar : end) - one.s);
		if (!vread_word_name(&one, names, &bit))
			return false;
		*to |= bit;
		if (!bar)
			return true;
		one.s = bar + 1;
	}
}

/* Copies a quoted text to the arena. */
char *vread_word_text(struct vread *r, const char *name, const struct vread_word *v)
{
	size_t i, n = 0;
	char *to;

	if (v->len < 2 || v->s[0] != '"' || v->s[v->len - 1] != '"') {
		vread_fail_word(r, name, v, "a text in quotes");
		return NULL;
	}
	to = vread_alloc(r, v->len);
	for (i = 1; to && i < v->len - 1; i++) {
		int hi, lo;

		if (v->s[i] != '\\') {
			to[n++] = v->s[i];
			continue;
		}
		hi = i + 4 < v->len ? word_digit(v->s[i + 2]) : -1;
		lo = hi >= 0 ? word_digit(v->s[i + 3]) : -1;
		if (lo < 0 || v->s[i + 1] != 'x') {
			vread_fail_word(r, name, v, "a backslash before x and two digits only");
			return NULL;
		}
		to[n++] = (char)(hi << 4 | lo);
		i += 3;
	}
	return to;
}

/* Parses "qp3". Return: the ordinal; 0: the word names no object of this kind. */
uint32_t vread_word_ordinal(const struct vread_word *v, enum vobj kind)
{
	size_t n = strlen(vobj_names[kind]);
	struct vread_word number = { v->s + n, v->len - n };
	uint64_t ord;

	if (v->len <= n || memcmp(v->s, vobj_names[kind], n) != 0 || word_digit(v->s[n]) < 0 ||
	    !vread_word_number(&number, &ord) || ord > UINT32_MAX)
		return 0;
	return (uint32_t)ord;
}

void *vread_word_object(struct vread *r, const char *name, const struct vread_word *v,
			enum vobj kind)
{
	uint32_t ord = vread_word_ordinal(v, kind);
	void *obj;

	if (!ord) {
		vread_fail_word(r, name, v, vobj_names[kind]);
		return NULL;
	}
	if (!r->env->find)
		return NULL;
	obj = r->env->find(r->env->arg, kind, ord);
	if (!obj)
		vread_fail(r, "%s%s=%s%u: no such object", r->path, name, vobj_names[kind], ord);
	return obj;
}

/* --- addresses --- */

/*
 * Parses ADDRESS:PORT, [ADDRESS%SCOPE]:PORT, ib:BYTES, or familyN for a family without known bytes.
 */
bool vread_word_address(const struct vread_word *v, struct sockaddr_storage *to)
{
	struct sockaddr_in6 *in6 = (void *)to;
	struct sockaddr_in *in = (void *)to;
	struct vread_word ib = { v->s + 3, v->len - 3 };
	char text[96], *colon, *percent, *end;
	unsigned long port, scope = 0;

	if (v->len > 6 && !memcmp(v->s, "family", 6)) {
		port = strtoul(v->s + 6, &end, 10);
		to->ss_family = (sa_family_t)port;
		return end == v->s + v->len && port && port <= UINT16_MAX;
	}
	if (v->len > 3 && !memcmp(v->s, "ib:", 3))
		return ib.len == 2ul * VCALL_SIZE_IB &&
		       vread_word_hex(&ib, (uint8_t *)to, VCALL_SIZE_IB);
	if (v->len >= sizeof(text))
		return false;
	memcpy(text, v->s, v->len);
	text[v->len] = '\0';
	colon = strrchr(text, ':');
	if (!colon || word_digit(colon[1]) < 0)
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
