#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: two fabrics of its own
# What the host's network does not take is lost. The log of the sender's fabric has the reason.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ibv_rc_pingpong
roce_netns

two_wires
check "messages of 1000 bytes cross" across ibv_rc_pingpong -g $GID -n 20 -s 1000

# A route with a smaller MTU, as behind a tunnel: the fabric has the MTU of its interface.
"${IN_B[@]}" ip route replace 192.0.2.1/32 dev veth1 src 192.0.2.2 mtu lock 700
fails() {
	! across_once ibv_rc_pingpong -g $GID -n 20 -s 1000 >/dev/null 2>&1
}
check "with a path of 700 bytes they do not" fails
# logs TEXT - whether B's log has it
logs() {
	on_b log | grep -F "$1" || { on_b log; return 1; }
}
check "the log of the sender's fabric names the datagrams" logs \
	"SEND_ONLY: longer than the way to its host allows: Message too long"
check "and the failed request the reason" logs "longer than the way to its host allows: Message too long"
check "messages of 600 bytes cross" across ibv_rc_pingpong -g $GID -n 20 -s 600

"${IN_B[@]}" ip rule add pref 5 ipproto udp dport 4791 unreachable
check "where a rule forbids the port, they do not" fails
check "which the log says, too" logs "the host's network refuses it: "
done_testing
