#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: two fabrics of its own
# Two fabrics in network namespaces of their own, with a veth between them, speak RoCE v2.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ibv_rc_pingpong ib_send_bw
roce_netns

check "an address of another host is refused" refuses "no RoCE port of this fabric" --roce 192.0.2.9
check "so is an interface that does not exist" refuses "veth9 is no IP address" --roce veth9
check "so is an InfiniBand port" refuses "no RoCE port of this fabric" --profile infiniband --roce 192.0.2.1
check "so is --listen with it" refuses "cannot be combined" --roce 192.0.2.1 --listen 127.0.0.1:0
check "A has a wire at its address" on_a fabric start --roce 192.0.2.1
taken() {
	refuses "is in use" --fabric second --roce 192.0.2.1
}
check "another fabric cannot have the same" taken
check "B has a wire at its interface" on_b fabric start --roce veth1

for p in rc uc ud; do
	check "ibv_${p}_pingpong" across ibv_${p}_pingpong -g $GID -n 300 -c
done
outside() {
	on_a status --json | json "[[g['gid'] for p in x['ports'] for g in p['gids']]
		for x in d['devices'] if x['node'] == 'roce-peers']"
}
is "status has the hosts that were met, and no places for others" "$(outside)" "[['::ffff:192.0.2.2']]"
check "ibv_srq_pingpong" across ibv_srq_pingpong -g $GID -n 100
check "ibv_xsrq_pingpong" across ibv_xsrq_pingpong -g $GID -n 100
check "ibv_rc_pingpong -s 100000" across ibv_rc_pingpong -g $GID -n 100 -s 100000 -c
check "ib_send_bw" across ib_send_bw -x $GID -s 65536 -n 100
for size in 1 4096 1000000; do
	check "ib_write_bw -s $size" across ib_write_bw -x $GID -s $size -n 20
	check "ib_read_bw -s $size" across ib_read_bw -x $GID -s $size -n 20
done
check "ib_atomic_bw" across ib_atomic_bw -x $GID -n 100
check "ib_send_bw -c UD" across ib_send_bw -c UD -x $GID -s 1024 -n 100
check "ib_write_bw -c UC" across ib_write_bw -c UC -x $GID -s 4096 -n 100

# Enough for several holdings of the engine: ACKs come while more is sent, and no timer may take them for lost.
for size in 4096 65536; do
	check "ib_send_bw -q 16 -s $size" across ib_send_bw -x $GID -s $size -n 200 -q 16
done
check "all datagrams were good" wires_have_lost_nothing

# Datagrams that nobody's queue pair has sent, during traffic.
beside_garbage() {
	local garbage ret=0
	"${IN_B[@]}" /usr/bin/python3 "$TOP/tests/lib/py/roce_garbage.py" 192.0.2.2 192.0.2.1 3000 &
	garbage=$!
	across ibv_rc_pingpong -g $GID -n 300 -c || ret=1
	wait $garbage || ret=1
	return $ret
}
check "garbage does not disturb traffic" beside_garbage
is_counted() {
	[ "$(wires malformed)" -gt 100 ] && [ "$(wires bad_icrc)" -gt 100 ]
}
check "and is counted by kind" is_counted
is_logged() {
	local lines
	lines=$(on_a log | grep -c "dropped a packet of 192.0.2.2")
	[ "$lines" -ge 2 ] && [ "$lines" -lt 10 ] || { on_a log; return 1; }
}
check "and is logged by kind and sender, not each" is_logged
# The log names each of two senders at the same time.
others() {
	local a
	for a in 4 5; do
		"${IN_B[@]}" ip addr add 192.0.2.$a/24 dev veth1
	done
	for a in 4 5; do
		"${IN_B[@]}" /usr/bin/python3 "$TOP/tests/lib/py/roce_garbage.py" 192.0.2.$a 192.0.2.1 3 &
	done
	wait
	wait_for 10 others_are_logged
}
others_are_logged() {
	[ "$(on_a log | grep -cE 'dropped a packet of 192.0.2.[45]: it is no')" = 2 ] || { on_a log; return 1; }
}
check "so are other senders" others
check "and leaves the tables consistent" on_a status --audit

