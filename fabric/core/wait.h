/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs that wait for something outside the engine: a helper thread, credit of another fabric.
 *
 * A host callback that cannot go on adds the QP that runs and returns -EAGAIN. Whoever brings what they may wait
 * for rings all of them; each asks again, and waits again if it was not for it.
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
	bool rung; /* some can go on: this process serves them, and does not leave them to others */
};

/** wait_add_current() - the QP that runs is rung by wait_ring_all(). A flow of the links asks again by itself. */
void wait_add_current(struct fabric *f);
/** wait_ring_all() - what QPs have waited for may have come. */
void wait_ring_all(struct fabric *f);

#endif
