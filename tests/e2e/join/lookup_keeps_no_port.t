#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: fabrics of its own
# A name server that does not answer: the process that looks a name up keeps nothing of the fabric process, so that
# another fabric listens at the same port while the lookup still waits.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3 pgrep mount
own_netns
unshare -m true 2>/dev/null || skip_all "cannot mount"

ip link set lo up
echo "nameserver 127.0.0.1" >"$TEST_DIR/resolv.conf"
echo "hosts: dns" >"$TEST_DIR/nsswitch.conf"
silent_server() {
	exec python3 - "$TEST_DIR/silent" <<'END'
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
open(sys.argv[1], "w").close()
time.sleep(600)
END
}
silent_server &
server=$!
trap 'on_a fabric stop >/dev/null 2>&1; on_b fabric stop >/dev/null 2>&1; kill $server' EXIT
check "a name server is silent" wait_for 10 test -e "$TEST_DIR/silent"
starts() {
	RDMAEMU_DIR=$TEST_DIR/a limit unshare -m sh -c 'mount --bind "$1/resolv.conf" /etc/resolv.conf &&
		mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf || exit 77
		shift; exec "$@"' sh "$TEST_DIR" "$RDMAEMU" fabric start --listen 127.0.0.1:7471 --join nowhere.example:1 >"$TEST_DIR/out" 2>&1
}
starts
status=$?
[ $status != 77 ] || skip_all "cannot mount"
is "A starts, and waits for the name" $status 0
grep -q 'nowhere.example:1' "$TEST_DIR/out" || not_ok "the start says so" "$(cat "$TEST_DIR/out")"
pid=$(on_a status --json | json 'd["pid"]')

# looks_up - whether a process looks the name up; the file gets how many sockets it has. Between queries it has none.
looks_up() {
	find "/proc/$(pgrep -P "$pid" | head -n 1)/fd" -lname 'socket:*' 2>/dev/null | wc -l >"$TEST_DIR/sockets"
	[ "$(cat "$TEST_DIR/sockets")" -gt 0 ]
}
check "a process of A looks it up" wait_for 20 looks_up
is "it has a socket for its query only" "$(cat "$TEST_DIR/sockets")" 1
# A lookup that has just begun goes on for ten seconds.
child=$(pgrep -P "$pid" | head -n 1)
is_another() {
	[ "$(pgrep -P "$pid" | head -n 1)" != "$child" ]
}
wait_for 20 is_another
wait_for 20 pgrep -P "$pid"
child=$(pgrep -P "$pid" | head -n 1)
check "A stops" on_a fabric stop
check "the lookup goes on" test -d "/proc/$child"
check "another fabric listens at the port" on_b fabric start --listen 127.0.0.1:7471
done_testing
