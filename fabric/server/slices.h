/* SPDX-License-Identifier: MIT */
/** DOC: how the fabric process shares CPUs with the programs that it serves: slices.c. */
#ifndef FABRIC_SERVER_SLICES_H
#define FABRIC_SERVER_SLICES_H

#include "emulator/types.h"

/**
 * struct slices - its slices of CPU time. Times are real time, in ns.
 * @slept_at: when it was asleep last
 * @keep_until: until then it gives its CPU to nobody
 * @are_long: they are as long as those of others
 */
struct slices {
	u64 slept_at;
	u64 keep_until;
	bool are_long;
};

/** slices_begin() - ask for short slices. */
void slices_begin(struct slices *s);
/** slices_waited() - it has waited for events from @from to @to: maybe it was asleep. */
void slices_waited(struct slices *s, u64 from, u64 to);
/** slices_give_way() - several programs want it and a CPU: let others run if it never sleeps. */
void slices_give_way(struct slices *s);

#endif
