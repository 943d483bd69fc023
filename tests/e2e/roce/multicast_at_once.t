#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 2
# settings: one: fabrics of its own
# A queue pair that is attached to a group misses nothing that another host sends from then on.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need mckey
roce_netns

check "a fabric with a wire" on_a fabric start --roce veth0
check "an isolated fabric" on_b fabric start --isolated --roce veth1
check "attached is joined" on_a run -- "$T/app_ud_mcast_at_once" 200 veth0
check "in an isolated fabric, too" on_b run -- "$T/app_ud_mcast_at_once" 200 veth1

# group - what B sends to a group arrives at A, which has only said that it has joined
group() {
	local receiver ret=0
	on_a run -- stdbuf -oL mckey -m 239.1.2.3 -b 192.0.2.1 >"$TEST_DIR/server.out" 2>&1 &
	receiver=$!
	wait_for 20 grep -q "receiving data transfers\|initiating data transfers" "$TEST_DIR/server.out" &&
		on_b run -- mckey -m 239.1.2.3 -b 192.0.2.2 -s >"$TEST_DIR/client.out" 2>&1 || ret=1
	[ $ret = 0 ] || kill $receiver
	wait $receiver && [ $ret = 0 ] && return
	cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
for ((i = 0; i < 5; i++)); do
	check "a datagram that is sent at once arrives" group
done
done_testing
