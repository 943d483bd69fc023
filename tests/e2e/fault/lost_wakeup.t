#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# `cq hold`: a program that polls, arms its CQ and sleeps misses the completion that arrives in between, and one that
# polls once more does not; on emulated devices, and on real ones, for which the emulator of an outer run stands.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/real_faults.sh"

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real ARGS... - `rdmaemu run --real` with these
real() {
	emu "$R" run --real "$@"
}

# wakes RULE ARGS... - what the program prints on an emulated device
wakes() {
	echo "$1" >rules
	emulated --fresh --scenario rules -- "$T/app_fault_lost_wakeup" "${@:2}" 2>&1
}

hangs="sleeps, and a message is there"
works="all messages have come"
faults_of_wakeups emulated
faults_of_wakeups real

# A device that looks at its CQ when it is armed has no such gap.
echo "cq hold 10s must-fire" >rules
is "not on a device that reports what it finds when it is armed" \
	"$(limit "$R" run --fresh --profile connectx6 --scenario rules -- "$T/app_fault_lost_wakeup" bug 2>&1)" "$works"

# --- which CQs

# The sleeper's CQ has number 1; the other end's has number 2, and no channel.
is "the CQ of a number" "$(wakes "cq hold 10s cq=1 device=rdmaemu0 must-fire" bug)" "$hangs"
for rule in program=other cq=2 cq=99; do
	is "not matched: $rule" "$(wakes "cq hold 10s $rule" correct)" "$works
rdmaemu: fault f1 never matched: cq hold 10s $rule (rules:1)"
done
is "not hit: after=100" "$(wakes "cq hold 10s after=100" correct | head -1)" "$works"

# --- what cannot be

echo "cq hold device=mlx5_0" >rules
is "refused: device= on real devices" "$(emu "$R" run --real --scenario rules --dry-run -- true 2>&1)" \
	"rdmaemu: rules:1: 'device': expected cq=, program= or pid=: the devices of CQs are not known"
echo "cq drop" >rules
is "refused: another word" "$(limit "$R" run --scenario rules --dry-run -- true 2>&1)" \
	"rdmaemu: rules:1: 'drop': expected hold or delay after cq"
done_testing
