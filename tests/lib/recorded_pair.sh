# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests that look at traces of a run; sourced after tests/lib/lib.sh.

# recorded_pair DIR COMMAND... - run the two sides of a ping-pong of 20 messages on nodes a and b, each by `rdmaemu
# COMMAND -o DIR`. PAGE= is a report of the client.
recorded_pair() {
	local dir=$1 port server status=0
	shift
	port=$(free_port)
	RDMAEMU_NODE=a "$RDMAEMU" "$@" -o "$dir" -- ibv_rc_pingpong -g 0 -s 64 -n 20 -r 4 -p "$port" >/dev/null &
	server=$!
	wait_listen "$port" $server || return
	RDMAEMU_NODE=b limit "$RDMAEMU" "$@" ${PAGE:+--report "$PAGE"} -o "$dir" -- \
		ibv_rc_pingpong -g 0 -s 64 -n 20 -r 4 -p "$port" a >/dev/null || status=$?
	wait $server && return $status
}
