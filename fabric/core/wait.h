/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs that wait for something outside the engine: a helper thread, credit of another
 * fabric.
 *
 * A callback of the engine that cannot continue adds the QP that runs and returns -EAGAIN. The
 * module that provides what they may wait for rings all of them; each retries, and waits again if
 * it was not for it.
 */
#ifndef FABRIC_CORE_WAIT_H
#define FABRIC_CORE_WAIT_H

#include "emulator/limits.h"
#include "emulator/types.h"

struct fabric;

/** struct waiters - QPs that wait. */
struct waiters {
	u64 slot[HCA_MAX_QP / 64]; /* a bit per QP slot */
	u32 n;
	bool rung; /* some can continue: this process serves them itself */
};

/**
 * wait_add_current() - let wait_ring_all() ring the QP that runs. A flow of the links retries by
 * itself.
 */
void wait_add_current(struct fabric *f);
/** wait_ring_all() - ring all QPs: what they wait for may have come. */
void wait_ring_all(struct fabric *f);

#endif
