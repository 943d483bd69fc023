#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes: raw frames stay within a fabric
# Raw Ethernet under fault rules, over links, and with chaos.
. "$(dirname "$0")/../../lib/lib.sh"
export RDMAEMU_LINGER=60000 RDMAEMU_BIN=$RDMAEMU

hits() {
	"$RDMAEMU" fault list --json | json "[r['hits'] for r in d['faults']]"
}

# Frames from one process to another come in order and each once, whatever makes them late.
each_once() {
	local kind
	for kind in '' '--isolated --fabric apart'; do
		export RUN_FLAGS=$kind
		RDMAEMU_FABRIC=$(fabric_name)
		export RDMAEMU_FABRIC
		setting_up || return
		"$RDMAEMU" fabric start $kind >/dev/null
		"$RDMAEMU" fault add 'delay 100us jitter=50us ; rate 100Mbit'
		app app_raw_frames remote
		is "$kind: the rules have hit" "$(hits)" '[400, 400]'
		"$RDMAEMU" fault clear
		"$RDMAEMU" port link delay 200us
		app app_raw_frames remote
		check "$kind: nothing is left" audit_all
	done
	RUN_FLAGS='' RDMAEMU_FABRIC=default
}
each_once

# The journal says which frame, on its way where, and why.
if [ "$SETTING" = one ]; then
	app app_fault_raw
	check "the journal has what was lost" grep -q \
		'app_fault_raw.*RAW_PACKET qp 0x[0-9a-f]* -> node .*SEND_ONLY psn 0x[0-9a-f]*: dropped: by fault rule [f0-9]' \
		<("$RDMAEMU" log -v)
	check "and those for a port that is down" grep -q 'app_fault_raw.*SEND_ONLY.*: dropped: .* port 1 is down' <("$RDMAEMU" log -v)
fi
RUN_FLAGS='--fabric chaos --chaos=3' RDMAEMU_FABRIC=chaos
export RUN_FLAGS RDMAEMU_FABRIC
app app_raw_frames remote
RUN_FLAGS='--fabric helped' RUN_BY=$T/sys_noptrace RDMAEMU_FABRIC=helped
setting_up
limit $RUN_BY "$RDMAEMU" fabric start >/dev/null 2>&1
"$RDMAEMU" fault add 'delay 100us'
app app_raw_frames remote
is "with a helper: the rule has hit" "$(hits)" '[400]'
check "nothing is left" audit_all
: >"$TEST_DIR/crossed"
done_testing
