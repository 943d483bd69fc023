#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 10
# waits
# settings: one: two fabrics of its own
# A connection leaves by the wire nearest to its destination, also when the fabric has met that host before.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need rping
roce_netns

FAR=100.64.0.1
# Its GID comes before the other one, as the addresses of the interface do.
far_address() {
	"${IN_PEER[@]}" ip addr del 192.0.2.2/24 dev veth1 && "${IN_PEER[@]}" ip addr add $FAR/24 dev veth1 &&
		"${IN_PEER[@]}" ip addr add 192.0.2.2/24 dev veth1 && ip route add $FAR via 192.0.2.2
}
check "B's host has two addresses" far_address
check "A has a wire" on_a fabric start --roce 192.0.2.1
check "B has two, first the one that is not in A's network" on_b fabric start --roce $FAR,192.0.2.2

for time in first second third; do
	check "rping, the $time time" cm_across "rping -s -a 192.0.2.1 -S 500" "rping -c -a 192.0.2.1 -C 5 -V -S 500"
done
sent() {
	on_b status --json | json "[w['sent'] for w in d['wires'] if w['address'] == '$1'][0]"
}
is "nothing has left by the other wire" "$(sent $FAR)" 0
check "the packets have left by the nearest" [ "$(sent 192.0.2.2)" -gt 20 ]
check "all datagrams were good" wires_have_lost_nothing
done_testing
