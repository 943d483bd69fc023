#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 5
# waits
# settings: one: two fabrics of its own
# The receiver of packets that a switch has marked sends CNPs, and their sender lowers its rate.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ib_write_bw
roce_netns

two_wires

# The low bits of a traffic class: 2: capable of ECN, 3: marked, which switches do and here the sender does itself.
check "packets that can be marked arrive" across ib_write_bw -x $GID -s 65536 -n 20 --tclass 98
is "and are not taken for marked ones" "$(wires_of on_a ecn_marked) $(wires_of on_a cnp_sent)" "0 0"
check "marked packets arrive, too" across ib_write_bw -x $GID -s 65536 -n 200 --tclass 99
tells() {
	[ "$(wires_of on_a ecn_marked)" -gt 200 ] && [ "$(wires_of on_a cnp_sent)" -gt 0 ]
}
check "A sends CNPs for them" tells
heard() {
	[ "$(wires_of on_b cnp_received)" = "$(wires_of on_a cnp_sent)" ]
}
check "B receives these" wait_for 10 heard
is "B holds its queue pair for a while" "$([ "$(wires_of on_b rate_held)" -gt 0 ] && echo yes)" yes
is "B has nothing to tell A" "$(wires_of on_b cnp_sent)" 0
check "all packets were good" wires_have_lost_nothing

if can_compare_captures; then
	check "captures can see each packet" frames_are_finished
	check "a capture has marks and CNPs as the interface carries them" \
		steady captured across_once ib_write_bw -x $GID -s 65536 -n 50 --tclass 99
	cnps() {
		tshark -r "$TEST_DIR/ours.pcap" -Y 'infiniband.bth.opcode == 0x81' 2>/dev/null | grep -q .
	}
	check "CNPs among them" cnps
else
	skip "a capture has marks and CNPs" "dumpcap, editcap and tshark are not installed"
fi

# A CNP names a queue pair: one that is not there, or has no path to the sender, is dropped and counted.
forge() {
	"${IN_B[@]}" /usr/bin/python3 -c '
from scapy.all import IP, UDP, send
from scapy.contrib.roce import cnp
for qpn in 1, 0x00FFFF:
    send(IP(src="192.0.2.2", dst="192.0.2.1", flags="DF") / UDP(sport=4791, dport=4791, chksum=0) / cnp(qpn), verbose=0)'
}
forged() {
	[ "$(wires_of on_a stranger)" = 2 ]
}
if /usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null; then
	check "CNPs for queue pairs without a path to their sender are sent" forge
	check "and are dropped" wait_for 10 forged
	is "and change nothing" "$(wires_of on_a cnp_received)" 0
else
	skip "CNPs for queue pairs without a path to their sender" "python3-scapy is not installed"
fi
check "the tables of A are consistent" on_a status --audit
done_testing
