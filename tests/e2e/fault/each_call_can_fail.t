#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: calls of one process
# Calls that fail on purpose: each call of libibverbs and librdmacm that can, once, direct and isolated.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

# in_use FABRIC... - objects that each program has
in_use() {
	status_json "$@" | json "[c['objects'] for c in d['clients']]"
}

# journalled FLAG... - each of the calls has its entry: what it was, whose, the error and the rule
journalled() {
	local rules=$TEST_DIR/calls.scenario
	limit "$RDMAEMU" log --json "$@" >"$TEST_DIR/log.json" || return
	python3 - "$rules" "$TEST_DIR/log.json" <<'END'
import json, re, sys
rules = [re.match(r"fail call=(\S+) errno=(\S+) nth=1$", line).groups() for line in open(sys.argv[1])]
log = [e for e in json.load(open(sys.argv[2])) if e["kind"] == "call"]
got = sorted((e["opcode"], e["status"]) for e in log)
assert got == sorted((call + "()", err) for call, err in rules), got
for e in log:
    assert e["who"]["name"] == "app_cm_calls" and e["who"]["pid"] > 0 and e["cause"] == "fault", e
    assert re.match(r"f\d+: fail call=%s errno=%s nth=1 \(" % (e["opcode"][:-2], e["status"]), e["rule_text"]), e
END
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
	check "each is in the journal${*:+ ($*)}" journalled "${at[@]}"
	limit "$RDMAEMU" fault list "${at[@]}" | awk '$3 != 1' | tail -n +2 | sed 's/^/# /'
	rm "$TEST_DIR/go"
	limit "$RDMAEMU" fabric stop "${at[@]}"
}

every direct
every apart --isolated
done_testing
