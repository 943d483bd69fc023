/* SPDX-License-Identifier: MIT */
/** DOC: engine work of the fabric process: what needs the token. See work.c. */
#ifndef FABRIC_SERVER_WORK_H
#define FABRIC_SERVER_WORK_H

#include "fabric/core/fabric.h"

/** struct work - when the engine is entered, and who is in it. All times are real time. */
struct work {
	u64 retry_at; /* the token was busy: try again then; 0: it was not */
	u64 backoff_ns; /* the next wait for it */
	u64 busy_token; /* who had it */
	u64 busy_since;
	bool busy_noted; /* a note says that this holder is stopped */
	u64 pending_at; /* when doorbells that others should serve become ours, or NEVER */
	u64 served; /* hca->served when that was set */
	u64 active_at; /* when there was last something to do for isolated clients */
	u32 late_turns; /* so often there was too much to deliver for deadlines to be checked */
};

/* --- work.c --- */

/** work_run() - do what needs the token and is due. Return: when to come back (ns, or NEVER). */
u64 work_run(struct fabric *f);
/** work_deadline() - fabric time at which something is due next, ~0: nothing. */
u64 work_deadline(const struct fabric *f);
/** work_is_quiet() - whether the engine has nothing to do until then. */
bool work_is_quiet(struct fabric *f);
/**
 * work_prepare_sleep() - the loop is going to sleep until *next: from now on doorbells of paths with @via kick it.
 * *next becomes sooner when some are there already.
 */
void work_prepare_sleep(struct fabric *f, u64 *next);

/* --- isolated.c --- */

/** isolated_has_work() - collect doorbells of isolated clients. Return: whether there is work. */
bool isolated_has_work(struct fabric *f);
/** isolated_commands() - execute commands that were posted. Token held. */
void isolated_commands(struct fabric *f);

#endif
