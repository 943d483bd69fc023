#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the formats of one device
# Real-time timestamps of a device that has them by profile, and of connectx6, whose firmware is not set to them.
. "$(dirname "$0")/../../lib/lib.sh"
sed 's/^ptp_clock.*/&\nreal_time_ts yes/' "$TOP/profiles/connectx6.conf" >"$TEST_DIR/real-time.conf"
for mode in '' --isolated; do
	name=${mode:+-isolated}
	RUN_FLAGS="--profile connectx6 --fabric free$name $mode" app app_cq_real_time no
	export RUN_FLAGS="--profile $TEST_DIR/real-time.conf --fabric real$name $mode"
	app app_cq_real_time yes
	export RUN_FLAGS="--profile $TEST_DIR/real-time.conf --fabric manual$name --clock manual $mode" RDMAEMU_FABRIC=manual$name
	check "a clock that stands, $mode" limit "$RDMAEMU" fabric start $RUN_FLAGS
	RDMAEMU_CONTROL=yes app app_cq_real_time yes "$RDMAEMU"
	unset RDMAEMU_FABRIC
done
done_testing
