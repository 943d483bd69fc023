#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: fabrics of its own
# A fabric without a free descriptor leaves connections in the listener's queue, and takes no CPU meanwhile.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3 prlimit ibv_rc_pingpong

trap 'on_a fabric stop >/dev/null 2>&1; on_b fabric stop >/dev/null 2>&1' EXIT
port=$(free_port)
check "A listens" on_a fabric start --listen 127.0.0.1:$port --name alpha
on_a run --node na -- true
pid=$(on_a status --json | json 'd["pid"]')

# Strangers connect while there is no descriptor; they end at once, but the first stays until the limit is lifted.
idles() {
	python3 - "$pid" "$port" <<'END'
import os, resource, socket, sys, time
pid, port = int(sys.argv[1]), int(sys.argv[2])


def sleeps():
    """Whether the fabric process waits. One that turns in its loop always runs, or would like to."""
    return open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0] == "S"


old = resource.prlimit(pid, resource.RLIMIT_NOFILE)
used = {int(x) for x in os.listdir("/proc/%d/fd" % pid)}
lowest_free = min(set(range(max(used) + 2)) - used)
resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free, old[1]))
strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
asleep = 0
for _ in range(100):
    time.sleep(0.02)
    asleep += sleeps()
resource.prlimit(pid, resource.RLIMIT_NOFILE, old)
print("# it sleeps in %d looks of 100" % asleep)
sys.exit(asleep < 5)
END
}
check "connections wait, and the fabric process sleeps" idles
check "B joins when there are descriptors" on_b fabric start --join 127.0.0.1:$port --name beta
on_b run --node nb -- true
check "they know each other" wait_for 10 knows on_a nb
check "and reach each other" across ibv_rc_pingpong -g $GID -n 100 -c
one_line() {
	on_a log >"$TEST_DIR/log"
	[ "$(grep -c 'join: connections wait: no descriptors are left' "$TEST_DIR/log")" = 1 ] && return
	cat "$TEST_DIR/log"
	return 1
}
check "the log has one line about it" one_line
done_testing
