#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: packets are put in where the queue pair is
# `rdmaemu replay FILE --inject` into queue pairs of all types, on Ethernet and InfiniBand ports, except
# RC on Ethernet, which tests/e2e/inject/rc.t covers.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/inject.sh"
need python3

# Slow time: nothing is sent again because the machine is busy.
limit "$RDMAEMU" fabric start --time-scale 0.02
limit "$RDMAEMU" run --node ghost -- true

# --- UC

make UC_SEND_FIRST,len=1024 UC_SEND_MIDDLE,psn=1,len=1024 UC_SEND_LAST,psn=2,len=5 UC_SEND_ONLY,psn=3,len=9 \
	UC_WRITE_ONLY,psn=4,len=16 UC_WRITE_FIRST,psn=5,len=1024,dmalen=1028 UC_WRITE_LAST,psn=6,len=4 \
	UC_WRITE_ONLY_IMM,psn=7,len=4 UC_SEND_ONLY,psn=8,len=2048 UC_WRITE_ONLY,psn=9,len=16,rkey=0x99
live ghost UC 0x12
say "recv 1 8192" "recv 2 8192" "recv 3 8192" "recv 4 8192" "fill 65 4096"
follows "UC: a message" "send 1-3" "expect none"
say received
said "1 received 2053 bytes"
follows "UC: a message with a gap is dropped, the next one is taken" "send 1 psn=+3" "send 3 psn=+5" "send 4 psn=+6" "expect none"
say received
said "2 received 9 bytes"
follows "UC: WRITEs" "send 5 psn=+7" "send 6-7 psn=+8" "expect none"
say "mem 0 18"
said 000102030405060708090a0b0c0d0e0f1011
follows "UC: WRITE with immediate" "send 6 psn=+8" "send 7 psn=+9" "send 8 psn=+10" "expect none"
say received "mem 1024 4"
said "3 received 4 bytes"
said 00010203
follows "UC: what is wrong is dropped without a word" "send 9 psn=+11" "send 10 psn=+12" "send 4 psn=+20 opcode=0x2c" "expect none" "qp state=RTS"
follows "UC: the message after it is accepted" "send 4 psn=+21" "expect none"
say received
said "4 received 9 bytes"
follows "UC: nothing answers what it sends" "send 4 psn=+22 opcode=0x31" "expect none" "qp state=RTS"
die

# --- XRC, the responder

make XRC_SEND_ONLY,len=8,ack=1 XRC_WRITE_ONLY,psn=1,len=16,ack=1 XRC_READ_REQ,psn=2,dmalen=24 XRC_FETCH_ADD,psn=3 \
	SEND_ONLY,psn=4,len=8,ack=1 XRC_ACK,psn=4 XRC_SEND_ONLY,psn=4,len=8,ack=1,srqn=0x77
live ghost XRC_RECV 0x12
say "recv 1 100" "recv 2 100" "fill 65 4096"
follows "XRC: SEND, WRITE, READ, atomic" "send 1" "expect ACK psn=+0 msn=1" "send 2" "expect ACK psn=+1 msn=2" "send 3" \
	"expect RDMA_READ_RESPONSE_ONLY psn=+2 size=24 payload=000102030405060708090a0b0c0d0e0f4141414141414141" \
	"send 4" "expect ATOMIC_ACKNOWLEDGE psn=+3 orig=0x706050403020100"
say received "mem 0 9"
said "1 received 8 bytes"
said 010102030405060708
follows "XRC: an RC packet, an answer" "send 5-6" "expect none" "qp state=RTS"
follows "XRC: an SRQ that does not exist" "send 7" "expect NAK_INV_REQ_ERR psn=+4" "qp state=ERR"
die

# --- XRC, the requester

make XRC_ACK XRC_ACK,psn=1 XRC_RESP_ONLY,psn=1,len=24
live ghost XRC_SEND 0x12
say "send 1 100" "read 2 24"
follows "XRC: what is sent names the SRQ" "expect SEND_ONLY psn=+0 size=100 srqn=0x1234" \
	"expect RDMA_READ_REQUEST psn=+1 srqn=0x1234 dmalen=24" "send 1" "send 3" "expect none"
say sent sent "mem 65536 4"
said "1 done"
said "2 done"
said 00010203
die

# --- multicast

make UD_SEND_ONLY,len=8,group=5 UD_SEND_ONLY,len=9,group=5,qkey=7 UD_SEND_ONLY,len=10,group=6 UD_SEND_ONLY,len=11,group=5,qpn=0x12
live ghost UD 0x12
say "recv 1 8192" "recv 2 8192" "recv 3 8192" "join 9"
said "join 9: Success"
check "multicast: to the group that the queue pair is in" inject --from ghost --program app_qp_ghost_peer
say received
said "1 received 48 bytes"
say "join 6" "recv 4 8192"
said "join 6: Success"
printf 'send 3\nexpect none\n' >"$S"
check "multicast: another group stays as it is" inject --from ghost --program app_qp_ghost_peer --script "$S"
say received
said "2 received 50 bytes"
die
# The log has all that was dropped.
for why in "it is for a multicast group, but not for QP 0xffffff" "its opcode does not exist in the QP's transport" "Q_Key"; do
	limit "$RDMAEMU" log -v | grep -q "node ghost.*: dropped: .*$why" && ok "the journal: $why" || not_ok "the journal: $why"
done
check "audit" limit "$RDMAEMU" status --audit
limit "$RDMAEMU" fabric stop

# --- InfiniBand ports

