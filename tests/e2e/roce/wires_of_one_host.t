#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 3
# settings: one: fabrics of its own
# Several wires of a fabric: what a group gets arrives once, at the interface that it is sent to.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need mckey rping
roce_netns

more_addresses() {
	ip addr add 192.0.2.3/24 dev veth0 && ip link add veth2 type veth peer name veth3 &&
		ip addr add 198.51.100.1/24 dev veth2 && ip link set veth2 up && ip link set veth3 up
}
check "A's host has two addresses at an interface, and another interface" more_addresses
check "A has wires at all of them" on_a fabric start --roce 192.0.2.1,192.0.2.3,198.51.100.1,2001:db8::1
check "B has one" on_b fabric start --roce 192.0.2.2,2001:db8::2

check "a member at A receives what B sends to its group" mckey_across 239.1.2.3 192.0.2.1 192.0.2.2 -C 50
is "each datagram was received once" "$(wires_of on_a received)" "$(wires_of on_b sent)"
check "the same with IPv6" mckey_across ff0e::1:2:3 2001:db8::1 2001:db8::2 -C 50
is "once, too" "$(wires_of on_a received)" "$(wires_of on_b sent)"
check "the tables are consistent" on_a status --audit

check "A ends" on_a fabric stop
check "one address has one wire, by whatever name" refuses \
	"192.0.2.1 is the address 192.0.2.1, which is there already" --roce veth0,192.0.2.1
check "networks of IPv6 admit no IPv4 address" on_a fabric start --roce 192.0.2.1,2001:db8::1 --roce-peers ::/0
filtered() {
	"${IN_B[@]}" /usr/bin/python3 "$TOP/tests/lib/py/roce_garbage.py" 192.0.2.2 192.0.2.1 20 && wait_for 10 all_filtered
}
all_filtered() {
	[ "$(wires_of on_a filtered)" = 20 ]
}
check "so what comes from one is dropped" filtered
check "others are admitted" cm_across "rping -s -a 2001:db8::1" "rping -c -a 2001:db8::1 -C 5 -V"
done_testing
