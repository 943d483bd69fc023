#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a replay makes one fabric
# What is newer than rdma-core 44 is recorded, shown and replayed: FLUSH, and regions of ibv_reg_buf_mr, ibv_reg_mr_ex.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/replay.sh"
need python3

# shown PROGRAM WORDS - how many lines of its trace have the words (an ERE)
shown() {
	"$REAL" trace show "$TEST_DIR/trace.$1" 2>/dev/null | grep -cE "$2"
}

own app_qp_flush persistent
is "FLUSH has its address, length, type and level" \
	"$(shown app_qp_flush 'FLUSH flags=0x2 remote=0x[0-9a-f]+ rkey=0x[0-9a-f]+ length=4088 type=0x1 level=0')" 1
own app_device_newer local
is "a region of a buffer is one of ibv_reg_mr" "$(shown app_device_newer 'ibv_reg_mr .* length=12272 .* = mr')" 1
is "a region with an iova is one of ibv_reg_mr_iova2" "$(shown app_device_newer 'ibv_reg_mr_iova2 .* iova=.* = mr')" 1
own app_device_newer remote
done_testing
