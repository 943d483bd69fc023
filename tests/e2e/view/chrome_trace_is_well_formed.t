#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads recorded traces
# `rdmaemu trace export --chrome`: a validator of the format accepts the file, which has each work request, completion
# and message of the trace; the reader of Chromium's DevTools finds the same.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
SAMPLES=$TOP/traces/samples
CHECK=$TOP/tests/lib/py/chrome_trace.py
cd "$TEST_DIR" || exit 1

# export_sample NAME FILE - convert a sample; prints the numbers of pairs, flows and instants
export_sample() {
	limit "$R" trace export --chrome "$2" "$SAMPLES/$1" || return
	limit "$R" trace stat --json "$SAMPLES/$1" >stat.json
	limit python3 "$CHECK" "$2" stat.json >"$1.checks"
	local status=$?
	grep '^not ok' "$1.checks"
	sed -n 's/^# \(pairs.*\)/\1/p' "$1.checks"
	return $status
}

for sample in "$SAMPLES"/*/trace; do
	sample=$(basename "$(dirname "$sample")")
	check "$sample" export_sample "$sample" "$sample.json"
done
# messages SAMPLE - flows of a sample, and the receives that its programs have completed successfully
messages() {
	sed -n 's/^# .* flows \([0-9]*\) .*/\1/p' "$1.checks"
	"$R" trace show --json "$SAMPLES/$1" | json "sum(len([w for w in r.get('wc', []) if w['opcode'].startswith('RECV') and w['status'] == 'IBV_WC_SUCCESS']) for r in d)"
}
is 'each message of a ping-pong is a flow' "$(messages rc_pingpong)" $'40\n40'
is 'and of rping, connected by the rdma_cm' "$(messages rping | uniq | wc -l)" 1
check 'compressed' export_sample rping rping.json.gz
is 'it is the same' "$(gzip -dc rping.json.gz | cmp - rping.json && echo same)" same
is 'one program' "$("$R" trace export --chrome p1.json --program p1 "$SAMPLES/rping" && json "{e['pid'] for e in d['traceEvents']}" <p1.json)" '{1}'

# The validator rejects what it must.
# spoil EDIT - a file that python's EDIT of the list e has spoiled
spoil() {
	python3 -c "import json
d = json.load(open('rping.json'))
e = d['traceEvents']
$1
json.dump(d, open('bad.json', 'w'))"
}
spoiled() {
	spoil "$2"
	python3 "$CHECK" bad.json | grep -q "^not ok $1"
}
check 'it finds a member that is missing' spoiled 'members' "del e[5]['ts']"
check 'it finds half a pair' spoiled 'async' "e.remove(next(x for x in e if x['ph'] == 'e'))"
check 'it finds half a flow' spoiled 'flows' "e.remove(next(x for x in e if x['ph'] == 's'))"
check 'it finds a flow without a slice' spoiled 'ends of flows' "next(x for x in e if x['ph'] == 's')['tid'] = 1"
check 'it finds slices that overlap' spoiled 'slices' \
	"x = next(x for x in e if x['ph'] == 'X' and x['dur'] > 2); e.append(dict(x, ts=x['ts'] + x['dur'] - 1, dur=5))"

# A reader that somebody else wrote.
spoiled_for_reader() {
	spoil "$1"
	! limit node "$reader" bad.json
}
reader=$BUILD/npm/trace.mjs
if [ -e "$reader" ] && command -v node >/dev/null; then
	read_sample() {
		limit node "$reader" "$1.json" >read || { cat read; return 1; }
		grep "^pairs $(sed -n 's/^# pairs \([0-9]*\) .*/\1/p' "$1.checks") slices $(json \
			"len([e for e in d['traceEvents'] if e['ph'] == 'X'])" <"$1.json") us [1-9]" read
	}
	for sample in "$SAMPLES"/*/trace; do
		sample=$(basename "$(dirname "$sample")")
		check "DevTools read $sample" read_sample "$sample"
	done
	check 'but not half a pair' spoiled_for_reader "e.remove(next(x for x in e if x['ph'] == 'e'))"
	check 'nor slices that overlap' spoiled_for_reader \
		"x = next(x for x in e if x['ph'] == 'X' and x['dur'] > 2); e.append(dict(x, ts=x['ts'] + x['dur'] - 1, dur=5))"
else
	skip "DevTools read the samples" "their reader is not installed: make npm"
fi

rdmaemu_refuses 'trace export' 'without a format' 2 'expected --chrome' "$SAMPLES/rping"
rdmaemu_refuses 'trace export' 'a file that cannot be written' 1 'No such file' --chrome none/x.json "$SAMPLES/rping"
if [ -w /dev/full ]; then
	rdmaemu_refuses 'trace export' 'a full disk' 1 'No space left' --chrome /dev/full "$SAMPLES/rping"
fi
mkdir none.trace
rdmaemu_refuses 'trace export' 'no trace' 2 'none.trace' --chrome x.json none.trace
done_testing
