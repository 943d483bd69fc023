/* SPDX-License-Identifier: MIT */
/* Finds the words of a recorded line that name devices, ports and addresses. */
#include "traces/compare/line_word.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static bool line_text_is_hex(const char *s, size_t len)
{
	return strspn(s, "0123456789abcdef") >= len;
}

bool cmp_word_is(const struct cmp_word *w, const char *last)
{
	size_t n = strlen(last);

	return w->key >= n && !memcmp(w->word + w->key - n, last, n) &&
	       (w->key == n || w->word[w->key - n - 1] == '.');
}

static bool line_word_is_any(const struct cmp_word *w, const char *const *names)
{
	for (; *names; names++)
		if (cmp_word_is(w, *names))
			return true;
	return false;
}

static bool line_word_is_ip(const struct cmp_word *w)
{
	const char *v = w->value;

	if (*v == '[')
		return memchr(v, ']', w->value_len) != NULL;
	return *v >= '0' && *v <= '9' && memchr(v, '.', w->value_len) &&
	       memchr(v, ':', w->value_len) && strspn(v, "0123456789.") < w->value_len &&
	       v[strspn(v, "0123456789.")] == ':';
}

static enum cmp_word_kind line_word_kind(const struct cmp_word *w, bool query_gid)
{
	static const char *const gids[] = { "gid", "sgid", "dgid", NULL };
	static const char *const guids[] = { "node_guid", "sys_image_guid", NULL };
	static const char *const lids[] = { "lid", "dlid", "slid", "sm_lid", NULL };
	static const char *const indexes[] = { "sgid_index", "gid_index", NULL };

	if (*w->value == '"')
		return CMP_WORD_TEXT;
	if (!w->key)
		return CMP_WORD_OTHER;
	if (w->value_len == 32 && line_word_is_any(w, gids) && line_text_is_hex(w->value, 32))
		return CMP_WORD_GID;
	if (w->value_len == 16 && line_word_is_any(w, guids) && line_text_is_hex(w->value, 16))
		return CMP_WORD_GUID;
	if (line_word_is_any(w, lids))
		return CMP_WORD_LID;
	if (line_word_is_any(w, indexes) || (query_gid && cmp_word_is(w, "index")))
		return CMP_WORD_INDEX;
	if (w->value_len == 3 + 2 * 48 && !memcmp(w->value, "ib:", 3) &&
	    line_text_is_hex(w->value + 3, w->value_len - 3))
		return CMP_WORD_IB;
	return line_word_is_ip(w) ? CMP_WORD_IP : CMP_WORD_OTHER;
}

bool cmp_word_next(const char **at, struct cmp_word *w, bool query_gid)
{
	const char *s = *at, *equal;
	bool quoted = false;

	s += strspn(s, " ");
	if (!*s)
		return false;
	w->word = s;
	for (; *s && (quoted || *s != ' '); s++)
		if (*s == '"')
			quoted = !quoted;
	w->len = (size_t)(s - w->word);
	equal = memchr(w->word, '=', w->len);
	if (*w->word == '"' || equal == w->word)
		equal = NULL;
	w->key = equal ? (size_t)(equal - w->word) : 0;
	w->value = equal ? equal + 1 : w->word;
	w->value_len = w->len - (size_t)(w->value - w->word);
	w->kind = line_word_kind(w, query_gid);
	*at = s;
	return true;
}

static uint8_t line_hex_digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void line_gid_from_hex(uint8_t gid[16], const char *hex)
{
	size_t i;

	for (i = 0; i < 16; i++)
		gid[i] =
			(uint8_t)(line_hex_digit(hex[2 * i]) << 4 | line_hex_digit(hex[2 * i + 1]));
}

/* Parses an address without a port: as a GID of an Ethernet port. */
static bool line_gid_from_ip(uint8_t gid[16], const char *text)
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	return inet_pton(AF_INET, text, gid + 12) == 1 || inet_pton(AF_INET6, text, gid) == 1;
}

bool cmp_word_gid(const struct cmp_word *w, uint8_t gid[16])
{
	const char *v = w->value;
	char text[INET6_ADDRSTRLEN];
	size_t n;

	switch (w->kind) {
	case CMP_WORD_GID:
		line_gid_from_hex(gid, v);
		return true;
	case CMP_WORD_IB: /* after family, P_Key and flow label */
		line_gid_from_hex(gid, v + CMP_IB_GID);
		return true;
	case CMP_WORD_IP:
	case CMP_WORD_TEXT:
		n = *v == '[' || *v == '"';
		v += n;
		n = w->kind == CMP_WORD_TEXT ? strcspn(v, "\"%")
					     : strcspn(v, *w->value == '[' ? "%]" : ":");
		if (n >= sizeof(text) || (size_t)(v - w->value) + n > w->value_len)
			return false;
		memcpy(text, v, n);
		text[n] = '\0';
		return line_gid_from_ip(gid, text);
	default:
		return false;
	}
}

bool cmp_line_is_query_gid(const char *line)
{
	return !strncmp(line, "ibv_query_gid", strlen("ibv_query_gid"));
}
