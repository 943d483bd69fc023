#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on one fabric
# `rdmaemu status -v` says how much of a program's registered memory is lent, and why the rest is not; `run --lend` and
# `--no-lend` are stronger than RDMAEMU_LEND.
. "$(dirname "$0")/../../lib/lib.sh"
unset RDMAEMU_LEND
trap 'limit "$RDMAEMU" fabric stop >/dev/null 2>&1' EXIT
"$RDMAEMU" fabric start

# lent [OPTION]... - what the status says of a server that has registered SIZE bytes from a page's start on
SIZE=10000
lent() {
	local pid
	"$RDMAEMU" run "$@" -- ibv_rc_pingpong -g 1 -s $SIZE -p "$(free_port)" >/dev/null 2>&1 &
	pid=$!
	wait_for 60 has_region
	limit "$RDMAEMU" status -v | grep '^  lent memory'
	limit "$RDMAEMU" status --json | json "d['clients'][0]['lent']"
	kill $pid
	wait $pid 2>/dev/null
	wait_for 60 is_gone
}

has_region() {
	[ "$("$RDMAEMU" status --json | json "sum(c['mrs'] for c in d['clients'])")" = 1 ]
}

is_gone() {
	[ "$("$RDMAEMU" status --json | json "len(d['clients'])")" = 0 ]
}

part="  lent memory: 8192 bytes; not lent: 1808 (parts of pages)
{'on': True, 'bytes': 8192, 'kept': {'parts of pages': 1808}}"
none="{'on': False, 'bytes': 0, 'kept': {}}"
is 'by default whole pages, in a program with one thread' "$(lent)" "$part"
is '--lend=auto: the same' "$(lent --lend=auto)" "$part"
is '--lend: the same' "$(lent --lend)" "$part"
is '--no-lend: none' "$(lent --no-lend)" "$none"
is 'RDMAEMU_LEND=0: none' "$(RDMAEMU_LEND=0 lent)" "$none"
large="  lent memory: 0 bytes; not lent: 70000000 (too large or too often for auto)
{'on': True, 'bytes': 0, 'kept': {'too large or too often for auto': 70000000}}"
is 'and nothing of a region of more than 64 MiB' "$(SIZE=70000000 lent)" "$large"
is 'the last option counts' "$(lent --lend --no-lend)" "$none"
export RDMAEMU_LEND=1
is 'RDMAEMU_LEND=1' "$(lent)" "$part"
is '--no-lend is stronger' "$(lent --no-lend)" "$none"
limit "$RDMAEMU" fabric stop
"$RDMAEMU" fabric start --isolated
is 'in an isolated fabric, too' "$(lent)" "$part"
done_testing
