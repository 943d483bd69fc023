#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 90
# waits
# settings: one nodes fabrics
# perftest over every type of queue pair that its programs offer besides RC, which tests/e2e/perftest/bandwidth.t
# and tests/e2e/perftest/latency.t have: UC, UD, XRC, and raw packets.
. "$(dirname "$0")/../../lib/lib.sh"
need ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_atomic_bw \
	ib_atomic_lat raw_ethernet_bw raw_ethernet_lat raw_ethernet_burst_lat raw_ethernet_fs_rate

mtu=$(emu ibv_devinfo | sed -n 's/.*active_mtu:[^(]*(\([0-9]*\)).*/\1/p;' | head -n 1)
mtu=$((1 << (mtu + 7)))

# results FILE SIZE ITERS LINES - that many lines of results, of that size and that many messages
# each ('*': of any), and the mean (bandwidth, latency or rate) of each is above 0
results() {
	awk -v size="$2" -v iters="$3" -v wanted="$4" '
		/^ *#bytes/ { table = 1; next }
		!table || NF < 4 || $1 !~ /^[0-9]+$/ { next }
		size != "*" && $1 != size { bad = 1 }
		iters != "*" && $2 != iters { bad = 1 }
		$2 <= 0 || $4 + $5 <= 0 { bad = 1 }
		{ n++ }
		END { exit bad || n != wanted }' "$1" && return
	echo "not $4 line(s) of results with size $2 and $3 iterations:"
	cat "$1"
	return 1
}

# perf LINES SIZE ITERS PROGRAM ARGS... - the client, at least, reports the requested size and number
perf() {
	local lines=$1 size=$2 iters=$3
	shift 3
	pair_run "$@" && results "$TEST_DIR/client.out" "$size" "$iters" "$lines"
}

# one SIZE ITERS PROGRAM ARGS... - with one size of messages
one() {
	local size=$1 iters=$2
	shift 2
	check "$* -s $size -n $iters" perf 1 "$size" "$iters" "$@" -s "$size" -n "$iters"
}

# all LINES PROGRAM ARGS... - with all sizes; a few outside of `one`, as pair_sizes has it
all() {
	local lines=$1 size
	shift
	if [ "$SETTING" != one ]; then
		for size in $SIZES; do
			one "$size" 20 "$@"
		done
		return
	fi
	check "$* -a -n 20" perf "$lines" '*' 20 "$@" -a -n 20
}

# second SIZE PROGRAM ARGS... - again if it has no results: a side may not have got the CPU for all of its second
second() {
	local size=$1 i
	shift
	for i in 1 2 3; do
		pair_run "$@" || return
		results "$TEST_DIR/client.out" "$size" '*' 1 && return
	done
	return 1
}

# lasting SIZE PROGRAM ARGS... - as many messages as go in a second
lasting() {
	local size=$1
	shift
	check "$* -D 1" second "$size" "$@" -D 1 -s "$size"
}

# many QPS SIZE ITERS PROGRAM ARGS... - with several queue pairs; it counts all their messages
many() {
	local qps=$1 size=$2 iters=$3
	shift 3
	check "$* -q $qps -s $size -n $iters" \
		perf 1 "$size" $((qps * iters)) "$@" -q "$qps" -s "$size" -n "$iters"
}

n=$(by_setting 1000 200)
# Nothing holds the sender of UC and UD back: a receiver that counts needs room for all (-r).
r="-r $n"
for t in send write; do
	[ $t = send ] || r=
	one 65536 $n ib_${t}_bw -c UC $r
	one 1 $n ib_${t}_bw -c UC $r
	one 5000 $n ib_${t}_bw -c UC $r -b
	one 3000 $n ib_${t}_bw -c UC $r -m 256
	many 8 4096 $n ib_${t}_bw -c UC $r
	one 64 $n ib_${t}_bw -c UC $r -I 64
	one 4096 $n ib_${t}_bw -c UC $r --use_old_post_send
	one 2 $n ib_${t}_lat -c UC
	one 65536 $n ib_${t}_lat -c UC
	one 16 $n ib_${t}_lat -c UC -I 64 --use_old_post_send
done
all 23 ib_send_bw -c UC
one 4096 $n ib_send_bw -c UC -r $n -e
one 4096 $n ib_send_lat -c UC -e
lasting 4096 ib_send_bw -c UC

one "$mtu" $n ib_send_bw -c UD -r $n
one 1 $n ib_send_bw -c UD -r $n
one 256 $n ib_send_bw -c UD -r $n -b
one 256 $n ib_send_bw -c UD -r $n -e
many 4 256 $n ib_send_bw -c UD -r $n
one 64 $n ib_send_bw -c UD -r $n -I 64
one 256 $n ib_send_bw -c UD -r $n --use_old_post_send
one 256 $n ib_send_bw -c UD -r $n -x 1
one 2 $n ib_send_lat -c UD
one "$mtu" $n ib_send_lat -c UD
one 64 $n ib_send_lat -c UD -e
one 64 $n ib_send_lat -c UD -I 64
one 64 $n ib_send_lat -c UD --use_old_post_send
# A wire sends no groups of perftest's own scope, the interface (ff01::): that of these is global.
group=
! by_wire || group='-M 255:14:0:0:0:0:0:0:0:0:0:0:0:0:18:52'
one 64 $n ib_send_lat -c UD -g -x $GID6 $group
# With an IPv4 GID, ib_send_bw finds its own multicast group incompatible.
one 64 $n ib_send_bw -c UD -r $n -g -x $GID6 $group
lasting 256 ib_send_bw -c UD

for t in send write read; do
	one 65536 $n ib_${t}_bw -c XRC
	one 5000 $n ib_${t}_bw -c XRC -b
	many 4 4096 $n ib_${t}_bw -c XRC
	one 2 $n ib_${t}_lat -c XRC
	one 65536 $n ib_${t}_lat -c XRC
