/* SPDX-License-Identifier: MIT */
/**
 * DOC: the tag list of a tag-matching SRQ, ibv_post_srq_ops(3).
 *
 * Theory of operation
 * -------------------
 * Tags of an SRQ form a list, oldest first, since that is the order in which they match. A step
 * that matches, completes or drops a tag is a commit of the QP whose message it is (commit_tag());
 * links change by single stores. What else changes the list are commands of the SRQ's owner, whose
 * death takes all of it away.
 *
 * A program handles itself what arrives without a match, and may post a tag for it meanwhile. So
 * that no later message overtakes it, tags posted while the program's count of unexpected messages
 * is not the HCA's match nothing until it is (rdma-core's tag_matching.md).
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/queue/cq.h"
#include "emulator/queue/tag.h"
#include "emulator/tab.h"

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

void tag_cqe_blank(struct engine *e, const struct hca_srq *srq, u64 wr_id, u32 opcode, u32 status,
		   struct cqe *cqe)
{
	cqe->wr_id = wr_id;
	cqe->ts = cq_timestamp(e, &e->hca->cq[srq->cq - 1]);
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
	/* The message's tag and context are reported when it matches, not with its data later. */
	if (wc_flags & WCF_TM_MATCH) {
		cqe->tm_tag = tag->got;
		cqe->tm_priv = tag->app_ctx;
	}
}
