#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: makes its two nodes itself, in the order of the reference captures' hosts
# Our captures compared with those of the kernel's rxe, of the same exchanges (tests/data/traces): they differ only in
# numbers, addresses, and points that docs/reference/capture-format.md explains.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need tshark rping ibv_rc_pingpong

# The client is on node a, the server on b.
nodes() {
	limit "$RDMAEMU" fabric start && limit "$RDMAEMU" run --node a -- true || return
	PEER_ENV=$(limit "$RDMAEMU" run --node b -- env | grep -E '^RDMAEMU_(SOCKET|SYSFS|NODE|DIR|FABRIC)=')
	export PEER_ENV
}
SERVER_AT=(--node b) CLIENT_AT=(--node a) ADDR=10.77.0.2

exchange() {
	limit "$RDMAEMU" run --node a --capture "$FILE" -- "$T/app_qp_exchange" remote "$1"
}

# captured COMMAND...
captured() {
	local status=0
	limit "$RDMAEMU" capture start "$FILE" >/dev/null || return
	"$@" || status=$?
	limit "$RDMAEMU" capture stop >/dev/null && return $status
}

rping_twice() {
	local port
	port=$(free_port)
	cm_both TCP "$port" "rping -s -C 2 -S 64 -p $port" "rping -c -C 2 -S 64 -p $port -a $ADDR"
}

# Nobody listens.
cm_reject() {
	! limit "$RDMAEMU" run --node a --capture "$FILE" -- rping -c -C 1 -p "$(free_port)" -a "$ADDR"
}

# beside NAME COMMAND... - what that captures is what rxe did. Where a program was late a packet is sent again, and
# rping's threads may trip over each other: then it is done again.
beside() {
	local name=$1 out='' try
	FILE=$TEST_DIR/$1.pcapng
	for try in 1 2 3; do
		out=$("${@:2}" 2>&1) || continue
		out=$(limit /usr/bin/python3 "$TOP/tests/lib/py/rxe_compare.py" "$FILE" "$TOP/tests/data/traces/$name.pcap" 2>&1) || continue
		ok "$name: $out"
		return
	done
	not_ok "$name" "$out"
}

if ! nodes; then
	not_ok "a fabric of two nodes"
	done_testing
fi
for name in send_odd psn_wrap read_3k cmp_swap rnr_fail nak_access ud_send; do
	beside $name exchange $name
done
beside rc_pingpong captured pair_once ibv_rc_pingpong -s 64 -n 3 -g 1
beside rping captured rping_twice
beside cm_reject cm_reject

# And it can fail: what is not the same exchange is not alike.
out=$(limit /usr/bin/python3 "$TOP/tests/lib/py/rxe_compare.py" "$TEST_DIR/send_odd.pcapng" "$TOP/tests/data/traces/rnr_fail.pcap")
is "another exchange is another" "$(grep -c 'infiniband.bth.padcnt is 3, rxe has 0' <<<"$out")" 1
done_testing
