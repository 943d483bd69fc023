#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a fabric of its own, and a peer that is played
# Queue pairs that wait for credit of another member continue or end; none waits indefinitely.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3 ibv_rc_pingpong

LIMIT=$((200 * SLOW * PATIENCE))
trap 'on_a fabric stop >/dev/null 2>&1' EXIT
port=$(free_port)
echo secret >"$TEST_DIR/token"
check "fabric start" on_a fabric start --listen 127.0.0.1:$port --name alpha --token-file "$TEST_DIR/token"
on_a run --node na -- true
export RDMAEMU SLOW

for case in ${JOIN_WAITS:-none ask again late}; do
	RDMAEMU_DIR=$TEST_DIR/a limit python3 "$TOP/tests/lib/py/join_waits.py" "$port" "$TEST_DIR/token" $case >"$TEST_DIR/out" 2>&1 ||
		not_ok "join_waits.py $case" "$(tail -n 30 "$TEST_DIR/out"; on_a log | tail -n 20; on_a status)"
	cat "$TEST_DIR/out"
done
check "the HCA's memory is sound" test "$(on_a status --audit --json | json 'd["audit"]')" = clean
done_testing
