#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: two fabrics of its own
# Each opcode between two programs whose fabrics speak RoCE v2: RC, UC, UD, XRC, windows, FLUSH and ATOMIC WRITE.
SETTING=fabrics FABRICS_BY=roce
. "$(dirname "$0")/../../lib/lib.sh"
for app in qp_ops qp_opcode_table mr_window mr_window_inv uc_message ud_datagram ud_data xrc_sides; do
	app app_$app remote
done
wire_lost() {
	local key
	for key in malformed bad_icrc; do
		[ "$(status_json | json "sum(w['$key'] for w in d['wires'])")" = 0 ] || return 1
	done
}
check "all packets were well formed" wire_lost
done_testing
