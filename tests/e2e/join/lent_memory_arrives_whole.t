#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# waits
# settings: one: two fabrics of its own
# Two programs on two fabrics lend their memory, which the fabric processes send from and receive into, while they
# exchange messages, WRITEs and READs of up to 1.25 MB, and check each byte: sealed and in the clear, in the open and
# isolated, and with one that lends nothing at the other end.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
own_netns

ip link set lo up
ip addr add 192.0.2.1/32 dev lo
printf 'a shared secret' >"$TEST_DIR/token"
trap 'kill -KILL $serve $call 2>/dev/null; on_b fabric stop >/dev/null 2>&1; on_a fabric stop >/dev/null 2>&1' EXIT

both_start() {
	local port
	port=$(free_port)
	on_a fabric start --listen 192.0.2.1:$port --name alpha --token-file "$TEST_DIR/token" "$@" &&
		on_b fabric start --join 192.0.2.1:$port --name beta --token-file "$TEST_DIR/token" "$@" &&
		on_a run --node na -- true && on_b run --node nb -- true && wait_for 10 knows on_a nb
}

# load_start LEND_A LEND_B - the two programs
load_start() {
	local meet
	meet=$(free_port)
	RDMAEMU_DIR=$TEST_DIR/a RDMAEMU_LEND=$1 "$RDMAEMU" run --node na -- \
		"$T/app_qp_join_load" serve "$meet" 1 20 >"$TEST_DIR/serve" 2>&1 &
	serve=$!
	RDMAEMU_DIR=$TEST_DIR/b RDMAEMU_LEND=$2 "$RDMAEMU" run --node nb -- \
		"$T/app_qp_join_load" call "$meet" 2 20 >"$TEST_DIR/call" 2>&1 &
	call=$!
}

# lent SIDE - megabytes that programs of a side lend
lent() {
	"$1" status --json | json "sum(c['lent']['bytes'] for c in d['clients']) >> 20"
}

# received SIDE BYTES - whether a side has received so many
received() {
	[ "$("$1" status --json | json "sum(m['received']['bytes'] for m in d['members'])")" -gt "$2" ]
}

for how in "--plaintext 1 1" "--plaintext 0 1" "--plaintext 1 0" "'' 1 1" "--isolated 1 1"; do
	eval "set -- $how"
	check "$how: both start" both_start ${1:+"$1"}
	load_start "$2" "$3"
	check "$how: 100 MB come from A" wait_for 60 received on_b 100000000
	check "$how: and from B" wait_for 60 received on_a 100000000
	is "$how: A's program lends its memory, or not" "$(($(lent on_a) > 8))" "$2"
	is "$how: B's program does" "$(($(lent on_b) > 8))" "$3"
	kill -TERM $serve $call
	wait $serve
	is "$how: A's data was right to the end" $? 0
	wait $call
	is "$how: B's data was right to the end" $? 0
	grep -h '^#' "$TEST_DIR/serve" "$TEST_DIR/call" | tail -n 2
	check "$how: B's memory is sound" test "$(on_b status --audit --json | json 'd["audit"]')" = clean
	check "$how: both stop" eval "on_b fabric stop && on_a fabric stop"
done
done_testing
