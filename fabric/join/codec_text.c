/* SPDX-License-Identifier: MIT */
/** DOC: QUERY and PIECE, see proto.h. No byte that is read is trusted. */
#include "fabric/join/bytes.h"
#include "fabric/join/proto.h"

#include <errno.h>

#define QUERY_FLAGS (JQ_F_JSON | JQ_F_LINES | JQ_F_VERBOSE)
#define POSITION_AT 24u /* in both */
#define POSITION    32u /* its bytes */
#define REST_AT	    (POSITION_AT + POSITION)

static void position_put(u8 *p, const struct join_position *at)
{
	join_u64_put(p, at->errors);
	join_u64_put(p + 8, at->notices);
	join_u64_put(p + 16, at->notes);
	join_u64_put(p + 24, at->floods);
}

static struct join_position position_get(const u8 *p)
{
	return (struct join_position){
		.errors = join_u64_get(p),
		.notices = join_u64_get(p + 8),
		.notes = join_u64_get(p + 16),
		.floods = join_u64_get(p + 24),
	};
}

void join_query_put(u8 *p, const struct join_query *q)
{
	codec_put32(p, q->number);
	codec_put32(p + 4, q->what);
	codec_put32(p + 8, q->flags);
	codec_put32(p + 12, q->qpn);
	join_u64_put(p + 16, q->from);
	position_put(p + POSITION_AT, &q->position);
	memcpy(p + REST_AT, q->program, JOIN_NAME);
	memcpy(p + REST_AT + JOIN_NAME, q->node, JOIN_NAME);
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
	q->position = position_get(p + POSITION_AT);
	memcpy(q->program, p + REST_AT, JOIN_NAME);
	memcpy(q->node, p + REST_AT + JOIN_NAME, JOIN_NAME);
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
	position_put(p + POSITION_AT, &t->position);
	join_u64_put(p + REST_AT, t->lost);
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
	t->position = position_get(p + POSITION_AT);
	t->lost = join_u64_get(p + REST_AT);
	t->data = p + JOIN_PIECE;
	t->len = len - JOIN_PIECE;
	/* A piece without bytes is the end: others would never reach it. */
	if (!t->number || t->err > 4095 || t->total > JOIN_TEXT_MAX || t->from > t->total ||
	    t->len > t->total - t->from || (!t->len && t->from != t->total) ||
	    (t->err && (t->total || t->len)))
		return -EPROTO;
	return 0;
}
