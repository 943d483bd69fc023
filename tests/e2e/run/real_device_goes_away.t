#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a program of one process
# A device that goes away under a program: with `rdmaemu run --real`, the checker, fault rules and the recorder the
# program sees the events, results and completions that it sees without. The device is that of an outer run, whose
# fabric process is killed.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/unplug.sh"

# away NAME [COMMAND...] - one run on a fabric of its own
away() {
	local name=$1
	shift
	unplug "$name" rdmaemu0 0 60000 "$RDMAEMU" run --fabric "$name" -- "$@"
}

unplug_begin() {
	kill -KILL "$("$RDMAEMU" status --json --fabric "$1" | json "d['pid']")"
}

unplug_end() {
	:
}

# same NAME [COMMAND...] - a run that must be as the plain one
same() {
	away "$@"
	check "$1" unplug_alike plain "$1"
}

away plain
is "the program gets IBV_EVENT_DEVICE_FATAL, once" "$(grep -c '^event: local catastrophic error$' "$TEST_DIR/plain.out")" 1
is "posts fail with EIO" "$(grep -c '^post_[a-z]*.* = 5 ' "$TEST_DIR/plain.out")" 3
unplug_rules "$TEST_DIR/rules"
same real "$RDMAEMU" run --real --
same checked "$RDMAEMU" run --real --check --
same explained "$RDMAEMU" run --real --fabric journal --explain --
same ruled "$RDMAEMU" run --real --fabric rules --scenario "$TEST_DIR/rules" --
same recorded "$RDMAEMU" record --real -o "$TEST_DIR/trace" --
check "the journal has a call that failed" grep -qE "^error +EIO .* ibv_query_qp\(" \
	"$TEST_DIR/explained.err"
check "the journal has the event" grep -qE "^error +IBV_EVENT_DEVICE_FATAL " "$TEST_DIR/explained.err"
check "the checker reports nothing" [ ! -s "$TEST_DIR/checked.err" ]
check "the trace has the event" bash -c \
	"'$RDMAEMU' trace show '$TEST_DIR/trace' | grep -q 'ibv_get_async_event.*IBV_EVENT_DEVICE_FATAL'"
done_testing
