#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: nodes of one isolated fabric
# Clients that write random words, commands and work requests into all that they share with the fabric process, while
# programs on another node verify all their data. TORTURE_N: for five minutes.
. "$(dirname "$0")/../../lib/lib.sh"

R=$RDMAEMU
export RDMAEMU_FABRIC=wild
seconds=${TORTURE_N:+300}
seconds=${seconds:-4}
trap '"$R" fabric stop >/dev/null 2>&1' EXIT
check "an isolated fabric" "$R" fabric start --isolated
"$R" run --node b -- true

wild=()
for seed in 1 $((RANDOM + 2)); do
	echo "# seed $seed"
	"$R" run --node c -- timeout -k 5 $((LIMIT + seconds)) "$T/app_device_wild" $seconds $seed >"$TEST_DIR/wild$seed" 2>&1 &
	wild+=($!)
done
alive() {
	kill -0 "${wild[0]}" 2>/dev/null || kill -0 "${wild[1]}" 2>/dev/null
}
# verified - rounds of programs that check every byte, as long as the wild clients live
rounds=0
verified() {
	while alive; do
		limit "$R" run --node b -- "$T/app_qp_stress" 2 10 || return
		rounds=$((rounds + 1))
	done
}
verified >"$TEST_DIR/out" 2>&1
is "all data of others arrives" $? 0 || tail -n 20 "$TEST_DIR/out"
is "and goes on arriving" $((rounds > 0)) 1
for pid in "${wild[@]}"; do
	wait "$pid"
	is "a wild client ends by itself" $? 0
done
cat "$TEST_DIR"/wild*
check "the fabric process answers" limit "$R" status
is "the HCA's memory is sound" "$("$R" status --audit --json | json 'd["audit"]')" clean
check "and it stops" limit "$R" fabric stop
done_testing
