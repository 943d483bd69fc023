/* SPDX-License-Identifier: MIT */
/**
 * DOC: flushing without an engine.
 *
 * An isolated client cannot enter the engine. When its fabric process has ended, only the client
 * itself writes its CQ rings: it completes outstanding work with WR_FLUSH_ERR, as the HCA would.
 * Posting has ended by then: shim.fatal is set, and posts check it under the queues' locks.
 *
 * It is unknown which unsignalled sends were executed before. All that no completion covers are
 * flushed.
 */
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/seg.h"
#include "libshim/client/chan.h"
#include "libshim/verbs/async_event.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"
#include "libshim/verbs/queue.h"

/* The ordinal of the first entry that the engine did not write. */
static u32 flush_cq_end(const struct shim_cq *cq)
{
	u32 i = cq->cons + (cq->cur ? 1 : 0);

	while (load_acquire(&cq->entries[i & cq->mask].seq) == i + 1)
		i++;
	return i;
}

/* The first slot of a queue that no completion, polled or not, covers. */
static u32 flush_first_slot(const struct shim_cq *cq, u32 end, u32 qpn, const struct shim_wq *q,
			    u32 recv)
{
	u32 slot = load_acquire(&q->tail), i;
	const struct cqe *e;

	for (i = cq->cons; i != end; i++) {
		e = &cq->entries[i & cq->mask];
		if (e->qpn == qpn && (e->flags & CQE_RECV) == recv)
			slot = e->slot + 1;
	}
	return slot;
}

static u64 flush_wr_id(const struct shim_wq *q, u32 slot, u32 recv)
{
	return recv ? shim_rq_slot(q, slot)->wr_id : shim_sq_slot(q, slot)->wr_id;
}

static void flush_queue(struct shim_cq *cq, u32 qpn, const struct shim_wq *q, u32 recv)
{
	u32 end = flush_cq_end(cq), slot = flush_first_slot(cq, end, qpn, q, recv);
	struct cqe *e;

	for (; slot != q->head && end - cq->cons <= cq->mask; slot++, end++) {
		e = &cq->entries[end & cq->mask];
		e->wr_id = flush_wr_id(q, slot, recv);
		e->qpn = qpn;
		e->slot = slot;
		e->vendor_err = 0;
		e->status = WCS_WR_FLUSH_ERR;
		e->flags = (u8)recv;
		store_release(&e->seq, end + 1);
	}
}

static void flush_cq_wake(struct shim_cq *cq)
{
	struct shim_channel *ch = (struct shim_channel *)cq->cq.channel;
	struct chan_event ev = {
		.type = CHAN_EV_COMP,
		.kind = ELEM_CQ,
		.handle = cq->cq.handle,
		.gen = cq->gen,
	};

	if (!ch)
		return;
	shim_lock(&cq->arm_lock);
	if (exchange(&cq->ctl->armed, CQ_ARM_NONE) != CQ_ARM_NONE)
		shim_chan_push(ch->index, &ev);
	shim_unlock(&cq->arm_lock);
}

/* Taking and releasing each queue's lock waits for threads that are posting. */
static void flush_cq(struct shim_cq *cq)
{
	struct shim_qp *qp;
	u32 i;

	for (i = 0; i < HCA_MAX_QP; i++) {
		qp = shim_qp_pin(i);
		if (!qp)
			continue;
		shim_lock(&qp->sq.lock);
		shim_unlock(&qp->sq.lock);
		shim_lock(&qp->rq.lock);
		shim_unlock(&qp->rq.lock);
		shim_lock(&cq->lock);
		if (to_cq(qp->qp.send_cq) == cq && qp->sq.depth)
			flush_queue(cq, qp->qpn, &qp->sq, 0);
		if (to_cq(qp->qp.recv_cq) == cq && qp->rq.depth)
			flush_queue(cq, qp->qpn, &qp->rq, CQE_RECV);
		shim_unlock(&cq->lock);
		shim_qp_unpin(qp);
	}
	flush_cq_wake(cq);
}

void shim_flush_local(void)
{
	if (objs)
		shim_objs_each_cq(flush_cq);
}