# dissects - whether tshark finds nothing malformed in what the interface has carried, and decodes all of it
dissects() {
	local all bad
	all=$(tshark -r "$TEST_DIR/wire.pcap" -Y infiniband.bth 2>/dev/null | wc -l) &&
		bad=$(tshark_reads -r "$TEST_DIR/wire.pcap" -Y '!infiniband.bth || _ws.malformed || _ws.expert.severity == error' 2>/dev/null) &&
		[ "$all" -gt 20 ] && [ -z "$bad" ] || { echo "$all packets"; head -n 5 <<<"$bad"; return 1; }
}
# flow_port_right - whether all packets of the last capture, of one RC connection, have the source port that
# ibv_flow_label_to_udp_sport() makes of its two queue pairs' numbers
flow_port_right() {
	local qpns ports expected
	qpns=$(tshark -r "$TEST_DIR/wire.pcap" -Y infiniband.bth -T fields -e infiniband.bth.destqp 2>/dev/null | sort -u | xargs)
	ports=$(tshark -r "$TEST_DIR/wire.pcap" -Y infiniband.bth -T fields -e udp.srcport 2>/dev/null | sort -u | xargs)
	expected=$(/usr/bin/python3 -c '
import sys
v = int(sys.argv[1], 16) * int(sys.argv[-1], 16)
v ^= v >> 20
v ^= v >> 40
print((v & 0x3FFF ^ (v & 0xFC000) >> 14) | 0xC000)' $qpns)
	[ -n "$ports" ] && [ "$ports" = "$expected" ] || { echo "ports $ports, expected $expected, of $qpns"; return 1; }
}
# has_cut PACKETS - whether the kernel has cut at least so many of the last capture's packets out of bursts: it numbers
# them, and gives them UDP checksums
has_cut() {
	local n
	n=$(tshark -r "$TEST_DIR/wire.pcap" -Y 'ip.id > 0 && udp.checksum != 0' 2>/dev/null | wc -l)
	[ "$n" -ge "$1" ] || { echo "$n packets"; return 1; }
}
if can_compare_captures; then
	check "captures can see each packet" frames_are_finished
	check "a capture of SENDs is what the interface carries" steady captured across_once ibv_rc_pingpong -g $GID -n 20 -c
	check "tshark dissects them" dissects
	check "their flow has a source port of its own" flow_port_right
	check "a capture of READs is, too" steady captured across_once ib_read_bw -x $GID -s 10000 -n 5
	check "tshark dissects those" dissects
	check "and one of WRITEs" steady captured across_once ib_write_bw -x $GID -s 100001 -n 5
	check "the kernel has cut most of its packets out of bursts" has_cut 300
	check "tshark dissects those, too" dissects
	check "and one of datagrams" steady captured across_once ibv_ud_pingpong -g $GID -n 20
	check "tshark dissects these" dissects
else
	skip "a capture is what the interface carries" "dumpcap, editcap and tshark are not installed"
fi

# Both lose packets: requests, and the ACKs for which their windows wait.
on_a fault add 'loss 2%' >/dev/null
on_b fault add 'loss 2%' >/dev/null
check "ib_write_bw with loss on both sides" across ib_write_bw -x $GID -n 5 -s 2097152
check "ib_send_bw -b with loss on both sides" across ib_send_bw -x $GID -n 50 -q 4 -s 4096 -b
on_b fault clear >/dev/null

printf 'node other\nwire roce veth0\n' >"$TEST_DIR/wire.topo"
restarts() {
	on_a fabric stop && on_a fabric start --topology "$TEST_DIR/wire.topo"
}
check "the port is free once the fabric has stopped, and a topology names the wire" restarts
check "and the new fabric reaches the peer" across ibv_rc_pingpong -g $GID -n 100 -c

# shows COUNTS [OPTION...] - what status says of A's wire
shows() {
	local counts=$1
	shift
	on_a status "$@" | grep -A 1 '^wire' | tr -s ' \n' ' ' | grep -E "192\.0\.2\.1: RoCE v2:? $counts" ||
		{ on_a status "$@"; return 1; }
}
check "status has its counts" shows 'sent [1-9][0-9]* packets, received [1-9][0-9]*, dropped 0'
check "in detail with -v" shows 'sent [1-9][0-9]* packets, .*received [1-9][0-9]*; dropped: malformed 0' -v

# admits PEERS - restart A with --roce-peers
admits() {
	on_a fabric stop && on_a fabric start --roce 192.0.2.1 --roce-peers "$1"
}
check "A takes packets of B's network" admits 198.51.100.7,192.0.2.0/30
check "and B reaches it" across ibv_rc_pingpong -g $GID -n 100 -c
check "A takes packets of others alone" admits 192.0.2.64/26,2001:db8::/32
has_filtered() {
	[ "$(on_a status --json | json "d['wires'][0]['filtered']")" = "$1" ]
}
filtered() {
	"${IN_B[@]}" /usr/bin/python3 "$TOP/tests/lib/py/roce_garbage.py" 192.0.2.2 192.0.2.1 20 && wait_for 10 has_filtered 20
}
check "and drops those of B" filtered
check "a network is checked" refuses "expected IP addresses or networks" --roce 192.0.2.1 --roce-peers 192.0.2.0/33
done_testing
