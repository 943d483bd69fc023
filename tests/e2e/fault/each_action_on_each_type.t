#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: rules see all of it there
# Packet faults: each action, on each type of queue pair that it applies to, on requests and on responses. Checks the
# completions of both sides, states, events, counters, hits and the journal.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

FAULT=$T/app_fault_packets
export RDMAEMU_BIN=$RDMAEMU

# json EXPR - the port's counters are p
json() {
	"$RDMAEMU" status --json | python3 -c "
import json, sys
d = json.load(sys.stdin)
p = d['devices'][0]['ports'][0]['counters']
print($1)"
}

# rule KEY [N] - of the first, or the Nth rule
rule() {
	"$RDMAEMU" fault list --json |
		python3 -c "import json, sys; print(json.load(sys.stdin)['faults'][${2:-0}]['$1'])"
}

# faulty RULE ARGS... - a fresh fabric with the rule, and app_fault_packets; its output is in $OUT, without what
# tells nothing
faulty() {
	local rules=$1
	shift
	"$RDMAEMU" fabric stop >/dev/null 2>&1
	"$RDMAEMU" fabric start && "$RDMAEMU" fault add "$rules" || return
	OUT=$(limit "$RDMAEMU" run -- "$FAULT" local "$@" 2>&1) || {
		echo "$OUT"
		return 1
	}
	LOG=$("$RDMAEMU" log -v)
}

# sends, recvs - the completions in a line: numbers, with ! behind those that failed
sends() {
	sed -n 's/^send \([0-9]*\) success/\1/p; s/^send \([0-9]*\) .*/\1!/p' <<<"$OUT" | xargs
}
recvs() {
	sed -n 's/^recv \([0-9]*\) .*/\1/p; s/^recv: .*/!/p' <<<"$OUT" | xargs
}
status_of() {
	sed -n "s/^send $1 //p" <<<"$OUT"
}
states() {
	sed -n 's/^states //p' <<<"$OUT"
}

# seen NAME RULE ARGS -- SENDS RECVS STATES HITS - HITS may be `any`, where time decides
seen() {
	local name=$1 rules=$2 args=()
	shift 2
	while [ "$1" != -- ]; do
		args+=("$1")
		shift
	done
	if ! faulty "$rules" "${args[@]}"; then
		not_ok "$name" "$OUT"
		return
	fi
	is "$name" "$(sends) / $(recvs) / $(states) / $([ "$5" = any ] && echo any || rule hits)" \
		"$2 / $3 / $4 / $5"
}

# journal NAME PATTERN - the log has such a line
journal() {
	if grep -qE -- "$2" <<<"$LOG"; then
		ok "$1"
	else
		not_ok "$1" "no $2 in:" "$LOG"
	fi
}

# --- what is lost: the reliable repair it, the others lose just that

# Where a request that comes later tells of what is missing, timeout=19 leaves 2 s to post it in.
for type in RC XRC; do
	seen "$type: a SEND is dropped, and comes again" 'drop opcode=SEND_ONLY nth=3' \
		$type send 5 100 timeout=19 -- '0 1 2 3 4' '0 1 2 3 4' 'RTS RTS' 1
	is "$type: the responder says so, once" "$(json "p['out_of_seq_request'] > 0, p['rcvd_seq_err']")" \
		'True 1'
	journal "$type: the journal names the rule" 'SEND_ONLY psn .*dropped: by fault rule f1: drop opcode=SEND_ONLY nth=3'
	seen "$type: a packet in the middle of a message" 'drop opcode=SEND_MIDDLE round=1 nth=2' \
		$type send 2 5000 -- '0 1' '0 1' 'RTS RTS' 1
	seen "$type: an ACK" 'drop opcode=ACK nth=1' $type send 1 100 -- 0 0 'RTS RTS' 1
	is "$type: the request comes again, and is a duplicate" "$(json "p['duplicate_request'], p['timeouts']")" '1 1'
	seen "$type: a NAK" 'drop opcode=SEND_ONLY nth=1 ; drop opcode=NAK nth=1' \
		$type send 3 100 timeout=18 -- '0 1 2' '0 1 2' 'RTS RTS' 1
	is "$type: then the timeout detects it" "$(rule hits 1) $(json "p['rcvd_seq_err'], p['timeouts']")" '1 0 1'
	seen "$type: part of a READ's answer" 'drop opcode=RDMA_READ_RESPONSE_MIDDLE nth=2' \
		$type read 2 5000 -- '0 1' '' 'RTS RTS' 1
	seen "$type: a READ's request" 'drop opcode=RDMA_READ_REQUEST nth=1' $type read 2 100 -- '0 1' '' 'RTS RTS' 1
	seen "$type: an atomic's answer; it is executed once" 'drop opcode=ATOMIC_ACKNOWLEDGE nth=2' \
		$type add 4 8 -- '0 1 2 3' '' 'RTS RTS' 1
	is "$type: the sum" "$(sed -n 's/^sum //p' <<<"$OUT")" 4
	seen "$type: a WRITE with immediate data" 'drop opcode=RDMA_WRITE_WITH_IMM nth=2' \
		$type imm 3 100 -- '0 1 2' '0 1 2' 'RTS RTS' 1
	seen "$type: all of it, for good" 'drop opcode=REQUEST' $type send 1 100 timeout=8 retry=3 -- \
		'0!' '' 'ERR RTS' 4
	seen "$type: and requests after it" 'drop opcode=REQUEST' $type send 2 100 timeout=8 retry=3 -- \
		'0! 1!' '' 'ERR RTS' any
	is "$type: the first has no answer, the second is flushed" "$(status_of 0), $(status_of 1)" \
		'transport retry counter exceeded, Work Request Flushed Error'
	journal "$type: the journal says why" 'IBV_WC_RETRY_EXC_ERR.*rule f1'
