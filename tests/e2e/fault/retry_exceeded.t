#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: rules are of one fabric
# A requester whose packets are all lost retransmits retry_cnt times and completes with RETRY_EXC_ERR; the log names the
# rule that dropped them. A responder without ACKs to send has no error.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_rc_pingpong

# Fabric time is fast: retries take seconds of it.
check "a fabric" limit "$RDMAEMU" fabric start --time-scale 20
check "a rule that drops all requests" limit "$RDMAEMU" fault add 'lost: drop opcode=REQUEST'
is "ibv_rc_pingpong fails" "$(pair_once ibv_rc_pingpong -n 10 >/dev/null && echo passes || echo fails)" fails
check "a side reports the status" grep -q '^Failed status transport retry counter exceeded (12) for wr_id 2' \
	"$TEST_DIR/server.out" "$TEST_DIR/client.out"

log=$(limit "$RDMAEMU" log -v)
error=$(grep 'IBV_WC_RETRY_EXC_ERR' <<<"$log" | head -n 1)
check "the log has the error" [ -n "$error" ]
check "the error names the rule" [ "$error" != "${error/fault rule lost/}" ]
check "the error counts the attempts" [ "$error" != "${error/sent 8 times/}" ]
is "the requester's port counts it" "$(status_json | json "d['devices'][0]['ports'][0]['counters']['retry_exceeded_err'] >= 1")" True
check "without the rule" limit "$RDMAEMU" fault remove lost
pair ibv_rc_pingpong -n 10
done_testing
