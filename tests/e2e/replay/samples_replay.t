#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: samples have nodes of their own
# The traces in traces/samples replay without divergence.
. "$(dirname "$0")/../../lib/lib.sh"

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
is "samples" $n 7

# The reader trusts nothing in a trace: an unknown call, in a program whose name is longer than any message.
strange() {
	local dir=$TEST_DIR/strange out status=0
	cp -r "$TOP/traces/samples/atomics" "$dir" && sed -i 's/^ibv_alloc_pd /ibv_alloc_pdx /' "$dir/p1/calls" &&
		sed -i "s/^name .*/name $(printf %05000d 0)/" "$dir/p1/program" || return
	out=$(limit "$RDMAEMU" replay "$dir" 2>&1) || status=$?
	[ $status = 1 ] && [ ${#out} -lt 2000 ] && grep -q '^p1/calls:[0-9]* (0*): .*ibv_alloc_pdx' <<<"$out" && return
	echo "status $status: $out"
	return 1
}
check "a long name" strange

# without FILE - all that read a trace miss it by its name
without() {
	local dir=$TEST_DIR/without.$1
	cp -r "$TOP/traces/samples/atomics" "$dir" && rm "$dir/p1/$1"
	for verb in "trace stat" "trace show" replay; do
		rdmaemu_refuses "$verb" "$verb: no p1/$1" 2 "$dir/p1/$1: No such file or directory" "$dir"
	done
	rdmaemu_refuses "trace diff" "trace diff: no p1/$1" 2 "$dir/p1/$1: No such file" "$TOP/traces/samples/atomics" "$dir"
}
for file in calls data program; do
	without $file
done

# unrecorded NAME DIR - all that read a trace of which nothing was recorded say so
unrecorded() {
	local verb
	for verb in "trace stat" "trace stat --json" "trace show" replay "trace diff $A"; do
		rdmaemu_refuses "$verb" "$1: ${verb%/*}" 2 "$2/p1/data: expected a head of 64 bytes: nothing was recorded" "$2"
	done
}

A=$TOP/traces/samples/atomics
# A file system that is full does to the recorder what a limit for files does.
no_room() {
	local err
	err=$(limit "$RDMAEMU" record -o "$TEST_DIR/room" -- sh -c 'trap "" XFSZ; ulimit -f 100; exec ibv_devices' 2>&1 >/dev/null) &&
		[[ $err == *"this program is not recorded" ]]
}
if check "no room for a trace" no_room; then
	unrecorded "no room" "$TEST_DIR/room"
fi
cp -r "$A" "$TEST_DIR/half" && rm -r "$TEST_DIR/half/p2/"* && : >"$TEST_DIR/half/p2/calls"
half() {
	local out
	out=$(limit "$RDMAEMU" trace "$@" "$TEST_DIR/half" 2>"$TEST_DIR/err") && grep -q '^p1 [a-z]' <<<"$out" &&
		grep -q '^p2 ?: nothing was recorded$' <<<"$out" && grep -q "half/p2/data: expected a head" "$TEST_DIR/err"
}
check "trace stat: one of two was not recorded" half stat
check "trace show: one of two was not recorded" half show
rdmaemu_refuses replay "replay: one of two was not recorded" 2 "half/p2/data: expected a head" "$TEST_DIR/half"
rdmaemu_refuses "trace stat" "trace stat: that one" 2 "half/p2/data: expected a head" --program p2 "$TEST_DIR/half"

# A program that has made no call but its first is another matter.
few() {
	limit "$RDMAEMU" record -o "$TEST_DIR/few" -- ibv_devices && limit "$RDMAEMU" trace stat "$TEST_DIR/few" &&
		limit "$RDMAEMU" replay "$TEST_DIR/few" | grep -q 'no divergence$'
}
check "a program with few calls" few

# What cannot be printed is trouble.
full() {
	local out status=0
	out=$(limit "$RDMAEMU" "$@" "$TOP/traces/samples/atomics" 2>&1 >/dev/full) || status=$?
	[ $status != 0 ] && grep -q '^rdmaemu: .*standard output: ' <<<"$out" && return
	echo "status $status: $out"
	return 1
}
if [ -w /dev/full ]; then
	for verb in "trace show" "trace show --json" "trace stat" replay "replay --json"; do
		check "$verb, and nowhere to write" full $verb
	done
fi

# --- arguments of trace and replay ---

lists_verbs() {
	local out verb
	out=$(limit "$RDMAEMU" trace "$1") || return
	for verb in show stat diff; do
		grep -q "^  $verb  " <<<"$out" || return
	done
}
check "trace --help lists its verbs" lists_verbs --help
check "trace -h as well" lists_verbs -h
rdmaemu_refuses trace "trace alone" 2 "trace: expected show, stat, ladder, export or diff"
rdmaemu_refuses trace "no such trace verb" 2 "trace: expected show, stat, ladder, export or diff" list
rdmaemu_refuses "trace stat" "trace stat without a directory" 2 "expected a trace directory"
rdmaemu_refuses "trace diff" "trace diff without directories" 2 "expected two trace directories"
rdmaemu_refuses replay "replay without a directory" 2 "replay: expected a trace directory"
rdmaemu_refuses "capture start" "capture start without a file" 2 "capture start: expected a file"

# same NAME WORDS... - `rdmaemu trace WORDS` prints what the words of $BEFORE print, flags before directories
same() {
	local name=$1
	shift
	# shellcheck disable=SC2086
	is "$name" "$(limit "$RDMAEMU" trace "$@" 2>&1)" "$(limit "$RDMAEMU" trace $BEFORE 2>&1)"
}
BEFORE="stat --json $A" same "stat DIR --json" stat "$A" --json
BEFORE="show --program p2 $A" same "show DIR --program p2" show "$A" --program p2
BEFORE="diff --json $A $TOP/traces/samples/ud_multicast" same "diff DIR --json DIR" diff "$A" --json "$TOP/traces/samples/ud_multicast"
BEFORE="diff --json $A $TOP/traces/samples/ud_multicast" same "diff DIR DIR --json" diff "$A" "$TOP/traces/samples/ud_multicast" --json
rdmaemu_refuses "trace stat" "no flags after --" 2 "expected one trace directory" "$A" -- --json
rdmaemu_refuses "trace stat" "unknown flags after the directory" 2 "unknown option '--jsn'" "$A" --jsn

for verb in "trace stat" "trace show" "trace stat --json" "trace show --json"; do
	rdmaemu_refuses "$verb" "$verb: no such program" 2 "no program 'nosuch' in $A: expected one of p1 (" --program nosuch "$A"
done

# A sample in JSON, and with the recorded times.
json_result() {
	limit "$RDMAEMU" replay --json --pace recorded "$TOP/traces/samples/atomics" |
		json "(d['divergence'], d['programs'], d['work_requests'], d['completions'])"
}
is "replay --json --pace recorded" "$(json_result)" "(None, 2, 20, 20)"
no_fabric() {
	! find "$RDMAEMU_DIR" -name '*.sock' | grep .
}
check "the fabrics are gone" wait_for 10 no_fabric
done_testing
