#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a fabric of its own
# A member that tells of members that do not exist: where the fabric connects, how often, and how long it remembers.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3

export RDMAEMU
LIMIT=$((100 * SLOW * PATIENCE))
trap 'on_a fabric stop >/dev/null 2>&1' EXIT
port=$(free_port)
echo secret >"$TEST_DIR/token"
check "fabric start" on_a fabric start --listen 127.0.0.1:$port --name alpha --token-file "$TEST_DIR/token"
RDMAEMU_DIR=$TEST_DIR/a limit python3 "$TOP/tests/lib/py/join_liar.py" "$port" "$TEST_DIR/token" >"$TEST_DIR/out" 2>&1 ||
	not_ok "join_liar.py" "$(tail -n 30 "$TEST_DIR/out")"
cat "$TEST_DIR/out"
done_testing
