#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: nodes of one isolated fabric
# A process of an isolated fabric cannot have all clients: others still come.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
export RDMAEMU_FABRIC=crowd
trap 'exec 9>&-; "$R" fabric stop >/dev/null 2>&1' EXIT
check "an isolated fabric" "$R" fabric start --isolated
mkfifo "$TEST_DIR/end"
exec 9<>"$TEST_DIR/end"
"$R" run --node c -- timeout -k 5 $LIMIT "$T/app_device_crowd" 128 >"$TEST_DIR/out" 2>&1 <"$TEST_DIR/end" 9>&- &
pid=$!
is_refused() {
	grep -q 'more are refused' "$TEST_DIR/out"
}
check "a process takes what it can" wait_for 60 is_refused
cat "$TEST_DIR/out"
is "but not all" "$(grep -c '^not ok' "$TEST_DIR/out")" 0
has_line() {
	"$R" log | grep -q "process [0-9]* has as many clients as one process may"
}
check "the log says so" has_line
check "another program works, on another node" limit "$R" run --node b -- "$T/app_qp_stress" 2 10
check "and on a new one" limit "$R" run --node late -- true
exec 9>&-
kill $pid 2>/dev/null
wait
check "the fabric process answers" limit "$R" status
done_testing
