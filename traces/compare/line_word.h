/* SPDX-License-Identifier: MIT */
/** DOC: words of a recorded line that name devices, ports and addresses. */
#ifndef TRACES_COMPARE_LINE_WORD_H
#define TRACES_COMPARE_LINE_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CMP_IB_GID                                                                                 \
	19u /* offset of the GID in a sockaddr_ib: after "ib:" and 8 bytes in hexadecimal */

/** enum cmp_word_kind - what a word of a line is. */
enum cmp_word_kind {
	CMP_WORD_OTHER,
	CMP_WORD_TEXT, /* quoted */
	CMP_WORD_GID,
	CMP_WORD_GUID,
	CMP_WORD_LID,
	CMP_WORD_INDEX, /* GID index */
	CMP_WORD_IB, /* a sockaddr_ib */
	CMP_WORD_IP, /* ADDRESS:PORT or [ADDRESS%SCOPE]:PORT */
};

/** struct cmp_word - a word of a line. @key: bytes before its "=", 0: no key, only a value */
struct cmp_word {
	enum cmp_word_kind kind;
	const char *word;
	size_t len;
	size_t key;
	const char *value;
	size_t value_len;
};

/** cmp_word_next() - split off the word at *@at, which is advanced. Returns false: at the end. */
bool cmp_word_next(const char **at, struct cmp_word *w, bool query_gid);
/** cmp_word_is() - whether the last part of the word's key is @last. */
bool cmp_word_is(const struct cmp_word *w, const char *last);
/** cmp_word_gid() - the GID in a word, or the one of its IP address. Returns false: it has none. */
bool cmp_word_gid(const struct cmp_word *w, uint8_t gid[16]);
/** cmp_line_is_query_gid() - whether "index=" in a line is a GID index. */
bool cmp_line_is_query_gid(const char *line);

#endif
