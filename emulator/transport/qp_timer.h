/* SPDX-License-Identifier: MIT */
/**
 * DOC: the one timer of a QP. See qp_timer.c.
 */
#ifndef EMULATOR_TRANSPORT_QP_TIMER_H
#define EMULATOR_TRANSPORT_QP_TIMER_H

#include "emulator/deadline.h"
#include "emulator/engine.h"
#include "emulator/qp.h"

/** qp_timer_arm() - (re)arm the QP's one timer; 0 disarms. */
static inline void qp_timer_arm(struct engine *e, struct hca_qp *qp, u64 deadline)
{
	qp->deadline = deadline;
	deadline_set(e, e->hca->timer_bits, e->hca->timer_sum, qp_slot(qp), deadline);
}

/* --- qp_timer.c --- */

/** qp_timers() - run the timers of QPs that are due. Return: the next deadline, or ~0. */
u64 qp_timers(struct engine *e, u64 now);

#endif
