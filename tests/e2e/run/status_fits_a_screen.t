#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on one fabric
# `rdmaemu status` of 20 programs fits a screen; with -v it has each of them.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

N=20
pids=()
"$RDMAEMU" fabric start
for ((i = 0; i < N; i++)); do
	"$RDMAEMU" run --node "$([ $((i % 2)) = 0 ] && echo node0 || echo b)" -- \
		ibv_rc_pingpong -g 1 -p "$(free_port)" >/dev/null 2>&1 &
	pids+=($!)
done

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
kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
"$RDMAEMU" fabric stop
done_testing
