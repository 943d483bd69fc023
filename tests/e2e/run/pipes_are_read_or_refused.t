#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the command and its files
# A text that the command reads once may come from a pipe, as `<(...)` of a shell; one that is read again is refused
# with that reason.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
trap '"$R" fabric stop >/dev/null 2>&1' EXIT

# refuses NAME WORDS COMMAND... - the command fails with one line on stderr that contains these words
refuses() {
	local name=$1 words=$2 err status=0
	shift 2
	err=$(limit "$@" 2>&1 >/dev/null) || status=$?
	if [ $status != 0 ] && [ "$(wc -l <<<"$err")" = 1 ] && [[ $err == *"$words"* ]]; then
		ok "$name"
	else
		not_ok "$name" "status $status: $err" "wanted: $words"
	fi
}

# --- read once: scenarios

opens() {
	limit "$R" run --scenario "$1" -- ibv_devinfo >"$TEST_DIR/out" 2>&1
}
opens <(echo 'fail call=ibv_open_device errno=EIO')
is "a rule from a pipe makes the call fail" "$(grep -c 'Failed to open device' "$TEST_DIR/out")" 1
opens <(:)
is "an empty pipe has no rules" "$?" 0
mkfifo "$TEST_DIR/fifo"
echo 'drop nth=0' >"$TEST_DIR/fifo" &
refuses "a mistake in a pipe is named with its line" "fifo:1: 'nth=0': expected 1 or more" \
	"$R" run --scenario "$TEST_DIR/fifo" -- true
wait
yes '# a comment' | head -c 262144 >"$TEST_DIR/most"
check "as many bytes as a scenario may have" "$R" fabric start --dry-run --scenario <(cat "$TEST_DIR/most")
refuses "one more" 'expected at most 262144 bytes' "$R" fabric start --dry-run --scenario \
	<(cat "$TEST_DIR/most" "$TEST_DIR/most")
refuses "a device without an end" 'expected at most 262144 bytes' "$R" fabric start --dry-run --scenario /dev/zero
refuses "a directory" 'Is a directory' "$R" fabric start --dry-run --scenario "$TEST_DIR"
refuses "bytes that are no text" 'expected text' "$R" fabric start --dry-run --scenario <(printf 'loss 1%%\0')

# --- read again: by the fabric process, or for a trace

refuses "a profile" 'expected a file, not a pipe or device: it is read again' "$R" run --profile <(echo 'max_qp 4') -- true
refuses "a topology" 'expected a file, not a pipe or device: it is read again' "$R" run --topology <(echo 'node a') -- true
refuses "a token" 'expected a file or a named pipe' "$R" fabric start --listen 127.0.0.1:0 --token-file <(echo secret)
refuses "the scenario of a trace" 'expected a file, not a pipe: a trace has a copy' \
	"$R" record -o "$TEST_DIR/trace" --scenario <(echo 'loss 1%') -- true
check "of which nothing is left" test ! -e "$TEST_DIR/trace"
done_testing