done
all 23 ib_write_bw -c XRC
one 4096 $n ib_send_bw -c XRC -e
one 4096 $n ib_send_bw -c XRC --use_old_post_send
one 8 $n ib_atomic_bw -c XRC
one 8 $n ib_atomic_bw -c XRC -A CMP_AND_SWAP
one 8 $n ib_atomic_lat -c XRC
one 8 $n ib_atomic_lat -c XRC -A FETCH_AND_ADD

# Shared receive queues of the types that are not XRC.
for t in RC UD; do
	one 256 $n ib_send_bw -c $t --use-srq -r $n
	one 256 $n ib_send_lat -c $t --use-srq
done
many 4 256 $n ib_send_bw -c RC --use-srq
# It posts no more to the queue than one of the senders may send: datagrams may be lost.
lasting 256 ib_send_bw -c UD --use-srq -q 4

# Raw frames stay within a fabric.
[ "$SETTING" != fabrics ] || done_testing

# Raw packets. The two sides do not talk to each other but by the packets they measure: the receiver
# must be ready before the sender starts, and have room for all if it counts them.
mac_server=02:00:00:00:00:01
mac_client=02:00:00:00:00:02

# raw_ready PID - whether a raw QP receives, or the process has gone
raw_ready() {
	! kill -0 "$1" 2>/dev/null || [ "$(status_json | json 'any(q["type"] == "RAW_PACKET" and
		q["state"] in ("RTR", "RTS") for q in d["qps"])')" = True ]
}

# raw_pair PROGRAM ARGS... - both sides. Status 124: one of them has waited till the end of its time
raw_pair() {
	local server s=0 c=0 program=$1 CMD
	shift
	command_a "$program" --server -B $mac_server -E $mac_client "$@" || return
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	if wait_for 30 raw_ready $server && kill -0 $server 2>/dev/null; then
		# It is about to post its receives.
		sleep 2
		run_b "$program" --client -B $mac_client -E $mac_server \
			"$@" >"$TEST_DIR/client.out" 2>&1 </dev/null || c=$?
	else
		echo "the server does not receive" >"$TEST_DIR/client.out"
		c=1
	fi
	[ $c = 0 ] || kill $server 2>/dev/null || :
	wait $server || s=$?
	[ $s = 0 ] && [ $c = 0 ] && return
	echo "server: status $s"
	pair_complaints "$TEST_DIR/server.out"
	echo "client: status $c"
	pair_complaints "$TEST_DIR/client.out"
	[ $s != 124 ] && [ $c != 124 ] || return 124
	return 1
}

# raw_results SIZE ITERS PROGRAM ARGS... - both sides saw that many packets. A side that was slow to post
# receives has lost some, and waits for them indefinitely: one of TRIES attempts has to succeed.
raw_results() {
	local size=$1 iters=$2 LIMIT=$((${SECONDS_EACH:-40} * SLOW * PATIENCE)) side i status
	shift 2
	for ((i = 1; i <= ${TRIES:-3}; i++)); do
		status=0
		raw_pair "$@" || status=$?
		[ $status = 124 ] || break
	done
	[ $status = 0 ] || return
	for side in client server; do
		# The server of burst_lat reports nothing.
		[ "$1 $side" = "raw_ethernet_burst_lat server" ] ||
			results "$TEST_DIR/$side.out" "$size" "$iters" 1 || return
	done
}

raw() {
	local size=$1 iters=$2
	shift 2
	check "$* -s $size -n $iters" with_clock raw_results "$size" "$iters" "$@" -s "$size" -n "$iters"
}

raw 1024 $n raw_ethernet_bw -r 2000
raw 64 $n raw_ethernet_bw -r 2000
raw 512 $n raw_ethernet_bw -r 2000 -b
raw 512 $n raw_ethernet_bw -r 2000 -l 4
raw 512 $n raw_ethernet_bw -r 2000 --promiscuous
raw 512 $n raw_ethernet_bw -r 2000 --sniffer
raw 64 $n raw_ethernet_lat
raw 1024 $n raw_ethernet_lat
raw 64 $n raw_ethernet_lat -I 64
# It wants a rate at which the bursts come, and has no room for a poll's entries in less than 16. Both of
# its sides count on every packet.
burst_lat() {
	SECONDS_EACH=15 TRIES=6 raw_results 64 512 raw_ethernet_burst_lat --rate_limit=10 --burst_size=16 \
		-Q 1 -s 64 -n 512
}
check "raw_ethernet_burst_lat" with_clock burst_lat
check "raw_ethernet_bw -D 1" with_clock raw_results 512 '*' raw_ethernet_bw -s 512 -D 1

# Both sides are told what the client's packets look like.
udp=(-j 192.0.2.2 -J 192.0.2.1 -k 5000 -K 4000)
raw 512 $n raw_ethernet_bw -r 2000 "${udp[@]}"
raw 512 $n raw_ethernet_bw -r 2000 "${udp[@]}" --tcp
raw 512 $n raw_ethernet_lat "${udp[@]}"
raw 512 $n raw_ethernet_bw -r 2000 -j 2001:db8::2 -J 2001:db8::1 -k 5000 -K 4000 --raw_ipv6

# Flows made and ended, as fast as it goes.
fs_rate() {
	run_a raw_ethernet_fs_rate --server -B $mac_server -n "$1" \
		>"$TEST_DIR/out" 2>&1 </dev/null &&
		tail -n 2 "$TEST_DIR/out" | grep -qE "^$1 +[0-9.]+" && return
	tail -n 20 "$TEST_DIR/out"
	return 1
}
in_one check "raw_ethernet_fs_rate -n 500" fs_rate 500
done_testing
