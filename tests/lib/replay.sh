# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests that record programs and replay their traces; sourced after tests/lib/lib.sh. REPLAYS: how often
# to replay each.

# Runs programs with `rdmaemu record` instead of `rdmaemu run`, if TRACE_DIR is set.
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

# replays DIR - whether the trace replays without divergence, with at least one call compared
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

# recorded NAME COMMAND... - record a pair; whether its trace has two programs
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

# round NAME COMMAND... - record, then replay. RECORD: a function to use instead of recorded()
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
