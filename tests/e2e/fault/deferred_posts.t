#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `defer`: work requests begin later, those after them on their queue wait, and nothing else changes; on emulated
# devices, and on real ones, for which the emulator of an outer run stands.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/real_faults.sh"

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real ARGS... - `rdmaemu run --real` with these
real() {
	emu "$R" run --real "$@"
}

faults_of_deferred_posts emulated
# The library below may look at an address handle when the request is posted, or later.
faults_of_deferred_posts real
for how in chain "chain extended" batch "batch extended" receives; do
	for rule in "defer 1ms" "defer 100ms posts=1 nth=2" "defer 1ms opcode=RECV"; do
		echo "$rule" >rules
		# shellcheck disable=SC2086
		is "real: nothing else changes: $how, $rule" \
			"$(emu "$R" run --real --fresh --scenario rules -- "$T/app_fault_work" $how 2>/dev/null)" \
			"$(emu "$T/app_fault_work" $how)"
	done
done

fails="wc status=RETRY_EXC_ERR opcode=SEND nth=2"
printf '%s\n' "$fails" >fails
printf '%s\n' "defer 1ms" "$fails" >rules
is "real: a deferred one that fails" \
	"$(emu "$R" run --real --fresh --scenario rules --must-fire -- "$T/app_fault_work" chain 2>&1)" \
	"$(limit "$R" run --fresh --scenario fails -- "$T/app_fault_work" chain)"

# --- what cannot be

# refused RULE - the message, from its word on
refused() {
	echo "$1" >rules
	limit "$R" run --fresh --scenario rules -- true 2>&1 | sed "s/^[^']*//"
}

is "emulated devices have late receives" "$(refused "defer 1ms opcode=RECV")" \
	"'opcode=': expected an opcode of sends: on emulated devices \`rnr\` makes receives late"
is "a time is needed" "$(refused "defer posts=2")" "'defer': expected a time after it"
is "packets are not posted" "$(refused "defer 1ms opcode=ACK")" \
	"'opcode=': expected an opcode of work requests as RDMA_WRITE, or RECV"
is "types that do not post it" "$(refused "defer 1ms type=UD opcode=RDMA_READ")" \
	"'opcode=': expected an opcode that queue pairs of these types post"
done_testing
