#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 8
# waits
# settings: one: two fabrics of its own
# A packet that is under way reaches the other host, even if its queue pair has been destroyed meanwhile: the last ACK
# of a program that ends with the message that it has received.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ibv_rc_pingpong
roce_netns

two_wires
# ends_well - whether both programs do, several times: without the ACK the server ends with an error, mostly
ends_well() {
	for _ in 1 2 3 4; do
		across_once ibv_rc_pingpong -g $GID -n 1 || return
	done
}
for rule in 'delay 700ms node=node0 opcode=ACK' 'duplicate node=node0 opcode=ACK'; do
	check "$rule" on_b fault add "$rule"
	check "both programs end well" ends_well
	check "the rule ends" on_b fault clear
done
is "no packet was lost for want of its queue pair" "$(on_b log | grep -c 'no connection leads')" 0
done_testing
