#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the Makefile
# `make` refuses a compiler for another word size with one line, before it compiles anything.
. "$(dirname "$0")/../../lib/lib.sh"

makes() {
	env -u MAKEFLAGS -u MFLAGS make -C "$TOP" --no-print-directory BUILD="$TEST_DIR/build" "$@" 2>&1
}
[ "$(echo __SIZEOF_POINTER__ | gcc -m32 -E -P - 2>/dev/null)" = 4 ] || skip_all "gcc here knows one word size only"
out=$(makes CC='gcc -m32' -n)
is "make CC='gcc -m32' fails" $? 2
is "it prints one line" "$(wc -l <<<"$out")" 1
is "with the reason" "$(sed 's/^Makefile:[0-9]*: //' <<<"$out")" \
	"*** gcc -m32 compiles for words of 4 bytes: rdmaemu needs a 64-bit machine, such as x86_64 or aarch64.  Stop."
is "and so does CFLAGS=-m32" "$(makes CC=gcc CFLAGS=-m32 -n | grep -c 'words of 4 bytes')" 1
check "nothing was built" test ! -e "$TEST_DIR/build"
check "with 64 bits it goes on" makes CC=gcc -n help
done_testing
