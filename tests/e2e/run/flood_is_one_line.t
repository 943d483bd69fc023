#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the journal of one fabric
# A flood of alike notices is one line of the log, with its count, its first time and its last.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
WHAT='no receive is posted'
N=1141

# lines [FILE] - those that are about the flood
lines() {
	grep -c "$WHAT" "$@"
}

is_followed() {
	[ "$(lines "$TEST_DIR/follow")" = "$1" ]
}

"$R" fabric start >/dev/null
"$R" log --follow >"$TEST_DIR/follow" &
follow=$!
limit "$R" run "$T/app_ud_unreceived" 3 >/dev/null
is 'a few are a line each' "$("$R" log | lines)" 3
check '--follow prints each' wait_for 20 is_followed 3

limit "$R" run "$T/app_ud_unreceived" $N >/dev/null
"$R" log >"$TEST_DIR/log"
is 'many are one line more' "$(lines "$TEST_DIR/log")" 4
check 'with their count and the last time' \
	grep -Eq "app_ud_unreceived\[[0-9]+\] .*: $WHAT; $N times, the last at [0-9.]+ s$" "$TEST_DIR/log"
is 'and the first time, in JSON' "$("$R" log --json | json "[(e['more'], 0 < e['ts'] <= e['until']) for e in d if 'more' in e]")" \
	"[($((N - 1)), True)]"
check '--follow prints the count while it grows' wait_for 20 grep -q "$WHAT; $N times" "$TEST_DIR/follow"

limit "$R" run --explain -- "$T/app_ud_unreceived" 500 >/dev/null 2>"$TEST_DIR/err"
is '--explain has one line, too' "$(lines "$TEST_DIR/err") $(grep -c "$WHAT; 500 times" "$TEST_DIR/err")" '1 1'
fabric_stop
wait $follow
is 'the last counts come with the end' "$? $(grep -c "$WHAT; 500 times" "$TEST_DIR/follow")" '0 1'
is 'the kept journal has a line of each' "$("$R" log 2>/dev/null | lines)" 5
done_testing
