#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 60
# settings: one: fabrics of its own
# Members and strangers that attack a fabric, directly and through it, while two programs on two fabrics exchange data
# that they check byte by byte: these notice nothing, and the fabric process lives, sleeps, and says what was wrong.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3

LIMIT=$((400 * SLOW * PATIENCE))
trap 'kill -KILL $serve $call 2>/dev/null; on_b fabric stop >/dev/null 2>&1; on_a fabric stop >/dev/null 2>&1' EXIT
port=$(free_port)
meet=$(free_port)
echo secret >"$TEST_DIR/token"
check "A listens" on_a fabric start --listen 127.0.0.1:$port --name alpha --token-file "$TEST_DIR/token"
check "B joins" on_b fabric start --join 127.0.0.1:$port --name beta --token-file "$TEST_DIR/token"
on_a run --node na -- true
on_b run --node nb -- true
check "they know each other" wait_for 10 knows on_a nb

RDMAEMU_DIR=$TEST_DIR/a "$RDMAEMU" run --node na -- "$T/app_qp_join_load" serve "$meet" 1 20 >"$TEST_DIR/serve" 2>&1 &
serve=$!
RDMAEMU_DIR=$TEST_DIR/b "$RDMAEMU" run --node nb -- "$T/app_qp_join_load" call "$meet" 2 20 >"$TEST_DIR/call" 2>&1 &
call=$!
connected() {
	grep -q '# connected' "$TEST_DIR/serve" && grep -q '# connected' "$TEST_DIR/call"
}
check "traffic runs" wait_for 20 connected
qpns=$(for side in on_a on_b; do $side status --json | json "','.join(str(q['qpn']) for q in d['qps'])"; done | paste -sd,)
pid=$(on_a status --json | json 'd["pid"]')

limit python3 "$TOP/tests/lib/py/join_hostile.py" "$port" "$TEST_DIR/token" "$pid" "$qpns" \
	"${GARBAGE:-$((2000 / SLOW))}" >"$TEST_DIR/out" 2>&1 || not_ok "join_hostile.py" "$(tail -n 30 "$TEST_DIR/out")"
cat "$TEST_DIR/out"

kill -TERM $serve $call
wait $serve
is "the server's data was right to the end" $? 0
wait $call
is "the client's data was right to the end" $? 0
grep '^#' "$TEST_DIR/serve" "$TEST_DIR/call" | tail -n 4
never_lost() {
	! { on_a log | grep 'join: beta at'; on_b log | grep 'join: alpha at'; }
}
check "the connection between them was never lost" never_lost
still() {
	[ "$(on_a status --json | json 'd["pid"]')" = "$pid" ]
}
check "the fabric process is the same" still
on_a log >"$TEST_DIR/log"
for line in 'turned away: malformed frame' 'turned away: more than it has credit for' 'turned away: too many nodes'; do
	check "the log says: $line" grep -q "join: evil[0-9]* at 127.0.0.1:[0-9]*: $line" "$TEST_DIR/log"
done
says_once() {
	on_b log | grep -q "join: nb by .*: turned away: there is a node 'nb' already" && return
	on_b log
	return 1
}
check "B's log says who lied through the hub" says_once
check "A's memory is sound" test "$(on_a status --audit --json | json 'd["audit"]')" = clean
check "B's memory is sound" test "$(on_b status --audit --json | json 'd["audit"]')" = clean
done_testing
