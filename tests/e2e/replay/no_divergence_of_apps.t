#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 60
# waits
# settings: one nodes: a replay makes one fabric
# As no_divergence, for the tests' own programs, which make the calls that the others do not.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need python3

. "$TOP/tests/lib/replay.sh"

check "app_qp_errors: recorded" single app_qp_errors "$T/app_qp_errors" local
check "app_qp_errors: replayed" replays "$TEST_DIR/trace.app_qp_errors"

# What cannot be replayed, and why, is in docs/reference/trace-format.md.
for app in device_async_event cm_addrinfo cm_ep cm_info cq_extended device_domain qp_ece raw_flow device_nodes \
	qp_post raw_frames raw_rss qp_states ud_datagram ud_data ud_grh_reused ud_mcast; do
	own app_$app
done
for app in cm_addr cm_conn cm_mcast cm_sync cm_user cq_moderation mr_dmabuf device_import mr_kinds mr_window mr_window_inv \
	mr_rereg qp_retry srq_queue qp_opcode_table qp_opcode_flags srq_tag_matching uc_message xrc_sides; do
	own app_$app remote
done
own app_cm_reject local
# Without the threads that race at its end: a SEND whose caller is preempted in it, while the other arms the CQ, can
# only be replayed by luck.
own app_cq_queue 0
own app_qp_stress 4 20
own app_qp_lucky
REPLAYS=3 own app_qp_late_receive
for name in send_odd psn_wrap ud_send read_3k cmp_swap rnr_fail nak_access; do
	own app_qp_exchange remote $name
done
for profile in generic rxe connectx6 minimal; do
	case $profile in generic | connectx6) types=0x11c ;; *) types=0x1c ;; esac
	FLAGS="--profile $profile" own app_device_limits $types ops
done
FLAGS=--chaos=7 own app_qp_stress 4 20 2>/dev/null
# Connection after connection; the server until it is stopped.
joinload() {
	local port
	port=$(free_port)
	cm_start TCP "$port" "$T/app_cm_joinload" serve "$ADDR" "$port" 7 || return
	run_b "$T/app_cm_joinload" call "$ADDR" "$port" 7 30 >"$TEST_DIR/client.out" 2>&1
	local c=$?
	cm_stop
	[ $c = 0 ] && [ "$SERVER_STATUS" = 0 ] && grep -q '^# 30 good' "$TEST_DIR/client.out" && return
	cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
round app_cm_joinload joinload
# It looks at the memory of its fabric process.
many_nodes() {
	local pid
	"$REAL" fabric start --fabric many && pid=$("$REAL" status --json --fabric many | json 'd["pid"]') || return
	RUN_FLAGS="--fabric many" single app_device_many_nodes "$T/app_device_many_nodes" 20 40 "$pid"
}
check "app_device_many_nodes: recorded" many_nodes
check "app_device_many_nodes: replayed" replays "$TEST_DIR/trace.app_device_many_nodes"
"$REAL" fabric stop --fabric many >/dev/null 2>&1
done_testing
