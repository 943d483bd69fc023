/* SPDX-License-Identifier: MIT */
/* What carries out each action of a fault rule. See fault.h. */
#include "fabric/faultback.h"
#include "fabric/fabric.h"

static int event_check(const struct fabric *f, const struct fault_rule *r, struct fault_bad *bad)
{
	(void)f;
	return fault_is_port_event(r->what.event)
		       ? 0
		       : fault_refuse(bad, fault_event_name(r->what.event), "an event of a port");
}

static bool event_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	(void)p;
	return fault_port_event(f, r);
}

const struct fault_backend fault_backends[FA_COUNT] = {
	[FA_PARTITION] = { .there = true,
			   .added = fault_partition_added,
			   .removed = fault_partition_removed },
	[FA_HEAL] = { .there = true, .fire = fault_heal_fire },
	[FA_LINK] = { .there = true, .fire = fault_link_fire, .removed = fault_link_removed },
	[FA_EVENT] = { .there = true, .check = event_check, .fire = event_fire },
};
