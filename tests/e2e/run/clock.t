#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a fabric's own clock
# Fabric time: faster than real time, slower, stopped, and moved manually.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need rping ibv_rc_pingpong ib_write_lat ucmatose udaddy cmtime

# start ARGS... - a fresh fabric
start() {
	"$RDMAEMU" fabric stop >/dev/null 2>&1
	"$RDMAEMU" fabric start "$@"
}

clock() {
	limit "$RDMAEMU" clock --json | json "$1"
}

# refused NAME LINE COMMAND... - it says that line and fails
refused() {
	local name=$1 line=$2 out
	shift 2
	if out=$(limit "$@" 2>&1); then
		not_ok "$name" "it succeeds"
	else
		is "$name" "$out" "rdmaemu: $line"
	fi
}

for how in '' --isolated; do
	# shellcheck disable=SC2086
	check "start, by hand $how" start --clock manual $how
	is "it begins at 0 $how" "$(clock "(d['now_ns'], d['running'], d['next_ns'])")" "(0, False, None)"
	RDMAEMU_CONTROL=yes app app_device_clock "$RDMAEMU"
	check "the HCA's memory is sound $how" audit_all
done

check "start, by hand" start --clock manual
check "traffic needs no time" pair_run ibv_rc_pingpong -n 100
check "advance" "$RDMAEMU" clock advance 4s
is "it is 4 s" "$("$RDMAEMU" clock)" "fabric default: 4.000000000 s, stopped"
is "--json" "$(clock "(d['now_ns'], d['running'], d['scale'])")" "(4000000000, False, 1.0)"
is "advance --json" "$("$RDMAEMU" clock advance --json 1us | json "d['now_ns']")" 4000001000
check "run it 10 times as fast" "$RDMAEMU" clock run 10
is "it runs" "$(clock "(d['running'], d['scale'], d['now_ns'] >= 4000001000)")" "(True, 10.0, True)"
check "stop" "$RDMAEMU" clock stop
now=$(clock "d['now_ns']")
sleep 0.2
is "it stands" "$(clock "(d['now_ns'], d['running'])")" "($now, False)"
check "run it as fast as before" "$RDMAEMU" clock run
is "it does" "$(clock "(d['running'], d['scale'], d['now_ns'] >= $now)")" "(True, 10.0, True)"
check "advance while it runs" "$RDMAEMU" clock advance 100s
is "it went further" "$(clock "d['now_ns'] >= $now + 100 * 10**9")" True
refused "no time" "clock advance: '4': expected a time of up to a year, with its unit: ns, us, ms or s" \
	"$RDMAEMU" clock advance 4
refused "no scale" "clock run: '0': expected a number from 0.001 to 1000, with up to 6 decimals" \
	"$RDMAEMU" clock run 0
refused "no such setting" "run: --clock 'off': expected run or manual" "$RDMAEMU" run --clock off true
refused "another clock" \
	"fabric default was started with another --clock; choose another --fabric, or see 'rdmaemu clock'" \
	"$RDMAEMU" run --clock run true
refused "another scale" "fabric default was started with another --time-scale; choose another --fabric, or see 'rdmaemu clock run'" \
	"$RDMAEMU" run --time-scale 3 true
refused "by hand and joined" "fabric other: cannot start: --clock manual cannot be combined with --listen or --join" \
	"$RDMAEMU" fabric start --fabric other --clock manual --listen 127.0.0.1:0

