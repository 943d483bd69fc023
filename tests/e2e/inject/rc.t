#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: packets are put in where the queue pair is
# `rdmaemu replay FILE --inject`: hand-made packets into a live RC queue pair that has no peer, and its answers.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/inject.sh"
need python3

# refuses NAME STATUS WORDS ARGS...
refuses() {
	rdmaemu_refuses replay "$@"
}

# --- what is no capture, no script

# Slow time: nothing is sent again because the machine is busy.
limit "$RDMAEMU" fabric start --time-scale 0.02
limit "$RDMAEMU" run --node ghost -- true
refuses "no such file" 2 "replay: /none: No such file" /none --inject
echo "no capture at all, but some text" >"$P"
refuses "no capture" 2 "expected a capture, pcap or pcapng" "$P" --inject
make SEND_ONLY,len=8
head -c 60 "$P" >"$P.cut"
refuses "a capture that is cut" 2 "after frame 0: truncated" "$P.cut" --inject
head -c 24 "$P" >"$P.none"
refuses "a capture without packets" 2 "expected RDMA packets, but it has none" "$P.none" --inject
refuses "a script that is none" 2 "script /none" "$P" --inject --script /none
bad() {
	printf '%s\n' "# a comment" "" "$2" >"$S"
	refuses "script: $2" 2 "$S:3: '$1': expected $3" "$P" --inject --script "$S"
}
bad snd "snd 1" "send, expect, wait, qp or ignore"
bad 0 "send 0" "numbers of frames"
bad 3-1 "send 3-1" "numbers of frames"
bad x "send 1,x" "numbers of frames"
bad psn=x "send 1 psn=x" "a number, or +N"
bad colour=1 "send 1 colour=1" "psn=, qpn="
bad times=0 "send 1 times=0" "a number from 1"
bad pkey=65536 "send 1 pkey=65536" "a number that fits"
bad in "expect NAK psn=+1 in" "within TIME"
bad HELLO "expect HELLO" "a packet as ACK"
bad psn=+1 "expect none psn=+1" "within TIME"
bad 5 "expect ACK within 5" "a time up to 3600s"
bad payload=abc "expect SEND_ONLY payload=abc" "an even number"
bad size=5..1 "expect SEND_ONLY size=5..1" "bytes, or a range"
bad state=GONE "qp state=GONE" "state=RTR"
bad "" "wait" "a time"

# --- an RC responder

make SEND_ONLY,len=8,ack=1 SEND_ONLY,psn=1,len=8,ack=1 SEND_FIRST,psn=2,len=1024 SEND_MIDDLE,psn=3,len=1024 \
	SEND_LAST,psn=4,len=3,ack=1 WRITE_ONLY,psn=5,len=16,ack=1 READ_REQ,psn=6,dmalen=2500 FETCH_ADD,psn=9 \
	SEND_ONLY,psn=10,len=8,ack=1,icrc=bad SEND_ONLY,psn=10,len=8,ack=1,tver=1 UC_SEND_ONLY,psn=10,len=8 ACK,psn=10
live ghost RC 0x12
say "recv 1 100" "recv 2 100" "recv 3 5000" "recv 4 100" "fill 65 4096"
inject --from ghost >"$TEST_DIR/back" && ok "all that the peer sends" || not_ok "all that the peer sends"
is "what comes back" "$(grep . "$TEST_DIR/back" | tail -n 1)" "ATOMIC_ACKNOWLEDGE psn=+9 msn=6 syndrome=0x1f orig=0x706050403020100"
say received received received "mem 0 12"
said "1 received 8 bytes"
said "2 received 8 bytes"
said "3 received 2051 bytes"
# The WRITE and the atomic were executed once: the atomic has added 1 to the first word.
said "010102030405060708090a0b"
follows "duplicates" "send 1 times=3" "expect ACK psn=+9 msn=6" "expect ACK psn=+9" "expect ACK psn=+9" \
	"send 8" "expect ATOMIC_ACKNOWLEDGE psn=+9" "expect none"
follows "a gap is NAKed once, then repaired" "send 1-2 psn=+12" "expect NAK_PSN_SEQ_ERR psn=+10 msn=6" "expect none" \
	"send 1 psn=+10" "expect ACK psn=+10 msn=7 within 20s"
