#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one nodes fabrics
# The helper thread moves data where the kernel refuses process_vm_*: a seccomp filter, another PID namespace.
. "$(dirname "$0")/../../lib/lib.sh"
RUN_BY="$T/sys_noptrace" app app_qp_ops remote
RUN_BY="$T/sys_noptrace" app app_qp_errors remote
RUN_BY="$T/sys_noptrace" app app_qp_stress 4 $(by_setting 100 20)
export PAIR_SERVER="$T/sys_noptrace" PAIR_CLIENT="$T/sys_noptrace"
pair ibv_rc_pingpong -c -s 1000000 -n $(by_setting 100 20)
n=$(by_setting 1000 200)
pair ib_write_bw -n $n
pair ib_read_bw -n $n
pair ib_send_bw -n $n
PAIR_CLIENT= pair ib_write_bw -n $n
unset PAIR_SERVER PAIR_CLIENT
# In the other settings the fabrics are outside of the filter, as below.
[ "$SETTING" = one ] || done_testing
"$RDMAEMU" fabric stop >/dev/null 2>&1
# The fabric outside of the filter: it can reach everybody, its clients cannot.
"$RDMAEMU" fabric start >/dev/null
RUN_BY="$T/sys_noptrace" app app_qp_ops remote
"$RDMAEMU" fabric stop >/dev/null 2>&1

if is_root && unshare -pf true 2>/dev/null; then
	app app_qp_ops pidns
	app app_qp_order pidns 5000
	export PAIR_SERVER="unshare -pf --kill-child" PAIR_CLIENT="unshare -pf --kill-child"
	pair ibv_rc_pingpong -c -s 1000000 -n 100
	pair ib_write_bw -n 1000
	pair ib_read_lat -n 1000
	PAIR_CLIENT= pair ib_write_bw -n 1000
	PAIR_SERVER= pair ib_send_bw -n 1000
else
	skip "another PID namespace" "needs root"
fi
done_testing
