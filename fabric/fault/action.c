/* SPDX-License-Identifier: MIT */
/* The table of actions, and work requests that fail on purpose or late. See action.h. */
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/parse.h"
#include "fabric/fault/table.h"
#include "fabric/core/fabric.h"

static bool action_event_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	if (f->real)
		return fault_real_event_fire(f, r);
	return fault_is_port_event(r->what.event) ? fault_port_event_fire(f, r)
						  : fault_object_event_fire(f, r, p);
}

const struct fault_action fault_actions[FA_COUNT] = {
	[FA_PARTITION] = { .added = fault_partition_added, .removed = fault_partition_removed },
	[FA_HEAL] = { .fire = fault_heal_fire },
	[FA_LINK] = { .fire = fault_link_fire, .removed = fault_link_removed },
	[FA_EVENT] = { .fire = action_event_fire },
	[FA_LIMIT] = { .added = fault_limit_added, .removed = fault_limit_removed },
	[FA_KILL] = { .fire = fault_kill_fire },
	[FA_PAUSE] = { .fire = fault_pause_fire, .removed = fault_pause_removed },
	[FA_RESUME] = { .fire = fault_resume_fire },
};

/* emulator/transport/wc_fault.c completes the work request that fails, and holds one back. */
u32 fault_wr_status(void *ctx, struct hca_work *work)
{
	struct fabric *f = ctx;
	const struct fault_rule *r;

	if (likely(!f->faults->n_on[FAULT_ON_WR]))
		return 0;
	r = fault_match_wr(f, work, FA_DEFER);
	if (r) {
		work->hold_ns = r->what.delay_ns;
		work->hold_posts = r->what.posts;
	}
	r = fault_match_wr(f, work, FA_WC);
	if (!r)
		return 0;
	work->rule = r->id;
	return r->what.status;
}
