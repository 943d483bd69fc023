#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: two hosts of its own
# Fabrics with wires and a manual clock: packets of the other host arrive while the clocks stand, and timeouts come when
# they are moved.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_rc_pingpong ip
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
roce_netns "$@"

check "a fabric at each end" on_a fabric start --roce 192.0.2.1 --clock manual
check "with its own clock" on_b fabric start --roce 192.0.2.2 --clock manual
# now SIDE - its fabric's time in seconds
now() {
	"$1" clock | sed 's/.*: \([0-9.]*\) s, stopped.*/\1/'
}
pingpong() {
	both_sides 18515 "ibv_rc_pingpong -e -g 1" "ibv_rc_pingpong -e -g 1 192.0.2.1"
}
check "a pingpong" pingpong
is "the clocks stand" "$(now on_a) $(now on_b)" "0.000000000 0.000000000"

on_b fault add 'f1: drop opcode=SEND_FIRST' >/dev/null
hit() {
	on_b fault list --json | json "[r for r in d['faults'] if r['hits']][0]"
}
pingpong >"$TEST_DIR/pair.out" 2>&1 &
pair=$!
check "a packet is lost" wait_for 20 hit
check "the clock of its sender is moved" on_b clock advance 10s
wait $pair
is "that ends the wait for its ACK" "$(grep -c 'transport retry counter exceeded' "$TEST_DIR/client.out")" 1
is "the other clock stands" "$(now on_a)" 0.000000000
done_testing
