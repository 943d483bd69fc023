#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the library of one command
# Without libpcap everything works that needs no filter and reads no capture, and the rest says what is missing.
. "$(dirname "$0")/../../lib/lib.sh"

# The loader takes no other libpcap when the first one on its path is no library.
mkdir "$TEST_DIR/lib"
for soname in libpcap.so.0.8 libpcap.so.1; do
	echo "no library" >"$TEST_DIR/lib/$soname"
done

# without ARGUMENT... - the command with no libpcap
without() {
	limit env LD_LIBRARY_PATH="$TEST_DIR/lib" "$RDMAEMU" "$@"
}

# like NAME TEXT PATTERN - TEXT is one line that fits the pattern
like() {
	is "$1" "$([[ $2 == $3 && $2 != *$'\n'* ]] || echo "$2")" ""
}

# refused NAME PREFIX ARGUMENT... - the command fails with one line, which names libpcap
refused() {
	local name=$1 prefix=$2 out
	shift 2
	out=$(without "$@" 2>&1) && out="status 0"
	like "$name" "$out" "rdmaemu: $prefix: libpcap cannot be loaded: *"
}

"$RDMAEMU" fabric stop >/dev/null 2>&1
check "a fabric starts without it" without fabric start
check "a capture without a filter starts without it" without capture start "$TEST_DIR/all.pcapng"
refused "the command names it for a filter" "capture start: --filter" capture start --filter 'len < 100' "$TEST_DIR/x"
# This command finds libpcap, and the fabric process does not.
out=$(limit "$RDMAEMU" capture start --filter 'len < 100' "$TEST_DIR/x" 2>&1) && out="status 0"
like "the fabric process names it for a filter" "$out" "rdmaemu: capture start: libpcap cannot be loaded: *"
limit "$RDMAEMU" capture stop
refused "fault try names it" "fault try: $TEST_DIR/all.pcapng" fault try --trace "$TEST_DIR/all.pcapng" drop
refused "replay --inject names it" "replay: $TEST_DIR/all.pcapng" replay "$TEST_DIR/all.pcapng" --inject
limit "$RDMAEMU" fabric stop
done_testing