follows "no receive" "send 1 psn=+11" "expect RNR_NAK psn=+11" "qp state=RTS"
follows "what is dropped" "send 9-12" "send 1 psn=+11 pkey=0x7f01" "send 1 qpn=5 psn=+11" "expect none" "qp state=RTS"
for why in "its ICRC or VCRC is wrong" "it has another version of a header" "P_Key" "there is no QP 0x000005"; do
	limit "$RDMAEMU" log -v | grep -q "node ghost.*: dropped: .*$why" && ok "the journal: $why" || not_ok "the journal: $why"
done
differs "another packet" "$S:2: expected 'ACK psn=+11 msn=7', got RNR_NAK psn=+11 msn=7" "send 1 psn=+11" "expect ACK psn=+11 msn=7"
differs "nothing" "$S:1: expected 'ACK within 20ms', got nothing" "expect ACK within 20ms"
differs "another state" "$S:1: expected 'state=ERR within 20ms', got RTS" "qp state=ERR within 20ms"
differs "a frame that is not there" "$S:1: frame 99: expected one of the 12 of" "send 99"
follows "an opcode that does not exist" "send 1 opcode=28 psn=+11" "expect NAK_INV_REQ_ERR psn=+11" "qp state=ERR" "send 1 psn=+12" \
	"expect none"
say event received
said "event local work queue catastrophic error\|event invalid request local work queue error"
die

refuses "no queue pair is left" 1 "has no connected queue pair with number 0x000099" "$P" --inject --qp 0x99 </dev/null

# --- each ends its connection

ends() {
	local name=$1 nak=$2
	shift 2
	make "$@"
	live ghost RC 0x12
	say "recv 1 8192"
	follows "$name" "send all" "expect $nak" "qp state=ERR"
	die
}
ends "MIDDLE without FIRST" NAK_INV_REQ_ERR SEND_MIDDLE,len=1024
ends "FIRST behind FIRST" "NAK_INV_REQ_ERR psn=+1" SEND_FIRST,len=1024 SEND_FIRST,psn=1,len=1024
ends "a FIRST that is too short" NAK_INV_REQ_ERR SEND_FIRST,len=1000
ends "a LAST that is too long" "NAK_INV_REQ_ERR psn=+1" SEND_FIRST,len=1024 SEND_LAST,psn=1,len=1028
ends "an ONLY that is too long" NAK_INV_REQ_ERR SEND_ONLY,len=2048
ends "more than the RETH says" NAK_INV_REQ_ERR WRITE_ONLY,len=16,dmalen=8
ends "READ with payload" NAK_INV_REQ_ERR 0x0c,len=64,dmalen=8
ends "a wrong key" NAK_REM_ACCESS_ERR WRITE_ONLY,len=16 WRITE_ONLY,psn=1,len=16,rkey=0x99
ends "an atomic that is not aligned" NAK_INV_REQ_ERR WRITE_ONLY,va=0x10000 FETCH_ADD,psn=1,va=0x10004

# --- an RC requester

make ACK ACK,psn=1 ACK,psn=2,syndrome=0x61 RESP_FIRST,len=1024 RESP_MIDDLE,psn=1,len=1024 RESP_LAST,psn=2,len=452 \
	ACK,syndrome=0x7f ACK,syndrome=0x2c ACK,syndrome=0x60 ATOMIC_ACK,orig=0x1122334455667788
live ghost RC 0x34
say "send 1 100" "send 2 100" "send 3 100" "read 4 2500" "fadd 5 8"
follows "ghost ACKs, acknowledges, an RNR NAK" "ignore REQUEST" "send 7" "send 1 psn=+50" "expect none" "send 2" "expect none"
say sent sent
said "1 done"
said "2 done"
follows "it sends again on a NAK" "wait 10ms" "ignore REQUEST" "expect none" "ignore none" "send 9 psn=+2" \
	"expect SEND_ONLY psn=+2 size=100" "expect RDMA_READ_REQUEST psn=+3 dmalen=2500 rkey=0x1234 va=0x1000" \
	"expect FETCH_ADD psn=+6 swap=1 rkey=0x1234" "ignore REQUEST" "send 1 psn=+2" "send 4 psn=+3" "send 5 psn=+4" \
	"send 6 psn=+5" "send 10 psn=+6" "expect none"
