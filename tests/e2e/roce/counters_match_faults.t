#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 5
# settings: one: two fabrics of its own
# Between hosts with wires, hw_counters on either side count what fault rules have done to the packets, and no more.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ib_send_bw ib_send_lat
roce_netns

check "A has a wire" on_a fabric start --roce veth0
check "B has a wire" on_b fabric start --roce veth1

# Those that faults change.
FILES=(out_of_seq_request rcvd_seq_err duplicate_request completer_retry_err retry_exceeded_err rcvd_rnr_err send_rnr_err
	port_rcv_errors)

# snapshot SIDE NAME - set NAME_FILE for each
snapshot() {
	local file value
	while IFS=: read -r file value; do
		eval "$2_$file=$value"
	done < <("$1" run -- sh -c 'cd /sys/class/infiniband/rdmaemu0/ports/1 && grep -H . hw_counters/* counters/*' |
		sed 's,^[a-z_]*/,,')
}

# grown SIDE BEFORE AFTER - print the counters that have grown since, and by how much
grown() {
	local file before after
	for file in "${FILES[@]}"; do
		before=$1_0_$file after=$1_1_$file
		[ "${!after}" = "${!before}" ] || printf '%s=%d ' "$file" $((${!after} - ${!before}))
	done
}

# of SIDE_FILE - how much it has grown
of() {
	local before=${1%%_*}_0_${1#*_} after=${1%%_*}_1_${1#*_}
	echo $((${!after} - ${!before}))
}

# counted NAME RULES_A RULES_B GROWN_AT_A GROWN_AT_B PROGRAM... - server on A, client on B
counted() {
	local name=$1 a=$2 b=$3 at_a=$4 at_b=$5 port
	shift 5
	on_a fault clear && on_b fault clear
	[ -z "$a" ] || on_a fault add "$a"
	[ -z "$b" ] || on_b fault add "$b"
	snapshot on_a a_0
	snapshot on_b b_0
	port=$(free_port)
	check "$name" both_sides "$port" "$* -p $port" "$* -p $port $OOB"
	snapshot on_a a_1
	snapshot on_b b_1
	is "$name: the server's counters" "$(grown a | xargs)" "$at_a"
	is "$name: the client's counters" "$(grown b | xargs)" "$at_b"
}

# A message at a time, of three packets; timeout 20 is four seconds, longer than a side waits for a CPU.
lat="ib_send_lat -F -x 1 -m 1024 -n 50 -s 3000 -u 20"

counted "nothing is injected" '' '' '' '' "$lat"
is "what one has sent, the other has received" "$(of a_sent_pkts) $(of b_sent_pkts)" "$(of b_rcvd_pkts) $(of a_rcvd_pkts)"
counted "an ACK is lost" 'drop node=node0 direction=tx opcode=ACK nth=50' '' \
	'duplicate_request=3' 'completer_retry_err=1' "$lat"
counted "a request is lost" '' 'drop node=node0 direction=tx opcode=SEND_MIDDLE nth=4' \
	'out_of_seq_request=1' 'rcvd_seq_err=1 completer_retry_err=1' "$lat"
counted "a request comes twice" 'duplicate node=node0 direction=rx opcode=SEND_LAST nth=4' '' 'duplicate_request=1' '' "$lat"
counted "three RNR NAKs" 'rnr node=node0 for=3' '' 'send_rnr_err=3' 'rcvd_rnr_err=3' "${lat/3000/64}"
counted "a request arrives damaged" 'corrupt node=node0 direction=rx opcode=SEND_MIDDLE nth=4' '' \
	'out_of_seq_request=1 port_rcv_errors=1' 'rcvd_seq_err=1 completer_retry_err=1' "$lat"
counted "a request leaves damaged" '' 'corrupt node=node0 direction=tx opcode=SEND_MIDDLE nth=4' \
	'out_of_seq_request=1 port_rcv_errors=1' 'rcvd_seq_err=1 completer_retry_err=1' "$lat"
done_testing
