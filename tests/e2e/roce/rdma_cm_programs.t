#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 10
# waits
# settings: one: two fabrics of its own
# Programs that connect by the rdma_cm reach those of another fabric by RoCE v2.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need mckey rping udaddy ucmatose rdma_server ibv_devinfo
roce_netns

check "A has a wire" on_a fabric start --roce veth0
check "B has a wire" on_b fabric start --roce veth1

# Connection management takes a CA GUID for one device.
guids_differ() {
	local a b
	a=$(on_a run -- ibv_devinfo | grep node_guid | head -n 1) && b=$(on_b run -- ibv_devinfo | grep node_guid | head -n 1)
	[ -n "$a" ] && [ -n "$b" ] && [ "$a" != "$b" ] || { echo "$a $b"; return 1; }
}
check "their devices have different GUIDs" guids_differ

addr=192.0.2.1
check "rping" cm_across "rping -s -a $addr -S 5000" "rping -c -a $addr -C 50 -V -S 5000"
check "rping, bound to an address" cm_across "rping -s -a $addr" "rping -c -a $addr -I 192.0.2.2 -C 10 -V"
check "udaddy" cm_across "udaddy -b $addr -S 500" "udaddy -s $addr -S 500"
check "ucmatose" cm_across "ucmatose -b $addr -S 5000" "ucmatose -s $addr -S 5000"
check "rdma_server" cm_across "rdma_server -s $addr" "rdma_client -s $addr"
check "data of all sizes" cm_across "$T/app_cm_sizes serve $addr 7471" "$T/app_cm_sizes call $addr 7471"

# The other way round: B's programs are reached by A's.
other_way() {
	local server ret=0
	on_b run -- rping -s -a 192.0.2.2 -C 10 -V >"$TEST_DIR/server.out" 2>&1 &
	server=$!
	SERVER_ON=on_b wait_for 20 cm_listens
	on_a run -- rping -c -a 192.0.2.2 -C 10 -V >"$TEST_DIR/client.out" 2>&1 || ret=$?
	did_well $ret "$TEST_DIR/client.out" || { cat "$TEST_DIR/client.out"; kill $server; return 1; }
	wait $server || did_well $? "$TEST_DIR/server.out"
}
check "rping from A to B" other_way

# mckey joins by the rdma_cm; the fabric process joins the group of IP.
has_group() {
	[ "$(on_a status --json | json "'239.1.2.3' in d['wires'][0]['groups']")" = "$1" ]
}
check "mckey receives what the other fabric sends to the group" mckey_across 239.1.2.3 192.0.2.1 192.0.2.2
check "and the group is left" wait_for 20 has_group False

refused() {
	local out
	! out=$(on_b run -- rping -c -a 192.0.2.1 -C 1 2>&1) && [[ $out == *REJECTED* || $out == *"event 8"* ]] ||
		{ echo "$out"; return 1; }
}
check "a request for which nobody listens is rejected" refused
check "all datagrams were good" wires_have_lost_nothing
check "the tables of A are consistent" on_a status --audit
check "and those of B" on_b status --audit
done_testing
