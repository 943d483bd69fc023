/* SPDX-License-Identifier: MIT */
/* Tag matching: records ibv_post_srq_ops(), a record for each call with its whole chain. */
#include "traces/record/tag_ops.h"
#include "traces/record/object.h"
#include "traces/record/poll_record.h"
#include "traces/record/post.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

#define OPS_MAX 4096u /* of a call; more are posted, but not recorded */

static u32 rec_tag_op_sge_count(const struct ibv_ops_wr *op)
{
	int n = op->opcode == IBV_WR_TAG_ADD ? op->tm.add.num_sge : 0;

	return n < 0 ? 0 : n > (int)VT_MAX_SGE ? VT_MAX_SGE : (u32)n;
}

static size_t rec_tag_chain_size(const struct ibv_ops_wr *op, u32 *n)
{
	size_t size = 0;

	for (*n = 0; op && *n < OPS_MAX; op = op->next, ++*n)
		size += sizeof(struct vt_wr) + rec_tag_op_sge_count(op) * sizeof(struct vt_sge);
	if (op) {
		rec_note("ibv_post_srq_ops: more than %u operations at once", OPS_MAX);
		return 0;
	}
	return size;
}

/* The handle is a result of adding a tag, so it is filled in after the call. */
static struct vt_wr *rec_tag_op_fill(struct vt_wr *to, const struct ibv_ops_wr *op,
				     const struct tap_obj *srq)
{
	struct vt_sge *sge = (struct vt_sge *)(to + 1);
	u32 i, n = rec_tag_op_sge_count(op);

	to->size = (u32)(sizeof(*to) + n * sizeof(*sge));
	to->opcode = op->opcode;
	to->wr_id = op->wr_id;
	to->send_flags = (u32)op->flags;
	to->imm = op->tm.unexpected_cnt;
	to->n_sge = n;
	if (op->opcode == IBV_WR_TAG_DEL)
		to->rkey = op->tm.handle;
	if (op->opcode == IBV_WR_TAG_ADD) {
		to->remote_addr = op->tm.add.recv_wr_id;
		to->compare_add = op->tm.add.tag;
		to->swap = op->tm.add.mask;
	}
	for (i = 0; i < n; i++)
		rec_sge_fill(&sge[i], &op->tm.add.sg_list[i], srq ? srq->ctx_obj : NULL, false);
	return (struct vt_wr *)((u8 *)to + to->size);
}

struct vt_rec *rec_tag_record_begin(const struct tap_obj *srq, const struct ibv_ops_wr *op)
{
	struct vt_post *body;
	struct vt_rec *r;
	struct vt_wr *to;
	size_t size;
	u32 i, n;

	size = rec_tag_chain_size(op, &n);
	r = size ? rec_record_begin(VT_POST_OPS, sizeof(*body) + size) : NULL;
	if (!r)
		return NULL;
	body = vt_rec_body(r);
	body->obj = srq ? srq->ord : 0;
	body->n = n;
	to = (struct vt_wr *)(body + 1);
	for (i = 0; i < n; i++, op = op->next)
		to = rec_tag_op_fill(to, op, srq);
	return r;
}

void rec_tag_record_end(struct vt_rec *r, struct rec_span span, const struct tap_post *p)
{
	struct vt_post *body = vt_rec_body(r);
	struct vt_wr *to = (struct vt_wr *)(body + 1);
	const struct ibv_ops_wr *op = p->ops;

	body->ret = p->ret;
	for (; body->bad < body->n && !(p->ret && op == p->bad_ops); body->bad++, op = op->next) {
		if (op->opcode == IBV_WR_TAG_ADD)
			to->rkey = op->tm.handle;
		to = (struct vt_wr *)((u8 *)to + to->size);
	}
	rec_record_stamp(r, span);
	vt_rec_commit(r);
}
