#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on one fabric
# `rdmaemu status --prometheus`: the reference parser of OpenMetrics and promtool read it, and its numbers are those
# of `status --json`.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 ibv_rc_pingpong

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
rdmaemu_refuses status 'a fabric that is not running' 1 'is not running' --prometheus
rdmaemu_refuses status 'a format that is none' 2 'expected openmetrics or text' --prometheus=xml
rdmaemu_refuses status 'with --json' 2 'expected no --json' --prometheus --json

# Programs whose names need escapes: copies of one that waits for its client.
"$R" fabric start
server=$(command -v ibv_rc_pingpong)
pids=()
for name in 'quote"back\slash' $'latin1\xe9'; do
	cp "$server" "$name"
	"$R" run --node b -- "./$name" -g 1 -p "$(free_port)" >/dev/null 2>&1 &
	pids+=($!)
done
"$R" fault add 'odd: drop node=b opcode=SEND_ONLY nth=2' 'late: drop opcode=MAD'
check 'traffic' pair_once ibv_rc_pingpong -n 20
all_are_there() {
	[ "$("$R" status --json | json "len(d['qps'])")" = 2 ]
}
check 'two programs wait' wait_for 60 all_are_there

limit "$R" status --prometheus >open
limit "$R" status --prometheus=text >text
limit "$R" status --json >json

if /usr/bin/python3 -c 'import prometheus_client.openmetrics.parser' 2>/dev/null; then
	tap /usr/bin/python3 "$TOP/tests/lib/py/metrics_check.py" open text json
else
	skip 'the reference parser' 'python3-prometheus-client is not installed'
fi
if command -v promtool >/dev/null; then
	check 'promtool reads the text format' sh -c 'promtool check metrics <text'
	# Its reader of OpenMetrics is that of backfills, which need a time.
	sed 's/^[^#].*/& 1700000000/' open >timed
	check 'promtool reads OpenMetrics' promtool tsdb create-blocks-from openmetrics timed blocks
	mkdir -p blocks/wal
	is 'with all samples' "$(promtool tsdb dump blocks | grep -c .)" "$(grep -vc '^#' open)"
else
	skip 'promtool' 'prometheus is not installed'
fi
kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
"$R" fabric stop
done_testing
