#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: rules are of one fabric
# Fault rules on SRD: lost, late, repeated and reordered packets cost nothing but time, and hold up no other message; wc
# and nak end the one message that they hit, with libefa's code, and rnr lets it wait.
. "$(dirname "$0")/../../lib/lib.sh"
export RDMAEMU_PROFILE=efa

# messages RULE OPERATION N SIZE - a check: on a fabric with the rule the program has its data. Its output is in $OUT,
# the journal in $LOG
messages() {
	OUT='' LOG=''
	"$RDMAEMU" fabric stop >/dev/null 2>&1
	"$RDMAEMU" fabric start && "$RDMAEMU" fault add "r: $1" &&
		OUT=$(limit "$RDMAEMU" run -- "$T/app_srd_messages" "${@:2}" 2>&1) || {
		not_ok "$*" "$OUT"
		return 1
	}
	ok "$*"
	LOG=$("$RDMAEMU" log -v)
}

# sends - numbers of the messages in the order of their completions, with status and code of those that fail
sends() {
	sed -n 's/^send \([0-9]*\) success 0$/\1/p; s/^send \([0-9]*\) \(.*\) \([0-9]*\)$/\1(\2: \3)/p' <<<"$OUT" | xargs
}
hits() {
	"$RDMAEMU" fault list --json | json "d['faults'][0]['hits']"
}

# seen RULE OPERATION N SIZE -- SENDS HITS - both queue pairs are in RTS afterwards
seen() {
	local rule=$1 op=("${@:2:3}")
	messages "$rule" "${op[@]}" || return
	is "$rule: completions" "$(sends)" "$6"
	is "$rule: hits" "$(hits)" "$7"
	is "$rule: states" "$(sed -n 's/^RTS //p' <<<"$OUT")" "1 1"
}

# Its ACK timeout is 268 ms: the others are done.
seen 'drop opcode=SEND_ONLY nth=3' send 6 100 -- '0 1 3 4 5 2' 1
seen 'drop opcode=ACK nth=3' send 6 100 -- '0 1 3 4 5 2' 1
is "a message whose ACK is lost is received once" "$(grep -c '^recv 2 success 2$' <<<"$OUT")" 1
seen 'drop opcode=RDMA_READ_REQUEST nth=2' read 4 10000 -- '0 2 3 1' 1
seen 'drop opcode=RDMA_WRITE nth=5' write 4 40000 -- '1 2 3 0' 1
seen 'delay 100ms opcode=SEND_ONLY nth=2' send 4 100 -- '0 2 3 1' 1
seen 'corrupt opcode=SEND_ONLY nth=1' send 3 100 -- '1 2 0' 1
seen 'duplicate opcode=SEND_ONLY' send 8 100 -- '0 1 2 3 4 5 6 7' 8
is "each message is received once" "$(grep -c '^recv' <<<"$OUT")" 8
messages 'loss 20%' send 32 100
is "all arrive" "$(sends | tr ' ' '\n' | sort -n | xargs)" "$(seq 0 31 | xargs)"
is "each once" "$(sed -n 's/^recv [0-9]* success //p' <<<"$OUT" | sort -n | xargs)" "$(seq 0 31 | xargs)"
messages 'reorder 50% opcode=RDMA_WRITE' write 16 65536
is "all are written" "$(sends | wc -w)" 16

seen 'defer 1s opcode=SEND nth=2' send 4 100 -- '0 2 3 1' 1
seen 'defer 1s posts=3 nth=2' send 4 100 -- '0 2 3 1' 1
# Two more are posted at once, so it waits for no time; others may have overtaken it.
messages 'defer 10s posts=2 nth=2' send 4 100
is "a message that was deferred until two more were posted" "$(sends | tr ' ' '\n' | sort | xargs)" '0 1 2 3'
seen 'rnr nth=2' send 4 100 -- '0 2 3 1' 1
is "the journal has the NAK, with the rule" "$(grep -c 'RNR NAK sent: by fault rule r' <<<"$LOG")" 1
seen 'rnr opcode=SEND_ONLY size=100 for=4' send 1 100 -- '0(RNR retry counter exceeded: 10)' 4
seen 'nak code=REM_ACCESS_ERR nth=2' write 3 100 -- '0 1(remote access error: 7) 2' 1
seen 'nak code=REM_INV_REQ_ERR opcode=SEND nth=2' send 3 100 -- '0 1(remote invalid request error: 11) 2' 1
seen 'nak code=REM_OP_ERR opcode=RDMA_READ nth=1' read 3 100 -- '0(bad response error: 12) 1 2' 1

while read -r status words code; do
	# The message ends at once, while others may be under way.
	messages "wc status=$status type=SRD nth=2" read 3 100
	is "$status: completions" "$(grep ^send <<<"$OUT" | sort)" $'send 0 success 0\nsend 1 '"${words//_/ } $code"$'\nsend 2 success 0'
	is "$status: the journal says why" "$(grep -c "IBV_WC_$status: by fault rule r" <<<"$LOG")" 1
done <<'END'
LOC_PROT_ERR local_protection_error 5
LOC_LEN_ERR local_length_error 6
REM_ACCESS_ERR remote_access_error 7
REM_ABORT_ERR aborted_error 8
REM_INV_RD_REQ_ERR remote_invalid_RD_request 9
RNR_RETRY_EXC_ERR RNR_retry_counter_exceeded 10
REM_INV_REQ_ERR remote_invalid_request_error 11
BAD_RESP_ERR bad_response_error 12
RESP_TIMEOUT_ERR response_timeout_error 13
END
seen 'wc status=LOC_LEN_ERR opcode=RECV nth=2' send 3 100 -- '0 1(remote invalid request error: 11) 2' 1
is "the receive fails" "$(grep -c '^recv 1 local length error' <<<"$OUT")" 1

refused() {
	! "$RDMAEMU" fault add "$1" 2>"$TEST_DIR/refused" && grep -q "$2" "$TEST_DIR/refused"
}
check "SRD has no sequence" refused 'nak code=PSN_SEQ_ERR type=SRD' 'RC or XRC: other types have no sequence of packets'
check "a status that libefa does not have" refused 'wc status=REM_OP_ERR type=SRD' 'a QP type that can complete with'
check "nothing is left" audit_all
done_testing
