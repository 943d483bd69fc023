/* SPDX-License-Identifier: MIT */
/* Rewrites a recorded line: replaces the values of one run by those of another. */
#include "traces/compare/compare.h"
#include "emulator/gid.h"
#include "traces/compare/line_word.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** struct remap_line - the new line. @cap: its room */
struct remap_line {
	char *text;
	size_t cap;
	size_t len;
	bool full;
};

static void remap_add(struct remap_line *m, const char *bytes, size_t len)
{
	if (m->full || len >= m->cap - m->len) {
		m->full = true;
		return;
	}
	memcpy(m->text + m->len, bytes, len);
	m->len += len;
	m->text[m->len] = '\0';
}

static __attribute__((format(printf, 2, 3))) void remap_addf(struct remap_line *m, const char *fmt,
							     ...)
{
	char text[128];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	remap_add(m, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static void remap_add_hex(struct remap_line *m, const uint8_t *bytes, size_t n)
{
	for (; n--; bytes++)
		remap_addf(m, "%02x", *bytes);
}

/* Returns the pair of a recorded value, or NULL. */
static const struct cmp_pair *remap_pair_find(const struct cmp_map *map, enum cmp_pair_kind kind,
					      const uint8_t from[16])
{
	uint32_t i;

	for (i = 0; i < map->n_pairs; i++)
		if (map->pair[i].kind == kind && !memcmp(map->pair[i].from, from, 16))
			return map->pair[i].none ? NULL : &map->pair[i];
	return NULL;
}

static const struct cmp_pair *remap_pair_find_number(const struct cmp_map *map,
						     enum cmp_pair_kind kind, uint64_t from)
{
	uint8_t raw[16] = { 0 };

	memcpy(raw, &from, sizeof(from));
	return remap_pair_find(map, kind, raw);
}

static uint64_t remap_pair_number(const struct cmp_pair *p)
{
	uint64_t v;

	memcpy(&v, p->to, sizeof(v));
	return v;
}

static void remap_add_ip(struct remap_line *m, const uint8_t gid[16])
{
	char text[INET6_ADDRSTRLEN];

	if (gid_is_v4(gid))
		inet_ntop(AF_INET, gid + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, gid, text, sizeof(text));
	remap_add(m, text, strlen(text));
}

/*
 * Writes ADDRESS:PORT or [ADDRESS%SCOPE]:PORT, if the family is the same. Returns false: it is not.
 */
static bool remap_put_address(struct remap_line *m, const struct cmp_word *w,
			      const struct cmp_pair *p)
{
	const char *percent, *end;
	unsigned long scope;

	if (gid_is_v4(p->from) != gid_is_v4(p->to))
		return false;
	remap_add(m, w->word, w->key + 1);
	if (gid_is_v4(p->to)) {
		remap_add_ip(m, p->to);
		end = memchr(w->value, ':', w->value_len);
	} else {
		percent = memchr(w->value, '%', w->value_len);
		end = memchr(w->value, ']', w->value_len);
		scope = percent ? strtoul(percent + 1, NULL, 10) : 0;
		remap_add(m, "[", 1);
		remap_add_ip(m, p->to);
		remap_addf(m, "%%%lu", scope && scope == p->from_if ? p->to_if : scope);
	}
	remap_add(m, end, (size_t)(w->value + w->value_len - end));
	return true;
}

static bool remap_put_ib(struct remap_line *m, const struct cmp_word *w, const struct cmp_pair *p)
{
	remap_add(m, w->word, w->key + 1 + CMP_IB_GID);
	remap_add_hex(m, p->to, sizeof(p->to));
	remap_add(m, w->value + CMP_IB_GID + 32, w->value_len - CMP_IB_GID - 32);
	return true;
}

/* Writes an address in quotes. It may end with the name or index of an interface. */
static void remap_put_quoted(struct remap_line *m, const struct cmp_word *w,
			     const struct cmp_pair *p)
{
	const char *scope = memchr(w->value, '%', w->value_len);

	remap_add(m, "\"", 1);
	remap_add_ip(m, p->to);
	if (scope && p->from_if == p->to_if)
		remap_add(m, scope, (size_t)(w->value + w->value_len - 1 - scope));
	else if (scope)
		remap_addf(m, "%%%u", p->to_if);
	remap_add(m, "\"", 1);
}

static bool remap_put_gid(struct remap_line *m, const struct cmp_map *map, const struct cmp_word *w)
{
	const struct cmp_pair *p;
	uint8_t gid[16];

	p = cmp_word_gid(w, gid) ? remap_pair_find(map, CMP_PAIR_GID, gid) : NULL;
	if (!p)
		return false;
	if (w->kind == CMP_WORD_IP)
		return remap_put_address(m, w, p);
	if (w->kind == CMP_WORD_IB)
		return remap_put_ib(m, w, p);
	remap_add(m, w->word, w->key ? w->key + 1 : 0);
	if (w->kind == CMP_WORD_GID)
		remap_add_hex(m, p->to, sizeof(p->to));
	else
		remap_put_quoted(m, w, p);
	return true;
}

/* Writes a device name, or an address as text. */
static bool remap_put_text(struct remap_line *m, const struct cmp_map *map,
			   const struct cmp_word *w)
{
	const char *name;
	uint32_t i;

	if (w->key && !cmp_word_is(w, "device"))
		return remap_put_gid(m, map, w);
	for (i = 0; i < map->n_names; i++) {
		name = map->from_name[i];
		if (strlen(name) != w->value_len - 2 ||
		    memcmp(name, w->value + 1, w->value_len - 2) != 0)
			continue;
		remap_add(m, w->word, w->key ? w->key + 1 : 0);
		remap_addf(m, "\"%s\"", map->to_name[i]);
		return true;
	}
	return false;
}

static bool remap_put_number(struct remap_line *m, const struct cmp_map *map,
			     const struct cmp_word *w)
{
	bool guid = w->kind == CMP_WORD_GUID;
	const struct cmp_pair *p = remap_pair_find_number(map, guid ? CMP_PAIR_GUID : CMP_PAIR_LID,
							  strtoull(w->value, NULL, guid ? 16 : 10));

	if (!p)
		return false;
	remap_add(m, w->word, w->key + 1);
	remap_addf(m, guid ? "%016llx" : "%llu", (unsigned long long)remap_pair_number(p));
	return true;
}

/* Writes an index. A result has no word for index 0. @result: it is one */
static bool remap_put_index(struct remap_line *m, const struct cmp_map *map,
			    const struct cmp_word *w, bool result)
{
	unsigned long from = strtoul(w->value, NULL, 10);

	if (from >= VT_MAX_GIDS || map->index[from] == from || map->index[from] == CMP_NO_INDEX)
		return false;
	if (result && !map->index[from]) {
		m->text[--m->len] = '\0'; /* also removes the space before it */
		return true;
	}
	remap_add(m, w->word, w->key + 1);
	remap_addf(m, "%u", map->index[from]);
	return true;
}

static bool remap_put_word(struct remap_line *m, const struct cmp_map *map,
			   const struct cmp_word *w, bool result)
{
	switch (w->kind) {
	case CMP_WORD_TEXT:
		return w->value_len > 2 && remap_put_text(m, map, w);
	case CMP_WORD_GID:
	case CMP_WORD_IB:
	case CMP_WORD_IP:
		return remap_put_gid(m, map, w);
	case CMP_WORD_GUID:
	case CMP_WORD_LID:
		return remap_put_number(m, map, w);
	case CMP_WORD_INDEX:
		return remap_put_index(m, map, w, result);
	default:
		return false;
	}
}

/* --- the GRH of a datagram --- */

#define IPV4_LEN 20u /* the IP header, at the end of the 40 bytes */

static void remap_grh_from_hex(uint8_t *to, const char *hex, size_t n)
{
	char two[3] = "";
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(two, hex + 2 * i, 2);
		to[i] = (uint8_t)strtoul(two, NULL, 16);
	}
}

static void remap_grh_map_ipv4(const struct cmp_map *map, uint8_t *ip)
{
	uint8_t gid[16] = { [10] = 0xff, [11] = 0xff };
	const struct cmp_pair *p;

	memcpy(gid + 12, ip, 4);
	p = remap_pair_find(map, CMP_PAIR_GID, gid);
	if (p && gid_is_v4(p->to))
		memcpy(ip, p->to + 12, 4);
}

static void remap_grh_checksum(uint8_t *h)
{
	uint32_t sum = 0, i;

	h[10] = h[11] = 0;
	for (i = 0; i < IPV4_LEN; i += 2)
		sum += (uint32_t)(h[i] << 8 | h[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	h[10] = (uint8_t)(~sum >> 8);
	h[11] = (uint8_t)~sum;
}

/* With RoCE over IPv4 the IP header is in bytes 20 to 39, where a GRH has its GIDs. */
static void remap_map_grh(const struct cmp_map *map, char *line)
{
	char *sgid = strstr(line, " grh.sgid="), *dgid = strstr(line, " grh.dgid="), two[3];
	char *version = strstr(line, " grh.version_tclass_flow=");
	uint8_t h[IPV4_LEN];
	size_t i;

	if (!sgid || !dgid || (version && version[strlen(" grh.version_tclass_flow=")] == '6') ||
	    strspn(sgid + 10, "0123456789abcdef") != 32 ||
	    strspn(dgid + 10, "0123456789abcdef") != 32)
		return;
	remap_grh_from_hex(h, sgid + 10 + 24, 4);
	remap_grh_from_hex(h + 4, dgid + 10, 16);
	if (h[0] != 0x45)
		return;
	remap_grh_map_ipv4(map, h + 12);
	remap_grh_map_ipv4(map, h + 16);
	remap_grh_checksum(h);
	for (i = 0; i < IPV4_LEN; i++) {
		snprintf(two, sizeof(two), "%02x", h[i]);
		memcpy(i < 4 ? sgid + 10 + 24 + 2 * i : dgid + 10 + 2 * (i - 4), two, 2);
	}
}

/* --- the line --- */

int cmp_line_remap(const struct cmp_map *map, const char *line, char *text, size_t cap, size_t *len)
{
	bool query = cmp_line_is_query_gid(line), result = false;
	struct remap_line m = { .text = text, .cap = cap };
	const char *at = line;
	struct cmp_word w;

	text[0] = '\0';
	while (cmp_word_next(&at, &w, query)) {
		if (m.len)
			remap_add(&m, " ", 1);
		if (!remap_put_word(&m, map, &w, result))
			remap_add(&m, w.word, w.len);
		result |= w.len == 1 && *w.word == '=';
	}
	if (m.full)
		return -ENOSPC;
	if (strstr(line, "_from_wc "))
		remap_map_grh(map, text);
	*len = m.len;
	return 0;
}
