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

# lacks_ack DIR - whether a program of the trace took an event of the rdma_cm and has no record of its ACK
lacks_ack() {
	local calls ev
	for calls in "$1"/p*/calls; do
		for ev in $(sed -n 's/^rdma_get_cm_event .* = 0 event=\(ev[0-9]*\) .*/\1/p' "$calls"); do
			grep -q "^rdma_ack_cm_event event=$ev = 0" "$calls" || return 0
		done
	done
	return 1
}

# recorded NAME COMMAND... - record a pair; whether its trace has two programs. rping may exit while its other thread is
# in rdma_ack_cm_event(): the record ends before that call returns, and in a replay the rdma_destroy_id() that waits for
# it would not return. Such a record is made again.
recorded() {
	local TRACE_DIR=$TEST_DIR/trace.$1 try
	setting_up || return
	export TRACE_DIR
	shift
	for try in 1 2 3 4 5; do
		rm -rf "$TRACE_DIR"
		"$@" || return
		lacks_ack "$TRACE_DIR" || break
	done
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

# single NAME COMMAND... - a program of ours that has both sides
single() {
	local TRACE_DIR=$TEST_DIR/trace.$1
	setting_up || return
	export TRACE_DIR
	shift
	run_a "$@" && [ -d "$TRACE_DIR/p1" ]
}

# own NAME ARGS... - the same on a fabric of its own, so that keys are those of the replay:
# app_srq_tag_matching sends some as payload.
# FLAGS: of the fabric; REPLAYS: how often
n_own=0
own() {
	local n RUN_FLAGS="--fabric $1-$((++n_own)) ${FLAGS-}"
	rm -rf "$TEST_DIR/trace.$1"
	check "$* ${FLAGS-}: recorded" single "$1" "$T/$1" "${@:2}" || return
	for ((n = 0; n < ${REPLAYS:-1}; n++)); do
		check "$* ${FLAGS-}: replayed" replays "$TEST_DIR/trace.$1"
	done
}
