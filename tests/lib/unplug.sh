# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Runs of app_device_unplug, whose device is removed under it, with and without a layer between the program and its
# library; sourced after tests/lib/lib.sh by tests that have a device to remove: the emulator's, or one of the guest's
# kernel. These define, with the name of a run as their argument,
#	unplug_begin	begins the removal, and returns when it has begun
#	unplug_end	waits until it has ended, which it does when no program has the device open any more

# unplug NAME DEVICE GID_INDEX QUIET_MS [COMMAND...] - one run of the program, by COMMAND: leaves its output in
# $TEST_DIR/NAME.out, followed by its exit status, and its complaints in NAME.err
unplug() {
	local name=$1 dev=$2 gid=$3 quiet=$4 pid status=0 step
	shift 4
	rm -f "$TEST_DIR/$name.lines"
	mkfifo "$TEST_DIR/$name.lines" || return
	limit "$@" "$T/app_device_unplug" "$dev" "$gid" "$quiet" \
		<"$TEST_DIR/$name.lines" >"$TEST_DIR/$name.out" 2>"$TEST_DIR/$name.err" &
	pid=$!
	exec 7>"$TEST_DIR/$name.lines"
	for step in ready:unplug_begin closed:unplug_end; do
		wait_for 60 unplug_says "${step%:*}" "$TEST_DIR/$name.out" $pid && "${step#*:}" "$name" && (echo >&7) && continue
		kill $pid 2>/dev/null
		echo "${step#*:} failed, or the program did not get there" >>"$TEST_DIR/$name.err"
		break
	done
	exec 7>&-
	wait $pid || status=$?
	echo "status $status" >>"$TEST_DIR/$name.out"
}

# unplug_says WORD FILE PID - whether the program has printed the word, or has ended
unplug_says() {
	grep -qsx "$1" "$2" || ! kill -0 "$3" 2>/dev/null
}

# unplug_alike NAME NAME - whether two runs went through, and printed the same
unplug_alike() {
	diff "$TEST_DIR/$1.out" "$TEST_DIR/$2.out" && [ "$(tail -n 1 "$TEST_DIR/$1.out")" = "status 0" ] && return
	tail -n 5 "$TEST_DIR/$1.err" "$TEST_DIR/$2.err"
	return 1
}

# unplug_rules FILE - write a rule for each user of the tap, by which nothing of the program changes
unplug_rules() {
	printf '%s program=nobody\n' "fail call=ibv_reg_mr errno=ENOMEM" "wc status=GENERAL_ERR" "cq delay 1ms" "cq hold" \
		"defer 1ms" >"$1"
	printf '%s\n' "limit max_qp=1000" "event QP_FATAL at=3600s" >>"$1"
}
