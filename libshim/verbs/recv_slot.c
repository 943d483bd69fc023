/* SPDX-License-Identifier: MIT */
/**
 * DOC: finding and freeing the slots of WQs and SRQs that completions name.
 *
 * An entry names a WQ or SRQ by index and generation, since it may be polled after the queue was
 * destroyed and its index reused.
 */
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/seg.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/queue.h"
#include "libshim/verbs/srq.h"
#include "libshim/verbs/wq.h"

/* The WQ of a completion, or NULL if it no longer exists. */
static struct shim_rwq *wq_find(const struct cqe *e)
{
	struct shim_rwq *wq = load_acquire(&objs->wq[e->owner & (HCA_MAX_WQ - 1)]);

	return wq && wq->wqn == e->qpn ? wq : NULL;
}

const struct rq_wqe *shim_wq_recv(const struct cqe *e, u32 *max_sge)
{
	struct shim_rwq *wq = wq_find(e);

	*max_sge = wq ? wq->rq.max_sge : 0;
	return wq ? shim_rq_slot(&wq->rq, e->slot) : NULL;
}

void shim_wq_consume(const struct cqe *e)
{
	struct shim_rwq *wq = wq_find(e);

	if (!wq)
		return;
	store_release(&wq->rq.tail, e->slot + 1);
	if (e->status != WCS_SUCCESS)
		store_relaxed(&wq->maybe_err, true);
}

struct shim_srq *shim_cqe_srq(const struct cqe *e)
{
	struct shim_srq *srq = load_acquire(&objs->srq[e->owner & (HCA_MAX_SRQ - 1)]);

	return srq && cqe_owner(srq->index, srq->gen) == e->owner ? srq : NULL;
}

void shim_srq_slot_free(struct shim_srq *srq, u32 slot)
{
	shim_lock(&srq->lock);
	if (likely(srq->n_free < srq->depth))
		srq->free[srq->n_free++] = slot & (srq->depth - 1);
	shim_unlock(&srq->lock);
}

void shim_tag_consume(const struct cqe *e)
{
	struct shim_srq *srq = shim_cqe_srq(e);

	/* A tag's message is not an operation and occupies no place. */
	if (srq && e->opcode >= WCO_TM_ADD && e->opcode <= WCO_TM_SYNC)
		store_release(&srq->ops_done, e->slot + 1);
}
