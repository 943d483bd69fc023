/* SPDX-License-Identifier: MIT */
/** DOC: texts that members ask each other for, and that processes of this host wait for. */
#ifndef FABRIC_JOIN_TEXTS_H
#define FABRIC_JOIN_TEXTS_H

#include "fabric/core/fabric.h"
#include "fabric/join/proto.h"

#include <unistd.h>

#define JOIN_MAX_QUERIES 64u /* texts that processes wait for */

struct member;

/**
 * struct text_query - a text of a member that a process waits for: texts.c.
 * @member: id of the member that is asked; 0: it is none
 * @number: of the question, not 0; a later one has a larger number
 * @asked: it is the one of its member that is under way
 * @conn: of the process; NULL: it has gone
 * @op, @flags, @log: the request: struct proto_msg
 * @fd, @got: the text, and its bytes so far
 * @again_at: when to send the last QUERY; NEVER: it was sent
 * @until: something has to come until then
 */
struct text_query {
	u64 member;
	u32 number;
	bool asked;
	struct conn *conn;
	u32 op, flags;
	struct proto_log log;
	int fd;
	u64 got;
	u64 again_at;
	u64 until;
};

/**
 * struct text_answer - a text that a member fetches, piece by piece: texts.c.
 * @query: its last QUERY; @due: that has no answer yet
 * @fd, @len: the text; -1: there is none
 * @log: of JQ_LOG
 * @until: it is closed then, if no QUERY comes
 */
struct text_answer {
	struct join_query query;
	bool due;
	int fd;
	u64 len;
	struct proto_log log;
	u64 until;
};

/** text_answer_close() - there is no text any more, and none is to be sent. */
static inline void text_answer_close(struct text_answer *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->due = false;
}

/* --- texts.c --- */

/** texts_input() - QUERY or PIECE has come from @m. Return: NULL, or what is wrong with it. */
const char *texts_input(struct fabric *f, struct member *m, u8 type, const u8 *body, u32 len);

/* --- text_plain.c --- */

/**
 * text_make_plain() - replace what is not printable ASCII in a text, as control characters, also as
 * JSON has them ("\\u001b"), by '?'; newlines stay. Return: 0 or -errno.
 */
int text_make_plain(int fd);

#endif
