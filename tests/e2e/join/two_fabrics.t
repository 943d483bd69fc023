#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# waits
# settings: one: two fabrics of its own
# Two fabrics, in state directories of their own, joined over TCP on loopback.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need ibv_rc_pingpong ib_send_bw rping udaddy mckey python3 ss

port=$(free_port)

stop_all() {
	local side
	for side in a b c; do
		RDMAEMU_DIR=$TEST_DIR/$side "$RDMAEMU" fabric stop >/dev/null 2>&1
	done
}
trap stop_all EXIT

# says FILE PATTERN
says() {
	grep -q "$2" "$1" && return
	echo "not \"$2\":"
	cat "$1"
	return 1
}

check "fabric start --listen" on_a fabric start --listen 127.0.0.1:$port --name alpha
check "fabric start --join" on_b fabric start --join 127.0.0.1:$port --name beta
check "A knows beta when B has started" knows on_a beta
check "B knows alpha" knows on_b alpha
on_a run --node na -- true
check "a node that is named later is made known" wait_for 10 knows on_b na
on_b run --node nb -- true
check "and to the other side" wait_for 10 knows on_a nb
no_pacing() {
	[ "$(ss -tinH state established "( sport = :$port or dport = :$port )" | grep -cw reno)" = 2 ]
}
check "a connection within the host is not paced, at either end" no_pacing
refused_node() {
	! on_b run --node na -- true >/dev/null 2>&1
}
check "a node of another member is not ours" refused_node

all_across ""