# A link of 100 ms, by hand: what is sent arrives when the clock says so.
printf 'devices 2\n' >"$TEST_DIR/two"
check "start with two devices" start --clock manual --profile "$TEST_DIR/two"
check "a link of 100 ms" "$RDMAEMU" port link --device rdmaemu0 delay 100ms
port=$(free_port)
limit "$RDMAEMU" run -- ibv_rc_pingpong -d rdmaemu0 -g 0 -n 1 -p "$port" >"$TEST_DIR/server.out" 2>&1 &
server=$!
wait_listen "$port" $server
limit "$RDMAEMU" run -- ibv_rc_pingpong -d rdmaemu1 -g 0 -n 1 -p "$port" 127.0.0.1 >"$TEST_DIR/client.out" 2>&1 &
client=$!
sent() {
	[ "$(status_json | json "sum(p['counters']['xmit_packets'] for x in d['devices'] for p in x['ports'])")" != 0 ]
}
check "packets are on the way" wait_for 20 sent
sleep 0.5
check "they stay there" kill -0 $client
# A program that has to post meanwhile is not waited for: some more time for its answer.
goes_on() {
	"$RDMAEMU" clock advance 1s
	! kill -0 $client 2>/dev/null
}
check "it goes on with the clock" wait_for 20 goes_on
wait $client
is "the client is done" $? 0
wait $server
is "the server is done" $? 0

# Faster: 16 REQs at 4.6 s each to somebody who is not there take 73 s of fabric time.
check "start, 100 times as fast" start --time-scale 100
"$RDMAEMU" run --node a -- true
"$RDMAEMU" run --node b -- true
check "b is out of reach" "$RDMAEMU" port down --node b
"$RDMAEMU" run --node a -- rping -c -a 10.77.0.2 -C 1 >"$TEST_DIR/rping.out" 2>&1
is "rping gives up" "$(grep -c RDMA_CM_EVENT_UNREACHABLE "$TEST_DIR/rping.out")" 1
is "after as long as always" "$(clock "d['now_ns'] >= 16 * 4.29 * 10**9")" True
up=$(status_json | json "d['uptime_ms']")
now=$(clock "d['now_ns']")
is "it is 100 times as fast" \
	"$(status_json | json "$up * 10**8 <= $now <= (d['uptime_ms'] + 1) * 10**8")" True

# Slower and faster, with programs that measure and check their data.
for scale in 0.001 0.5 20; do
	RUN_FLAGS="--fabric scale$scale --time-scale $scale"
	check "pingpong at scale $scale" pair_run ibv_rc_pingpong -n 1000
	app app_qp_ops remote
	app app_cq_extended
done
RUN_FLAGS="--fabric iso --isolated --time-scale 20"
app app_qp_ops remote
app app_cq_extended
RUN_FLAGS=

# Programs of the rdma_cm, with the timeouts that they request. An address that no node has fails at once.
nobody() {
	limit "$RDMAEMU" run -- rping -c -a 192.0.2.99 -C 1 2>&1 | grep -q 'RDMA_CM_EVENT_ADDR_ERROR, error -110'
}
for scale in 0.1 20; do
	check "start at scale $scale" start --time-scale $scale
	port=$(free_port)
	check "rping at scale $scale" cm_both TCP "$port" "rping -s -p $port -C 20" "rping -c -p $port -a 127.0.0.1 -C 20 -V"
	check "ucmatose at scale $scale" cm_both TCP "$port" "ucmatose -p $port" "ucmatose -s 127.0.0.1 -p $port"
	check "udaddy at scale $scale" cm_both UDP 7174 "udaddy" "udaddy -s 127.0.0.1"
	check "cmtime at scale $scale" cmtime_both 20 127.0.0.1 127.0.0.1
	check "an address that nobody has at scale $scale" nobody
done

# Joined fabrics have one clock.
port=$(free_port)
check "start one that listens" start --time-scale 2 --listen "127.0.0.1:$port" --name alpha
refused "another scale is refused" \
	"fabric beta: cannot start: join 127.0.0.1:$port: somebody there refuses: its clock runs at another --time-scale" \
	"$RDMAEMU" fabric start --fabric beta --name beta --join "127.0.0.1:$port"
check "the same scale is not" "$RDMAEMU" fabric start --fabric beta --name beta --time-scale 2 --join "127.0.0.1:$port"
refused "its clock stays as it is" "fabric beta is joined with others: its clock cannot be changed" \
	"$RDMAEMU" clock stop --fabric beta
is "it can be read" "$("$RDMAEMU" clock --fabric beta --json | json "d['scale']")" 2.0
"$RDMAEMU" fabric stop --fabric beta
"$RDMAEMU" fabric stop
done_testing
