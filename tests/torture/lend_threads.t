#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# Programs of 1 to 8 threads register, write, read(2), fork, spawn, remap and free lent memory at random, next to RDMA
# traffic into it, while others like them are killed on the same fabric. TORTURE_N=150000 takes half an hour.
. "$(dirname "$0")/../lib/lib.sh"
n=${TORTURE_N:-$(($(by_setting 300 60) / SLOW))}
LIMIT=$((TEST_TIMEOUT > 60 ? TEST_TIMEOUT - 10 : TEST_TIMEOUT))
export RDMAEMU_LEND=1
[ "$(threads_lend)" = lent ] || export TORTURE_KEPT=yes

# kill_at_random N FLAGS - N programs, one after the other, each of which kills itself at a random time
kill_at_random() {
	local i RUN_FLAGS=$2
	for ((i = 1; i <= $1; i++)); do
		run_a "$T/app_mr_lent_torture_threads" local 4 1000000 $i $((RANDOM % 900 + 50)) </dev/null >/dev/null 2>&1
		[ $? = 137 ] || echo "$i: no kill"
	done
}

# Two programs must not start it side by side.
if [ "$SETTING" = one ]; then
	check "a fabric" "$RDMAEMU" fabric start
	check "an isolated one" "$RDMAEMU" fabric start --isolated --fabric isolated
else
	check "the fabrics of the setting" setting_up
fi
isolated='--isolated --fabric isolated'
kill_at_random $((5 + n / 1000)) "${RUN_FLAGS-}" >"$TEST_DIR/killed" &
killer=$!
for threads in 1 2 4 8; do
	for side in $SIDES; do
		app app_mr_lent_torture_threads $side $threads "$n" ${TORTURE_SEED-}
	done
done
# By default memory is lent only while the other threads sleep, and not for long.
for side in $SIDES; do
	RDMAEMU_LEND=auto TORTURE_KEPT=yes app app_mr_lent_torture_threads $side 4 $((n / 2)) ${TORTURE_SEED-}
done
wait $killer
clean() {
	[ "$(status_json | json 'len(d["clients"])')" = 0 ]
}
check "the fabric has no client left" wait_for 30 clean
is "nobody has the token" "$(status_json | json 'd["engine"]["holder"]')" none
# Wires have one fabric: the next one ends this.
RUN_FLAGS=$isolated app app_mr_lent_torture_threads remote 1 "$n" ${TORTURE_SEED-}
kill_at_random $((5 + n / 1000)) "$isolated" >>"$TEST_DIR/killed" &
killer=$!
for threads in 4 8; do
	RUN_FLAGS=$isolated app app_mr_lent_torture_threads remote $threads "$n" ${TORTURE_SEED-}
done
wait $killer
is "the others were killed" "$(cat "$TEST_DIR/killed")" ""
RDMAEMU_FABRIC=isolated in_one check "the isolated fabric has no client left" wait_for 30 clean
done_testing