done

for type in UC UD; do
	seen "$type: just what was dropped is lost" 'drop opcode=SEND_ONLY nth=3' \
		$type send 5 100 -- '0 1 2 3 4' '0 1 3 4' 'RTS RTS' 1
	seen "$type: the same by its number" 'drop psn=0xabcdf1' $type send 5 100 -- '0 1 2 3 4' '0 1 3 4' 'RTS RTS' 1
	seen "$type: every second" 'drop every=2 after=1' $type send 6 100 -- '0 1 2 3 4 5' '0 2 4' 'RTS RTS' 3
done
seen 'UC: a message of which a packet is lost' 'drop opcode=SEND_MIDDLE nth=1' \
	UC send 3 5000 -- '0 1 2' '1 2' 'RTS RTS' 1
seen 'UC: a WRITE with immediate data' 'drop opcode=RDMA_WRITE_LAST_WITH_IMMEDIATE nth=2' \
	UC imm 3 3000 -- '0 1 2' '0 2' 'RTS RTS' 1

# --- damaged

for type in RC XRC; do
	seen "$type: a damaged packet comes again" 'corrupt conn=1 psn=+1 round=1' \
		$type send 3 3000 -- '0 1 2' '0 1 2' 'RTS RTS' 1
	is "$type: the receiver's port has counted it" "$(json "p['rcv_errors']")" 1
	seen "$type: a damaged ACK" 'corrupt opcode=ACK nth=1' $type send 1 10 -- 0 0 'RTS RTS' 1
done
for type in UC UD; do
	seen "$type: a damaged packet is lost" 'corrupt nth=2' $type send 3 10 -- '0 1 2' '0 2' 'RTS RTS' 1
	is "$type: the receiver's port has counted it" "$(json "p['rcv_errors']")" 1
done

# --- twice

for type in RC XRC; do
	seen "$type: a request that comes twice is executed once" 'duplicate opcode=REQUEST' \
		$type send 4 100 -- '0 1 2 3' '0 1 2 3' 'RTS RTS' 4
	is "$type: the others are duplicates" "$(json "p['duplicate_request']")" 4
	seen "$type: an atomic that comes twice" 'duplicate opcode=FETCH_ADD' $type add 3 8 -- '0 1 2' '' 'RTS RTS' 3
	is "$type: the sum" "$(sed -n 's/^sum //p' <<<"$OUT")" 3
	seen "$type: an ACK that comes twice" 'duplicate opcode=ACK' $type send 2 100 -- '0 1' '0 1' 'RTS RTS' 2
done
seen 'UD: a datagram comes twice' 'duplicate nth=1' UD send 2 10 -- '0 1' '0 0' 'RTS RTS' 1
seen 'UC: the second is out of sequence, and a message of its own' 'duplicate nth=1' \
	UC send 2 10 -- '0 1' '0 0' 'RTS RTS' 1

# --- late, and in another order

for type in RC XRC; do
	seen "$type: one that is late is overtaken, and asked for" 'delay opcode=SEND_ONLY 2s nth=2' \
		$type send 4 100 timeout=19 -- '0 1 2 3' '0 1 2 3' 'RTS RTS' 1
	is "$type: by a NAK" "$(json "p['rcvd_seq_err'] > 0")" True
	seen "$type: all are late, in their order" 'delay opcode=REQUEST 2ms jitter=1ms distribution=normal' \
		$type send 4 3000 timeout=19 -- '0 1 2 3' '0 1 2 3' 'RTS RTS' 12
	is "$type: and nothing is sent again" "$(json "p['completer_retry_err']")" 0
