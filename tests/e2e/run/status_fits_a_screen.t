#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on one fabric
# `rdmaemu status` of 20 programs fits a screen; with -v it has each of them. It names who listens.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 rping

N=20
pids=()
"$RDMAEMU" fabric start
for ((i = 0; i < N; i++)); do
	"$RDMAEMU" run --node "$([ $((i % 2)) = 0 ] && echo node0 || echo b)" -- \
		ibv_rc_pingpong -g 1 -p "$(free_port)" >/dev/null 2>&1 &
	pids+=($!)
done

# grep_status PATTERN - whether a line of the status matches
grep_status() {
	limit "$RDMAEMU" status | grep -q "$1"
}

all_are_there() {
	[ "$("$RDMAEMU" status --json | json "len(d['qps'])")" = $N ]
}
check "$N programs" wait_for 60 all_are_there
text=$(limit "$RDMAEMU" status)
check 'it fits 24 lines' test "$(wc -l <<<"$text")" -le 22
is 'programs of a node are one line' "$(grep -c '^program  ibv_rc_pingpong, node .* and 4 more: 10 QPs, 10 CQs, 10 MRs$' <<<"$text")" 2
is 'queue pairs of a state are counted' "$(grep '^qps' <<<"$text" | grep -o "$N [A-Z_]*")" "$N INIT"
is 'devices are a line for a port' "$(grep -c '^device   rdmaemu0 port 1: node .*, ACTIVE, ' <<<"$text")" 2
is '-v has all programs and queue pairs' "$("$RDMAEMU" status -v | grep -c '^client\|^qp')" $((2 * N))

# A newcomer whose connection is refused looks for the listener.
port=$(free_port)
"$RDMAEMU" run --node b -- rping -s -p "$port" >/dev/null 2>&1 &
listener=$!
check 'a listener of rdma_cm, with node, process and port' wait_for 60 grep_status \
	"^listener rping, node b: process [0-9]*: TCP .*:$port\$"
for ((i = 0; i < 8; i++)); do
	"$RDMAEMU" run --node b -- rping -s -p "$(free_port)" >/dev/null 2>&1 &
	pids+=($!)
done
check 'many are counted' wait_for 60 grep_status '^listener 3 more$'
kill $listener "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
"$RDMAEMU" fabric stop
done_testing
