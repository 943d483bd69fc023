/* SPDX-License-Identifier: MIT */
/**
 * DOC: commands that change a tag list: ibv_post_srq_ops(3).
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/queue/tag.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

/** enum tag_op - enum ibv_ops_wr_opcode. */
enum tag_op {
	TAG_ADD,
	TAG_DEL,
	TAG_SYNC,
};

/** enum tag_op_flags - enum ibv_ops_flags. */
enum tag_op_flags {
	OPS_SIGNALED = 1 << 0,
	OPS_SYNC = 1 << 1,
};

#define HANDLE_BITS 16u
_Static_assert(HCA_MAX_TAG == 1u << HANDLE_BITS, "a handle is an index and a generation");

static u32 tag_make_handle(const struct hca *hca, const struct hca_tag *tag)
{
	return tag_index(hca, tag) | tag->gen << HANDLE_BITS;
}

static void tag_append(struct hca *hca, struct hca_srq *srq, struct hca_tag *tag)
{
	u32 *at = srq->last_tag ? &hca->tag[srq->last_tag - 1].next : &srq->tags;
	u32 me = tag_index(hca, tag) + 1;

	tag->next = 0;
	store_release(at, me);
	srq->last_tag = me;
	srq->n_tags++;
}

static int tag_op_add(struct engine *e, u32 client, struct hca_srq *srq, struct cmd_srq_op *op)
{
	struct hca *hca = e->hca;
	struct hca_tag *tag;
	u32 gen;
	int i;

	if (op->num_sge > 1)
		return -EINVAL;
	if (srq->n_tags >= srq->max_tags || !tab_has_share(hca, TAB_TAG, client))
		return -ENOMEM;
	i = tab_find(hca, TAB_TAG, srq->dev, HCA_MAX_TAG);
	if (i < 0)
		return i;
	tag = &hca->tag[i];
	gen = tag->gen + 1;
	memset(tag, 0, sizeof(*tag));
	tag->gen = gen;
	tag->srq = (u32)(srq - hca->srq);
	tag->tag = op->tag;
	tag->mask = op->mask;
	tag->wr_id = op->recv_wr_id;
	tag->state = tm_uncounted(srq) ? TAG_POSTED : TAG_READY;
	if (op->num_sge)
		tag->sge = op->sge;
	tab_own(hca, TAB_TAG, (u32)i, client, srq->dev);
	tag_append(hca, srq, tag);
	op->tag_handle = tag_make_handle(hca, tag);
	return 0;
}

/* Return: WC status. A tag that has its message already stays for it. */
static u32 tag_op_del(struct engine *e, u32 client, const struct hca_srq *srq,
		      const struct cmd_srq_op *op)
{
	struct hca *hca = e->hca;
	struct hca_tag *tag = tab_owned(hca, TAB_TAG, client, op->tag_handle & (HCA_MAX_TAG - 1));

	if (tag && tag_make_handle(hca, tag) == op->tag_handle && &hca->srq[tag->srq] == srq &&
	    tag->state <= TAG_READY) {
		tag_drop(hca, tag);
		return WCS_SUCCESS;
	}
	journal_client(e, client + 1, srq->dev, JRN_COMPLETION, WCS_TM_ERR, CAUSE_TAG,
		       op->tag_handle);
	return WCS_TM_ERR;
}

/* The client reports the unexpected messages it has seen: its posted tags count from now on. */
static void tag_op_sync(struct hca *hca, struct hca_srq *srq, const struct cmd_srq_op *op)
{
	bool was = tm_uncounted(srq);
	u32 i;

	if (op->flags & OPS_SYNC)
		srq->synced = op->unexpected_cnt;
	for (i = was && !tm_uncounted(srq) ? srq->tags : 0; i; i = hca->tag[i - 1].next)
		if (hca->tag[i - 1].state == TAG_POSTED)
			hca->tag[i - 1].state = TAG_READY;
}

static void tag_op_complete(struct engine *e, struct seg_hdr *seg, const struct hca_srq *srq,
			    const struct cmd_srq_op *op, u32 status)
{
	static const u8 opcode[] = { WCO_TM_ADD, WCO_TM_DEL, WCO_TM_SYNC };
	struct hca_cq *cq = &e->hca->cq[srq->cq - 1];
	struct cqe *cqe = cq_reserve(e, seg, cq);

	if (!cqe)
		return;
	tag_cqe_blank(e, srq, op->wr_id, opcode[op->opcode], status, cqe);
	cqe->slot = op->slot;
	cqe->wc_flags = tm_uncounted(srq) ? WCF_TM_SYNC_REQ : 0;
	commit_cqe(cq, cqe);
	if (cq->chan)
		cq_notify(e, seg, cq, status);
}

int cmd_srq_ops(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_srq *srq = own_srq(e->hca, client, cmd->handle);
	struct seg_hdr *seg = e->ops->seg(e->ctx, client);
	struct cmd_srq_op *op = &cmd->tm;
	u32 status = WCS_SUCCESS;
	int ret = 0;

	if (!srq || !seg || srq->type != SRQ_TM || op->opcode > TAG_SYNC)
		return -EINVAL;
	if (op->opcode == TAG_ADD)
		ret = tag_op_add(e, client, srq, op);
	else if (op->opcode == TAG_DEL)
		status = tag_op_del(e, client, srq, op);
	if (ret)
		return ret;
	tag_op_sync(e->hca, srq, op);
	if (op->flags & OPS_SIGNALED)
		tag_op_complete(e, seg, srq, op, status);
	return 0;
}
