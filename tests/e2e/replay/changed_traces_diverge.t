#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: it looks at files of traces
# A trace that was changed, and one that a wrong emulator replays, diverge where they differ; a damaged one is refused.
# What `rdmaemu trace` prints of traces.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need ibv_rc_pingpong ib_atomic_bw ib_write_bw rping udaddy python3

. "$TOP/tests/lib/replay.sh"

REPLAYS=0
pp rc_pingpong ibv_rc_pingpong -g 0 -n 100
pp ib_write_bw ib_write_bw -n 100 -F
pp ib_atomic_bw ib_atomic_bw -n 100 -F
round udaddy cm_both UDP 7174 "udaddy -b $ADDR" "udaddy -s $ADDR"
check "app_qp_errors: recorded" single app_qp_errors "$T/app_qp_errors" local
own app_ud_data
own app_device_import remote
own app_srq_tag_matching remote

# --- an emulator that breaks a rule ---

# broken MUTANT NAME WORDS - the trace's replay on that emulator (tests/mutants) ends with these words
broken() {
	local out status=0
	out=$(RDMAEMU_LIB=$T/mutants/$1/librdmaemu.so limit "$REAL" replay --timeout $((10 * SLOW)) \
		"$TEST_DIR/trace.$2" 2>&1) || status=$?
	if [ $status = 1 ] && grep -q "$3" <<<"$out"; then
		ok "the mutant $1 is caught by $2"
	else
		not_ok "the mutant $1 is caught by $2" "status $status" "$out"
	fi
}
# Found while it runs, or by what is left.
broken atomic_adds_one_more ib_atomic_bw "memory \(that peers change\|at its end\) differs"
broken immediate_is_zero udaddy "the completion's imm differs"
broken rkey_nak_is_operation_error app_qp_errors "the completion's status differs"

# --- what is changed is found ---

base=$TEST_DIR/trace.rc_pingpong
edit() {
	rm -rf "$TEST_DIR/changed"
	cp -r "${2-$base}" "$TEST_DIR/changed"
	python3 "$TOP/tests/lib/py/trace_edit.py" "$TEST_DIR/changed" "$1"
}

# found HOW WORDS [PROGRAM] - the replay of the changed trace says so, with the program and the place
found() {
	local out status=0
	out=$(limit "$REAL" replay --timeout $((10 * SLOW)) "$TEST_DIR/changed" 2>&1) || status=$?
	if [ $status = 1 ] && grep -qE "^p[12]/(data|calls):[0-9]+ \(${3-ibv_rc_pingpong}\): .*$2" <<<"$out" &&
		grep -q '^  recorded: ' <<<"$out" && grep -q '^  replayed: ' <<<"$out"; then
		ok "$1 is found"
	else
		not_ok "$1 is found" "status $status" "$out"
	fi
}

check "a completion's status is changed" edit status
found "a changed status" "the completion's status differs"
check "a completion's length is changed" edit byte_len
found "a changed length" "the completion's byte_len differs"
check "the CRC of what was received is changed" edit payload "$TEST_DIR/trace.app_ud_data"
found "a changed payload" "the completion's payload differs" app_ud_data
check "the sender of a datagram is changed" edit src_qp "$TEST_DIR/trace.app_ud_data"
found "a changed sender" "the completion's src_qp differs" app_ud_data
check "a datagram's GRH is changed" edit grh "$TEST_DIR/trace.app_ud_data"
found "a changed GRH" "the completion's wc_flags differs" app_ud_data
check "senders and GRHs of connected queue pairs and immediates of sends are changed" edit undefined
check "fields that ibv_poll_cq(3) leaves undefined are not compared" replays "$TEST_DIR/changed"
payloads() {
	"$REAL" replay --json "$TEST_DIR/trace.app_ud_data" | json "d['divergence'] is None and d['payloads'] > 1000"
}
is "payloads are compared" "$(payloads)" True
check "a byte of memory is changed" edit memory
found "a changed byte" "memory at its end differs"
check "what a call returned is changed" edit result
found "a changed result" "the result differs"

# rping's other thread does so at its end, now and then.
check "a call is handed what is no object any more" edit nobody
check "that is not done again" replays "$TEST_DIR/changed"

# Which of the calls that overlap comes first is seen from what became of them.
check "posts overlap the end of the peer's queue pair" edit overlap "$TEST_DIR/trace.ib_write_bw"
for n in 1 2 3 4 5; do
	check "posts that overlap the end of the peer's queue pair come first" replays "$TEST_DIR/changed"
done

