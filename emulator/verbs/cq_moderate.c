/* SPDX-License-Identifier: MIT */
/**
 * DOC: CQ moderation, ibv_modify_cq(3): one event for several completions.
 *
 * It counts the entries for which the client would be woken after it has armed the CQ. The event is
 * sent with the mod_count-th of them, or mod_period after the first, whichever is sooner; either
 * may be unset. Solicited entries and errors are moderated like all others, as ConnectX does.
 *
 * A CQ whose event has a deadline has a bit in mod_bits, which the first scan that finds no
 * deadline clears. Deadline and bit are set before the entry is counted: if the holder dies in
 * between, the fabric process counts once more (commit.c), so the event may come early but is never
 * missing.
 */
#include "emulator/model.h"

static void cq_mod_timer_arm(struct engine *e, struct hca_cq *cq)
{
	struct hca *hca = e->hca;

	if (!cq->mod_deadline)
		cq->mod_deadline = e->host->now(e->ctx) + cq->mod_period * 1000ULL;
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
