#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: two hosts of its own
# examples/ns3/: ns-3 is the network between two fabrics, and owns their time. Packets arrive when the simulation says
# so, and programs survive the frames that it loses.
. "$(dirname "$0")/../../lib/lib.sh"
need ip unshare nsenter ibv_rc_pingpong ib_send_bw "${CXX:-g++}" python3
[ -e /usr/include/ns3/core-module.h ] || skip_all "libns3-dev is not installed"
[ -w /dev/net/tun ] || skip_all "no TAP interfaces here"
own_netns "$@"

sanitizer=
[ "$SLOW" = 1 ] || sanitizer='-fsanitize=address,undefined'
build_example() {
	cp -r "$TOP/examples/ns3" "$TEST_DIR" && rm -f "$TEST_DIR/ns3/roce" &&
		limit make -C "$TEST_DIR/ns3" CXXFLAGS="-O1 -g -Wall -Wextra -Werror $sanitizer" \
			CTL="-I$TOP/include $BUILD/lib/librdmaemu-ctl.a"
}
check "it is built" build_example || { done_testing; exit; }

pid=()
sim=
end_hosts() {
	[ -z "$sim" ] || kill "$sim"
	kill "${pid[@]}"
}
trap 'end_hosts >/dev/null 2>&1; setting_end' EXIT
apart() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
for i in 1 2; do
	unshare -n sleep infinity &
	pid[i]=$!
	wait_for 10 apart ${pid[i]} || skip_all "no network namespaces here"
done

# at HOST COMMAND... - in the host's namespace, with its fabric
at() {
	RDMAEMU_DIR=$DIR/host$1 limit nsenter -t "${pid[$1]}" -n "${@:2}"
}
# simulate OPTION... - start ns-3 with these options, and a fabric at each host
simulate() {
	# A fabric that was stopped may still remove its files.
	DIR=$(mktemp -d "$TEST_DIR/network.XXXXXX")
	mkdir -m 700 "$DIR"/host{1,2}
	(cd "$DIR" && exec ../ns3/roce "$@") >"$TEST_DIR/sim.out" 2>&1 &
	sim=$!
	wait_for 20 grep -q '^ready' "$TEST_DIR/sim.out" || return
	for i in 1 2; do
		ip link set "rdma$i" netns "${pid[i]}" && at $i ip link set lo up &&
			at $i ip addr add "192.0.2.$i/24" dev "rdma$i" && at $i ip link set "rdma$i" up &&
			at $i "$RDMAEMU" fabric start --roce "rdma$i" --clock manual || return
	done
}
# both_hosts PROGRAM ARGS... - a server at host 1, a client at host 2, which captures what it sends and receives
both_hosts() {
	local server status=0 preload
	preload=$(clock_env "$1")
	[ -z "$preload" ] || local -x "$preload"
	at 1 "$RDMAEMU" run "$@" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	nsenter -t "${pid[1]}" -n "$T/sys_port" wait 18515 $server $((60 * SLOW * PATIENCE))
	at 2 "$RDMAEMU" run --capture "$TEST_DIR/capture.pcapng" "$@" 192.0.2.1 >"$TEST_DIR/client.out" 2>&1 || status=1
	[ $status = 0 ] || kill $server 2>/dev/null
	wait $server && [ $status = 0 ] && return
	cat "$TEST_DIR"/{server,client,sim}.out
	return 1
}
# ends NAME - the simulation ends with the fabrics. Not by check, which has a shell of its own.
ends() {
	if at 1 "$RDMAEMU" fabric stop && at 2 "$RDMAEMU" fabric stop && wait "$sim"; then
		ok "$1"
	else
		not_ok "$1"
		cat "$TEST_DIR/sim.out"
	fi
	sim=
}

# starts NAME OPTION... - simulate() as a check of that name
starts() {
	if simulate "${@:2}" >"$TEST_DIR/simulate.out" 2>&1; then
		ok "$1"
	else
		not_ok "$1"
		sed 's/^/# /' "$TEST_DIR/simulate.out" "$TEST_DIR/sim.out"
	fi
}

starts "a network with a delay of 1 ms for each link" --delay=1ms --rate=10Gbps
check "a pingpong" both_hosts ibv_rc_pingpong -g 1 -e -s 64 -n 10
# Each way has two links. The capture has the client's SENDs as they leave, and their ACKs as they arrive. On a busy
# machine a program may keep its fabric process from answering for longer than the simulation waits.
trips="[b.ns - a.ns for a in packets if a.op == 'RC SEND_ONLY' for b in packets if b.op == 'RC ACK' and b.psn == a.psn]"
is "most ACKs come after 4 ms of simulated time, none earlier" "$(python3 "$TOP/tests/lib/py/capture_check.py" \
	"$TEST_DIR/capture.pcapng" "[sum(4_000_000 <= t < 4_010_000 for t in $trips) > 5, all(t == 0 or t >= 4_000_000 for t in $trips), len($trips) >= 20]")" \
	'[True, True, True]'
ends "the simulation ends with the fabrics"

# --- frames that are lost ---

starts "a network that loses 5 % of the frames" --delay=100us --loss=0.05
# They talk about the end by TCP: until then the server answers what comes again.
check "SENDs over it" both_hosts ib_send_bw -x 1 -F -e -s 1024 -n 100
# sent_again - packets of the capture that are there a second time
sent_again() {
	python3 "$TOP/tests/lib/py/capture_check.py" "$TEST_DIR/capture.pcapng" \
		"count('RC SEND_ONLY') - once('RC SEND_ONLY')"
}
is "packets were sent again" "$(($(sent_again) > 5))" 1
ends "it ends with them, too"
done_testing
