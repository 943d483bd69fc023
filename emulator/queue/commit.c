/* SPDX-License-Identifier: MIT */
/**
 * DOC: commits: how a step becomes visible as a whole, though its author may be killed half way.
 *
 * The record is filled in, then published by the store of @valid; what follows only repeats its
 * absolute values and may be done twice. store_between() keeps the record, @valid and what follows
 * in that order, for the compiler and for CPUs that reorder stores.
 */
#include "emulator/engine.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/srd_flow.h"
#include "emulator/queue/tag.h"

/* What goes with the step: see commit_tag(). */
void commit_apply_tag(struct engine *e)
{
	struct hca_commit *c = &e->hca->commit;
	struct hca_tag *tag = &e->hca->tag[(c->tag - 1) & (HCA_MAX_TAG - 1)];

	if (c->tag & COMMIT_SRD)
		srd_flow_mark(e->hca, 1 + ((c->tag - 1) & (HCA_MAX_SRD_FLOW - 1)), c->tag_state);
	else if (c->tag_state == TAG_DONE)
		tag_drop(e->hca, tag);
	else
		tag->state = c->tag_state;
	store_between(&c->tag, 0);
}

void commit_tag(struct engine *e, const struct hca_tag *tag, u32 state)
{
	struct hca_commit *c = &e->hca->commit;

	c->tag_state = state;
	c->tag = (u32)(tag - e->hca->tag) + 1;
}

void commit_srd(struct engine *e, u32 flow, u32 psn)
{
	struct hca_commit *c = &e->hca->commit;

	c->tag_state = psn;
	c->tag = COMMIT_SRD | flow;
}

void commit_cqe(struct hca_cq *cq, struct cqe *cqe)
{
	commit_entry(cq, cqe, cq->prod + 1);
}

void commit_wq(struct engine *e, struct hca_wq *wq, u32 cons, u32 state, struct hca_cq *cq,
	       struct cqe *cqe)
{
	struct hca_commit *c = &e->hca->commit;

	c->cq = cqe ? (u32)(cq - e->hca->cq) + 1 : 0;
	c->cq_prod = cq->prod + 1;
	c->wq = (u32)(wq - e->hca->wq);
	c->wq_cons = cons;
	c->wq_state = state;
	store_between(&c->valid, COMMIT_WQ);
	wq->cons = cons;
	wq->state = state;
	if (cqe)
		commit_entry(cq, cqe, c->cq_prod);
	store_between(&c->valid, 0);
}
