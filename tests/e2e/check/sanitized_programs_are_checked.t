#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# slow 30
# Programs that gcc or clang has built with ASan, which has a handler for SIGSEGV of its own: --check=buffers and polled
# find what they do in others, and ASan gets their own faults.
. "$(dirname "$0")/../../lib/lib.sh"
[ "$SLOW" = 1 ] || skip_all "the library itself is under a sanitizer here"
# A program that leaks is a mistake of another kind.
export ASAN_OPTIONS=detect_leaks=0

# compile COMPILER ARGS... - with ASan
compile() {
	(cd "$TOP" && "$1" -std=gnu11 -O1 -g -fsanitize=address -I. -D_GNU_SOURCE "${@:2}")
}

# build COMPILER FILE... - programs of tests/verbs/check
build() {
	local source cc=$1
	for source in "$TOP"/tests/lib/c/{seed,peer,rc_*,vb_*}.c; do
		compile "$cc" -c -o "$TEST_DIR/$cc-$(basename "$source" .c).o" "$source" || return
	done
	for source in "${@:2}"; do
		compile "$cc" -o "$TEST_DIR/$cc-$source" "tests/verbs/check/$source.c" "$TEST_DIR/$cc"-*.o -libverbs -lpthread ||
			return
	done
}

# found PROGRAM LIST MISTAKE right|wrong - the names of what is found, and what ASan says
found() {
	limit "$RDMAEMU" run --check="$2" --check-exit 0 -- "$TEST_DIR/$1" "$3" "$4" 2>&1 |
		sed -nE 's/^rdmaemu: [a-z]* ([A-Z:]*): .*/\1/p; s/.*ERROR: (AddressSanitizer: [A-Za-z]*).*/\1/p'
}

# finds CC FILE LIST MISTAKE WHAT
finds() {
	is "$1: $4" "$(found "$1-$2" "$3" "$4" wrong)" "$5"
	is "$1: $4, its twin" "$(found "$1-$2" "$3" "$4" right)" ""
}

for cc in gcc clang; do
	if ! build $cc buffers polled 2>/dev/null; then
		skip "$cc" "it is not here, or has no such sanitizer"
		continue
	fi
	for mistake in page_written:WRITTEN receive_early:EARLY srq_early:EARLY receive_call:EARLY receive_handler:EARLY \
		receive_unmapped:UNMAPPED; do
		finds $cc buffers buffers ${mistake%:*} "WR:BUFFER:${mistake#*:}"
	done
	finds $cc buffers buffers own_fault "AddressSanitizer: SEGV"
	for mistake in last_byte passed_through own_trap; do
		finds $cc polled polled $mistake WR:WRITE:POLLED
	done
done
done_testing
