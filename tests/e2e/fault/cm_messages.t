#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: nodes of its own
# Faults of connection management: messages that are dropped, delayed, duplicated, rejected or answered with MRA, with
# rping between two nodes. Fabric time is fast, as CM retransmits after 4.3 s.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need rping python3

R=$RDMAEMU

# ping RULES - rping from node b to node a under them; its exit status in $STATUS, its output in $OUT
ping() {
	local port pid
	port=$(free_port)
	"$R" fabric stop >/dev/null 2>&1
	"$R" fabric start --time-scale "${SCALE:-50}"
	"$R" run --node a -- true && "$R" run --node b -- true
	limit "$R" run --node a -- rping -s -p "$port" -C 3 -a 0.0.0.0 >"$TEST_DIR/server" 2>&1 </dev/null &
	pid=$!
	wait_for 20 listens "$port" || echo "nobody listens"
	"$R" fault add "$1" || return
	limit "$R" run --node b -- rping -c -p "$port" -a a -C 3 >"$TEST_DIR/client" 2>&1 </dev/null
	STATUS=$?
	did_well $STATUS "$TEST_DIR/client" && STATUS=0
	OUT=$(cat "$TEST_DIR/client")
	[ $STATUS = 0 ] || end_job $pid
	wait $pid 2>/dev/null
	LOG=$("$R" log -v)
}

listens() {
	"$R" status --json | grep -q "\"state\":\"LISTEN\"" && "$R" status --json | grep -q ":$1\""
}

hits() {
	"$R" fault list --json | python3 -c "import json, sys; print([r['hits'] for r in json.load(sys.stdin)['faults']])"
}

passed() {
	[ "$STATUS $2" = "0 $1" ] && return
	printf '%s\n' "status $STATUS, hits $2, not 0, $1" "$OUT" "$LOG"
	return 1
}

# through RULES HITS - the connection is made all the same
through() {
	ping "$1"
	check "$1" passed "$2" "$(hits)"
}

# fails RULES HITS PATTERN - it is not, and the client says so
fails() {
	ping "$1"
	is "$1" "$([ "$STATUS" = 0 ] || echo fails) $(hits)" "fails $2"
	check "$1: the program is told" test "$(grep -cE "$3" <<<"$OUT")" -gt 0
	check "$1: the journal names the rule" test "$(grep -c 'fault rule f1' <<<"$LOG")" -gt 0
}

through 'cm drop REQ for=2' '[2]'
through 'cm drop REP for=2' '[2]'
through 'cm drop RTU nth=1' '[1]'
through 'cm drop REQ,REP for=3' '[3]'
through 'cm delay 2s REQ nth=1' '[1]'
# Nothing may come again because a program is slow: here 4.3 s are that long.
SCALE=1 through 'cm duplicate REQ ; cm duplicate REP ; cm duplicate RTU' '[1, 1, 1]'
through 'cm mra node=a' '[1]'
SCALE=1 through 'cm reject reason=28 nth=2' '[0]'
through 'cm drop REP node=c' '[0]'
through 'drop opcode=MAD nth=1' '[1]'
fails 'cm reject reason=28' '[1]' 'REJECTED|28|connect error'
check "a rejected program's entry names the rule" test "$(grep -c 'rping.*RDMA_CM_EVENT_REJECTED: by fault rule f1: cm reject reason=28' <<<"$LOG")" = 1
check "and so does its request's" test "$(grep -c 'rping.* CM REQ psn 0x[0-9a-f]*: dropped: by fault rule f1' <<<"$LOG")" = 1
fails 'cm reject reason=9' '[1]' 'REJECTED|9|connect error'
fails 'cm drop REQ' '[16]' 'UNREACHABLE|connect error'
"$R" fabric stop
done_testing
