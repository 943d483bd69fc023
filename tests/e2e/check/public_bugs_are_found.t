#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# waits
# Twenty bugs of public projects, re-enacted: the check finds each, and nothing in the version that is right.
. "$(dirname "$0")/../../lib/lib.sh"

# bug NAME FINDING right|wrong - what the program does, and the wrong one has the finding in the function of the bug
bug() {
	local out status=0
	out=$(limit "$RDMAEMU" run --check="errors,warnings,buffers,-WR:RECEIVE:*,WR:ID:*" --check-exit 0 -- \
		"$T/app_check_bugs" "$1" "$3" 2>&1) || status=$?
	echo "status $status: $out"
	[ $status = 0 ] || return
	if [ "$3" = right ]; then
		[ -z "$out" ]
	else
		grep -qE "^rdmaemu: [a-z]* $2: " <<<"$out" && grep -q "bug_$1 (tests/verbs/check/bugs.c:" <<<"$out"
	fi
}

while read -r name finding project; do
	check "$project: $finding" bug "$name" "$finding" wrong
	check "$project: without the bug, nothing" bug "$name" "$finding" right
done <<'END'
mooncake_1903 QP:DESTROY:OUTSTANDING kvcache-ai/Mooncake#1903
spdk_3859 MR:DEREG:OUTSTANDING spdk/spdk#3859
deepep_310 WR:BUFFER:WRITTEN deepseek-ai/DeepEP#310
brpc_3415 CQ:NOTIFY:LOST apache/brpc#3415
perftest_137 CQ:NOTIFY:LOST linux-rdma/perftest#137
ucx_1039 CQ:EVENT:UNACKED openucx/ucx#1039
spdk_3195 QP:SQ:STUCK spdk/spdk#3195
transferbench_239 CQ:SIZE:OUTSTANDING ROCm/TransferBench#239
ucx_7215 WR:FENCE:MISSING openucx/ucx#7215
smart_2 QP:MODIFY:INVALID madsys-dev/smart#2
mooncake_721 QP:MODIFY:INVALID kvcache-ai/Mooncake#721
mori_424 WR:POST:INVALID ROCm/mori#424
async_rdma_43 WR:LKEY:INVALID datenlord/async-rdma#43
spdk_1387 WR:RKEY:INVALID spdk/spdk#1387
spead2_134 OBJECT:DESTROY:BUSY ska-sa/spead2#134
uccl_690 OBJECT:LEAK:EXIT uccl-project/uccl#690
rdma_example_3 WR:RKEY:INVALID w180112/RDMA-example#3
fusee_ib QP:POST:STATE dmemsys/FUSEE src/ib.cc
spdk_3830 WC:STATUS:IGNORED spdk/spdk#3830
libfabric_3389 WR:ID:REPEATED ofiwg/libfabric#3389
END
done_testing
