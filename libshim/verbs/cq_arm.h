/* SPDX-License-Identifier: MIT */
/**
 * DOC: arming a CQ: its own header, so that tests/litmus/commit.c runs it as it is.
 */
#ifndef LIBSHIM_VERBS_CQ_ARM_H
#define LIBSHIM_VERBS_CQ_ARM_H

#include "emulator/seg.h"

/**
 * cq_arm() - ask for an event. @solicited_only: for a solicited entry or an error.
 *
 * Arming is ordered before the polls that follow, and in the engine the entry before the read of
 * the arming (cq_notify()): either the poll sees the entry or the engine the arming.
 */
static inline void cq_arm(struct cq_ctl *ctl, bool solicited_only)
{
	u32 none = CQ_ARM_NONE;

	if (!solicited_only)
		exchange(&ctl->armed, CQ_ARM_ANY);
	else /* an earlier request for any entry stays until it has fired */
		__atomic_compare_exchange_n(&ctl->armed, &none, CQ_ARM_SOLICITED, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	fence_after_atomic();
}

#endif
