/* SPDX-License-Identifier: MIT */
/** DOC: QUERY and PIECE, see proto.h. No byte that is read is trusted. */
#include "fabric/join/bytes.h"
#include "fabric/join/proto.h"

#include <errno.h>

#define QUERY_FLAGS (JQ_F_JSON | JQ_F_LINES | JQ_F_VERBOSE)
#define QUERY_AT    24u /* where the positions begin */
#define PIECE_AT    24u

void join_query_put(u8 *p, const struct join_query *q)
{
	codec_put32(p, q->number);
	codec_put32(p + 4, q->what);
	codec_put32(p + 8, q->flags);
	codec_put32(p + 12, q->qpn);
	join_u64_put(p + 16, q->from);
	join_u64_put(p + QUERY_AT, q->errors);
	join_u64_put(p + QUERY_AT + 8, q->notices);
	join_u64_put(p + QUERY_AT + 16, q->notes);
	join_u64_put(p + QUERY_AT + 24, q->floods);
	memcpy(p + QUERY_AT + 32, q->program, JOIN_NAME);
	memcpy(p + QUERY_AT + 32 + JOIN_NAME, q->node, JOIN_NAME);
}

int join_query_get(const u8 *p, u32 len, struct join_query *q)
{
	if (len != JOIN_QUERY)
		return -EPROTO;
	q->number = codec_get32(p);
	q->what = codec_get32(p + 4);
	q->flags = codec_get32(p + 8);
	q->qpn = codec_get32(p + 12);
	q->from = join_u64_get(p + 16);
	q->errors = join_u64_get(p + QUERY_AT);
	q->notices = join_u64_get(p + QUERY_AT + 8);
	q->notes = join_u64_get(p + QUERY_AT + 16);
	q->floods = join_u64_get(p + QUERY_AT + 24);
	memcpy(q->program, p + QUERY_AT + 32, JOIN_NAME);
	memcpy(q->node, p + QUERY_AT + 32 + JOIN_NAME, JOIN_NAME);
	if (!q->number || q->what < JQ_STATUS || q->what > JQ_FAULTS || q->flags & ~QUERY_FLAGS ||
	    q->from > JOIN_TEXT_MAX || q->program[JOIN_NAME - 1] || q->node[JOIN_NAME - 1])
		return -EPROTO;
	return 0;
}

u32 join_piece_put(u8 *p, const struct join_piece *t)
{
	codec_put32(p, t->number);
	codec_put32(p + 4, t->err);
	join_u64_put(p + 8, t->total);
	join_u64_put(p + 16, t->from);
	join_u64_put(p + PIECE_AT, t->errors);
	join_u64_put(p + PIECE_AT + 8, t->notices);
	join_u64_put(p + PIECE_AT + 16, t->notes);
	join_u64_put(p + PIECE_AT + 24, t->floods);
	join_u64_put(p + PIECE_AT + 32, t->lost);
	if (t->len)
		memcpy(p + JOIN_PIECE, t->data, t->len);
	return JOIN_PIECE + t->len;
}

int join_piece_get(const u8 *p, u32 len, struct join_piece *t)
{
	if (len < JOIN_PIECE || len > JOIN_PIECE + JOIN_PIECE_MAX)
		return -EPROTO;
	t->number = codec_get32(p);
	t->err = codec_get32(p + 4);
	t->total = join_u64_get(p + 8);
	t->from = join_u64_get(p + 16);
	t->errors = join_u64_get(p + PIECE_AT);
	t->notices = join_u64_get(p + PIECE_AT + 8);
	t->notes = join_u64_get(p + PIECE_AT + 16);
	t->floods = join_u64_get(p + PIECE_AT + 24);
	t->lost = join_u64_get(p + PIECE_AT + 32);
	t->data = p + JOIN_PIECE;
	t->len = len - JOIN_PIECE;
	/* A piece without bytes is the end: others would never reach it. */
	if (!t->number || t->err > 4095 || t->total > JOIN_TEXT_MAX || t->from > t->total ||
	    t->len > t->total - t->from || (!t->len && t->from != t->total) ||
	    (t->err && (t->total || t->len)))
		return -EPROTO;
	return 0;
}
