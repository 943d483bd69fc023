/* SPDX-License-Identifier: MIT */
/**
 * DOC: asynchronous and completion events: from the engine to a client's channel.
 *
 * An event is an entry of the channel's ring in the client's segment and one count of its eventfd.
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/queue/event.h"
#include "emulator/ring.h"

void chan_wake(struct engine *e, u32 owner, u32 chan)
{
	struct hca_commit *c = &e->hca->commit;

	if (!seg_of(e, owner) || chan >= SEG_MAX_CHANS)
		return;
	c->wake_chan = chan;
	store_release(&c->wake, owner);
	e->ops->notify(e->ctx, owner - 1, chan);
	store_between(&c->wake, 0);
}

/* Where the events of a channel lie; its client may have written anything there. */
static struct chan_event *chan_events(struct engine *e, u32 owner, const struct chan_ring *r)
{
	u64 off = load_acquire(&r->events);
	struct seg_hdr *seg = seg_claim(e, owner - 1, off, SEG_CHAN_SIZE);

	return seg ? seg_ptr(seg, off) : NULL;
}

void chan_push(struct engine *e, u32 owner, u32 chan, const struct chan_event *ev)
{
	struct seg_hdr *seg = seg_of(e, owner);
	struct hca_commit *c = &e->hca->commit;
	struct chan_event *events;
	struct chan_ring *r;
	u32 prod;

	if (!seg || chan >= SEG_MAX_CHANS)
		return;
	if (unlikely(e->ops->late) && e->ops->late(e->ctx, owner, chan, ev))
		return;
	r = &seg->chan[chan];
	events = chan_events(e, owner, r);
	if (unlikely(!events))
		return;
	prod = load_relaxed(&r->prod);
	/* The ring is full: its reader will be woken thousands of times and check every CQ. */
	if (prod - load_acquire(&r->cons) >= SEG_CHAN_DEPTH)
		return;
	events[prod % SEG_CHAN_DEPTH] = *ev;
	/*
	 * One count per event: the record lets recovery repeat it if the holder dies
	 * (engine/redo.c).
	 */
	c->wake_chan = chan;
	store_between(&c->wake, owner);
	store_between(&r->prod, prod + 1);
	chan_wake(e, owner, chan);
}

/* Every process that has a target QP open gets its events, with its own handle for the QP. */
static void qp_event_push(struct engine *e, const struct hca_qp *qp, u32 event)
{
	struct hca *hca = e->hca;
	struct chan_event ev = {
		.type = event,
		.kind = ELEM_QP,
		.handle = qp_slot(qp),
		.gen = qp->qpn,
	};
	u32 slot = ev.handle, i;
	bool adopted = false;

	ev.kind = ELEM_OPENED_QP;
	for (i = 1; qp->type == QPT_XRC_RECV && i < hca->tab[TAB_REF].high; i++) {
		const struct hca_ref *r = &hca->ref[i];

		if (!r->client || (r->kind != REF_QP && r->kind != REF_OWNED) || r->index != slot)
			continue;
		ev.handle = i;
		chan_push(e, r->client, r->async_chan, &ev);
		adopted |= r->kind == REF_OWNED;
	}
	ev.kind = ELEM_QP;
	ev.handle = slot;
	if (!adopted)
		chan_push(e, qp->client, qp->async_chan, &ev);
}

void qp_event_raise(struct engine *e, struct hca_qp *qp, u32 event, u32 cause, u32 info)
{
	journal_qp_event(e, qp, event, cause, info);
	qp_event_push(e, qp, event);
}
