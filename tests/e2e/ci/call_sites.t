#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: each suite runs on a fabric of its own
# The projects of examples/ in Go (cgo) and Rust (FFI) build, and their tests pass.
. "$(dirname "$0")/../../lib/lib.sh"
[ -z "${SAN_RDMAEMU-}" ] || skip_all "programs of other languages have no sanitizer's runtime"
need "${CC:-cc}"
export RDMAEMU GOCACHE=$TEST_DIR/go GOFLAGS=-mod=mod GO111MODULE=on
cp -r "$TOP/examples/suites" "$TEST_DIR/suites"

# suite LANGUAGE TOOL TESTS - the suite passes, with so many tests
suite() {
	if ! command -v "$2" >/dev/null; then
		skip "$1" "$2 is not installed"
		return
	fi
	check "$1: the example's suite passes" passes "$1" "$3"
}

passes() {
	limit make -C "$TEST_DIR/suites/$1" check GOFLAGS=-v >"$TEST_DIR/$1.out" 2>&1 ||
		{ cat "$TEST_DIR/$1.out"; return 1; }
	[ "$(grep -cE '^--- PASS: |^test tests::.* \.\.\. ok$' "$TEST_DIR/$1.out")" = "$2" ]
}
suite go go 4
suite rust rustc 4
done_testing
