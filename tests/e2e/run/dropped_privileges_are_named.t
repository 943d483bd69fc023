#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: users and limits of the machine
# A program that cannot reach its fabric gets one line with the reason: it became another user, or met a limit.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devices

# says NAME WORDS COMMAND... - one line of ours on stderr, with these words
says() {
	local name=$1 words=$2
	shift 2
	limit "$@" >"$TEST_DIR/out" 2>"$TEST_DIR/err" </dev/null
	if [ "$(grep -c '^rdmaemu: ' "$TEST_DIR/err")" = 1 ] && grep -q "^rdmaemu: .*$words" "$TEST_DIR/err"; then
		ok "$name"
	else
		not_ok "$name" "$(cat "$TEST_DIR/out" "$TEST_DIR/err")"
	fi
}

limit "$RDMAEMU" fabric start >/dev/null
limit "$RDMAEMU" run ibv_devices >/dev/null 2>"$TEST_DIR/err"
is "nothing to say where it works" "$(cat "$TEST_DIR/err")" ""
says "a limit of the program's own" "cannot use the fabric .*; see 'rdmaemu doctor'" \
	"$RDMAEMU" run sh -c 'ulimit -n 4; exec ibv_devices'
if is_root && command -v setpriv >/dev/null && chmod 711 "$TEST_DIR" && setpriv --reuid=65534 --clear-groups test -r "$SHIM"; then
	drop="setpriv --reuid=65534 --regid=65534 --clear-groups"
	# shellcheck disable=SC2086
	says "a program that drops its privileges" \
		"user 65534 cannot use another user's fabric .*: open a device before dropping privileges" \
		"$RDMAEMU" run $drop ibv_devices
	says "also where it reaches the socket" "user 65534 cannot use another user's fabric" "$RDMAEMU" run \
		sh -c "chmod 711 '$RDMAEMU_DIR'; chmod 666 '$RDMAEMU_DIR/default.sock'; exec $drop ibv_devices"
	chmod 700 "$RDMAEMU_DIR"
else
	skip "another user" "needs root, and a build that others can read"
fi
limit "$RDMAEMU" fabric stop >/dev/null
# A fabric that has ended is no news.
says_nothing=$(RDMAEMU_SOCKET=$RDMAEMU_DIR/none.sock LD_PRELOAD=$SHIM limit ibv_devices 2>&1 | grep -c '^rdmaemu: ')
is "no fabric, no line" "$says_nothing" 0
done_testing
