#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one nodes fabrics
# The ping-pongs of libibverbs other than RC's, which tests/e2e/perftest/pingpong.t has, and ibv_asyncwatch.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ibv_xsrq_pingpong ibv_asyncwatch stdbuf

mtu=$(emu ibv_devinfo | sed -n 's/.*active_mtu:[^(]*(\([0-9]*\)).*/\1/p;' | head -n 1)
mtu=$((1 << (mtu + 7)))

# moved SIZE ITERS PROGRAM ARGS... - both sides must say that they moved that much, both ways
moved() {
	local size=$1 iters=$2 side bytes=$(($1 * $2 * 2))
	shift 2
	pair_run "$@" -s "$size" -n "$iters" || return
	for side in server client; do
		grep -q "^$bytes bytes in [0-9.]* seconds = " "$TEST_DIR/$side.out" &&
			grep -q "^$iters iters in [0-9.]* seconds = " "$TEST_DIR/$side.out" && continue
		echo "$side: not $bytes bytes in $iters iterations"
		cat "$TEST_DIR/$side.out"
		return 1
	done
}

pp() {
	check "$3 -s $1 -n $2 ${*:4}" moved "$@"
}

pp 4096 1000 ibv_uc_pingpong
pp 4096 1000 ibv_uc_pingpong -c -g $GID6
pp 4096 1000 ibv_uc_pingpong -c -e
pp 4096 1000 ibv_uc_pingpong -m 256 -c
for size in 1 64 1024 4097 65536; do
	pp $size 200 ibv_uc_pingpong -c
done
pp 1048576 20 ibv_uc_pingpong -c -e -g $GID6

pp "$mtu" 1000 ibv_ud_pingpong -g $GID6
pp "$mtu" 1000 ibv_ud_pingpong -g $GID6 -c
pp "$mtu" 1000 ibv_ud_pingpong -g $GID6 -c -e
pp 256 1000 ibv_ud_pingpong -g 1 -c
for size in 1 64 255 $((mtu - 1)); do
	pp $size 500 ibv_ud_pingpong -g $GID6 -c
done
in_one check "ibv_ud_pingpong refuses more than the MTU" sh -c "
	! '$RDMAEMU' run -- ibv_ud_pingpong -s $((mtu + 1)) >'$TEST_DIR/out' 2>&1 &&
	grep -q 'larger than port MTU' '$TEST_DIR/out'"

# Ethernet knows no addresses but GIDs: RoCE makes no address handle without one.
without_gid() {
	! pair_run ibv_ud_pingpong -s 64 >/dev/null &&
		grep -q 'Failed to create AH' "$TEST_DIR/server.out"
}
in_one check "ibv_ud_pingpong without a GID has no address" without_gid

pp 4096 1000 ibv_srq_pingpong
pp 4096 1000 ibv_srq_pingpong -g $GID6 -c
pp 4096 1000 ibv_srq_pingpong -e -c
pp 4096 1000 ibv_srq_pingpong -q 1 -c
pp 4096 1000 ibv_srq_pingpong -q 100 -r 200 -e
pp 4096 500 ibv_srq_pingpong -o -c
pp 65536 200 ibv_srq_pingpong -q 8 -c -m 256

# ibv_xsrq_pingpong: one server, several clients, as many as its arguments say.
xsrq() {
	local clients=$1 port server i pids=() s=0 CMD gid=()
	shift
	port=$(free_port)
	[ "$SETTING" = one ] || [[ "$*" == *-g* ]] || gid=(-g 1)
	command_a ibv_xsrq_pingpong -p "$port" -c "$clients" "$@" "${gid[@]}" || return
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_listen "$port" $server || s=1
	for ((i = 0; i < clients; i++)); do
		command_b ibv_xsrq_pingpong -p "$port" "$@" "${gid[@]}" "$ADDR"
		"${CMD[@]}" >"$TEST_DIR/client$i.out" 2>&1 </dev/null &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || s=1
	done
	[ $s = 0 ] || kill $server 2>/dev/null
	wait $server || s=1
	[ $s = 0 ] && return
	tail -n 20 "$TEST_DIR/server.out" "$TEST_DIR"/client*.out
	return 1
}

xsrq_check() {
	check "ibv_xsrq_pingpong, $1 clients: ${*:2}" xsrq "$@"
}

xsrq_check 1 -m 1024
xsrq_check 1 -m 1024 -g $GID6 -e
xsrq_check 1 -m 256 -s 65536 -n 100
xsrq_check 4 -m 1024 -g $GID6 -n 100
xsrq_check 4 -m 1024 -n 100 -e
xsrq_check 1 -m 1024 -o -n 100

# One program, which prints to a file by the block if it is not told otherwise.
[ "$SETTING" = one ] || done_testing
limit "$RDMAEMU" run --fabric watch -- stdbuf -oL ibv_asyncwatch >"$TEST_DIR/watch" 2>&1 </dev/null &
watch=$!
check "ibv_asyncwatch waits for events" wait_for 30 grep -q 'async event FD' "$TEST_DIR/watch"
for way in down up; do
	"$RDMAEMU" port $way --fabric watch >"$TEST_DIR/out" 2>&1 || cat "$TEST_DIR/out"
done
check "ibv_asyncwatch sees the port go" \
	wait_for 30 grep -q 'event_type IBV_EVENT_PORT_ERR (10), port 1' "$TEST_DIR/watch"
check "ibv_asyncwatch sees the port come" \
	wait_for 30 grep -q 'event_type IBV_EVENT_PORT_ACTIVE (9), port 1' "$TEST_DIR/watch"
"$RDMAEMU" fabric stop --fabric watch >/dev/null 2>&1
check "ibv_asyncwatch sees the device go" \
	wait_for 30 grep -q 'event_type IBV_EVENT_DEVICE_FATAL (8)' "$TEST_DIR/watch"
kill $watch 2>/dev/null
wait $watch
done_testing
