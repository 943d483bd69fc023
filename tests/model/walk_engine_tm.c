/* SPDX-License-Identifier: MIT */
/*
 * Tag matching: operations on lists of tags, messages for them, and their completions. See
 * tests/model/walk.h.
 */
#include "tests/model/walk.h"

#include <endian.h>

enum { ADD, DEL, SYNC };
enum { SIGNALED = 1, COUNTED = 2 };
enum { NO_TAG, RNDV, FIN, EAGER };

#define N_TAGS 4 /* different ones */

/** struct header - struct ibv_tmh and struct ibv_rvh. */
struct header {
	u8 op;
	u8 pad[3];
	u32 app_ctx;
	u64 tag;
	u64 va;
	u32 rkey;
	u32 len;
};

static void spoil(struct walk *w, struct obj *srq, struct hca_cmd *cmd)
{
	switch (pick(w, 3)) {
	case 0:
		cmd->handle = bad_handle(w, srq->client, K_SRQ);
		break;
	case 1:
		cmd->tm.opcode = SYNC + 1 + pick(w, 1000);
		break;
	default:
		cmd->tm.opcode = ADD;
		cmd->tm.num_sge = 2 + pick(w, 1000);
	}
}

void tag_op(struct walk *w, struct obj *srq)
{
	const struct hca_srq *hw = &w->m->hca->srq[srq->handle];
	struct hca_cmd cmd = { .op = CMD_SRQ_OPS, .handle = srq->handle };
	struct cmd_srq_op *op = &cmd.tm;
	u32 at = srq->srq.n_tags % TM_IDS;
	int want = 0;

	op->opcode = chance(w, 3) ? 1 + pick(w, 2) : ADD;
	op->wr_id = ++w->next_id;
	op->recv_wr_id = ++w->next_id;
	op->tag = pick(w, N_TAGS);
	op->mask = chance(w, 8) ? 0 : ~0ULL;
	op->tag &= op->mask;
	op->num_sge = !chance(w, 20);
	op->sge = some_sge(w, srq->client, srq->uses[0], 100 + some_length(w), ACC_LOCAL_WRITE);
	op->unexpected_cnt = chance(w, 20) ? pick(w, 1 << 16) : hw->unexpected;
	op->flags = chance(w, 2) || op->opcode == SYNC ? COUNTED : 0;
	op->slot = srq->srq.n_ops;
	op->tag_handle =
		chance(w, 20) ? (u32)emu_rnd(&w->rnd) : srq->srq.tag_handle[pick(w, TM_IDS)];
	if (chance(w, 2) && srq->srq.n_ops - srq->srq.ops_seen < TM_IDS)
		op->flags |= SIGNALED;
	/* Traffic takes tags away: how many there are only the HCA knows, and the audit. */
	if (op->opcode == ADD && hw->n_tags >= srq->srq.max_tags)
		want = -ENOMEM;
	if (chance(w, 20)) {
		spoil(w, srq, &cmd);
		want = -EINVAL;
	}
	if (op->flags & SIGNALED && !want)
		srq->srq.op[srq->srq.n_ops++ % TM_IDS] = op->wr_id;
	if (command(w, srq->client, &cmd, want, "operation on tags") || op->opcode != ADD)
		return;
	srq->srq.tag[at] = op->recv_wr_id;
	srq->srq.tag_handle[at] = op->tag_handle;
	srq->srq.n_tags++;
}

void tag_message(struct walk *w, struct obj *o, struct sq_wqe *q)
{
	static const u8 kinds_of[] = { NO_TAG, EAGER, EAGER, EAGER, RNDV, RNDV };
	struct header h = { .op = kinds_of[pick(w, ARRAY_SIZE(kinds_of))] };
	u32 len = h.op == RNDV ? sizeof(h) : 16 + pick(w, SQ_MIN_DATA - 15);
	struct wq_sge s;

	h.app_ctx = htobe32((u32)q->wr_id);
	h.tag = htobe64(pick(w, N_TAGS));
	if (chance(w, 300))
		h.op = (u8)pick(w, 256);
	if (chance(w, 300))
		len = pick(w, sizeof(h));
	s = some_sge(w, o->client, o->uses[Q_PD], some_length(w), ACC_REMOTE_READ);
	h.va = htobe64(s.addr);
	h.rkey = htobe32(s.lkey);
	h.len = htobe32(s.len);
	q->opcode = WR_SEND;
	q->hw = SQ_HW_INLINE;
	q->num_sge = 0;
	q->total_len = len;
	emu_fill(q->sge, SQ_MIN_DATA, q->wr_id);
	memcpy(q->sge, &h, h.op == RNDV ? sizeof(h) : 16);
}

static void check_op(struct walk *w, struct obj *srq, const struct cqe *c)
{
	u32 seen = srq->srq.ops_seen;

	if (seen == srq->srq.n_ops || srq->srq.op[seen % TM_IDS] != c->wr_id || c->slot != seen)
		fail(w, "SRQ %u: operation %u completes as %llu, %u of %u were seen", srq->handle,
		     c->slot, (unsigned long long)c->wr_id, seen, srq->srq.n_ops);
	if (c->status && (c->opcode != WCO_TM_DEL || c->status != WCS_TM_ERR))
		fail(w, "SRQ %u: an operation ends with %s", srq->handle,
		     ib_wc_status_name(c->status));
	srq->srq.ops_seen++;
}

void tag_check(struct walk *w, struct obj *srq, const struct cqe *c)
{
	bool more = !c->status && !(c->wc_flags & WCF_TM_DATA_VALID);

	if (c->opcode != WCO_TM_RECV) {
		check_op(w, srq, c);
		return;
	}
	for (u32 i = 0; i < TM_IDS; i++) {
		if (srq->srq.tag[i] != c->wr_id)
			continue;
		w->matched += !c->status && !more;
		/* A rendezvous first reports its match. */
		if (!more)
			srq->srq.tag[i] = 0;
		return;
	}
	/* The model keeps the youngest only. */
	if (srq->srq.n_tags <= TM_IDS)
		fail(w, "SRQ %u: a tag completes as %llu, which was not posted or is done",
		     srq->handle, (unsigned long long)c->wr_id);
}
