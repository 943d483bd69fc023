# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests of `rdmaemu replay --inject`: a program whose peer does not exist (tests/verbs/qp/ghost_peer.c), and
# hand-made packets.

P=$TEST_DIR/p.pcap
S=$TEST_DIR/script

make() {
	python3 "$TOP/tests/lib/py/inject_make.py" "$P" "$@"
}

# live ARGS... - start a program with such a queue pair, on node `live`; descriptor 7 is its stdin
live() {
	rm -f "$TEST_DIR/in" "$TEST_DIR/out"
	mkfifo "$TEST_DIR/in"
	limit "$RDMAEMU" run --node live -- "$T/app_qp_ghost_peer" "$@" <"$TEST_DIR/in" >"$TEST_DIR/out" 2>&1 &
	LIVE=$!
	exec 7>"$TEST_DIR/in"
	wait_for 60 grep -q "^qp " "$TEST_DIR/out"
}

# answers N - whether the program has printed N lines
answers() {
	[ "$(wc -l <"$TEST_DIR/out")" -ge "$1" ]
}

# say LINE... - send commands to the program, and wait until it has answered each
say() {
	local n
	n=$(($(wc -l <"$TEST_DIR/out") + $#))
	printf '%s\n' "$@" >&7
	wait_for 30 answers $n
}

# said LINE - a check that the program prints LINE
said() {
	wait_for 30 grep -qx -- "$1" "$TEST_DIR/out" && ok "the program: $1" || not_ok "the program: $1" "$(cat "$TEST_DIR/out")"
}

die() {
	exec 7>&-
	wait $LIVE
}

inject() {
	limit "$RDMAEMU" replay "$P" --inject "$@"
}

# follows NAME SCRIPT-LINE... - a check that the answers are those that the script expects
follows() {
	local name=$1
	shift
	printf '%s\n' "$@" >"$S"
	check "$name" inject --script "$S"
}

# differs NAME WORDS SCRIPT-LINE... - a check that the script fails, with one line that contains WORDS
differs() {
	local name=$1 words=$2 err status=0
	shift 2
	printf '%s\n' "$@" >"$S"
	err=$(inject --script "$S" 2>&1 >/dev/null) || status=$?
	if [ $status = 1 ] && [ "$(wc -l <<<"$err")" = 1 ] && [[ $err == *"$words"* ]]; then
		ok "$name"
	else
		not_ok "$name" "status $status: $err" "wanted: $words"
	fi
}
