#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# waits
# `run --real --check` finds mistakes with the machine's own devices, here those of an outer run, and nothing in the
# twins: calls, queues, events, buffers, keys, connections, other processes, and habits. QP:CACHE:EXCEEDED has the
# figure of a profile, and a real device has none.
. "$(dirname "$0")/../../lib/lib.sh"

# mistake FILE NAME MISTAKE right|wrong - the names of what is found, on the devices of an outer run
mistake() {
	emu "$RDMAEMU" run --real --check="$2" --check-exit 0 -- "$T/app_check_$1" "$3" "$4" 2>&1 |
		sed -n 's/^rdmaemu: [a-z]* \([A-Z:]*\): .*/\1/p' | sort -u
}

while read -r file name mistake; do
	is "$name: $mistake" "$(mistake "$file" "$name" "$mistake" wrong)" "$name"
	is "$mistake: its twin" "$(mistake "$file" "$name" "$mistake" right)" ""
done <<'END'
seeded QP:DESTROY:OUTSTANDING destroy_outstanding
seeded QP:MODIFY:INVALID modify
seeded QP:SQ:STUCK stuck
seeded WR:LKEY:INVALID lkey_stale
events CQ:NOTIFY:LOST notify_lost
buffers WR:BUFFER:WRITTEN written
requests WR:ATOMIC:ALIGN atomic
requests WR:FENCE:MISSING no_fence
identifiers ID:ACCEPT:DEPTH depth
processes OBJECT:FORK:CHILD fork_child
processes QP:READS:PEER process_reads
seeded OBJECT:DESTROY:BUSY busy_window
seeded MR:RIGHTS:UNUSED rights
states QP:GID:PEER gid_type
states QP:MODIFY:INVALID gid_family
states WC:FIELD:UNDEFINED field_read
requests WR:RECEIVE:TIGHT tight
buffers WR:BUFFER:EARLY receive_early
buffers WR:BUFFER:EARLY shared_receive
polled WR:WRITE:POLLED shared_byte
performance QP:SIGNAL:EACH signal_each
END
done_testing
