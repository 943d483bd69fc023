/* SPDX-License-Identifier: MIT */
/* Work requests that fail on purpose: which rule says so. What then happens is emulator/transport/wc_fault.c's. */
#include "fabric/fault/effects.h"

u32 fault_wr_status(void *ctx, struct hca_work *work)
{
	struct fabric *f = ctx;
	const struct fault_rule *r;

	if (likely(!f->faults->n_on[FAULT_ON_WR]))
		return 0;
	r = fault_match_wr(f, work->qp, work->recv ? WR_RECV : work->opcode, work->wr_id,
			   work->len);
	if (!r)
		return 0;
	work->rule = r->id;
	return r->what.status;
}