say sent sent sent "mem 65536 8"
said "3 done"
said "4 done"
said "5 done"
said 8877665544332211
say "send 6 10" "send 7 10"
follows "a NAK" "ignore REQUEST" "send 3 psn=+7" "qp state=ERR"
say sent sent
said "6 remote invalid request error"
said "7 Work Request Flushed Error"
die

make RESP_FIRST,len=1000 RESP_ONLY,len=1024
live ghost RC 0x34
say "read 1 2500"
follows "a response that is too short" "ignore REQUEST" "send 1" "qp state=ERR"
say sent
said "1 local length error"
die

# --- others, other addresses, as it is

make UC_SEND_ONLY,len=8 UC_SEND_FIRST,psn=1,len=1024 UC_SEND_ONLY,psn=2,len=9 0x31,psn=3
live ghost UC 0x12 6
say "recv 1 8192" "recv 2 8192"
follows "UC by IPv6" "send all" "expect none" "qp state=RTS"
say received received
said "1 received 8 bytes"
said "2 received 9 bytes"
die

make UD_SEND_ONLY,len=8,ack=1 UD_SEND_ONLY,len=9,qkey=7 UD_SEND_ONLY,len=2048 UD_SEND_ONLY_IMM,len=10,imm=5
live ghost UD 0x12
say "recv 1 8192" "recv 2 8192"
check "datagrams" inject --from ghost --program app_qp_ghost_peer
say received received
said "1 received 48 bytes"
said "2 received 50 bytes"
die

make SEND_ONLY,len=8,ack=1
live ghost RC 0x12
say "recv 1 8192"
is "as it is: addresses are nobody's here" "$(inject --as-is)" "frame 1: dropped: no device has its source address"
is "JSON" "$(inject --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d[0]["sent"], d[1]["opcode"], d[1]["psn_rel"])')" "1 ACK 0"
# A delay longer than the settling time: the packet is still on its way, and its answer not sent.
check "a slow link" limit "$RDMAEMU" fault add slow: delay 30ms opcode=SEND_ONLY
is "inject waits for delayed packets and their answers" "$(inject)" "ACK psn=+0 msn=1 syndrome=0x1f"
differs "expect none waits as well" "$S:2: expected 'none', got ACK psn=+0" "send 1" "expect none"
check "a link as others" limit "$RDMAEMU" fault remove slow
die
# --- a program that knows nothing of it

# pingpong - ibv_rc_pingpong's client, whose peer is the node ghost; three messages of 64 bytes
pingpong() {
	local port gid
	port=$(free_port)
	gid=$(status_json | json "[__import__('ipaddress').ip_address(g['gid']).packed.hex() for x in d['devices']
		if x['node'] == 'ghost' for g in x['ports'][0]['gids'] if ':ffff:' in g['gid']][0]")
	/usr/bin/python3 "$TOP/tests/lib/py/inject_peer.py" "$port" "$gid" >"$TEST_DIR/peer.out" 2>&1 &
	wait_listen "$port" $! || return
	limit "$RDMAEMU" run --node live -- ibv_rc_pingpong -g 1 -n 3 -s 64 -p "$port" 127.0.0.1 \
		>"$TEST_DIR/out" 2>&1 </dev/null &
	LIVE=$!
}

if command -v ibv_rc_pingpong >/dev/null; then
	make ACK SEND_ONLY,len=64,ack=1
	check "ibv_rc_pingpong is connected with nobody" pingpong
	# Its packets may arrive before the script expects them, and again when it retransmits.
	for i in 0 1 2; do
		steps+=("ignore none" "expect SEND_ONLY psn=+$i size=64 within 60s" "ignore REQUEST" "send 1 psn=+$i" "send 2 psn=+$i"
			"expect ACK psn=+$i msn=$((i + 1))")
	done
	follows "its messages, ours, acknowledges" "${steps[@]}"
	wait $LIVE && ok "it is content" || not_ok "it is content" "$(cat "$TEST_DIR/out" "$TEST_DIR/peer.out")"
fi

check "audit" limit "$RDMAEMU" status --audit
done_testing
