#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: fabrics of its own
# A member that has the token but violates the protocol; strangers that connect too often or are too slow.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3 ibv_rc_pingpong

LIMIT=$((100 * SLOW * PATIENCE))
trap 'on_a fabric stop >/dev/null 2>&1; on_b fabric stop >/dev/null 2>&1' EXIT
port=$(free_port)
echo secret >"$TEST_DIR/token"
check "fabric start" on_a fabric start --listen 127.0.0.1:$port --name alpha --token-file "$TEST_DIR/token"
on_a run --node na -- true

limit python3 "$TOP/tests/lib/py/join_evil.py" "$port" "$TEST_DIR/token" ${TORTURE_SEED-} >"$TEST_DIR/out" 2>&1 ||
	not_ok "join_evil.py" "$(tail -n 30 "$TEST_DIR/out")"
cat "$TEST_DIR/out"
log_has() {
	on_a log >"$TEST_DIR/log"
	grep -q "join: .*$1" "$TEST_DIR/log" && return
	cat "$TEST_DIR/log"
	return 1
}
check "the log has them" log_has "evil[a-z]* at 127.0.0.1:[0-9]*: turned away: "

# dribble - a greeting, one byte in half a second; crowd - many connections that say nothing
strangers() {
	python3 - "$port" "$1" <<'END'
import socket, sys, time
s = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(1 if sys.argv[2] == "dribble" else 40)]
end = time.monotonic() + 60
if sys.argv[2] == "crowd":
    for x in s:
        x.settimeout(60)
        try:
            while x.recv(1000):
                pass
        except ConnectionError:
            pass
    sys.exit(0)
try:
    while time.monotonic() < end:
        s[0].sendall(b"\x78")
        time.sleep(0.5)
except OSError:
    sys.exit(0)
sys.exit(1)
END
}
check "a greeting that dribbles ends" strangers dribble
check "and the log says so" log_has "no greeting in time"
check "strangers that are too many are let go" strangers crowd
check "and the log says so" log_has "turned away: there are too many connections"
turned() {
	[ "$(on_a status --json | json 'd["join"]["turned_away"]')" -ge 35 ]
}
check "the status counts them" turned

check "others still join" on_b fabric start --join 127.0.0.1:$port --name beta --token-file "$TEST_DIR/token"
on_b run --node nb -- true
check "they know each other" wait_for 10 knows on_a nb
check "and reach each other" across ibv_rc_pingpong -g $GID -n 100 -c
check "the HCA's memory is sound" test "$(on_a status --audit --json | json 'd["audit"]')" = clean
done_testing
