# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Fabrics A, B and C in state directories of their own; sourced after tests/lib/lib.sh. Programs run on
# the nodes na and nb. In tests with network namespaces, IN_A and IN_B enter those of A and B, ADDR_A
# is A's address as B reaches it, and NODE_A and NODE_B are empty: programs run on node0.

IN_A=() IN_B=()
NODE_A=(--node na) NODE_B=(--node nb)
SERVER_ON=on_a CLIENT_ON=on_b
OOB=127.0.0.1
GID=1
mkdir -p -m 700 "$TEST_DIR/a" "$TEST_DIR/b" "$TEST_DIR/c"

on_a() {
	RDMAEMU_DIR=$TEST_DIR/a limit "${IN_A[@]}" "$RDMAEMU" "$@"
}

on_b() {
	RDMAEMU_DIR=$TEST_DIR/b limit "${IN_B[@]}" "$RDMAEMU" "$@"
}

on_c() {
	RDMAEMU_DIR=$TEST_DIR/c limit "$RDMAEMU" "$@"
}

# knows SIDE NODE - whether a side (on_a ...) can reach a node of that name
knows() {
	[[ $("$1" status --json) =~ \"name\":\"$2\",[^]}]*\"addresses\": ]]
}

# address SIDE NODE - its IPv4 address
address() {
	"$1" status --json |
		json "[a for n in d['nodes'] if n['name'] == '$2' for a in n['addresses']][0]"
}

# both_sides PORT SERVER CLIENT - run two command lines: the server on A, or SERVER_ON, which listens on
# TCP port PORT, or with the rdma_cm if that is 0; then the client on B, or CLIENT_ON
both_sides() {
	local server s=0 c=0 preload
	preload=$(clock_env "${2%% *}")
	[ -z "$preload" ] || local -x "$preload"
	# shellcheck disable=SC2086
	$SERVER_ON run "${NODE_A[@]}" -- $2 >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	if [ "$1" = 0 ]; then
		wait_for 20 cm_listens
	else
		"${IN_A[@]}" "$T/sys_port" wait "$1" $server $((60 * SLOW * PATIENCE))
	fi
	# shellcheck disable=SC2086
	$CLIENT_ON run "${NODE_B[@]}" -- $3 >"$TEST_DIR/client.out" 2>&1 </dev/null || c=$?
	did_well $c "$TEST_DIR/client.out" && c=0
	[ $c = 0 ] || sleep 0.2
	[ $c = 0 ] || end_job $server
	wait $server || s=$?
	[ $c = 0 ] && did_well $s "$TEST_DIR/server.out" && return 0
	echo "server: status $s"
	tail -n 40 "$TEST_DIR/server.out"
	echo "client: status $c"
	tail -n 40 "$TEST_DIR/client.out"
	$SERVER_ON log | tail -n 5
	$CLIENT_ON log | tail -n 5
	return 1
}

# cm_listens - whether an rdma_cm identifier on the server's side listens
cm_listens() {
	[[ $($SERVER_ON status --json) =~ \"state\":\"LISTEN\" ]]
}

# failures - print how many connections between members, or queue pairs, ended in a timeout
failures() {
	local side
	for side in on_a on_b on_c; do
		"$side" log 2>/dev/null
	done | grep -cE 'it is silent|it is too slow|is dead|IBV_WC_RETRY_EXC_ERR|RDMA_CM_EVENT_UNREACHABLE'
}

# steady COMMAND... - it must succeed; repeated if a timeout ended it, as happens on an overloaded machine:
# ibv_*_pingpong waits only half a second for its peer, and members lose datagrams meanwhile
steady() {
	local before out CLOCK_IS_TRIED=yes
	for _ in 1 2 3 4 5; do
		before=$(failures)
		out=$("$@" 2>&1) && return 0
		[ "$(failures)" != "$before" ] || no_report || break
		sleep 2
	done
	echo "$out"
	return 1
}

# across_once PROGRAM ARGS... - as pair_once, with the server on A and the client on B
across_once() {
	local port
	port=$(free_port)
	# shellcheck disable=SC2046
	set -- "$@" $(without_clock "$1")
	both_sides "$port" "$* -p $port" "$* -p $port $OOB"
}

across() {
	steady across_once "$@"
}

# cm_across SERVER CLIENT - two rdma_cm programs, with the server on A and the client on B
cm_across() {
	steady both_sides 0 "$1" "$2"
}

# all_across SUFFIX - the checks that must pass between any two joined fabrics
all_across() {
	local p addr size
	for p in rc uc ud; do
		check "ibv_${p}_pingpong across$1" across ibv_${p}_pingpong -g $GID -n 300 -c
	done
	check "ibv_rc_pingpong -e across$1" across ibv_rc_pingpong -g $GID -n 100 -e
	check "ibv_xsrq_pingpong across$1" across ibv_xsrq_pingpong -g $GID -n 100
	check "ibv_srq_pingpong across$1" across ibv_srq_pingpong -g $GID -n 100
	check "ib_send_bw across$1" across ib_send_bw -x $GID -s 65536 -n 500
	check "ib_send_bw -c UD across$1" across ib_send_bw -c UD -x $GID -s 1024 -n 500 -r 512
	check "ib_write_bw across$1" across ib_write_bw -x $GID -s 1048576 -n 100
	for size in $SIZES; do
		check "ib_write_bw -s $size across$1" across ib_write_bw -x $GID -s "$size" -n 20
	done
	check "ib_read_bw across$1" across ib_read_bw -x $GID -s 1048576 -n 100
	check "ib_read_bw -b across$1" across ib_read_bw -b -x $GID -s 65536 -n 200
	check "ib_atomic_bw across$1" across ib_atomic_bw -x $GID -n 200
	check "ib_write_lat across$1" across ib_write_lat -x $GID -n 200
	check "ib_send_bw -q 16 across$1" across ib_send_bw -x $GID -q 16 -s 4096 -n 100
	addr=${ADDR_A:-$(address on_a na)}
	check "rping across$1" cm_across "rping -s -a $addr -S 5000" "rping -c -a $addr -C 50 -V -S 5000"
	check "udaddy across$1" cm_across "udaddy -b $addr -S 500" "udaddy -s $addr -S 500"
	check "ucmatose across$1" cm_across "ucmatose -b $addr -S 5000" "ucmatose -s $addr -S 5000"
}
