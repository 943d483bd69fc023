/* SPDX-License-Identifier: MIT */
/** DOC: how long an unused fabric stays. */
#ifndef FABRIC_SERVER_IDLE_H
#define FABRIC_SERVER_IDLE_H

#include "fabric/core/fabric.h"

/** struct idle - when an unused fabric leaves. All times are real time. */
struct idle {
	u64 ns; /* how long it stays unused; NEVER: until it is stopped */
	u64 leave_at; /* when it leaves if it stays unused, or NEVER */
	bool used; /* a process has used it */
	bool keep; /* `fabric start` has started it: later runs use it, too */
	bool set_up; /* a command has changed it since it had programs last */
	bool left;
	int lock; /* held while it leaves, else -1 */
};

/** idle_update() - a client, lease or connection came or went: set the time to leave. */
void idle_update(struct fabric *f);
/**
 * idle_lock() - take the fabric's lock, to leave. Return: false: another process has it, retry
 * later.
 */
bool idle_lock(struct fabric *f);
/** idle_unlock() - stay: drop the lock. */
void idle_unlock(struct fabric *f);

#endif