done
seen 'UD: one that is late is overtaken' 'delay 5s nth=1' UD send 3 10 settle=10 -- '0 1 2' '1 2 0' 'RTS RTS' 1
seen 'UD: overtaken by two' 'reorder nth=1 gap=2 2s' UD send 4 10 -- '0 1 2 3' '1 2 0 3' 'RTS RTS' 1
seen 'UD: nobody comes to overtake' 'reorder nth=2 gap=3 5ms' UD send 2 10 -- '0 1' '0 1' 'RTS RTS' 1
seen 'UC: overtaken, and so out of sequence' 'reorder nth=1 gap=1 2s' UC send 3 10 -- '0 1 2' '1 0 2' 'RTS RTS' 1
for type in RC XRC; do
	seen "$type: overtaken by two" 'reorder opcode=SEND_ONLY nth=1 gap=2 2s' \
		$type send 4 10 timeout=19 -- '0 1 2 3' '0 1 2 3' 'RTS RTS' 1
	is "$type: a NAK asks for it" "$(json "p['rcvd_seq_err'] > 0")" True
done
for type in RC UC UD XRC; do
	seen "$type: at 10 Mbit/s" 'rate 10Mbit opcode=REQUEST' $type send 6 1000 -- \
		'0 1 2 3 4 5' '0 1 2 3 4 5' 'RTS RTS' 6
done

# --- refused

for type in RC XRC; do
	seen "$type: three RNR NAKs though a receive is posted" 'rnr for=3' \
		$type send 2 100 rnr=4 -- '0 1' '0 1' 'RTS RTS' 3
	is "$type: they are counted" "$(json "p['send_rnr_err'], p['rcvd_rnr_err']")" '3 3'
	seen "$type: more than the requester bears" 'rnr after=1' $type send 3 100 rnr=2 -- \
		'0 1! 2!' '0' 'ERR RTS' 3
	is "$type: its status" "$(status_of 1)" 'RNR retry counter exceeded'
	journal "$type: the journal says why" 'IBV_WC_RNR_RETRY_EXC_ERR'
	seen "$type: a sequence NAK" 'nak code=PSN_SEQ_ERR nth=2' $type send 3 100 -- '0 1 2' '0 1 2' 'RTS RTS' 1
	is "$type: the requester sends again" "$(json "p['rcvd_seq_err'] >= 1, p['completer_retry_err'] >= 1")" 'True True'
	while IFS='|' read -r code op status event recv; do
		seen "$type: nak $code" "nak code=$code nth=2" $type "$op" 3 100 -- '0 1! 2!' "$recv" 'ERR ERR' 1
		is "$type: its status" "$(status_of 1)" "$status"
		is "$type: the responder's event" "$(sed -n 's/^receiver: //p' <<<"$OUT")" "$event"
		journal "$type: the journal names the rule" "NAK sent.*by fault rule f1: nak code=$code nth=2"
	done <<-END
		REM_ACCESS_ERR|write|remote access error|local access violation work queue error|
		REM_INV_REQ_ERR|write|remote invalid request error|invalid request local work queue error|
		REM_OP_ERR|write|remote operation error|local work queue catastrophic error|
	END
done

seen "a rule's NAK is lost by another rule" 'nak code=REM_OP_ERR nth=2 ; drop opcode=ACKNOWLEDGE nth=2' \
	RC write 3 100 timeout=10 retry=2 -- '0 1! 2!' '' 'ERR ERR' 1
is 'which hit it as well' "$(rule hits 1)" 1
journal 'the journal names that one' 'ACKNOWLEDGE .*dropped: by fault rule f2: '

# --- which, and when

seen 'direction=tx qp= is one side' 'drop qp=0x11 direction=tx nth=1' RC send 2 10 -- '0 1' '0 1' 'RTS RTS' 1
journal 'it was a request' 'qp 0x000011 -> .*SEND_ONLY .*dropped'
seen 'direction=rx qp= is the other way' 'drop qp=0x11 direction=rx nth=1' RC send 1 10 -- 0 0 'RTS RTS' 1
journal 'it was an answer' 'qp 0x000012 -> .*ACKNOWLEDGE .*dropped'
seen 'program=' 'drop program=app_fault_packets nth=1' UD send 2 10 -- '0 1' 1 'RTS RTS' 1
seen 'another program=' 'drop program=somebody' UD send 2 10 -- '0 1' '0 1' 'RTS RTS' 0
seen 'another node=' 'drop node=b' UD send 2 10 -- '0 1' '0 1' 'RTS RTS' 0
seen 'type=' 'drop type=RC' UD send 2 10 -- '0 1' '0 1' 'RTS RTS' 0
seen 'size=' 'drop size=100..' UD send 2 99 -- '0 1' '0 1' 'RTS RTS' 0
seen 'size= that fits' 'drop size=..99' UD send 2 99 -- '0 1' '' 'RTS RTS' 2
seen 'round=2: what is sent again' 'drop nth=1 opcode=SEND_ONLY ; drop round=2 opcode=SEND_ONLY for=1' \
	RC send 1 10 timeout=10 -- 0 0 'RTS RTS' 1
is 'it hit once' "$(rule hits 1)" 1
seen 'rules count on their own' 'drop nth=1 ; drop nth=2' UD send 4 10 -- '0 1 2 3' '2 3' 'RTS RTS' 1
"$RDMAEMU" fabric stop
done_testing
