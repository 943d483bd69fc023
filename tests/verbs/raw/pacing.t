#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: frames of one node
# Packet pacing, on a clock that the test moves.
. "$(dirname "$0")/../../lib/lib.sh"
for mode in '' --isolated; do
	check "fabric start $mode" limit "$RDMAEMU" fabric start --profile connectx6 --clock manual $mode
	RUN_FLAGS="--profile connectx6 --clock manual $mode" RDMAEMU_CONTROL=yes app app_raw_pacing "$RDMAEMU"
	check "audit" limit "$RDMAEMU" status --audit
	check "fabric stop" limit "$RDMAEMU" fabric stop
done
done_testing
