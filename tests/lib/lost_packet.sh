# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests that look at a capture; sourced after tests/lib/lib.sh.

# lost_packet_capture FILE - capture two sends from node b to node a in FILE; the second packet of the first one is lost
# once, by the rule `one`. The fabric stays.
lost_packet_capture() {
	local port server
	port=$(free_port)
	"$RDMAEMU" fabric start
	"$RDMAEMU" run --node a -- ib_send_bw -F -n 5 -s 3000 -p "$port" >/dev/null 2>&1 &
	server=$!
	check 'a server' wait_listen "$port" $server
	"$RDMAEMU" fault add 'one: drop opcode=SEND_MIDDLE nth=1'
	check 'a client, captured' limit "$RDMAEMU" run --node b --capture "$1" -- ib_send_bw -F -n 5 -s 3000 -p "$port" a
	wait $server
}
