#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: fabrics, with or without programs
# Fabrics start explicitly and on demand, serve many clients at once, several next to each other, and stop.
. "$(dirname "$0")/../../lib/lib.sh"

fabric() {
	limit "$RDMAEMU" fabric "$@"
}

running() {
	fabric status "$@" >/dev/null 2>&1
}

check "fabric start" fabric start
check "fabric status while it runs" fabric status
check "status" limit "$RDMAEMU" status
is "status --json names no client" "$(status_json | json 'len(d["clients"])')" 0
check "fabric stop" fabric stop
running
is "fabric status when none runs" $? 1

# Its process is nothing to start by hand.
by_hand() {
	local out status=0
	out=$(limit "$RDMAEMU" fabric-process --fabric=by_hand --dir="$TEST_DIR" 2>&1 3>&- 4>&-) || status=$?
	[ "$status:$out" = "2:rdmaemu: \`rdmaemu run\` and \`rdmaemu fabric start\` start the fabric-process, users do not" ] &&
		return
	echo "status $status: $out"
	return 1
}
check "a fabric process without a starter ends with a line" by_hand

# Started on demand, and gone a little after its last client.
on_demand() {
	emu sh -c "ibv_devices >&2 && '$RDMAEMU' status --json" >"$TEST_DIR/status"
}
check "run starts a fabric" on_demand
fpid=$(json 'd["pid"]' <"$TEST_DIR/status")
gone() {
	[ ! -e "/proc/$fpid" ]
}
if wait_for 20 gone; then
	ok "it leaves when the last client has gone"
else
	not_ok "it leaves when the last client has gone"
fi

# Many at once start exactly one.
pids=
for i in $(seq 24); do
	limit "$RDMAEMU" run -- sh -c 'ibv_devinfo -l >/dev/null && sleep 1' 2>>"$TEST_DIR/many.err" &
	pids="$pids $!"
done
bad=0
for p in $pids; do
	wait "$p" || bad=$((bad + 1))
done
is "24 programs started at once" "$bad" 0
is "silently" "$(cat "$TEST_DIR/many.err")" ""
n=0
for d in /proc/[0-9]*; do
	if grep -qz "^RDMAEMU_DIR=$RDMAEMU_DIR\$" "$d/environ" 2>/dev/null &&
		[ "$(readlink "$d/exe" 2>/dev/null)" = "$(readlink -f "$RDMAEMU")" ]; then
		n=$((n + 1))
	fi
done
[ $n -le 1 ] && ok "one fabric process" || not_ok "one fabric process" "$n processes"

# Two fabrics side by side do not see each other: a QP of one cannot reach one of the other.
check "fabric start --fabric red" fabric start --fabric red
check "fabric start --fabric blue" fabric start --fabric blue
limit "$RDMAEMU" run --fabric red -- "$T/app_device_idle" 60 >/dev/null &
pid=$!
if wait_for 10 sh -c "'$RDMAEMU' status --json --fabric red | grep -q app_device_idle"; then
	ok "red sees its client"
else
	not_ok "red sees its client" "$("$RDMAEMU" status --json --fabric red 2>&1)"
fi
is "blue does not" "$("$RDMAEMU" status --json --fabric blue | grep -c app_device_idle)" 0
kill $pid
wait $pid
port=$(free_port)
limit "$RDMAEMU" run --fabric red -- ibv_rc_pingpong -p "$port" >/dev/null 2>&1 &
server=$!
wait_listen "$port" $server
if limit "$RDMAEMU" run --fabric blue -- ibv_rc_pingpong -n 10 -p "$port" 127.0.0.1 >/dev/null 2>&1; then
	not_ok "no traffic between fabrics"
else
	ok "no traffic between fabrics"
fi
kill $server 2>/dev/null
wait $server
check "stop red" fabric stop --fabric red
check "blue still runs" fabric status --fabric blue
check "stop blue" fabric stop --fabric blue

# A flag wins over a variable.
check "start green" fabric start --fabric green
RDMAEMU_FABRIC=green check "RDMAEMU_FABRIC names it" fabric status
is "--fabric wins over it" "$(RDMAEMU_FABRIC=green "$RDMAEMU" fabric status --fabric none >/dev/null 2>&1; echo $?)" 1
check "stop green" fabric stop --fabric green

is "directory is private" "$(stat -c %a "$RDMAEMU_DIR")" 700

# An idle fabric uses no CPU.
fabric start >/dev/null
fpid=$(status_json | json 'd["pid"]')
if [ -r "/proc/$fpid/stat" ]; then
	before=$(cpu_ticks "$fpid")
	sleep 1
	is "an idle fabric uses no CPU" "$(($(cpu_ticks "$fpid") - before))" 0
fi
fabric stop >/dev/null
done_testing
