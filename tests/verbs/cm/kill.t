#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one nodes fabrics
# kill -9 of programs that use the rdma_cm, in each phase of a handshake and at random, and of the fabric process.
. "$(dirname "$0")/../../lib/lib.sh"

kills() {
	# The fabric outlives its programs, so that the test can check what they left.
	if [ "$SETTING" = one ]; then
		check "a fabric ${*:+(}$*${*:+)}" limit "$RDMAEMU" fabric start "$@"
	fi
	app app_cm_kill
	app app_cm_storm 1000 "${TEST_SEED:-1}"
	app app_cm_storm 300 "${TEST_SEED:-7}7"
	check "the audit is clean" audit_all "${fabric[@]}"
	RDMAEMU_CONTROL=yes in_one app app_cm_removal "'$RDMAEMU' fabric stop ${fabric[*]} >/dev/null"
}

fabric=()
kills
fabric=(--fabric isolated)
export RUN_FLAGS='--isolated --fabric isolated'
kills --isolated --fabric isolated
done_testing
