#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: fabrics of its own
# `make demo` tells its story: two programs talk, a rule drops a packet, the log says why, a trace replays.
. "$(dirname "$0")/../../lib/lib.sh"
for program in ib_send_bw ibv_rc_pingpong; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done

status=0
env -u MAKEFLAGS -u MFLAGS BUILD="${BUILD#"$TOP/"}" timeout --foreground $LIMIT "$TOP/tests/demo.sh" >"$TEST_DIR/out" 2>"$TEST_DIR/err" </dev/null || status=$?
is "exit status" $status 0
is "nothing on stderr" "$(cat "$TEST_DIR/err")" ""
is "one line while it builds" "$(head -n 1 "$TEST_DIR/out" | cut -d: -f1), $(sed -n 2p "$TEST_DIR/out")" "Building rdmaemu, "
is "three steps" "$(grep -cE '^[1-3]\. ' "$TEST_DIR/out")" 3
check "two programs talk" grep -qE '^ *65536 +2000 ' "$TEST_DIR/out"
check "a rule drops a packet, and the log says so" grep -q 'notice  dropped .*rule f1: drop opcode=SEND_ONLY nth=3' "$TEST_DIR/out"
check "it is sent again" grep -q 'sends again' "$TEST_DIR/out"
check "a trace replays" grep -q '^2 programs, .*: no divergence$' "$TEST_DIR/out"
is "it is short" "$([ "$(wc -l <"$TEST_DIR/out")" -lt 60 ] && echo yes)" yes
done_testing
