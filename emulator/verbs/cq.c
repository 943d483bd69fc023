/* SPDX-License-Identifier: MIT */
/**
 * DOC: completion queues and event channels.
 *
 * An entry is written in two steps: cq_reserve() returns the slot, the commit stores its sequence
 * number. The ring belongs to the client: its consumer index is used only if it is plausible.
 */
#include "emulator/model.h"

struct hca_cq *own_cq(struct hca *hca, u32 client, u32 handle)
{
	return tab_owned(hca, TAB_CQ, client, handle);
}

void chan_wake(struct engine *e, u32 owner, u32 chan)
{
	struct hca_commit *c = &e->hca->commit;

	if (!seg_of(e, owner) || chan >= SEG_MAX_CHANS)
		return;
	c->wake_chan = chan;
	store_release(&c->wake, owner);
	e->host->notify(e->ctx, owner - 1, chan);
	store_release(&c->wake, 0);
}

void chan_push(struct engine *e, u32 owner, u32 chan, const struct chan_event *ev)
{
	struct seg_hdr *seg = seg_of(e, owner);
	struct hca_commit *c = &e->hca->commit;
	struct chan_ring *r;
	u32 prod;

	if (!seg || chan >= SEG_MAX_CHANS)
		return;
	if (unlikely(e->host->late) && e->host->late(e->ctx, owner, chan, ev))
		return;
	r = &seg->chan[chan];
	prod = load_relaxed(&r->prod);
	/* The ring is full: its reader will be woken thousands of times and check every CQ. */
	if (prod - load_acquire(&r->cons) >= SEG_CHAN_DEPTH)
		return;
	r->ev[prod % SEG_CHAN_DEPTH] = *ev;
	/* One count per event: the record lets recovery repeat it if the holder dies (commit.c). */
	c->wake_chan = chan;
	store_release(&c->wake, owner);
	store_release(&r->prod, prod + 1);
	chan_wake(e, owner, chan);
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

	/* Until the end the record says that the client waits for an event (commit.c). */
	c->event_prod = load_relaxed(&seg->chan[cq->chan - 1].prod);
	store_release(&c->event_cq, (u32)(cq - e->hca->cq) + 1);
	cq->mod_seen = 0;
	cq->mod_deadline = 0;
	if (exchange(&ctl->armed, CQ_ARM_NONE) != CQ_ARM_NONE)
		cq_event_push(e, cq);
	store_release(&c->event_cq, 0);
}

void cq_notify(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq, bool solicited)
{
	struct cq_ctl *ctl = seg_ptr(seg, cq->ring);
	u32 armed;

	/* Publish the entry before reading the arming: pairs with the client's arm, then poll. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	armed = load_relaxed(&ctl->armed);
	if (armed == CQ_ARM_NONE || (armed == CQ_ARM_SOLICITED && !solicited))
		return;
	if (likely(!(cq->mod_count | cq->mod_period)) || cq_mod_count_entry(e, cq))
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

static int cq_ring_check(const struct cmd_cq *c, u32 max_cqe)
{
	if (!c->depth || (c->depth & (c->depth - 1)) || c->depth / 2 >= max_cqe)
		return -EINVAL;
	if (!seg_range_ok(c->ring, CQ_HDR + (u64)c->depth * sizeof(struct cqe)))
		return -EINVAL;
	return 0;
}

int cmd_create_cq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	const struct cmd_cq *c = &cmd->cq;
	struct hca_cq *cq;
	u32 gen;
	int i;

	if (c->chan > SEG_MAX_CHANS || c->async_chan >= SEG_MAX_CHANS ||
	    !own_dev(hca, client, c->dev))
		return -EINVAL;
	if (cq_ring_check(c, lim_of(hca, c->dev)->max_cqe))
		return -EINVAL;
	i = tab_find(hca, TAB_CQ, c->dev, lim_of(hca, c->dev)->max_cq);
	if (i < 0)
		return i;
	cq = &hca->cq[i];
	gen = cq->gen + 1;
	memset(cq, 0, sizeof(*cq));
	cq->gen = gen;
	cq->depth = c->depth;
	cq->ring = c->ring;
	cq->chan = c->chan;
	cq->async_chan = c->async_chan;
	cq->want_ts = c->want_ts;
	cq->ignore_overrun = c->ignore_overrun;
	tab_own(hca, TAB_CQ, (u32)i, client, c->dev);
	cmd->handle = (u32)i;
	cmd->cq.gen = gen;
	return 0;
}

/* Entries in the old ring move to the new one and are numbered from the start. */
int cmd_resize_cq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cq *cq = own_cq(e->hca, client, cmd->handle);
	struct seg_hdr *seg = e->host->seg(e->ctx, client);
	const struct cmd_cq *c = &cmd->cq;
	struct cqe *from, *to;
	struct cq_ctl *ctl, *new_ctl;
	u32 cons, n, i;

	if (!cq || !seg || cq_ring_check(c, lim_of(e->hca, cq->dev)->max_cqe))
		return -EINVAL;
	ctl = seg_ptr(seg, cq->ring);
	cons = load_acquire(&ctl->cons);
	n = cq->prod - cons;
	if (n > cq->depth || n > c->depth)
		return -EINVAL;
	from = seg_ptr(seg, cq->ring + CQ_HDR);
	to = seg_ptr(seg, c->ring + CQ_HDR);
	for (i = 0; i < n; i++) {
		to[i] = from[(cons + i) & (cq->depth - 1)];
		to[i].seq = i + 1;
	}
	new_ctl = seg_ptr(seg, c->ring);
	new_ctl->cons = 0;
	new_ctl->armed = exchange(&ctl->armed, CQ_ARM_NONE);
	cq->ring = c->ring;
	cq->depth = c->depth;
	cq->prod = n;
	cq->cons = 0;
	return 0;
}

int cmd_destroy_cq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cq *cq = own_cq(e->hca, client, cmd->handle);

	if (!cq)
		return -EINVAL;
	if (cq->refs)
		return -EBUSY;
	tab_free(e->hca, TAB_CQ, cmd->handle);
	return 0;
}
