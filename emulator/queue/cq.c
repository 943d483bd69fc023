/* SPDX-License-Identifier: MIT */
/**
 * DOC: timestamps of entries, and CQ moderation, ibv_modify_cq(3): one event for several
 * completions.
 *
 * Moderation counts the entries for which the client would be woken after it has armed the CQ. The
 * event is sent with the mod_count-th of them, or mod_period after the first, whichever is sooner;
 * either may be unset. Solicited entries and errors are moderated like all others, as ConnectX
 * does.
 *
 * A CQ whose event has a deadline has a bit in mod_bits, which the first scan that finds no
 * deadline clears. Deadline and bit are set before the entry is counted: if the holder dies in
 * between, the fabric process counts once more (engine/redo.c), so the event may come early but is
 * never missing.
 */
#include "emulator/deadline.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/queue/cq.h"
#include "emulator/queue/event.h"
#include "emulator/ring.h"

u64 cq_timestamp_read(struct engine *e, const struct hca_cq *cq)
{
	u64 ns;

	if (cq->ts_format == TS_FREE_RUNNING)
		return e->ops->now(e->ctx);
	ns = e->ops->wall(e->ctx);
	return ns / 1000000000 << 32 | ns % 1000000000;
}

void cq_mod_timer_arm(struct engine *e, struct hca_cq *cq)
{
	struct hca *hca = e->hca;

	if (!cq->mod_deadline)
		cq->mod_deadline = e->ops->now(e->ctx) + cq->mod_period * 1000ULL;
	deadline_set(e, hca->mod_bits, hca->mod_sum, (u32)(cq - hca->cq), cq->mod_deadline);
}

bool cq_mod_count_entry(struct engine *e, struct hca_cq *cq)
{
	if (cq->mod_period)
		cq_mod_timer_arm(e, cq);
	cq->mod_seen++;
	return cq->mod_count && cq->mod_seen >= cq->mod_count;
}

/* As deadline_fn. */
static u64 cq_mod_timer_check(struct engine *e, u32 slot, u64 now)
{
	struct hca_cq *cq = &e->hca->cq[slot];
	struct seg_hdr *seg;

	seg = cq->client && cq->chan && cq->mod_deadline ? seg_of(e, cq->client) : NULL;
	if (seg && cq->mod_deadline > now)
		return cq->mod_deadline;
	if (seg)
		cq_event_fire(e, seg, cq);
	return 0;
}

u64 cq_mod_timers(struct engine *e, u64 now)
{
	struct hca *hca = e->hca;

	return deadline_scan(e, hca->mod_bits, hca->mod_sum, HCA_MAX_CQ, now, cq_mod_timer_check);
}

static void cq_event_push(struct engine *e, const struct hca_cq *cq)
{
	struct chan_event ev = {
		.type = CHAN_EV_COMP,
		.kind = ELEM_CQ,
		.handle = (u32)(cq - e->hca->cq),
		.gen = cq->gen,
	};

	chan_push(e, cq->client, cq->chan - 1, &ev);
}

void cq_event_fire(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq)
{
	struct cq_ctl *ctl = seg_ptr(seg, cq->ring);
	struct hca_commit *c = &e->hca->commit;

	/* Until the end the record says that the client waits for an event (engine/redo.c). */
	c->event_prod = load_relaxed(&seg->chan[cq->chan - 1].prod);
	store_between(&c->event_cq, (u32)(cq - e->hca->cq) + 1);
	cq->mod_seen = 0;
	cq->mod_deadline = 0;
	if (exchange(&ctl->armed, CQ_ARM_NONE) != CQ_ARM_NONE) {
		cq->told = cq->prod;
		cq_event_push(e, cq);
	}
	store_between(&c->event_cq, 0);
}

static bool cq_is_moderated(const struct hca_cq *cq)
{
	return cq->mod_count | cq->mod_period;
}

void cq_event_pending(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq)
{
	struct cq_ctl *ctl = seg_ptr(seg, cq->ring);
	u32 armed = load_acquire(&ctl->armed), next = load_acquire(&ctl->cons);

	if (armed == CQ_ARM_NONE || cq->prod - next > cq->depth)
		return;
	if (cq->told - next <= cq->prod - next)
		next = cq->told;
	if (next == cq->prod)
		return;
	if (armed == CQ_ARM_SOLICITED && cq->solicited - next - 1 >= cq->prod - next)
		return;
	if (cq_is_moderated(cq) && !cq_mod_count_entry(e, cq))
		return;
	cq_event_fire(e, seg, cq);
	cq->told = next + 1;
}

void cq_notify(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq, bool solicited)
{
	struct cq_ctl *ctl = seg_ptr(seg, cq->ring);
	u32 armed;

	if (solicited)
		cq->solicited = cq->prod;
	/* Publish the entry before reading the arming: pairs with the client's arm, then poll. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	armed = load_relaxed(&ctl->armed);
	if (armed == CQ_ARM_NONE || (armed == CQ_ARM_SOLICITED && !solicited))
		return;
	if (likely(!cq_is_moderated(cq)) || cq_mod_count_entry(e, cq))
		cq_event_fire(e, seg, cq);
}

void cq_event_redo(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq)
{
	/*
	 * Leave the arming alone: it may be the next one already. For an event that was queued,
	 * chan_push() has recorded the owner.
	 */
	if (load_relaxed(&seg->chan[cq->chan - 1].prod) == e->hca->commit.event_prod)
		cq_event_push(e, cq);
}

static void cq_raise_overrun(struct engine *e, struct hca_cq *cq)
{
	u32 index = (u32)(cq - e->hca->cq);
	struct chan_event ev = {
		.type = EV_CQ_ERR,
		.kind = ELEM_CQ,
		.handle = index,
		.gen = cq->gen,
	};

	/* A client that ignores overruns has to keep room itself: further entries are lost. */
	if (cq->overrun || cq->ignore_overrun)
		return;
	journal_client(e, cq->client, cq->dev, JRN_EVENT, EV_CQ_ERR, CAUSE_CQ_OVERRUN, index);
	chan_push(e, cq->client, cq->async_chan, &ev);
	cq->overrun = 1;
}

void cq_entry_lost(struct engine *e, struct hca_qp *qp, const struct hca_cq *cq)
{
	if (!cq->ignore_overrun && qp->state != QPS_ERR)
		qp_event_raise(e, qp, EV_QP_FATAL, CAUSE_CQ_OVERRUN, (u32)(cq - e->hca->cq));
}

bool cq_make_room(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq)
{
	const struct cq_ctl *ctl = seg_ptr(seg, cq->ring);
	u32 cons = load_acquire(&ctl->cons);

	if (cq->prod - cons <= cq->depth)
		cq->cons = cons;
	if (cq->prod - cq->cons < cq->depth)
		return true;
	cq_raise_overrun(e, cq);
	return false;
}

bool cq_has_room(struct seg_hdr *seg, const struct hca_cq *cq)
{
	const struct cq_ctl *ctl = seg_ptr(seg, cq->ring);

	return !cq->overrun && cq->prod - load_acquire(&ctl->cons) < cq->depth;
}