check "the server ends before posts that went well" edit leave "$TEST_DIR/trace.ib_write_bw"
for n in 1 2 3; do
	check "posts that went well come before the end of the peer's process" replays "$TEST_DIR/changed"
done

# rping's client, which may be through before it has taken DISCONNECTED.
taken() {
	local port
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		port=$(free_port)
		recorded event cm_both TCP "$port" "rping -s -p $port -C 3" "rping -c -p $port -a $ADDR -C 3" || return
		grep -q 'DISCONNECTED event.id=id1$' "$TEST_DIR"/trace.event/p*/calls && return
	done
	return 1
}
check "an event of an identifier that ends" taken
check "it is taken while the identifier is destroyed" edit event "$TEST_DIR/trace.event"
for n in 1 2 3; do
	check "who takes an event comes before what makes it forgotten" replays "$TEST_DIR/changed"
done

# --- what is broken is said ---

# refused HOW EXPECTED - status 2 and one line
refused() {
	local out status=0
	out=$(limit "$REAL" replay "$TEST_DIR/changed" 2>&1) || status=$?
	if [ $status = 2 ] && [ "$(wc -l <<<"$out")" = 1 ] && grep -qE "$2" <<<"$out"; then
		ok "$1 is refused"
	else
		not_ok "$1 is refused" "status $status" "$out"
	fi
}
check "a byte of the file is flipped" edit flip
refused "a damaged file" "p1/data: at byte [0-9]+: expected a record that its check"
check "the file is cut" edit cut
refused "a truncated file" "p1/data: at byte [0-9]+: expected a record within the file; it is cut short or damaged"
check "the version is another" edit version
refused "another version" "trace:1: a trace of version 99; this reader knows version 1"
check "the data is something else" edit foreign
refused "a foreign file" "p1/data: at byte 0: expected the data file of a trace"
rm -rf "$TEST_DIR/changed"
refused "no trace" "changed/trace: No such file or directory"

# --- trace show, stat, diff ---

stat_is() {
	"$REAL" trace stat --json "$base" | json "$1"
}
is "stat: work requests" "$(stat_is "[p['work_requests'].get('SEND') for p in d]")" "[100, 100]"
is "stat: completions" "$(stat_is "[p['completions_by_status'] for p in d]")" \
	"[{'IBV_WC_SUCCESS': 200}, {'IBV_WC_SUCCESS': 200}]"
tags() {
	"$REAL" trace stat --json "$TEST_DIR/trace.app_srq_tag_matching" | json "sum(p['tag_operations'] for p in d) > 10"
}
is "stat: tags" "$(tags)" True
copies() {
	"$REAL" trace stat --json "$TEST_DIR/trace.app_device_import" | json "any(p['dm_copies'] and p['dm_bytes'] for p in d)"
}
is "stat: copies of device memory" "$(copies)" True
shown() {
	"$REAL" trace show "$base" | grep -q 'ibv_create_qp pd=pd1 .* = qp1 ' &&
		"$REAL" trace show --data "$base" | grep -q 'payload\|bytes' &&
		"$REAL" trace show --json --program p2 "$base" |
		json "{r['program'] for r in d} == {2} and any(r['kind'] == 'poll' for r in d)" | grep -qx True
}
check "show" shown
check "diff: a trace and itself" "$REAL" trace diff --data "$base" "$base"
check "diff: fields that ibv_poll_cq(3) leaves undefined" eval 'edit undefined && "$REAL" trace diff "$base" "$TEST_DIR/changed"'
differs() {
	edit status && ! "$REAL" trace diff "$base" "$TEST_DIR/changed" >"$TEST_DIR/diff" &&
		grep -q '^- p[12]/data:' "$TEST_DIR/diff" && grep -q '^+ p[12]/data:.*RETRY_EXC_ERR' "$TEST_DIR/diff"
}
check "diff: a changed status" differs
again() {
	recorded again pair_run ibv_rc_pingpong -g 0 -n 100 && "$REAL" trace diff "$base" "$TEST_DIR/trace.again"
}
check "diff: two runs of a program" again
fewer() {
	cp -r "$base" "$TEST_DIR/fewer" && rm -r "$TEST_DIR/fewer/p2" || return
	! "$REAL" trace diff "$base" "$TEST_DIR/fewer" >"$TEST_DIR/diff" && grep -q ': 1 programs$' "$TEST_DIR/diff" &&
		! "$REAL" trace diff --json "$base" "$TEST_DIR/fewer" >"$TEST_DIR/diff.json" &&
		[ "$(json "[e['b'] for e in d]" <"$TEST_DIR/diff.json")" = "['1 programs']" ]
}
check "diff: a program less" fewer
done_testing
