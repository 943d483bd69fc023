#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads files, needs no fabric
# `rdmaemu fault try`: which packets of a capture rules would hit, in captures of rxe and constructed ones of each link.
. "$(dirname "$0")/../../lib/lib.sh"

TRACES=$TOP/tests/data/traces
unset RDMAEMU_SEED

make() {
	/usr/bin/python3 "$TOP/tests/lib/py/trace_make.py" "$1" "$TEST_DIR/$1.pcap"
}

# hits FILE RULES... - frame numbers and rules that hit, "4:f1 8:f2"
hits() {
	local file=$1
	shift
	limit "$RDMAEMU" fault try --trace "$file" --json "$@" |
		json "' '.join(f\"{h['frame']}:{h['rule']}\" for h in d['hits'])"
}

# rules FILE RULES... - seen and hits of each, "10/1 3/3"
rules() {
	local file=$1
	shift
	limit "$RDMAEMU" fault try --trace "$file" --json "$@" |
		json "' '.join(f\"{r['seen']}/{r['hits']}\" for r in d['rules']['faults'])"
}

# refuses NAME STATUS WORDS ARGS... - that status, and one line with these words on stderr
refuses() {
	rdmaemu_refuses "fault try" "$@"
}

R=$TRACES/rping.pcap
is "all packets of rping" "$(rules "$R" drop)" 29/29
is "the first packets of each direction, by CM's PSNs" "$(hits "$R" 'drop conn=1 psn=+0')" "4:f1 6:f1"
is "the second of one" "$(hits "$R" 'drop psn=+1 node=node1 direction=tx')" "8:f1"
is "by node, by name" "$(hits "$R" --nodes server=10.1.0.2 'drop psn=+1 node=server direction=tx')" "8:f1"
is "by link" "$(rules "$R" --nodes a=10.1.0.1,b=10.1.0.2 'drop link=a-b' 'direction=tx')" 15/15
is "opcodes" "$(rules "$R" 'drop opcode=RDMA_READ; drop opcode=RESPONSE size=64; drop opcode=RDMA_WRITE')" "2/2 2/2 2/2"
is "messages" "$(hits "$R" 'cm drop REP; cm delay 1ms REQ,DREQ; cm reject')" "1:f2 1:f3 2:f1 28:f2"
is "a QP, known by CM" "$(rules "$R" 'drop qp=44 direction=tx opcode=RDMA_READ_REQUEST')" 2/2
is "when" "$(hits "$R" 'drop opcode=ACK nth=2; delay 1us opcode=REQUEST after=2 every=3 for=2')" "8:f2 9:f1 14:f2"
is "at a time of the trace" "$(hits "$R" 'drop at=22ms for=500us')" "26:f1 27:f1"
is "a partition" "$(rules "$R" 'partition node0|* at=20ms')" 14/14
is "what waits for a packet" "$(hits "$R" 'event IBV_EVENT_PORT_ERR opcode=RDMA_READ nth=2')" "18:f1"
is "what is dropped is not looked at where it would arrive" \
	"$(hits "$R" 'x: drop opcode=SEND nth=1; rnr opcode=SEND for=2')" "4:x 8:f2 10:f2"
is "the second attempt" "$(hits "$TRACES/rnr_fail.pcap" 'drop round=2; drop opcode=RNR_NAK')" "2:f2 3:f1 4:f1 4:f2"
is "sizes" "$(hits "$TRACES/read_3k.pcap" 'drop size=952; drop size=1000..')" "2:f2 3:f2 4:f1"
is "datagrams" "$(hits "$TRACES/ud_send.pcap" 'drop type=UD size=16; drop type=RC')" "1:f1"

one=$(hits "$R" 'drop prob=0.3')
is "at random: the same again" "$(hits "$R" 'drop prob=0.3')" "$one"
check "and other with another seed" test "$one" != "$(hits "$R" --seed 9 'drop prob=0.3')"

for kind in eth4 eth6 vlan roce1 sll sll2 raw ib grh erf ng; do
	make $kind
	is "$kind" "$(hits "$TEST_DIR/$kind.pcap" 'drop opcode=SEND_ONLY size=61 psn=7 conn=1 qp=34;
		drop opcode=ACK psn=+0 qp=34 direction=tx')" "1:f1 2:f2"
done
is "IPv6 by name" "$(hits "$TEST_DIR/eth6.pcap" --nodes x=fd09::2 'drop node=x direction=tx')" "2:f1"
is "a LID by name" "$(hits "$TEST_DIR/ib.pcap" --nodes x=2 'drop node=x direction=tx')" "2:f1"
make gbn
is "rounds, PSNs that come round, a second connection" \
	"$(hits "$TEST_DIR/gbn.pcap" 'drop round=2; drop psn=+4; drop conn=2; drop opcode=NAK')" \
	"5:f2 6:f4 7:f1 8:f1 9:f1 9:f2 11:f3 12:f3 13:f3"

echo 'a: drop nth=3 # third
loss 10%;corrupt size=61' >"$TEST_DIR/s.faults"
is "a scenario" "$(hits "$R" --scenario "$TEST_DIR/s.faults" | grep -o '[0-9]*:a')" "3:a"
out=$(limit "$RDMAEMU" fault try --trace "$R" 'drop psn=+5') || not_ok "text: status"
is "a line for each hit" "$(sed -n 1p <<<"$out")" \
	"20 0.021337000 node1 qp=44 > node0 qp=44 SEND_ONLY psn=0x59422c conn=1 psn=+5 round=1 size=16 f1: drop"

make other
is "what is no RDMA packet" "$(hits "$TEST_DIR/other.pcap" drop)" ""
for kind in snap udplen short; do
	make $kind
	check "$kind: counted as what makes no sense" test "$(limit "$RDMAEMU" fault try --json \
		--trace "$TEST_DIR/$kind.pcap" drop | json "d['bad']")" -gt 0
done

head -c 1000 "$R" >"$TEST_DIR/cut.pcap"
refuses "a file that ends early" 2 "after frame 2: truncated" --trace "$TEST_DIR/cut.pcap" drop
is "and what was before that" "$(limit "$RDMAEMU" fault try --trace "$TEST_DIR/cut.pcap" drop 2>/dev/null |
	grep -c ': drop')" 2
make wlan
refuses "another link type" 2 "expected Ethernet" --trace "$TEST_DIR/wlan.pcap" drop
refuses "no capture" 2 "expected a capture" --trace "$TOP/Makefile" drop
refuses "an empty file" 2 "expected a capture" --trace /dev/null drop
refuses "no file" 2 "No such file" --trace "$TEST_DIR/none" drop
refuses "no --trace" 2 "expected --trace FILE" drop
refuses "no rule" 2 "fault try" --trace "$R"
refuses "a bad rule" 2 "expected" --trace "$R" drop foo
refuses "a bad name" 2 "expected NAME=ADDRESS" --trace "$R" --nodes x drop
refuses "a name that is taken" 2 "not nodeN" --trace "$R" --nodes node1=10.1.0.1 drop
refuses "an unknown node" 2 "expected a node of the trace: node0 (10.1.0.1)" --trace "$R" drop node=x
for rule in 'drop program=x' 'drop pid=3' 'drop device=x' 'drop port=1' 'fail call=ibv_reg_mr errno=ENOMEM' \
	'wc status=GENERAL_ERR wr_id=4' 'kill node=a' 'limit max_qp=3' 'link down node=a at=1s'; do
	refuses "$rule cannot be tried" 2 "cannot be tried" --trace "$R" "$rule"
done
done_testing
