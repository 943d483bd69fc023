#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 10
# settings: one nodes fabrics
# A reader that sees the last byte of a message sees all of it, on every memory path. A copy that lands in one piece is
# noticed about once in 200 messages. ORDER_COUNT= sends more, ORDER_SECONDS= longer, as `make torture` does.
. "$(dirname "$0")/../../lib/lib.sh"
LIMIT=$((600 * SLOW * PATIENCE))
count=${ORDER_COUNT:-$(by_setting 50000 5000)}
in_one app app_qp_order local $((2 * count / SLOW))
app app_qp_order remote $((count / SLOW))
app app_qp_order lines $((count / 4 / SLOW))
fabric_stop
# Nobody may reach another's memory: the helper thread of the target copies.
RUN_BY="$T/sys_noptrace" app app_qp_order remote $(by_setting $((count / SLOW / 10)) 500)
done_testing
