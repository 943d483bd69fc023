# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A veth pair of a guest with rdma_rxe (rxe_veth) on one end and, in a network namespace of its own, a fabric with
# --roce on the other; sourced after tests/lib/lib.sh and tests/lib/plain_real.sh. rdma_rxe works in the first namespace
# only, and has the port there.

LIMIT=$((120 * PATIENCE))
RXE=198.51.100.1 EMU=198.51.100.2 RXE6=2001:db8::1 EMU6=2001:db8::2

unshare -n sleep infinity &
peer=$!
ended() {
	in_emu "$RDMAEMU" fabric stop >/dev/null 2>&1
	kill $peer
	rdma link delete rxe_veth
	# The next test makes one of the same name; the kernel destroys the other namespace later.
	ip link delete veth0 2>/dev/null
}
trap ended EXIT

# in_emu COMMAND... - run it in the network namespace of the fabric
in_emu() {
	limit nsenter -t $peer -n "$@"
}

on_emu() {
	in_emu "$RDMAEMU" run -- "$@"
}

on_rxe() {
	limit "$@"
}

# wired [ADDRESS...] - make both ends; the fabric speaks RoCE at these addresses of its namespace, too
wired() {
	wait_for 10 other_netns $peer &&
		ip link add veth0 type veth peer name veth1 netns $peer &&
		ip addr add $RXE/24 dev veth0 && ip addr add $RXE6/64 dev veth0 nodad && ip link set veth0 up &&
		in_emu ip link set lo up && in_emu ip addr add $EMU/24 dev veth1 &&
		in_emu ip addr add $EMU6/64 dev veth1 nodad && in_emu ip link set veth1 up &&
		rdma link add rxe_veth type rxe netdev veth0 &&
		fabric_started "$@"
}

# fabric_started [ADDRESS...] - start the fabric, with a wire at each of these addresses, too
fabric_started() {
	in_emu "$RDMAEMU" fabric start --roce "$(IFS=,; echo "$EMU,$EMU6${*:+,$*}")"
}

# cut - have the emulator's bursts leave as packets: captures see each, and netem loses each on its own
cut() {
	ip link set veth0 gso_max_segs 1 && in_emu ip link set veth1 gso_max_segs 1
}

# rdma_listens SIDE - whether a program of on_rxe, on_emu ... listens by the rdma_cm
rdma_listens() {
	if [ "$1" = on_rxe ]; then
		rdma resource show cm_id | grep -q "state LISTEN"
	else
		"$1" "$RDMAEMU" status --json | grep -q '"state":"LISTEN"'
	fi
}

# across SERVER_SIDE SERVER CLIENT_SIDE CLIENT - whether both command lines succeed. A client that fails is started
# again for a while, as long as its server lives: that may not listen yet.
across() {
	local server s=0 c begun=$SECONDS
	: >"$TEST_DIR/across.server" # a receiver before says there that it receives, too
	# shellcheck disable=SC2086 # command lines are plain words
	"$1" $2 >"$TEST_DIR/across.server" 2>&1 </dev/null &
	server=$!
	[[ $2 != *mckey* ]] || NAME=across wait_for 30 mckey_joined $server
	[[ $2 != *rping* ]] || wait_for 30 rdma_listens "$1"
	while :; do
		c=0
		# shellcheck disable=SC2086
		"$3" $4 >"$TEST_DIR/across.client" 2>&1 </dev/null || c=$?
		did_well $c "$TEST_DIR/across.client" && c=0
		[ $c != 0 ] && [ $((SECONDS - begun)) -lt 30 ] && kill -0 $server 2>/dev/null || break
		sleep 0.2
	done
	[ $c = 0 ] || kill $server 2>/dev/null
	wait $server || s=$?
	did_well $s "$TEST_DIR/across.server" && s=0
	[ $s = 0 ] && [ $c = 0 ] && return
	echo "server: status $s"
	pair_complaints "$TEST_DIR/across.server"
	echo "client: status $c"
	pair_complaints "$TEST_DIR/across.client"
	in_emu "$RDMAEMU" log | tail -n 8
	counters
	return 1
}

# counters - what both sides have counted
counters() {
	in_emu "$RDMAEMU" status --json | json "d['wires']"
	grep . /sys/class/infiniband/rxe_veth/ports/1/hw_counters/* | sed 's|.*/||' | grep -v ':0$' | xargs
}

# directions NAME RXE_SERVER RXE_CLIENT EMU_SERVER EMU_CLIENT - four command lines, of both programs on each side
# ONLY=	nothing is run whose NAME does not contain it
directions() {
	[[ $1 == *"${ONLY-}"* ]] || return 0
	check "$1: the emulator to rxe" across on_rxe "$2" on_emu "$5"
	[ "$1" != mckey ] || rxe_sends_mckey || return 0
	check "$1: rxe to the emulator" across on_emu "$4" on_rxe "$3"
}

# both PROGRAM ARGS... - one that takes -p and a device
both() {
	local program=$1 gid=-x rxe emu
	shift
	[[ $program != ibv_* ]] || gid=-g
	[[ $program != ib_* ]] || set -- -F "$@"
	emu="$program $gid ${EMU_GID:-1} $* -p $PORT"
	rxe="$program -d rxe_veth $gid ${RXE_GID:-1} $* -p $PORT"
	directions "$program $*" "$rxe" "$rxe $EMU" "$emu" "$emu $RXE"
}
