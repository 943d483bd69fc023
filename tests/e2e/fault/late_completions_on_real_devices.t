#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `cq delay` on real devices: completions come late, in their order, and nothing else changes. The emulator of an outer
# run stands for the real devices.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/real_faults.sh"

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real ARGS... - `rdmaemu run --real` with these
real() {
	emu "$R" run --real "$@"
}

faults_of_late_completions
is "a late one that fails" "$(by_rule real "cq delay 1ms
wc status=RETRY_EXC_ERR opcode=SEND nth=2" "$T/app_fault_work" chain)" \
	"$(echo "wc status=RETRY_EXC_ERR opcode=SEND nth=2" >rules; limit "$R" run --fresh --scenario rules -- "$T/app_fault_work" chain)"

# --- what cannot be

is "emulated devices have late packets" "$(limit "$R" run --fresh --scenario <(echo "cq delay 1ms") -- true 2>&1 | sed 's/^.*: .cq/cq/')" \
	"cq delay': expected delay: on emulated devices packets can be late"
done_testing
