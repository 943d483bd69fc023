/* SPDX-License-Identifier: MIT */
/**
 * DOC: all timers of the HCA: run by the fabric process when the earliest deadline has passed.
 */
#include "emulator/cm/model.h"
#include "emulator/engine.h"
#include "emulator/queue/cq.h"
#include "emulator/transport/qp_timer.h"

u64 engine_timers(struct engine *e)
{
	struct hca *hca = e->hca;
	u64 now = e->ops->now(e->ctx);
	u64 next, mads;

	if (load_relaxed(&hca->next_deadline) > now)
		return hca->next_deadline;
	hca->next_deadline = ~0ULL;
	mads = cm_send_deferred(e);
	next = qp_timers(e, now);
	next = min_u64(next, mads);
	next = min_u64(next, cq_mod_timers(e, now));
	next = min_u64(next, cm_timers(e, now));
	next = min_u64(next, cm_event_timers(e, now));
	hca->next_deadline = min_u64(hca->next_deadline, next);
	return hca->next_deadline;
}
