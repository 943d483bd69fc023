#!/bin/bash
# SPDX-License-Identifier: MIT
# slow
# Who sees the last byte of a message sees all of it, on every memory path.
. "$(dirname "$0")/lib.sh"
count=${ORDER_COUNT:-200000}
app app_order local $((count / SLOW))
app app_order remote $((count / SLOW))
"$RDMAEMU" fabric stop >/dev/null 2>&1
# Nobody may reach another's memory: the helper thread of the target copies.
RUN_BY="$T/sys_noptrace" app app_order remote $((count / SLOW / 10))
done_testing
