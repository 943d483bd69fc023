#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a replay makes one fabric
# In the record a message raises an event and its post ends only when the CQ has been armed again. In the replay the
# message comes after that arming: one event for two armings, and the replay does not wait for another.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/replay.sh"
need python3

own app_cq_arm_twice
check "a post overlaps the second arming" \
	/usr/bin/python3 "$TOP/tests/lib/py/trace_edit.py" "$TEST_DIR/trace.app_cq_arm_twice" rearm
replays_at_pace() {
	local out
	out=$(limit "$REAL" replay --pace recorded --timeout $((10 * SLOW)) "$TEST_DIR/trace.app_cq_arm_twice" 2>&1) &&
		grep -q ': no divergence$' <<<"$out" && return
	echo "$out"
	return 1
}
check "its message comes after that arming" replays_at_pace
done_testing
