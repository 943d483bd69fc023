# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Replays with a live program; sourced after tests/lib/lib.sh, in a directory of the test's own.

# trips STATUS - whether the real or the live program was rping, and hit the race between its threads at its end, so
# that nothing was recorded
trips() {
	did_well 255 out && { [ "$1" = 255 ] || grep -q 'the real program has ended with status 255' out; }
}

# live STATUS WORDS DIR ARGS... - a replay with the program in LIVE exits with STATUS, or with that of rping's race, and
# prints WORDS. WAIT: its timeout in seconds.
live() {
	local want=$1 words=$2 status=0 try
	shift 2
	for try in 1 2 3 4 5; do
		status=0
		limit "$RDMAEMU" replay "$@" --timeout $((${WAIT:-60} * SLOW)) -- "${LIVE[@]}" >out 2>&1 </dev/null || status=$?
		if [ "$status" = "$want" ] || grep -qE -- "$words" out || ! trips "$status"; then
			break
		fi
	done
	cat out
	[ "$status" = "$want" ] || { [ "$want" = 0 ] && did_well "$status" out; } || {
		echo "status $status, not $want, at try $try"
		return 1
	}
	grep -qE -- "$words" out
}
