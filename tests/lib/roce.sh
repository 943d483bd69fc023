# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Fabrics A and B that speak RoCE v2, in network namespaces of their own with a veth pair between them; sourced after
# tests/lib/lib.sh and tests/lib/join.sh. A's address is 192.0.2.1, and 2001:db8::1, B's 192.0.2.2, and 2001:db8::2.

# roce_netns ARGS... - restart the test in A's namespace, make B's, and enter it with IN_B
roce_netns() {
	own_netns "$@"
	trap roce_down EXIT
	veth_pair || skip_all "no veth interfaces here"
	IN_B=("${IN_PEER[@]}")
	NODE_A=() NODE_B=()
	OOB=192.0.2.1
	export TEST_PORTS=$TEST_DIR/ports
}

# roce_down - stop both fabrics, and end B's namespace
roce_down() {
	on_a fabric stop >/dev/null 2>&1
	on_b fabric stop >/dev/null 2>&1
	[ -z "${PEER-}" ] || kill "$PEER"
}

# two_wires - start both fabrics, each with a wire at its address of IPv4
two_wires() {
	check "A has a wire" on_a fabric start --roce 192.0.2.1
	check "B has a wire" on_b fabric start --roce 192.0.2.2
}

# refuses TEXT OPTION... - a fabric with these options does not start, and says TEXT
refuses() {
	local text=$1 out
	shift
	! out=$(on_a fabric start "$@" 2>&1) && [[ $out = *"$text"* ]] || {
		echo "$out"
		return 1
	}
}

# wires_of SIDE KEY - the sum of a counter of that side's wires
wires_of() {
	"$1" status --json | json "sum(w['$2'] for w in d['wires'])"
}

# wires KEY - that of both sides
wires() {
	local side
	for side in on_a on_b; do
		wires_of "$side" "$1"
	done | awk '{ sum += $1 } END { print sum + 0 }'
}

# wires_have_lost_nothing - whether datagrams were received, and all of them were good
wires_have_lost_nothing() {
	local key
	[ "$(wires received)" -gt 100 ] || return 1
	for key in malformed bad_icrc stranger no_port; do
		[ "$(wires $key)" = 0 ] || { echo "$key"; return 1; }
	done
}

# sender_start ARGS... - start ib_send_bw at both ends, in the background: B sends. SERVER and CLIENT are the processes
sender_start() {
	local port
	port=$(free_port)
	RDMAEMU_DIR=$TEST_DIR/a "${IN_A[@]}" "$RDMAEMU" run -- ib_send_bw "$@" -x $GID -p "$port" \
		>"$TEST_DIR/server.out" 2>&1 </dev/null &
	SERVER=$!
	"${IN_A[@]}" "$T/sys_port" wait "$port" $SERVER $((60 * SLOW * PATIENCE))
	RDMAEMU_DIR=$TEST_DIR/b "${IN_B[@]}" "$RDMAEMU" run -- ib_send_bw "$@" -x $GID -p "$port" $OOB \
		>"$TEST_DIR/client.out" 2>&1 </dev/null &
	CLIENT=$!
}

# sender_end STATUS - kill both, and return STATUS; with their outputs if it is not 0
sender_end() {
	kill -KILL "$CLIENT" "$SERVER" 2>/dev/null
	wait "$CLIENT" "$SERVER" 2>/dev/null
	[ "$1" = 0 ] || cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return "$1"
}

# mckey_across GROUP A B [ARGS...] - whether a member on A, at address A, receives what B sends to the group from B
# SEND_BY=	runs the sender, on_b if not set
mckey_across() {
	local group=$1 a=$2 b=$3 receiver ret=0
	shift 3
	: >"$TEST_DIR/server.out" # that of a receiver before says that it receives, too
	on_a run -- stdbuf -oL mckey -m "$group" -b "$a" "$@" >"$TEST_DIR/server.out" 2>&1 &
	receiver=$!
	wait_for 20 grep -q "receiving data transfers\|initiating data transfers" "$TEST_DIR/server.out" &&
		"${SEND_BY:-on_b}" run -- mckey -m "$group" -b "$b" "$@" -s >"$TEST_DIR/client.out" 2>&1 || ret=1
	[ $ret = 0 ] || end_job $receiver
	wait $receiver && [ $ret = 0 ] && return
	cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	on_a status --json | json "d['wires']"
	return 1
}

# gid_of SIDE ADDRESS - the index of that GID of its device
gid_of() {
	gid_index "$2" "$1" run -- ibv_devinfo -v
}

can_compare_captures() {
	command -v dumpcap && command -v editcap && command -v tshark
} >/dev/null

# frames_are_finished - have the kernel cut bursts and compute checksums before captures see packets
frames_are_finished() {
	finished veth0 && finished veth1 "${IN_B[@]}"
}

# finished INTERFACE [COMMAND...] - the same of one interface; the command enters its namespace
finished() {
	local interface=$1
	shift
	"$@" ip link set "$interface" gso_max_segs 1 &&
		"$@" /usr/bin/python3 "$TOP/tests/lib/py/no_tx_offload.py" "$interface"
}

# same_frames - whether A's latest capture has the packets of wire.pcap, byte for byte from the IP header on. No socket
# shows the UDP checksums of what A receives: those of packets from SENDER (A's address of IPv4) are compared.
same_frames() {
	editcap -F pcap "$TEST_DIR/ours.pcapng" "$TEST_DIR/ours.pcap" &&
		/usr/bin/python3 "$TOP/tests/lib/py/same_frames.py" "$TEST_DIR/ours.pcap" "$TEST_DIR/wire.pcap" \
			"${SENDER-192.0.2.1}"
}

# captured COMMAND... - run it, with NODE_A for A's program, and compare what A captures with what its interface carries
captured() {
	local tap ret=0
	rm -f "$TEST_DIR/ours.pcapng" "$TEST_DIR/wire.pcap"
	dumpcap -q -P -i veth0 -f 'udp port 4791' -w "$TEST_DIR/wire.pcap" 2>"$TEST_DIR/dumpcap" &
	tap=$!
	wait_for 20 grep -q '^File:' "$TEST_DIR/dumpcap"
	NODE_A=(--capture "$TEST_DIR/ours.pcapng")
	"$@" || ret=1
	NODE_A=()
	# dumpcap writes now and then.
	wait_for 2 same_frames || ret=1
	kill $tap
	same_frames || ret=1
	return $ret
}
