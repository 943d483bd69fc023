#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: nodes of one isolated fabric
# A process of an isolated fabric cannot have all clients, nor make all nodes: others still come.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
export RDMAEMU_FABRIC=crowd
trap 'exec 9>&-; "$R" fabric stop >/dev/null 2>&1' EXIT
check "an isolated fabric" "$R" fabric start --isolated
mkfifo "$TEST_DIR/end"
exec 9<>"$TEST_DIR/end"
pids=()
for what in clients nodes; do
	"$R" run --node c -- timeout -k 5 $LIMIT "$T/app_device_crowd" $what 128 >"$TEST_DIR/$what" 2>&1 <"$TEST_DIR/end" 9>&- &
	pids+=($!)
	is_refused() {
		grep -q 'more are refused' "$TEST_DIR/$what"
	}
	check "a process takes what it can: $what" wait_for 60 is_refused
	cat "$TEST_DIR/$what"
	is "but not all" "$(grep -c '^not ok' "$TEST_DIR/$what")" 0
done
has_line() {
	"$R" log | grep -q "process [0-9]* has as many $1 as one process may"
}
check "the log says so: clients" has_line clients
check "the log says so: nodes" has_line nodes
check "another program works, on another node" limit "$R" run --node b -- "$T/app_qp_stress" 2 10
check "and on a new one" limit "$R" run --node late -- true
exec 9>&-
kill "${pids[@]}" 2>/dev/null
wait
check "the fabric process answers" limit "$R" status
done_testing