limit "$RDMAEMU" fabric start --time-scale 0.02 --profile infiniband
limit "$RDMAEMU" run --node ghost -- true
status_json >"$TEST_DIR/status"
LID=$(json "[x['ports'][0]['lid'] for x in d['devices'] if x['node'] == 'ghost'][0]" <"$TEST_DIR/status")
GID=$(json "[g['gid'] for x in d['devices'] if x['node'] == 'ghost' for g in x['ports'][0]['gids']][0]" <"$TEST_DIR/status")

for net in grh ib; do
	make SEND_ONLY,len=8,ack=1,net=$net SEND_ONLY,psn=1,len=8,ack=1,icrc=bad,net=$net WRITE_ONLY,psn=1,len=16,ack=1,net=$net \
		SEND_ONLY,psn=1,len=8,ack=1,vcrc=bad,net=$net READ_REQ,psn=2,dmalen=2500,net=$net ACK,net=$net
	live "$GID" RC 0x12 6 "$LID"
	say "recv 1 100" "recv 2 100" "fill 65 4096"
	follows "InfiniBand ($net): SEND, WRITE, READ" "send 1" "expect ACK psn=+0 msn=1" "send 3" "expect ACK psn=+1" "send 5" \
		"expect RDMA_READ_RESPONSE_FIRST psn=+2 size=1024" "expect RDMA_READ_RESPONSE_MIDDLE psn=+3" "expect RDMA_READ_RESPONSE_LAST psn=+4 size=452"
	follows "InfiniBand ($net): wrong checksums" "send 2,4 psn=+5" "expect none" "qp state=RTS"
	say received "send 7 100"
	said "1 received 8 bytes"
	follows "InfiniBand ($net): its requests" "expect SEND_ONLY psn=+0 size=100" "send 6" "expect none"
	say sent
	said "7 done"
	die
done
# An Ethernet capture becomes one of InfiniBand.
make UC_SEND_ONLY,len=9
live "$GID" UC 0x12 6 "$LID"
say "recv 1 100"
follows "InfiniBand: packets of an Ethernet capture" "send all" "expect none"
say received
said "1 received 9 bytes"
die

make UD_SEND_ONLY,len=8,net=grh UD_SEND_ONLY,len=9,net=ib UD_SEND_ONLY,len=10,net=grh,group=5 UD_SEND_ONLY,len=11,net=ib,group=5
live "$GID" UD 0x12 6 "$LID"
say "recv 1 100" "recv 2 100" "recv 3 100" "recv 4 100" "join 3"
said "join 3: Success"
check "InfiniBand: datagrams, one and many" inject --from ghost --program app_qp_ghost_peer
say "join 5" received received received received
said "1 received 48 bytes behind a GRH"
said "2 received 49 bytes"
said "3 received 50 bytes behind a GRH"
said "4 received 51 bytes"
die
limit "$RDMAEMU" log -v | grep -q "node ghost.*: dropped: .*its ICRC or VCRC is wrong" && ok "the journal: checksums" || not_ok "the journal: checksums"
check "audit of InfiniBand" limit "$RDMAEMU" status --audit
limit "$RDMAEMU" fabric stop

# --- programs that know nothing of it, on InfiniBand ports of a fabric whose own are Ethernet: LIDs, no GRH

# pingpong PROGRAM N - its client, whose peer is the node ghost; N messages of 64 bytes
pingpong() {
	local port
	port=$(free_port)
	/usr/bin/python3 "$TOP/tests/lib/py/inject_peer.py" "$port" "$(printf '%032d' 0)" "$LID" >"$TEST_DIR/peer.out" 2>&1 &
	wait_listen "$port" $! || return
	limit "$RDMAEMU" run --node live -- "$1" -n "$2" -s 64 -p "$port" 127.0.0.1 >"$TEST_DIR/out" 2>&1 </dev/null &
	LIVE=$!
}

printf 'node %s --profile infiniband\n' live ghost >"$TEST_DIR/topology"
limit "$RDMAEMU" fabric start --time-scale 0.02 --topology "$TEST_DIR/topology"
LID=$(status_json | json "[x['ports'][0]['lid'] for x in d['devices'] if x['node'] == 'ghost'][0]")
make ACK,net=ib SEND_ONLY,len=64,ack=1,net=grh UC_SEND_ONLY,len=64,net=grh
if command -v ibv_rc_pingpong >/dev/null; then
	# Its packets may arrive before the script expects them, and again when it retransmits.
	for i in 0 1 2; do
		steps+=("ignore none" "expect SEND_ONLY psn=+$i size=64 within 60s" "ignore REQUEST" "send 1 psn=+$i" "send 2 psn=+$i"
			"expect ACK psn=+$i msn=$((i + 1))")
	done
	check "ibv_rc_pingpong is connected with nobody" pingpong ibv_rc_pingpong 3
	follows "its messages, ours, acknowledges" "${steps[@]}"
	wait $LIVE && ok "it is content" || not_ok "it is content" "$(cat "$TEST_DIR/out" "$TEST_DIR/peer.out")"
	# It posts its receives at the start, and nothing answers it. With a third message it would wait
	# indefinitely if it received all of them before it sends its first one.
	check "ibv_uc_pingpong is connected with nobody" pingpong ibv_uc_pingpong 2
	follows "our messages" "ignore REQUEST" "send 3" "send 3 psn=+1" "expect none"
	wait $LIVE && ok "it is content, too" || not_ok "it is content, too" "$(cat "$TEST_DIR/out" "$TEST_DIR/peer.out")"
fi
done_testing
