#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# waits
# The checker finds each seeded mistake, in the line that makes it, and says nothing of the twin without it.
. "$(dirname "$0")/../../lib/lib.sh"

# seed FILE NAME MISTAKE TEXT [COUNT] - the program with the mistake has this finding only, whose text matches, at COUNT
# places (both EREs)
seed() {
	local out status=0 want=0 file=$1
	shift
	out=$(limit "$RDMAEMU" run --check -- "$T/app_check_$file" "$2" wrong 2>&1) || status=$?
	grep -q "^rdmaemu: error" <<<"$out" && want=99
	echo "$out"
	[ $status = $want ] && [[ $(grep -c "^rdmaemu: [a-z]* [A-Z]*:" <<<"$out") =~ ^${4:-1}$ ]] &&
		grep -qE "^rdmaemu: (error|warning) $1: app_check_$file\[[0-9]*\]: $3" <<<"$out" &&
		grep -q "seed_$2 (tests/verbs/check/$file.c:[0-9]*)" <<<"$out"
}

# twin FILE MISTAKE - the same program without it
twin() {
	local out status=0
	out=$(limit "$RDMAEMU" run --check -- "$T/app_check_$1" "$2" right 2>&1) || status=$?
	echo "$out"
	[ "$status:$out" = 0: ]
}

while read -r file name mistake text; do
	check "$name: $mistake" seed "$file" "$name" "$mistake" "$text"
	check "$mistake: its twin" twin "$file" "$mistake"
done <<'END'
seeded QP:DESTROY:OUTSTANDING destroy_outstanding qp1 is destroyed; the completions of 1 of its 1 outstanding send requests
seeded MR:DEREG:OUTSTANDING dereg_outstanding mr1 is deregistered; send request wr_id 0x1 of qp1 still names it
seeded MR:DEREG:POSTED dereg_posted mr1 is deregistered; receive request wr_id 0x1 of qp2 still names it
events CQ:NOTIFY:LOST notify_lost cq1 was armed after it was polled, and not emptied since
events CQ:NOTIFY:LOST notify_partial cq1 was armed after it was polled, and not emptied since
events CQ:EVENT:UNACKED event_unacked cq1 is destroyed with 1 event that nobody
events OBJECT:EVENT:UNACKED async_unacked qp[12] is destroyed with 1 event that nobody
seeded OBJECT:DESTROY:BUSY busy pd1 is not destroyed \(EBUSY\): qp2 uses it
seeded CQ:SIZE:OUTSTANDING cq_small cq1 has [0-9]* entries, and
seeded QP:MODIFY:INVALID modify qp1, .*RESET: attr_mask lacks .*ACCESS_FLAGS
seeded QP:SQ:STUCK stuck qp1: ibv_post_send\(\) fails with ENOMEM: its 8 outstanding requests
seeded WR:LKEY:INVALID lkey_outside qp1, wr_id 0x1: sg_list\[0\] .* it ends 16 bytes after mr1
seeded WR:LKEY:INVALID lkey_stale qp1, wr_id 0x1: sg_list\[0\] .* was that of mr2, which is deregistered
seeded WR:RKEY:INVALID rkey_stale qp1, wr_id 0x1: remote memory .* was that of mr2, which is deregistered
END
# The context, PD, channel, CQ, MR, and two QPs of one line, which a compiler may make two places of.
check "OBJECT:LEAK:EXIT: leak" seed seeded OBJECT:LEAK:EXIT leak "qp1 exists when the program ends" "[67]"
check "leak: its twin" twin seeded leak
done_testing
