#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: calls of one process
# Calls that fail on purpose: each call of libibverbs and librdmacm that can, once, direct and isolated.
. "$(dirname "$0")/lib.sh"

# in_use FABRIC... - objects that each program has
in_use() {
	status_json "$@" | json "[c['objects'] for c in d['clients']]"
}

# every NAME FLAG... - each call of the table fails once, on fabric NAME started with these flags
every() {
	local out=$TEST_DIR/$1.out at=(--fabric "$1") pid
	shift
	"$T/app_cm_calls" rules >"$TEST_DIR/calls.scenario"
	check "a rule for each${*:+ ($*)}" limit "$RDMAEMU" fabric start \
		--scenario "$TEST_DIR/calls.scenario" "${at[@]}" "$@" || return
	mkfifo "$TEST_DIR/go"
	limit "$RDMAEMU" run "${at[@]}" "$@" -- "$T/app_cm_calls" >"$out" 2>&1 <"$TEST_DIR/go" &
	pid=$!
	exec 3>"$TEST_DIR/go"
	wait_for 60 grep -q '^# destroyed' "$out"
	is "nothing is left behind${*:+ ($*)}" "$(in_use "${at[@]}")" "[0]"
	check "nor is anything wrong${*:+ ($*)}" limit "$RDMAEMU" status --audit "${at[@]}"
	exec 3>&-
	wait $pid
	is "each call failed, and worked then${*:+ ($*)}" $? 0
	grep '^not ok' "$out"
	is "each rule has hit, once${*:+ ($*)}" "$(limit "$RDMAEMU" fault list --json "${at[@]}" |
		json "sorted(set(r['hits'] for r in d['faults']))")" "[1]"
	limit "$RDMAEMU" fault list "${at[@]}" | awk '$3 != 1' | tail -n +2 | sed 's/^/# /'
	rm "$TEST_DIR/go"
	limit "$RDMAEMU" fabric stop "${at[@]}"
}

every direct
every apart --isolated
done_testing
