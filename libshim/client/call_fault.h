/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls that a fault rule makes fail, see rdmaemu-faults(7).
 */
#ifndef LIBSHIM_CLIENT_CALL_FAULT_H
#define LIBSHIM_CLIENT_CALL_FAULT_H

#include "fabric/proto/calls.h"
#include "libshim/client/client.h"

/* --- call_fault.c --- */

/**
 * call_fault_query() - ask the fabric process whether a rule hits this call, which has one.
 * @event: as call_fails_with_event(), or NULL
 * Return: true with errno set.
 */
bool call_fault_query(enum call_id call, s32 *event);
/**
 * call_fault_hold() - ask the fabric process for how long completions may be withheld from the CQ
 * with that number. Return: in ns; 0: not at all.
 */
u64 call_fault_hold(u32 cq);
/** call_fails_early() - call_fails() for calls that may be a program's first: connects before. */
bool call_fails_early(enum call_id call);

/**
 * call_has_rule() - whether a rule is about that call. @calls: as seg_hdr.fail_calls; @call: enum
 * call_id, or CALLS_HOLD and so on
 */
static inline bool call_has_rule(const u64 *calls, u32 call)
{
	return unlikely(load_relaxed(&calls[call / 64]) & BIT64(call % 64));
}

/** call_holds() - whether a rule is about completions that can be withheld. */
static inline bool call_holds(void)
{
	return call_has_rule(shim.fail_calls, CALLS_HOLD);
}

/**
 * call_fails() - whether a rule makes a call fail. Every call asks this before it does anything.
 * Return: true with errno set.
 */
static inline bool call_fails(enum call_id call)
{
	return call_has_rule(shim.fail_calls, call) && call_fault_query(call, NULL);
}

/**
 * call_fails_with_event() - the same for a call of the rdma_cm that ends with an event.
 * @event: set to the status that a rule wants in the event; 0: whatever comes
 */
static inline bool call_fails_with_event(enum call_id call, s32 *event)
{
	*event = 0;
	return call_has_rule(shim.fail_calls, call) && call_fault_query(call, event);
}

#endif
