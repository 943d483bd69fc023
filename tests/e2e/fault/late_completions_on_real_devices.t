#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `cq delay` on real devices: completions come late, in their order, and nothing else changes. The emulator of an outer
# run stands for the real devices.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real RULE COMMAND... - what it prints on real devices
real() {
	echo "$1" >rules
	emu "$R" run --real --fresh --scenario rules --must-fire -- "${@:2}" 2>&1
}

late="1 2 3 4 late, others in the meantime"
is "the second of four sends" "$(real "cq delay 300ms opcode=SEND nth=2" "$T/app_fault_late")" "$late"
is "the first" "$(real "cq delay 300ms opcode=SEND type=RC nth=1" "$T/app_fault_late")" "$late"
is "all of them" "$(real "cq delay 300ms opcode=SEND size=8" "$T/app_fault_late")" "$late"
is "one of a wr_id" "$(real "cq delay 300ms opcode=SEND wr_id=3" "$T/app_fault_late")" "$late"
is "where a channel says when to poll" "$(real "cq delay 300ms opcode=SEND nth=2" "$T/app_fault_late" channel)" \
	"1 2 3 4 late, the poll has taken the time"
is "a send without a completion does not count" "$(real "cq delay 300ms opcode=SEND nth=1" "$T/app_fault_late" quiet)" \
	"${late#1 }"
is "a queue pair takes its completions with it" "$(real "cq delay 300ms opcode=SEND nth=1" "$T/app_fault_late" destroy)" "0
0"
for how in chain "chain extended" batch "batch extended" receives; do
	# shellcheck disable=SC2086
	is "nothing else changes: $how" "$(real "cq delay 1ms" "$T/app_fault_work" $how)" "$(emu "$T/app_fault_work" $how)"
done
is "a late one that fails" "$(real "cq delay 1ms
wc status=RETRY_EXC_ERR opcode=SEND nth=2" "$T/app_fault_work" chain)" \
	"$(echo "wc status=RETRY_EXC_ERR opcode=SEND nth=2" >rules; limit "$R" run --fresh --scenario rules -- "$T/app_fault_work" chain)"

# --- what cannot be

is "emulated devices have late packets" "$(limit "$R" run --fresh --scenario <(echo "cq delay 1ms") -- true 2>&1 | sed 's/^.*: .cq/cq/')" \
	"cq delay': expected delay: on emulated devices packets can be late"
done_testing
