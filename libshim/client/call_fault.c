/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls that fail on purpose.
 *
 * The fabric process holds the rules (rdmaemu-faults(7)) and sets a bit in each client's segment
 * for every call that a rule names. Those calls ask the fabric process before they do anything
 * else: a call that is made to fail has no side effects, and rules count calls as the program makes
 * them.
 */
#include "libshim/client/call_fault.h"

#include "libshim/client/client.h"
#include "libshim/client/rpc.h"
#include "libshim/interpose/export.h"

static __thread bool not_counted __attribute__((tls_model("initial-exec")));

/**
 * rdmaemu_not_counted() - while @on, calls of this thread are not the program's and no rule counts
 * them: the recorder queries devices.
 */
SHIM_EXPORT void rdmaemu_not_counted(bool on)
{
	not_counted = on;
}

bool call_fault_query(enum call_id call, s32 *event)
{
	struct proto_msg m = { .op = PROTO_CALL, .call.id = call };

	if (not_counted)
		return false;
	/* Without a fabric process no rule applies. */
	if (shim_rpc_call(&m, -1, NULL, 0) < 0)
		return false;
	if (event)
		*event = -(s32)m.call.event;
	if (!m.call.err)
		return false;
	errno = (int)m.call.err;
	return true;
}

u64 call_fault_hold(u32 cq)
{
	struct proto_msg m = { .op = PROTO_HOLD, .hold.cq = cq };

	return not_counted || shim_rpc_call(&m, -1, NULL, 0) < 0 ? 0 : m.hold.ns;
}

bool call_fails_early(enum call_id call)
{
	return !shim_client_connect() && call_fails(call);
}
