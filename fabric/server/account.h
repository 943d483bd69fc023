/* SPDX-License-Identifier: MIT */
/**
 * DOC: what each process takes of an isolated fabric. See account.c for the theory of operation.
 */
#ifndef FABRIC_SERVER_ACCOUNT_H
#define FABRIC_SERVER_ACCOUNT_H

#include "emulator/types.h"

/**
 * struct account - what one process takes of the fabric process. Times are real time, in ns.
 * @pid: not above 0: all processes of a node that are in PID namespaces which the fabric process
 *	cannot see: account_unseen()
 * @refs: connections and clients that name it
 * @conns, @clients: that the process has
 * @turn: turn of the loop in which it was last served; @used: its time in that turn
 * @from: the client that is served first in its next turn
 * @period: period in which it last took time
 * @slow_until: until then its time is measured as CPU time
 * @rest_until: until then it is not served
 */
struct account {
	s32 pid;
	u32 refs;
	u32 conns, clients;
	u32 from;
	u64 turn, used;
	u64 period;
	u64 slow_until;
	u64 rest_until;
	bool noted; /* the log says that it has reached a limit */
	struct account *next;
};

#define ACCOUNT_BUCKETS 256u

/**
 * struct accounts - all accounts.
 * @turn: number of the loop's turn
 * @are_mixed: several of them were served a moment ago; the loop takes it back
 * @period, @active, @active_before: number of the period; accounts that took time in it, and in the
 *	one before
 * @door: of what is done for processes before they have an account
 * @reaper: of what is done for processes that have ended
 */
struct accounts {
	struct account *bucket[ACCOUNT_BUCKETS];
	struct account door, reaper;
	u64 turn;
	bool are_mixed;
	u64 period;
	u32 active, active_before;
	const struct account *last; /* that was served; only to compare */
	u64 last_at, other_at; /* when, and when another one was */
	u64 unpark_at; /* when an account rests no more that requests or kicks wait for: park.c */
};

/**
 * account_unseen() - in place of a process id: processes whose ids are unknown, and that came by
 * the socket of @node, or -1: by the one for control.
 */
static inline s32 account_unseen(s32 node)
{
	return -node - 1;
}

/** account_get() - the account of a process, with one reference more. Return: NULL: no memory. */
struct account *account_get(struct accounts *t, s32 pid);
/** account_share() - one reference more. @a may be NULL. */
struct account *account_share(struct account *a);
/** account_put() - drop a reference. @a may be NULL. */
void account_put(struct accounts *t, struct account *a);
/** accounts_turn() - the loop begins a turn. */
void accounts_turn(struct accounts *t);
/** accounts_are_many() - whether more than one account takes time. */
bool accounts_are_many(const struct accounts *t);
/** account_may() - whether more may be done for it at @now, in this turn. */
bool account_may(const struct accounts *t, const struct account *a, u64 now);
/** account_begin() - begin to measure what is done for it. Return: for account_end(). */
u64 account_begin(const struct account *a);
/** account_end() - charge what was done since @begin. */
void account_end(struct accounts *t, struct account *a, u64 begin);

#endif
