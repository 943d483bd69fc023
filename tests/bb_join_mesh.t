#!/bin/bash
# SPDX-License-Identifier: MIT
# slow
# Three members: a full mesh of those that listen, and two that cannot reach each other behind a hub.
. "$(dirname "$0")/lib.sh"
. "$TOP/tests/join.sh"
need ibv_rc_pingpong ib_send_bw rping udaddy mckey python3

stop_all() {
	local side
	for side in a b c; do
		RDMAEMU_DIR=$TEST_DIR/$side "$RDMAEMU" fabric stop >/dev/null 2>&1
	done
}
trap stop_all EXIT

# between SIDE NODE SIDE NODE COMMAND... - with the server on the first side's node
between() {
	local SERVER_ON=on_$1 NODE_A=(--node "$2") CLIENT_ON=on_$3 NODE_B=(--node "$4")
	shift 4
	"$@"
}

# all_know - each side can reach the others' nodes
all_know() {
	local side n
	for side in a b c; do
		for n in a b c; do
			knows on_$side n$n || return 1
		done
	done
}

# way SIDE NAME - how the member is reached
way() {
	"on_$1" status --json | json "[m['state'] + ' ' + m.get('via', '') for m in d['members'] if m['name'] == '$2'][0]"
}

# group ADDRESS - programs on all sides are members of a group; what one of them sends all others get
group() {
	local side pids=() bad=0 c=0 addr
	for side in a b; do
		addr=$(address on_$side n$side)
		on_$side run --node n$side -- stdbuf -oL mckey -m "$1" -b "$addr" >"$TEST_DIR/$side.out" 2>&1 </dev/null &
		pids+=($!)
		wait_for 20 grep -q joined "$TEST_DIR/$side.out"
	done
	addr=$(address on_c nc)
	on_c run --node nc -- mckey -m "$1" -b "$addr" -s >"$TEST_DIR/c.out" 2>&1 || c=$?
	wait "${pids[0]}" || bad=1
	wait "${pids[1]}" || bad=1
	[ $bad$c = 00 ] && return
	tail "$TEST_DIR"/[abc].out
	return 1
}

# works SIDE SIDE HOW - what must work between two sides
works() {
	local s=$1 c=$2 how="$1 and $2, $3" addr
	addr=$(address "on_$s" "n$s")
	set -- "$s" "n$s" "$c" "n$c"
	check "RC: $how" between "$@" across ibv_rc_pingpong -g $GID -n 200 -c
	check "RC writes: $how" between "$@" across ib_write_bw -x $GID -s 262144 -n 100
	check "RC reads: $how" between "$@" across ib_read_bw -x $GID -s 262144 -n 100
	check "atomics: $how" between "$@" across ib_atomic_bw -x $GID -n 100
	check "UC: $how" between "$@" across ib_write_bw -c UC -x $GID -s 4096 -n 200
	check "UD: $how" between "$@" across ib_send_bw -c UD -x $GID -s 1024 -n 200 -r 512
	check "XRC: $how" between "$@" across ib_send_bw -c XRC -x $GID -s 4096 -n 200
	check "rdma_cm: $how" between "$@" cm_across "rping -s -a $addr -S 2000" "rping -c -a $addr -C 20 -V -S 2000"
	check "rdma_cm, datagrams: $how" between "$@" cm_across "udaddy -b $addr -S 500" "udaddy -s $addr -S 500"
}

all_work() {
	local side
	for side in a b c; do
		on_$side run --node n$side -- true
	done
	check "all know of all, $1" wait_for 20 all_know
	works a b "$1"
	works b c "$1"
	works c a "$1"
	check "multicast to all, $1" group 239.1.2.3
}

# --- all listen ----------------------------------------------------------------------------------

port_a=$(free_port) port_b=$(free_port) port_c=$(free_port)
check "A listens" on_a fabric start --listen 127.0.0.1:$port_a --name alpha
check "B joins A, and listens" on_b fabric start --listen 127.0.0.1:$port_b --join 127.0.0.1:$port_a --name beta
check "C joins A, and listens" on_c fabric start --listen 127.0.0.1:$port_c --join 127.0.0.1:$port_a --name gamma
direct() {
	is_direct() {
		[ "$(way $1 $2)" = "direct " ]
	}
	is_direct b gamma && is_direct c beta && is_direct a beta && is_direct a gamma
}
check "B and C have met directly" wait_for 20 direct
all_work "in a mesh"
kill_a() {
	on_a fabric stop
	sleep 1
	between b nb c nc across ibv_rc_pingpong -g $GID -n 200 -c
}
check "B and C without A" kill_a
stop_all

# --- a hub ---------------------------------------------------------------------------------------

check "the hub listens" on_a fabric start --listen 127.0.0.1:$port_a --name alpha
check "B joins it" on_b fabric start --join 127.0.0.1:$port_a --name beta
check "C joins it" on_c fabric start --join 127.0.0.1:$port_a --name gamma
behind() {
	[ "$(way b gamma)" = "behind alpha" ] && [ "$(way c beta)" = "behind alpha" ]
}
check "B and C are behind the hub" wait_for 20 behind
all_work "by a hub"
stop_all
done_testing
