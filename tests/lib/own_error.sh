# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Errors that a device reports by itself against those that a fault rule forces (app_fault_own_error); sourced after
# tests/lib/lib.sh by tests that have a device for it: the emulator's, or one of the guest's kernel.

# Names of `wc status=`, by the number of enum ibv_wc_status.
wc_statuses=(SUCCESS LOC_LEN_ERR LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR WR_FLUSH_ERR MW_BIND_ERR BAD_RESP_ERR
	LOC_ACCESS_ERR REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR RNR_RETRY_EXC_ERR)

# own_errors PLAIN RULED - for each cause of app_fault_own_error: by the function PLAIN, the device fails the request
# itself; by the function RULED, which runs a command with the rules of $TEST_DIR/own.rules, a rule fails it with the
# same status. All completions and the state of the queue pair must be the same.
own_errors() {
	local cause opcode own status forced
	while read -r cause opcode; do
		own=$($1 "$T/app_fault_own_error" "$cause" own 2>&1)
		status=$(sed -n 's/^wr_id 2: status \([0-9]*\) .*/\1/p' <<<"$own")
		case $status in
		'' | 0)
			not_ok "$cause: the device fails the request" "$own"
			continue
			;;
		esac
		echo "wc status=${wc_statuses[status]} opcode=$opcode nth=2 must-fire" >"$TEST_DIR/own.rules"
		forced=$($2 "$T/app_fault_own_error" "$cause" rule 2>&1)
		is "$cause: ${wc_statuses[status]} forced on a good $opcode is as the device's own" "$forced" "$own"
	done <<-END
		access RDMA_WRITE
		request RDMA_READ
		protection RDMA_READ
		rnr SEND
		retry SEND
		receive RECV
	END
}
