#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: one fabric after another, on the host's node
# The journal of a fabric that has ended is kept; a line begins with severity and verdict, and fits a terminal.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 script rping

R=$RDMAEMU
DIR=$RDMAEMU_DIR/journals

ended() {
	! "$R" fabric status
}

# fails ARGS... - a run that ends with an error in its journal: nobody listens
fails() {
	limit "$R" run "$@" -- rping -c -a 127.0.0.1 -p 9 -C 1 >/dev/null 2>&1
}

"$R" log >/dev/null 2>"$TEST_DIR/err"
is 'nothing is kept yet' "$? $(cat "$TEST_DIR/err")" '1 rdmaemu: fabric default is not running'

# --- the last run

fails --linger 0
check 'its fabric ends' wait_for 30 ended
"$R" log >"$TEST_DIR/out" 2>"$TEST_DIR/err"
is 'the log has its journal' "$? $(grep -c '^error   RDMA_CM_EVENT_REJECTED .* rping\[[0-9]*\] CM REQ: rejected with reason 8' "$TEST_DIR/out")" '0 1'
check 'and says so' grep -Eq '^rdmaemu: the journal of fabric default, which ended [0-9]+ s ago, at 20' "$TEST_DIR/err"
is 'in one line' "$(wc -l <"$TEST_DIR/err")" 1
is 'and in JSON' "$("$R" log --json 2>/dev/null | json "[(e['severity'], e['status'], e['kind']) for e in d if e['kind'] == 'cm']")" \
	"[('error', 'RDMA_CM_EVENT_REJECTED', 'cm')]"
pid=$("$R" log --json 2>/dev/null | json "[e['who']['pid'] for e in d if e['kind'] == 'cm'][0]")
errors() {
	"$R" log "$@" 2>/dev/null | grep -c '^error'
}
is '--program' "$(errors --program rping) $(errors --program "$pid") $(errors --program other)" '1 1 0'
is 'a program that no entry is about' "$("$R" log --program other 2>&1 | tail -n 1)" \
	"rdmaemu: no entry of the journal is about program 'other'"
is '--node' "$(errors --node node0)" 1
rdmaemu_refuses log '--node that it had not' 1 "fabric default had no node 'nosuch'" --node nosuch
rdmaemu_refuses log '--follow' 1 'fabric default is not running' --follow
check '-v has both sides' grep -q 'rping\[[0-9]*\]@node0 .*-> ' <("$R" log -v 2>/dev/null)

# --- the one before

"$R" run --linger 0 -- true
check 'the next fabric ends' wait_for 30 ended
is 'a run without an error has an empty journal' "$("$R" log 2>/dev/null)" ''
is '--last 2 is the one before' "$("$R" log --last 2 2>/dev/null | grep -c REJECTED)" 1
rdmaemu_refuses log '--last 3' 1 'log: --last 3: 2 journals are kept' --last 3
rdmaemu_refuses log '--last 0' 2 'expected a number' --last 0
rdmaemu_refuses log '--last and --follow' 2 'expected no --follow' --last 1 --follow
fails --fresh
kept() {
	[ "$(find "$DIR" -name '*.journal' | wc -l)" = "$1" ]
}
check 'run --fresh keeps its journal' wait_for 30 kept 3
is 'as that of the fabric in whose place it was' "$("$R" log --fabric default 2>/dev/null | grep -c REJECTED)" 1
rdmaemu_refuses log 'another fabric has none' 1 'fabric other is not running' --fabric other

# --- bounds

for ((i = 0; i < 16; i++)); do "$R" run --fresh -- true; done
check 'at most 16 are kept' wait_for 30 kept 16
printf 'x' >"$DIR/$(printf '%016x' $((2 ** 62))).default.journal"
rdmaemu_refuses log 'a damaged one' 1 'expected JSON objects' --json
rm "$DIR"/4*.journal

# --- a running fabric

"$R" fabric start --clock manual
"$R" fault add 'lost: fail call=ibv_alloc_pd errno=ENOMEM'
rdmaemu_refuses log 'a node that it does not have' 1 "fabric default has no node 'nosuch'; see 'rdmaemu status'" --node nosuch
"$R" run -- ibv_rc_pingpong >/dev/null 2>&1
is 'with a clock that stands, a rule comes before its hits' \
	"$("$R" log | grep -o 'fault lost added\|fault rule lost' | head -n 2 | xargs)" 'fault lost added fault rule lost'
"$R" fabric stop

# --- on a terminal

on_terminal() {
	TERM=xterm script -qec "stty cols $1; exec '$R' log --last ${2-1}" /dev/null 2>/dev/null </dev/null | tr -d '\r' |
		grep -v '^rdmaemu: '
}
check 'lines fit a terminal' awk 'length($0) > 60 { exit 1 }' <(NO_COLOR=1 on_terminal 60)
is 'without a loss' "$(NO_COLOR=1 on_terminal 60 | xargs)" "$("$R" log --last 1 2>/dev/null | xargs)"
check 'a severity has a colour' grep -q $'\033\\[1;31merror' <(NO_COLOR='' on_terminal 100)
is 'NO_COLOR: it has none' "$(NO_COLOR=1 on_terminal 100 | grep -c $'\033')" 0
is 'nor in a pipe' "$("$R" log 2>/dev/null | grep -c $'\033')" 0
done_testing
