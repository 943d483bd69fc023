#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: rules are of one fabric
# A responder that answers with RNR NAKs stops a requester for its RNR timer, rnr_retry times; then the request
# completes with RNR_RETRY_EXC_ERR. With rnr_retry=7 the requester retries without limit.
. "$(dirname "$0")/../../lib/lib.sh"

send() {
	limit "$RDMAEMU" run -- "$T/app_fault_packets" local RC send 1 100 min_rnr=1 "$@"
}

check "a fabric" limit "$RDMAEMU" fabric start
check "a rule that answers SENDs with RNR NAKs" limit "$RDMAEMU" fault add 'busy: rnr opcode=SEND_ONLY'
out=$(send rnr=3)
is "the send's status" "$(sed -n 's/^send 0 //p' <<<"$out")" "RNR retry counter exceeded"
is "the requester is in ERR, the responder in RTS" "$(sed -n 's/^states //p' <<<"$out")" "ERR RTS"
is "one attempt and three retries" "$(limit "$RDMAEMU" fault list --json | json "d['faults'][0]['hits']")" 4
error=$(limit "$RDMAEMU" log -v | grep IBV_WC_RNR_RETRY_EXC_ERR | tail -n 1)
check "the log has the error, and counts the NAKs" [ "$error" != "${error/4 RNR NAKs/}" ]
check "the log has the NAKs, with the rule" sh -c "'$RDMAEMU' log -v | grep -q 'RNR NAK sent: by fault rule busy'"

check "no rule" limit "$RDMAEMU" fault remove busy
check "a rule for most SENDs" limit "$RDMAEMU" fault add 'busy: rnr opcode=SEND_ONLY prob=0.95 seed=2'
is "rnr_retry=7 outlasts them" "$(send rnr=7 | sed -n 's/^send 0 //p')" success
check "after more retries than rnr_retry can count" [ "$(limit "$RDMAEMU" fault list --json | json "d['faults'][0]['hits']")" -gt 7 ]
done_testing
