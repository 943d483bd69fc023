# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests that record programs and play their traces, sourced behind tests/lib/lib.sh. REPLAYS: how often each one.

# Programs are run by `rdmaemu record` in the place of `rdmaemu run`.
wrap=$TEST_DIR/rdmaemu
cat >"$wrap" <<END
#!/bin/bash
[ "\$1" = run ] && [ -n "\${TRACE_DIR-}" ] || exec "$RDMAEMU" "\$@"
shift
exec "$RDMAEMU" record -o "\$TRACE_DIR" "\$@"
END
chmod +x "$wrap"
REAL=$RDMAEMU
RDMAEMU=$wrap

# replays DIR - no divergence, and something was compared
replays() {
	local out
	out=$(limit "$REAL" replay "$1" 2>&1) || {
		echo "$out"
		return 1
	}
	grep -q ', [1-9][0-9]* calls, .*: no divergence$' <<<"$out" || {
		echo "$out"
		return 1
	}
}

# recorded NAME COMMAND... - a pair is recorded, and its trace has two programs
recorded() {
	local TRACE_DIR=$TEST_DIR/trace.$1
	setting_up || return
	export TRACE_DIR
	shift
	rm -rf "$TRACE_DIR"
	"$@" || return
	[ -d "$TRACE_DIR/p2" ] || {
		echo "two programs were not recorded"
		return 1
	}
}

# round NAME COMMAND... - record, replay. RECORD: by another than recorded
round() {
	local n
	check "$1: recorded" with_clock "${RECORD:-recorded}" "$@" || return
	for ((n = 0; n < ${REPLAYS:-1}; n++)); do
		check "$1: replayed" replays "$TEST_DIR/trace.$1"
	done
}

pp() {
	local name=$1
	shift
	round "$name" pair_once "$@"
}
