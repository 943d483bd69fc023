/* SPDX-License-Identifier: MIT */
/* What carries out each action of a fault rule. See fault.h. */
#include "fabric/fault/action.h"
#include "fabric/fault/effects.h"

static bool action_event_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	return fault_is_port_event(r->what.event) ? fault_port_event_fire(f, r)
						  : fault_object_event_fire(f, r, p);
}

const struct fault_backend fault_backends[FA_COUNT] = {
	/* tx.c */
	[FA_DROP] = { .there = true },
	[FA_CORRUPT] = { .there = true },
	[FA_DUPLICATE] = { .there = true },
	[FA_DELAY] = { .there = true },
	[FA_REORDER] = { .there = true },
	[FA_RATE] = { .there = true },
	/* rx.c */
	[FA_RNR] = { .there = true },
	[FA_NAK] = { .there = true },
	[FA_REJECT] = { .there = true },
	[FA_MRA] = { .there = true },
	/* port.c */
	[FA_PARTITION] = { .there = true,
			   .added = fault_partition_added,
			   .removed = fault_partition_removed },
	[FA_HEAL] = { .there = true, .fire = fault_heal_fire },
	[FA_LINK] = { .there = true, .fire = fault_link_fire, .removed = fault_link_removed },
	[FA_EVENT] = { .there = true, .fire = action_event_fire },
	[FA_FAIL] = { .there = true },
	[FA_WC] = { .there = true },
	[FA_LIMIT] = { .there = true, .added = fault_limit_added, .removed = fault_limit_removed },
	[FA_KILL] = { .there = true, .fire = fault_kill_fire },
	[FA_PAUSE] = { .there = true, .fire = fault_pause_fire, .removed = fault_pause_removed },
	[FA_RESUME] = { .there = true, .fire = fault_resume_fire },
};
