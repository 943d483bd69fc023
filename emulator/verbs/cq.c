/* SPDX-License-Identifier: MIT */
/**
 * DOC: completion queues: creation, resizing, moderation settings, destruction. Entries and events
 * are in queue/cq.c.
 */
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/queue/cq.h"
#include "emulator/ring.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

struct hca_cq *own_cq(struct hca *hca, u32 client, u32 handle)
{
	return tab_owned(hca, TAB_CQ, client, handle);
}

static int cq_ring_check(struct engine *e, u32 client, const struct cmd_cq *c, u32 max_cqe)
{
	if (!c->depth || (c->depth & (c->depth - 1)) || c->depth / 2 >= max_cqe)
		return -EINVAL;
	return seg_ring_check(e, client, c->ring, CQ_HDR + (u64)c->depth * sizeof(struct cqe));
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
	if (c->ts_format >= TS_FORMATS ||
	    (c->ts_format == TS_REAL_TIME && !lim_of(hca, c->dev)->real_time_ts))
		return -EINVAL;
	i = cq_ring_check(e, client, c, lim_of(hca, c->dev)->max_cqe);
	if (i)
		return i;
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
	cq->ts_format = c->ts_format;
	cq->ignore_overrun = c->ignore_overrun;
	tab_own(hca, TAB_CQ, (u32)i, client, c->dev);
	cmd->handle = (u32)i;
	cmd->cq.gen = gen;
	return 0;
}

/* The number of an entry when entry @cons gets 0; 0 unless it is one of the @n from there. */
static u32 cq_renumber(u32 entry, u32 cons, u32 n)
{
	return entry - cons <= n ? entry - cons : 0;
}

/* Entries in the old ring move to the new one and are numbered from the start. */
int cmd_resize_cq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cq *cq = own_cq(e->hca, client, cmd->handle);
	const struct cmd_cq *c = &cmd->cq;
	struct cqe *from, *to;
	struct cq_ctl *ctl, *new_ctl;
	struct seg_hdr *seg;
	u32 cons, n, i;
	int ret;

	if (!cq)
		return -EINVAL;
	ret = cq_ring_check(e, client, c, lim_of(e->hca, cq->dev)->max_cqe);
	if (ret)
		return ret;
	seg = e->ops->seg(e->ctx, client); /* after the check: it may have been mapped anew */
	if (!seg)
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
	cq->told = cq_renumber(cq->told, cons, n);
	cq->solicited = cq_renumber(cq->solicited, cons, n);
	cq->ring = c->ring;
	cq->depth = c->depth;
	cq->prod = n;
	cq->cons = 0;
	return 0;
}

int cmd_notify_cq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cq *cq = own_cq(e->hca, client, cmd->handle);
	struct seg_hdr *seg = seg_of(e, client + 1);

	if (!cq || !seg)
		return -EINVAL;
	if (cq->chan && lim_of(e->hca, cq->dev)->arm_pending)
		cq_event_pending(e, seg, cq);
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

int cmd_modify_cq(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cq *cq = own_cq(e->hca, client, cmd->handle);
	const struct cmd_cq *c = &cmd->cq;
	struct seg_hdr *seg = seg_of(e, client + 1);

	if (!cq || !seg || c->mod_count > LIM_CQ_COUNT || c->mod_period > LIM_CQ_PERIOD)
		return -EINVAL;
	cq->mod_count = c->mod_count;
	cq->mod_period = c->mod_period;
	cq->mod_deadline = 0;
	if (!cq->mod_seen)
		return 0;
	/* Entries are pending: the new settings apply to them. */
	if (cq->mod_count ? cq->mod_seen >= cq->mod_count : !cq->mod_period)
		cq_event_fire(e, seg, cq);
	else if (cq->mod_period)
		cq_mod_timer_arm(e, cq);
	return 0;
}
