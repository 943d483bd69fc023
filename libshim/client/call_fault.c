/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls that fail on purpose.
 *
 * The rules are the fabric process's (rdmaemu-faults(7)), which tells each client by bits in its segment
 * which calls a rule is about. Only in those calls it is asked, before they do anything: a call that is
 * made to fail leaves nothing behind, and what a rule counts are calls as the program makes them.
 */
#include "libshim/client/plumbing.h"

const u64 no_fail_calls[SEG_CALL_WORDS];

static __thread bool not_asked __attribute__((tls_model("initial-exec")));

/**
 * rdmaemu_not_counted() - calls of this thread are not the program's until this is false again: whoever stands between looks
 * at devices, and rules are not to count that.
 */
SHIM_EXPORT void rdmaemu_not_counted(bool on)
{
	not_asked = on;
}

bool call_fault_query(enum call_id call, s32 *event)
{
	struct proto_msg m = { .op = PROTO_CALL, .call.id = call };

	if (not_asked)
		return false;
	/* Without a fabric there are no faults either. */
	if (shim_rpc_call(&m, -1, NULL, 0) < 0)
		return false;
	if (event)
		*event = -(s32)m.call.event;
	if (!m.call.err)
		return false;
	errno = (int)m.call.err;
	return true;
}

bool call_fails_early(enum call_id call)
{
	return !shim_client_connect() && call_fails(call);
}
