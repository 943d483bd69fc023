#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: programs of fabrics of its own
# A program of an isolated fabric gets no segment, no event channel, no helper and no memory file of another one, and
# the HCA's memory is not in its address space. In a direct fabric it gets what it asks for.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; "$R" fabric stop --fabric apart >/dev/null 2>&1' EXIT
check "an isolated fabric" "$R" fabric start --isolated --fabric apart
for fabric in apart direct; do
	"$R" run --fabric $fabric -- "$T/app_device_counting" "$TEST_DIR/$fabric" >/dev/null 2>&1 </dev/null &
	pids+=($!)
	check "$fabric: a program" wait_for 60 test -s "$TEST_DIR/$fabric"
done
check "isolated: nothing of it is given away" limit "$R" run --fabric apart -- "$T/app_device_peers" 1
out=$(limit "$R" run --fabric direct -- "$T/app_device_peers" 2)
is "direct: its segment and helper are" "$(grep -c '^not ok [1-9][0-9]* requests' <<<"$out")" 1 || echo "$out"
is "it may lend memory" "$(grep -c '^ok a memory file of its own' <<<"$out")" 1 || echo "$out"
is "isolated: the HCA's memory is not mapped" "$(grep -c rdmaemu-hca "/proc/${pids[0]}/maps")" 0
is "direct: it is" $(($(grep -c rdmaemu-hca "/proc/${pids[1]}/maps") > 0)) 1
done_testing
