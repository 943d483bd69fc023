#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a replay makes one fabric
# `rdmaemu replay DIR`: the fabric has the recorded settings, despite today's environment and files; flags override.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_rc_pingpong

# record DIR FLAGS... - a ping-pong's two programs on such a fabric
record() {
	local dir=$TEST_DIR/$1 port server status=0
	shift
	port=$(free_port)
	limit "$RDMAEMU" record -o "$dir" "$@" -- ibv_rc_pingpong -g 0 -n 20 -p "$port" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_listen "$port" $server || return
	limit "$RDMAEMU" record -o "$dir" "$@" -- ibv_rc_pingpong -g 0 -n 20 -p "$port" 127.0.0.1 </dev/null || status=$?
	wait $server || status=$?
	return $status
}

# replays DIR VARIABLE... - with these
replays() {
	local dir=$TEST_DIR/$1
	shift
	check "${dir##*/}: ${*:-nothing}" env "$@" timeout -k 5 "$LIMIT" "$RDMAEMU" replay "$dir"
}

echo "drop opcode=SEND_ONLY" >"$TEST_DIR/lossy"
echo "seed = 77" >"$TEST_DIR/config"
check "recorded" record plain
check "recorded with chaos" record chaos --fabric other --chaos=3
check "recorded in slow time" record slow --fabric slow --time-scale 0.5
for dir in plain chaos slow; do
	replays $dir
	replays $dir RDMAEMU_CHAOS=5
	replays $dir RDMAEMU_CHAOS=random
	replays $dir RDMAEMU_TIME_SCALE=20
	replays $dir RDMAEMU_CLOCK=manual
	replays $dir RDMAEMU_PROFILE=minimal RDMAEMU_SEED=9 RDMAEMU_ISOLATED=1 RDMAEMU_NODE=elsewhere
	replays $dir RDMAEMU_SCENARIO="$TEST_DIR/lossy"
	replays $dir RDMAEMU_SUBNET=10.99.0.0/16 RDMAEMU_NAME=other RDMAEMU_CONFIG="$TEST_DIR/config"
	replays $dir RDMAEMU_JOIN=127.0.0.1:1 RDMAEMU_LISTEN=127.0.0.1:1
done
check "a flag counts" limit "$RDMAEMU" replay --chaos=5 "$TEST_DIR/plain"
sed -i 's/^time-scale .*/time-scale fast/' "$TEST_DIR/slow/trace"
rdmaemu_refuses replay "a scale that is none" 2 "slow/trace: time-scale 'fast': expected a number from 0.001" "$TEST_DIR/slow"
done_testing