# A group has members on both sides: each gets what either sends.
mckey_across() {
	local addr_a addr_b s c=0
	addr_a=$(address on_a na)
	addr_b=$(address on_b nb)
	rm -f "$TEST_DIR/server.out"
	on_a run --node na -- stdbuf -oL mckey -m 239.1.2.3 -b "$addr_a" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	s=$!
	wait_for 20 grep -q 'joined' "$TEST_DIR/server.out"
	on_b run --node nb -- mckey -m 239.1.2.3 -b "$addr_b" -s >"$TEST_DIR/client.out" 2>&1 || c=$?
	wait $s && [ $c = 0 ] && return
	cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
check "UD multicast across" mckey_across

# They stay awake for a moment behind what they have brought, not for longer.
idle() {
	local side pid before
	for side in on_a on_b; do
		pid=$($side status --json | json 'd["pid"]')
		before=$(cpu_ticks "$pid")
		sleep 2
		[ $(($(cpu_ticks "$pid") - before)) -lt 20 ] && continue
		echo "$side: $(($(cpu_ticks "$pid") - before)) ticks"
		return 1
	done
}
check "nothing is done while nothing passes" idle

# --- connections that break ---

on_b fabric stop >/dev/null
relay_port=$(free_port)
python3 "$TOP/tests/lib/py/relay.py" "$relay_port" "$port" &
relay=$!
trap 'kill -CONT $relay; kill $relay; stop_all' EXIT
wait_listen "$relay_port" $relay
check "B joins by way of a relay" on_b fabric start --join 127.0.0.1:$relay_port --name beta
on_b run --node nb -- true

# The relay is cut again and again while data is on its way.
broken() {
	local p status=0 i
	across_once ib_write_bw -x $GID -s 65536 -n 20000 -u 19 >"$TEST_DIR/broken.out" 2>&1 &
	p=$!
	for i in 1 2 3; do
		sleep 0.4
		kill -USR1 $relay
	done
	wait $p || status=$?
	on_b log >"$TEST_DIR/log"
	[ $status = 0 ] && says "$TEST_DIR/log" "join: " && return
	cat "$TEST_DIR/broken.out"
	return 1
}
check "connections that break do not break RC" broken
check "rc_pingpong -c afterwards" across ibv_rc_pingpong -g $GID -n 100 -c

# A stopped relay: neither side waits indefinitely, and local programs go on.
stalled() {
	local p status=0 bad=0
	across_once ib_write_bw -x $GID -s 1048576 -n 100000 -u 14 >"$TEST_DIR/stalled.out" 2>&1 &
	p=$!
	sleep 1
	kill -STOP $relay
	RDMAEMU_DIR=$TEST_DIR/a pair_run ibv_rc_pingpong -n 1000 >"$TEST_DIR/local.out" 2>&1 || bad=1
	wait $p || status=$?
	kill -CONT $relay
	[ $status != 0 ] && [ $bad = 0 ] && grep -qi "retry\|status 12" "$TEST_DIR/stalled.out" && return
	echo "status $status, local $bad"
	cat "$TEST_DIR/stalled.out" "$TEST_DIR/local.out"
	return 1
}
check "a peer that takes nothing: RETRY_EXC, and local traffic goes on" stalled
check "joined again" wait_for 20 knows on_b alpha
again() {
	across_once ibv_rc_pingpong -g $GID -n 50 -c >/dev/null 2>&1
}
check "and it works again" wait_for 30 again

# --- a member that dies ---

dies() {
	local pid p status=0
	rm -f "$TEST_DIR/client.out"
	across_once stdbuf -oL ib_write_bw -x $GID -s 65536 -D 30 -u 12 >"$TEST_DIR/dies.out" 2>&1 &
	p=$!
	wait_for 20 grep -q "#bytes" "$TEST_DIR/client.out"
	sleep 0.5
	pid=$(on_a status --json | json 'd["pid"]')
	kill -KILL "$pid"
	wait $p || status=$?
	on_b log >"$TEST_DIR/log"
	[ $status != 0 ] && says "$TEST_DIR/log" "IBV_WC_RETRY_EXC_ERR" && return
	cat "$TEST_DIR/dies.out"
	return 1
}
check "a fabric that is killed: RETRY_EXC on the other side" dies
check "it is started again" on_a fabric start --listen 127.0.0.1:$port --name alpha
on_a run --node na -- true
check "and B finds it" wait_for 20 again

# --- who is turned away ---

on_a fabric stop >/dev/null
printf 'secret\n' >"$TEST_DIR/token"
printf 'other\n' >"$TEST_DIR/token2"
chmod 600 "$TEST_DIR"/token*
needs_token() {
	! on_a fabric start --listen 0.0.0.0:$port >"$TEST_DIR/out" 2>&1 && says "$TEST_DIR/out" "needs --token-file"
}
check "an address that is not loopback needs a token" needs_token
check "with a token it listens anywhere" on_a fabric start --listen 0.0.0.0:$port --name alpha \
	--token-file "$TEST_DIR/token"

# turned_away WHY ARGS... - C cannot join, and either side says why
turned_away() {
	local why=$1
	shift
	! on_c fabric start --join 127.0.0.1:$port "$@" >"$TEST_DIR/out" 2>&1 || {
		echo "it started"
		on_c fabric stop
		return 1
	}
	on_a log >"$TEST_DIR/log"
	says "$TEST_DIR/out" "$why" && says "$TEST_DIR/log" "$why"
}
check "no token" turned_away "no token: --token-file is missing" --name gamma
check "another token" turned_away "wrong token" --name gamma --token-file "$TEST_DIR/token2"
check "a node's name that is there already" turned_away "there is a node 'alpha' already" --name alpha \
	--token-file "$TEST_DIR/token"
check "the right token" on_c fabric start --join 127.0.0.1:$port --name gamma --token-file "$TEST_DIR/token"
on_c fabric stop >/dev/null

# noise KIND - bytes that are no greeting; the connection must be closed
noise() {
	python3 - "$port" "$1" <<'END'
import os, socket, struct, sys
port, kind = int(sys.argv[1]), sys.argv[2]
s = socket.create_connection(("127.0.0.1", port))
s.settimeout(20)
hello = b"rdmaemuJ" + struct.pack("<HHI", 2, 0, 0) + os.urandom(32) + b"evil".ljust(48, b"\0")
def frame(kind, body, n=None):
    return struct.pack("<IBBHQQ", 24 + len(body) if n is None else n, kind, 0, 0, 7, 0) + body
what = {
    "garbage": os.urandom(4096),
    "http": b"GET / HTTP/1.0\r\n\r\n" * 4,
    "oversized": frame(1, hello, 1 << 30),
    "version": frame(1, b"rdmaemuJ" + struct.pack("<H", 99) + hello[10:]),
    "burst": frame(8, os.urandom(112)),
    "proof": frame(1, hello) + frame(2, os.urandom(32)),
    "silence": b"",
}[kind]
try:
    s.sendall(what)
    while s.recv(65536):
        pass
except ConnectionError:
    pass
END
	on_a log >"$TEST_DIR/log"
	says "$TEST_DIR/log" "$2"
}
check "garbage" noise garbage "turned away: this is not a fabric's greeting"
check "somebody who speaks HTTP" noise http "turned away: this is not a fabric's greeting"
check "a frame that is too long" noise oversized "turned away: this is not a fabric's greeting"
check "another version" noise version "turned away: it speaks version 99"
check "bursts before the handshake" noise burst "turned away: this is not a fabric's greeting"
check "a proof that is none" noise proof "turned away: wrong token"
check "silence" noise silence "no greeting in time"
check "the fabric still takes others in" on_c fabric start --join 127.0.0.1:$port --name gamma \
	--token-file "$TEST_DIR/token"

# --- three: a hub, and a mesh ---

# C and B are both connected with A, and neither listens.
on_b fabric stop >/dev/null 2>&1
check "B joins the hub" on_b fabric start --join 127.0.0.1:$port --name beta --token-file "$TEST_DIR/token"
on_b run --node nb -- true
on_c run --node nc -- true
check "C knows B by the hub" wait_for 10 knows on_c nb
check "B knows C by the hub" wait_for 10 knows on_b nc
on_a() {
	RDMAEMU_DIR=$TEST_DIR/c limit "$RDMAEMU" "$@"
}
NODE_A=(--node nc)
check "rc_pingpong through the hub" across ibv_rc_pingpong -g $GID -n 200 -c
check "ib_write_bw through the hub" across ib_write_bw -x $GID -s 65536 -n 1000
check "ib_read_bw through the hub" across ib_read_bw -x $GID -s 1048576 -n 50
done_testing
