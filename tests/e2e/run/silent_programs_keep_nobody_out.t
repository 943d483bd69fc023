#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a fabric of its own
# A program of an isolated fabric that has all connections that it may have, and says nothing, gets another one: its
# oldest ends. Programs that together take all connections of a fabric keep no other program out.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
export RDMAEMU_FABRIC=silent
trap 'exec 9>&-; "$R" fabric stop >/dev/null 2>&1' EXIT
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 10000 ] || skip_all "too few descriptors"
check "an isolated fabric" "$R" fabric start --isolated

# Nine processes connect 1,100 times each. One may have 1,024 connections, and all together 8,192. They live until this
# shell closes the pipe.
mkfifo "$TEST_DIR/end"
exec 9<>"$TEST_DIR/end"
"$R" run --node c -- "$T/app_device_silent" 9 1100 >"$TEST_DIR/out" 2>&1 <"$TEST_DIR/end" 9>&- &
pid=$!
have_said() {
	[ "$(grep -c 'ok' "$TEST_DIR/out")" = 18 ]
}
check "they connect" wait_for 60 have_said
is "the last connection of each is answered, the first has ended" "$(grep -c '^ok' "$TEST_DIR/out")" 18 || cat "$TEST_DIR/out"
check "another program works" limit "$R" run --node b -- "$T/app_qp_stress" 2 10
check "and the fabric answers" limit "$R" status
exec 9>&-
wait $pid
is "the silent ones end" $? 0
done_testing
