/* SPDX-License-Identifier: MIT */
/**
 * DOC: the tag list of a tag-matching SRQ, ibv_post_srq_ops(3).
 *
 * Theory of operation
 * -------------------
 * Tags of an SRQ form a list, oldest first, since that is the order in which they match. A step that
 * matches, completes or drops a tag is a commit of the QP whose message it is (commit_tag()); links
 * change by single stores. What else changes the list are commands of the SRQ's owner, whose death
 * takes all of it away.
 *
 * A program handles itself what arrives without a match, and may post a tag for it meanwhile. So
 * that no later message overtakes it, tags posted while the program's count of unexpected messages
 * is not the HCA's match nothing until it is (rdma-core's tag_matching.md).
 */
#include "emulator/transport/tag.h"

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

static u32 tag_index(const struct hca *hca, const struct hca_tag *tag)
{
	return (u32)(tag - hca->tag);
}

static u32 tag_make_handle(const struct hca *hca, const struct hca_tag *tag)
{
	return tag_index(hca, tag) | tag->gen << HANDLE_BITS;
}

struct hca_tag *tag_match(struct hca *hca, const struct hca_srq *srq, u64 tag)
{
	struct hca_tag *t;
	u32 i;

	for (i = srq->tags; i; i = t->next) {
		t = &hca->tag[i - 1];
		if (t->state == TAG_READY && (tag & t->mask) == t->tag)
			return t;
	}
	return NULL;
}

void tag_drop(struct hca *hca, struct hca_tag *tag)
{
	struct hca_srq *srq = &hca->srq[tag->srq];
	u32 me = tag_index(hca, tag) + 1, before = 0;
	u32 *at = &srq->tags;

	while (*at && *at != me) {
		before = *at;
		at = &hca->tag[before - 1].next;
	}
	if (*at) {
		if (srq->last_tag == me)
			srq->last_tag = before;
		store_release(at, tag->next);
		srq->n_tags--;
	}
	if (tag->client)
		tab_free(hca, TAB_TAG, me - 1);
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

void tm_forget(struct hca *hca, struct hca_qp *qp)
{
	struct hca_srq *srq = qp->srq ? &hca->srq[qp->srq - 1] : NULL;
	struct hca_tag *t;
	u32 i, next;

	if (!srq || srq->type != SRQ_TM)
		return;
	for (i = srq->tags; i; i = next) {
		t = &hca->tag[i - 1];
		next = t->next;
		if (t->state >= TAG_HELD && t->qpn == qp->qpn)
			tag_drop(hca, t);
	}
	qp->rndv = 0;
}

void tm_recount(struct hca *hca)
{
	u32 i, t;

	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		hca->qp[i].rndv = 0;
	for (i = 0; i < hca->tab[TAB_SRQ].high; i++) {
		struct hca_srq *srq = &hca->srq[i];

		srq->n_tags = srq->last_tag = 0;
		for (t = srq->client ? srq->tags : 0; t; t = hca->tag[t - 1].next) {
			struct hca_qp *qp = hca_qp_by_num(hca, hca->tag[t - 1].qpn);

			srq->last_tag = t;
			srq->n_tags++;
			if (hca->tag[t - 1].state == TAG_RNDV && qp)
				qp->rndv++;
		}
	}
}

static void tag_cqe_blank(struct engine *e, const struct hca_srq *srq, u64 wr_id, u32 opcode,
			  u32 status, struct cqe *cqe)
{
	cqe->wr_id = wr_id;
	cqe->ts = e->hca->cq[srq->cq - 1].want_ts ? e->host->now(e->ctx) : 0;
	cqe->byte_len = 0;
	cqe->imm = 0;
	cqe->qpn = 0;
	cqe->src_qp = 0;
	cqe->slot = 0;
	cqe->vendor_err = 0;
	cqe->status = (u8)status;
	cqe->opcode = (u8)opcode;
	cqe->wc_flags = 0;
	cqe->flags = CQE_SRQ | CQE_EXT;
	cqe->owner = cqe_owner((u32)(srq - e->hca->srq), srq->gen);
	cqe->flow_tag = 0;
	cqe->slid = 0;
	cqe->sl = 0;
	cqe->dlid_path_bits = 0;
	cqe->pkey_index = 0;
	cqe->cvlan = 0;
	cqe->tm_tag = 0;
	cqe->tm_priv = 0;
}

void tag_cqe(struct engine *e, const struct hca_qp *qp, const struct hca_tag *tag, u32 status,
	     u32 wc_flags, struct cqe *cqe)
{
	tag_cqe_blank(e, &e->hca->srq[tag->srq], tag->wr_id, WCO_TM_RECV, status, cqe);
	cqe->qpn = qp->qpn;
	cqe->src_qp = qp->attr.dest_qpn;
	cqe->wc_flags = (u8)wc_flags;
	/* What the message said of itself is told when it matches, not with its data later. */
	if (wc_flags & WCF_TM_MATCH) {
		cqe->tm_tag = tag->got;
		cqe->tm_priv = tag->app_ctx;
	}
}

static int tag_op_add(struct engine *e, u32 client, struct hca_srq *srq, struct cmd_srq_op *op)
{
	struct hca *hca = e->hca;
	struct hca_tag *tag;
	u32 gen;
	int i;

	if (op->num_sge > 1)
		return -EINVAL;
	if (srq->n_tags >= srq->max_tags)
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

/* The client says how many unexpected messages it has seen: what it has posted counts from now on. */
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
	struct seg_hdr *seg = e->host->seg(e->ctx, client);
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
