/* SPDX-License-Identifier: MIT */
/** DOC: engine work of the fabric process: work that needs the token. See work.c. */
#ifndef FABRIC_SERVER_WORK_H
#define FABRIC_SERVER_WORK_H

#include "fabric/core/fabric.h"

/** struct work - when to enter the engine, and who is in it. All times are real time. */
struct work {
	u64 retry_at; /* the token was busy: retry then; 0: it was not */
	u64 backoff_ns; /* the next wait for it */
	u32 attempts; /* in vain so far */
	struct token_wait queued; /* after several of them */
	u64 busy_token; /* its holder then */
	u64 busy_since;
	bool busy_noted; /* the journal says that this holder is stopped */
	u64 pending_at; /* when doorbells that programs should serve become ours, or NEVER */
	u64 served; /* hca->served when @pending_at was set */
	u64 active_at; /* when isolated clients last had work */
	u32 late_turns; /* turns in a row with too much to deliver to check deadlines */
};

/* --- work.c --- */

/**
 * work_run() - do the work that is due and needs the token. Return: when to come back (ns, or
 * NEVER).
 */
u64 work_run(struct fabric *f);
/**
 * work_try_token() - try once to take the token; after several calls in vain, each of them is a
 * look from a place in the queue. Return: whether it was taken.
 */
bool work_try_token(struct fabric *f);
/** work_deadline() - fabric time of the next deadline; ~0: there is none. */
u64 work_deadline(const struct fabric *f);
/** work_is_quiet() - whether the engine has no work until that deadline. */
bool work_is_quiet(struct fabric *f);
/**
 * work_prepare_sleep() - the loop will sleep until *next: from now on doorbells of paths with @via
 * kick it. *next becomes sooner if some are pending.
 */
void work_prepare_sleep(struct fabric *f, u64 *next);

/* --- isolated.c --- */

/**
 * isolated_work_at() - when isolated clients have work. Return: @now: at once; a later real time:
 * those that have some rest until then; NEVER: none has.
 */
u64 isolated_work_at(const struct fabric *f, u64 now);
/** isolated_serve() - execute commands and serve doorbells, a slice of each process. Token held. */
void isolated_serve(struct fabric *f);

#endif
