#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: samples have nodes of their own
# The traces in traces/samples come out as they were recorded.
. "$(dirname "$0")/lib.sh"

plays() {
	local out
	out=$(limit "$RDMAEMU" replay "$1" 2>&1) && grep -qE '^2 programs, [1-9][0-9]* calls, .*: no divergence$' <<<"$out" &&
		[ "$(wc -l <<<"$out")" = 1 ] && return
	echo "$out"
	return 1
}

n=0
for sample in "$TOP"/traces/samples/*/; do
	name=$(basename "$sample")
	check "$name" plays "$sample"
	check "$name has its line in README.md" grep -q "^| \`$name\` |" "$TOP/traces/samples/README.md"
	n=$((n + 1))
done
is "samples" $n 6

# A sample in JSON, and with the recorded times.
json_result() {
	limit "$RDMAEMU" replay --json --pace recorded "$TOP/traces/samples/atomics" |
		json "(d['divergence'], d['programs'], d['work_requests'], d['completions'])"
}
is "replay --json --pace recorded" "$(json_result)" "(None, 2, 20, 20)"
is "the fabrics are gone" "$(find "$RDMAEMU_DIR" -name '*.sock' 2>/dev/null)" ""
done_testing
