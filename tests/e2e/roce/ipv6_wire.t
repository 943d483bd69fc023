#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 5
# waits
# settings: one: two fabrics of its own
# A wire may have an IPv6 address, beside one of IPv4.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ibv_rc_pingpong ib_write_bw mckey rping
roce_netns

check "A has wires at both addresses of an interface" on_a fabric start --roce veth0,2001:db8::1
check "B has, too" on_b fabric start --roce 192.0.2.2,2001:db8::2 --roce-peers 192.0.2.1,2001:db8::/64

GID6=$(gid_of on_a 2001:db8::1)
is "the address is a GID" "$GID6" "$(gid_of on_b 2001:db8::2)"
OOB=192.0.2.1
check "ibv_rc_pingpong" across ibv_rc_pingpong -g "$GID6" -n 100 -s 20000 -c
check "ibv_ud_pingpong" across ibv_ud_pingpong -g "$GID6" -n 100 -c
check "ib_write_bw" across ib_write_bw -x "$GID6" -n 50 -s 65536
check "ib_read_bw" across ib_read_bw -x "$GID6" -n 50 -s 65536
if can_compare_captures; then
	check "captures can see each packet" frames_are_finished
	SENDER=2001:db8::1
	check "a capture of WRITEs is what the interface carries" steady captured across_once ib_write_bw -x "$GID6" -s 100001 -n 5
	check "and one of READs" steady captured across_once ib_read_bw -x "$GID6" -s 10000 -n 5
	check "and one of datagrams" steady captured across_once ibv_ud_pingpong -g "$GID6" -n 20
else
	skip "a capture is what the interface carries" "dumpcap, editcap and tshark are not installed"
fi
check "rping" cm_across "rping -s -a 2001:db8::1" "rping -c -a 2001:db8::1 -C 10 -V"
check "IPv4 at the same time" across ibv_rc_pingpong -g 1 -n 100 -c

# has_group SIDE GROUP True|False - whether the fabric's second wire, which is IPv6's, has joined it
has_group() {
	[ "$("$1" status --json | json "'$2' in d['wires'][1]['groups']")" = "$3" ]
}
# Of any scope beyond the interface; that of a link needs the interface's index.
for group in ff0e::1:2:3 ff05::101 ff02::4:5; do
	check "mckey receives what the other fabric sends to $group" mckey_across $group 2001:db8::1 2001:db8::2
	check "and the group is left" wait_for 20 has_group on_a $group False
done
check "all datagrams were good" wires_have_lost_nothing
v6_only() {
	on_a status --json | json "all(w['received'] > 50 for w in d['wires'])" | grep -q True
}
check "each wire has had its part" v6_only
done_testing
