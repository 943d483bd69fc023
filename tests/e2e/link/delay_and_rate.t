#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: the two ends are devices of one node
# Links with delay, rate and queues: two devices, each with its own link to the switch.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need ib_send_lat ib_read_lat ib_atomic_lat ib_write_bw ib_send_bw ib_read_bw ibv_rc_pingpong \
	ibv_uc_pingpong ibv_ud_pingpong ibv_xsrq_pingpong ibv_srq_pingpong ibv_devinfo

printf 'devices 2\n' >"$TEST_DIR/two"
export RDMAEMU_PROFILE=$TEST_DIR/two

# start [WORDS...] - a fresh fabric, whose rdmaemu0 has that link
start() {
	"$RDMAEMU" fabric stop >/dev/null 2>&1
	"$RDMAEMU" fabric start || return
	[ $# = 0 ] || link "$@"
}

link() {
	"$RDMAEMU" port link --device rdmaemu0 "$@"
}

# across SERVER CLIENT - commands of plain words, each with its device: 0 is the server's
across() {
	local port server s=0 c=0
	port=$(free_port)
	# shellcheck disable=SC2086,SC2046
	limit env $(clock_env "${1%% *}") "$RDMAEMU" run -- $1 -d rdmaemu0 -p "$port" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	if ! wait_listen "$port" $server; then
		echo "the server does not listen"
		kill $server 2>/dev/null
		tail -n 8 "$TEST_DIR/server.out"
		return 1
	fi
	# shellcheck disable=SC2086,SC2046
	limit env $(clock_env "${2%% *}") "$RDMAEMU" run -- $2 -d rdmaemu1 -p "$port" 127.0.0.1 >"$TEST_DIR/client.out" 2>&1 \
		</dev/null || c=$?
	[ $c = 0 ] || kill $server 2>/dev/null
	wait $server || s=$?
	[ $s = 0 ] && [ $c = 0 ] && return
	echo "server: status $s, client: status $c"
	tail -n 8 "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}

both() {
	with_clock across "$*" "$*"
}

# figure N - column N of the last line of figures
figure() {
	awk -v n="$1" '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ { x = $n } END { print x }' \
		"$TEST_DIR/client.out"
}

# at_least WANTED COLUMN
at_least() {
	awk -v got="$(figure "$2")" -v want="$1" 'BEGIN { exit !(got != "" && got >= want) }' && return
	echo "column $2 is $(figure "$2"), and should be at least $1"
	tail -n 4 "$TEST_DIR/client.out"
	return 1
}

at_most() {
	awk -v got="$(figure "$2")" -v want="$1" 'BEGIN { exit !(got != "" && got <= want) }' && return
	echo "column $2 is $(figure "$2"), and should be at most $1"
	tail -n 4 "$TEST_DIR/client.out"
	return 1
}

# counted NAME - the sum of a counter over all ports
counted() {
	status_json | json "sum(p['counters']['$1'] for d in d['devices'] for p in d['ports'])"
}

# slow MICROSECONDS COMMAND... - the shortest time is that of the links, at least
slow() {
	local us=$1
	shift
	both "$@" -x 0 && at_least "$us" 3
}

latencies() {
	check "$1: ib_send_lat: 1 ms one way" slow 1000 ib_send_lat -n 50
	check "$1: ib_write_lat" slow 1000 ib_write_lat -n 50
	check "$1: ib_read_lat: there and back" slow 2000 ib_read_lat -n 50
	check "$1: ib_atomic_lat" slow 2000 ib_atomic_lat -n 50
	check "$1: ib_send_lat -c UD" slow 1000 ib_send_lat -c UD -n 50
	check "$1: ib_send_lat -c UC" slow 1000 ib_send_lat -c UC -n 50
	check "$1: ib_send_lat -e" slow 1000 ib_send_lat -e -n 50
}

check "a fabric with a link of 1 ms" start delay 1ms
latencies "delay 1ms"
check "a delay at both ends" "$RDMAEMU" port link delay 1ms
check "ib_send_lat: 2 ms one way" slow 2000 ib_send_lat -n 20
check "no delay again" "$RDMAEMU" port link none
check "ib_send_lat: it runs" both ib_send_lat -n 20 -x 0

# Data, in all ways; the programs look at what they get.
data() {
	check "$1: ibv_rc_pingpong -c" both ibv_rc_pingpong -g 0 -c -n "$2"
	check "$1: ibv_rc_pingpong -c -s 1000001" both ibv_rc_pingpong -g 0 -c -s 1000001 -n 20
	check "$1: ibv_rc_pingpong -c -e" both ibv_rc_pingpong -g 0 -c -e -n "$2"
	check "$1: ibv_uc_pingpong -c" both ibv_uc_pingpong -g 0 -c -n "$2"
	check "$1: ibv_ud_pingpong -c" both ibv_ud_pingpong -g 0 -c -s 1024 -n "$2"
	check "$1: ibv_srq_pingpong -c" both ibv_srq_pingpong -g 0 -c -n "$2" -q 4
	check "$1: ibv_xsrq_pingpong" both ibv_xsrq_pingpong -g 0 -n 50
	check "$1: ib_write_bw" both ib_write_bw -x 0 -s 65536 -n 100
	check "$1: ib_read_bw, 4 QPs" both ib_read_bw -x 0 -s 65536 -n 50 -q 4
	check "$1: ib_send_bw, both ways, 4 QPs" both ib_send_bw -x 0 -b -s 8192 -n 200 -q 4
}
check "a link with jitter" start delay 200us jitter 2ms
data jitter 200
check "a link with a rate" start rate 200Mbit
data rate 100

# No more than the rate, in MiB/s of payload: 100 Mbit/s are 11.9.
check "a rate of 100 Mbit/s" start rate 100Mbit
# The link carries 11.92 MiB/s. perftest's own clock, which it calibrates against the system's, can be 5 % off.
limited() {
	both "$@" -x 0 && at_most 12.5 4
}
check "ib_write_bw keeps to the rate" limited ib_write_bw -s 65536 -n 100
check "ib_read_bw keeps to the rate" limited ib_read_bw -s 65536 -n 100
check "ib_send_bw -c UC keeps to the rate" limited ib_send_bw -c UC -s 65536 -n 100
check "16 QPs share it" limited ib_write_bw -s 65536 -n 10 -q 16
check "16 QPs share it: READ" limited ib_read_bw -s 65536 -n 10 -q 16
check "long messages of 4 QPs" limited ib_write_bw -s 1000000 -n 5 -q 4
# A busy machine may add some; if queueing counted, each of these would reach some hundreds.
check "time in a queue does not count towards the ACK timeout" [ "$(counted timeouts)" -lt 50 ]

# A timeout shorter than the round trip: retries, then RETRY_EXC_ERR, as with a peer that is gone.
check "100 ms there" start delay 100ms
short() {
	local status=0
	both ib_write_bw -u 8 -x 0 -n 5 -s 64 || status=$?
	[ $status != 0 ] && grep -q "with error" "$TEST_DIR/client.out" &&
		[ "$(counted retry_exceeded_err)" -ge 1 ] && [ "$(counted timeouts)" -ge 8 ] && return
	echo "status $status, $(counted timeouts) timeouts"
	tail -n 5 "$TEST_DIR/client.out"
	return 1
}
check "an ACK timeout of 1 ms over 100 ms: RETRY_EXC_ERR" short
check "one that is long enough" both ib_write_bw -u 18 -x 0 -n 5 -s 64

# The MTU is the port's, too.
mtu_is() {
	local got
	got=$(emu ibv_devinfo -d "$1" | awk '/active_mtu/ { print $2 }')
	[ "$got" = "$2" ] && return
	echo "active_mtu of $1: $got, not $2"
	return 1
}
was=$(emu ibv_devinfo -d rdmaemu0 | awk '/active_mtu/ { print $2 }')
other=$(emu ibv_devinfo -d rdmaemu1 | awk '/active_mtu/ { print $2 }')
check "a link of MTU 512" link mtu 512
check "rdmaemu0 has it" mtu_is rdmaemu0 512
check "rdmaemu1 has not" mtu_is rdmaemu1 "$other"
check "messages pass" both ib_write_bw -m 512 -x 0 -s 10000 -n 20
check "no MTU again" link none
check "rdmaemu0 has its own" mtu_is rdmaemu0 "$was"

# A program dies with bursts on their way: the others go on, and nothing of it is left.
killed() {
	local port server client i
	port=$(free_port)
	for i in 1 2 3; do
		setsid timeout "$LIMIT" "$RDMAEMU" run -- ib_"$1"_bw -x 0 -s 65536 -q 4 -D 100 -d rdmaemu0 \
			-p "$port" >"$TEST_DIR/server.out" 2>&1 </dev/null &
		server=$!
		wait_listen "$port" $server || return
		setsid timeout "$LIMIT" "$RDMAEMU" run -- ib_"$1"_bw -x 0 -s 65536 -q 4 -D 100 -d rdmaemu1 \
			-p "$port" 127.0.0.1 >"$TEST_DIR/client.out" 2>&1 </dev/null &
		client=$!
		wait_for 30 flows || return
		if [ $i = 2 ]; then
			kill -KILL -- -$server
			kill -KILL -- -$client
		else
			kill -KILL -- -$client
			kill -KILL -- -$server
		fi
		wait $client $server 2>/dev/null
	done
	wait_for 30 deserted && "$RDMAEMU" status --audit >/dev/null
}

flows() {
	[ "$(counted xmit_packets)" -gt $((${packets:-0} + 100)) ] && packets=$(counted xmit_packets)
}

deserted() {
	[ "$(status_json | json "len(d['clients'])")" = 0 ]
}
check "a slow link for the dead" start rate 50Mbit delay 20ms
for verb in write read send; do
	packets=$(counted xmit_packets)
	check "ib_${verb}_bw is killed in the middle" killed $verb
done
check "the living are served" both ibv_rc_pingpong -g 0 -c -n 10

fpid=$(status_json | json "d['pid']")
before=$(cpu_ticks "$fpid")
sleep 2
check "nothing is done while nothing is under way" [ $(($(cpu_ticks "$fpid") - before)) -lt 20 ]

wrong() {
	local status=0
	link "$@" >"$TEST_DIR/out" 2>&1 || status=$?
	[ $status = 2 ] && [ "$(wc -l <"$TEST_DIR/out")" = 1 ] && return
	echo "status $status"
	cat "$TEST_DIR/out"
	return 1
}
check "port link: a time without a unit" wrong delay 5
check "port link: a rate of nothing" wrong rate 0
check "port link: a word that is none" wrong speed 1Gbit
check "port link: no words" wrong

"$RDMAEMU" fabric stop >/dev/null 2>&1

# With addresses for both devices: connections, and a group with a member behind a link.
# shellcheck disable=SC2016
connected='
	. tests/lib/lib.sh
	. tests/lib/rdmacm.sh
	"$RDMAEMU" fabric start && "$RDMAEMU" port link delay 1ms jitter 100us rate 1Gbit || exit
	ip link set lo up
	case $1 in
	rping)
		port=$(free_port)
		cm_both TCP "$port" "rping -s -v -a 192.0.2.1 -p $port -S 1000" \
			"rping -c -v -V -C 20 -a 192.0.2.1 -I 192.0.2.129 -p $port -S 1000" &&
			[ "$(grep -c "^ping data: rdma-ping-" "$TEST_DIR/client.out")" = 20 ]
		;;
	mckey)
		limit "$RDMAEMU" run -- stdbuf -oL mckey -m 239.1.2.3 -b 192.0.2.1 -C 5 >"$TEST_DIR/server.out" 2>&1 &
		wait_for 30 grep -qs "receiving data transfers" "$TEST_DIR/server.out" || exit
		limit "$RDMAEMU" run -- mckey -m 239.1.2.3 -b 192.0.2.129 -s -C 5 || exit
		wait $! && grep "data transfers complete" "$TEST_DIR/server.out"
		;;
	esac'
namespace=(unshare -n)
is_root || namespace=(unshare -rn)
# shellcheck disable=SC2016
addresses='ip link add d0 type veth peer name d1 &&
	ip addr add 192.0.2.1/25 dev d0 && ip addr add 192.0.2.129/25 dev d1 &&
	ip link set d0 up && ip link set d1 up'
for what in rping mckey; do
	if "${namespace[@]}" bash -c "$addresses" >/dev/null 2>&1; then
		check "$what between two addresses" limit "${namespace[@]}" bash -c \
			"$addresses; $connected" - $what
	else
		skip "$what between two addresses" "no veth here"
	fi
	"$RDMAEMU" fabric stop >/dev/null 2>&1
done

export RDMAEMU_ISOLATED=1
check "isolated: a link of 1 ms" start delay 1ms
check "isolated: ib_send_lat" slow 1000 ib_send_lat -n 20
check "isolated: ib_read_lat" slow 2000 ib_read_lat -n 20
check "isolated: ib_atomic_lat" slow 2000 ib_atomic_lat -n 20
check "isolated: a link with a rate" link rate 200Mbit delay 100us
data isolated 50
"$RDMAEMU" fabric stop >/dev/null 2>&1
done_testing
