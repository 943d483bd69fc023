#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one nodes fabrics
# Completions that fail on purpose: each status with each opcode and type of queue pair that can have it.
. "$(dirname "$0")/../../lib/lib.sh"
# The programs set the rules themselves.
export RDMAEMU_LINGER=60000 RDMAEMU_BIN=$RDMAEMU RDMAEMU_CONTROL=yes

in_one app app_fault_wc local
app app_fault_wc remote
check "nothing is left" audit_all
limit "$RDMAEMU" log -v >"$TEST_DIR/log"
# Last: the fabric above may not outlive it.
[ "$SETTING" != one ] || RUN_FLAGS='--isolated --fabric isolated' RDMAEMU_FABRIC=isolated app app_fault_wc remote
remote='REM_INV_REQ REM_OP REM_ACCESS'
! by_wire || remote=
for s in LOC_LEN LOC_QP_OP LOC_PROT GENERAL RETRY_EXC RNR_RETRY_EXC REM_ABORT RESP_TIMEOUT FATAL $remote BAD_RESP; do
	check "the journal says why: $s" grep -q "IBV_WC_${s}_ERR.*rule" "$TEST_DIR/log"
done
done_testing
