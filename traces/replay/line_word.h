/* SPDX-License-Identifier: MIT */
/** DOC: words of a recorded line that name devices, ports and addresses. */
#ifndef TRACES_REPLAY_LINE_WORD_H
#define TRACES_REPLAY_LINE_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_IB_GID                                                                                  \
	19u /* offset of the GID in a sockaddr_ib: after "ib:" and 8 bytes in hexadecimal */

/** enum rp_word_kind - what a word of a line is. */
enum rp_word_kind {
	RP_WORD_OTHER,
	RP_WORD_TEXT, /* quoted */
	RP_WORD_GID,
	RP_WORD_GUID,
	RP_WORD_LID,
	RP_WORD_INDEX, /* GID index */
	RP_WORD_IB, /* a sockaddr_ib */
	RP_WORD_IP, /* ADDRESS:PORT or [ADDRESS%SCOPE]:PORT */
};

/** struct rp_named - a word of a line. @key: bytes before its "=", 0: no key, only a value */
struct rp_named {
	enum rp_word_kind kind;
	const char *word;
	size_t len;
	size_t key;
	const char *value;
	size_t value_len;
};

/** rp_word_next() - split off the word at *@at, which is advanced. Returns false: there is none. */
bool rp_word_next(const char **at, struct rp_named *w, bool query_gid);
/** rp_word_is() - whether the last part of the word's key is @last. */
bool rp_word_is(const struct rp_named *w, const char *last);
/** rp_word_gid() - the GID in a word, or the one of its IP address. Returns false: it has none. */
bool rp_word_gid(const struct rp_named *w, uint8_t gid[16]);
/** rp_line_is_query_gid() - whether "index=" in a line is a GID index. */
bool rp_line_is_query_gid(const char *line);

#endif
