#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: fabrics of its own
# Strangers that connect and say nothing keep no member out, neither a new one nor one that comes back.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3 ibv_rc_pingpong

trap 'on_a fabric stop >/dev/null 2>&1; on_b fabric stop >/dev/null 2>&1; kill $relay 2>/dev/null' EXIT
port=$(free_port)
relayed=$(free_port)
echo secret >"$TEST_DIR/token"
check "A listens" on_a fabric start --listen 127.0.0.1:$port --name alpha --token-file "$TEST_DIR/token"
python3 "$TOP/tests/lib/py/relay.py" "$relayed" "$port" &
relay=$!
check "the relay listens" wait_listen "$relayed" $relay
check "B joins by it" on_b fabric start --join 127.0.0.1:$relayed --name beta --token-file "$TEST_DIR/token"
on_a run --node na -- true
on_b run --node nb -- true

# received - what B has received from A
state() {
	on_b status --json | json "' '.join(m['state'] for m in d['members'] if m['name'] == 'alpha')"
}
cat >"$TEST_DIR/cut" <<END
cd '$TOP'
. tests/lib/lib.sh
. tests/lib/join.sh
$(declare -f state)
losses() {
	on_b log | grep -c 'join: alpha at .*: '
}
back() {
	[ "\$(losses)" -gt "\$before" ] && [ "\$(state)" = direct ]
}
before=\$(losses)
kill -USR1 $relay
wait_for 20 back
END
check "members join, and one comes back, beside strangers of other addresses" \
	eval 'limit python3 "$TOP/tests/lib/py/join_strangers.py" $port "$TEST_DIR/token" 127.0.0.2 bash "$TEST_DIR/cut" >"$TEST_DIR/out" 2>&1'
cat "$TEST_DIR/out"
check "and of their own address" \
	eval 'limit python3 "$TOP/tests/lib/py/join_strangers.py" $port "$TEST_DIR/token" 127.0.0.1 bash "$TEST_DIR/cut" >"$TEST_DIR/out" 2>&1'
cat "$TEST_DIR/out"
check "A and B reach each other" across ibv_rc_pingpong -g $GID -n 100 -c
few_lines() {
	on_a log >"$TEST_DIR/log"
	[ "$(grep -c 'too many connections\|no greeting' "$TEST_DIR/log")" -le 100 ]
}
check "the log keeps what it said before" few_lines
done_testing
