/* SPDX-License-Identifier: MIT */
/**
 * DOC: the tag list of a tag-matching SRQ. See tag.c.
 */
#ifndef EMULATOR_QUEUE_TAG_H
#define EMULATOR_QUEUE_TAG_H

#include "emulator/engine.h"

/* --- tag.c --- */

static inline u32 tag_index(const struct hca *hca, const struct hca_tag *tag)
{
	return (u32)(tag - hca->tag);
}
/** tm_held_tag() - the tag that a message holds: HELD_TAG is set. */
static inline struct hca_tag *tm_held_tag(struct hca *hca, const struct resp_state *s)
{
	return &hca->tag[s->held & (HCA_MAX_TAG - 1)];
}
/** tag_cqe_blank() - an entry of the SRQ's CQ about no message. @opcode: enum ib_wc_opcode */
void tag_cqe_blank(struct engine *e, const struct hca_srq *srq, u64 wr_id, u32 opcode, u32 status,
		   struct cqe *cqe);

/** tag_match() - the oldest tag that takes a message tagged @tag, or NULL. */
struct hca_tag *tag_match(struct hca *hca, const struct hca_srq *srq, u64 tag);
/** tag_drop() - take a tag off its list and free it. May be done twice. */
void tag_drop(struct hca *hca, struct hca_tag *tag);
/** tag_cqe() - what a CQ says of a tag's message. */
void tag_cqe(struct engine *e, const struct hca_qp *qp, const struct hca_tag *tag, u32 status,
	     u32 wc_flags, struct cqe *cqe);
/** tm_uncounted() - messages that were unexpected and that the client has not counted yet. */
static inline u32 tm_uncounted(const struct hca_srq *srq)
{
	/* HCAs count modulo 2^16, and so do programs. */
	return (srq->unexpected - srq->synced) & 0xffff;
}

/** tm_forget() - a QP is reset or destroyed: the tags that have a message of it go with it. */
void tm_forget(struct hca *hca, struct hca_qp *qp);
/** tm_recount() - set what is counted of tags from what is there. */
void tm_recount(struct hca *hca);

#endif
