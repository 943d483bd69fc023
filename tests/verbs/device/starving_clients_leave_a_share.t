#!/bin/bash
# SPDX-License-Identifier: MIT
# alone
# slow 90
# settings: one: nodes of one isolated fabric
# Clients of an isolated fabric that take what they can get leave a program on another node at least half of its share.
# Its share is half of what it does alone. SIGSTOP has the other clients wait while that is measured, in turns.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
export RDMAEMU_FABRIC=starving
rounds=${TORTURE_N:+60}
rounds=${rounds:-12}
pids=()
trap 'for p in "${pids[@]}"; do kill -KILL -$p 2>/dev/null; done; "$R" fabric stop >/dev/null 2>&1' EXIT
check "an isolated fabric" "$R" fabric start --isolated

# start NODE OUT COMMAND... - in a process group of its own; leaves its number in $!
start() {
	local node=$1 out=$2
	shift 2
	setsid "$R" run --node "$node" -- "$@" >"$TEST_DIR/$out" 2>&1 </dev/null &
	pids+=($!)
}
start b program "$T/app_device_counting" "$TEST_DIR/count"

# share PGID - whether the program keeps half of its share next to the clients of that process group
share() {
	python3 - "$TEST_DIR/count" "$1" "$rounds" <<'END2'
import os, signal, struct, sys, time
path, starving, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def count():
    with open(path, "rb") as f:
        return struct.unpack("<Q", f.read(8))[0]
def per_second(seconds):
    before, began = count(), time.monotonic()
    time.sleep(seconds)
    return (count() - before) / (time.monotonic() - began)
def during(sig):
    os.killpg(starving, sig)
    time.sleep(0.05)
    return per_second(0.2)
alone = kept = 0
for _ in range(rounds):
    alone += during(signal.SIGSTOP)
    kept += during(signal.SIGCONT)
print(f"# messages/s: {alone / rounds:.0f} alone, {kept / rounds:.0f} next to starving clients")
sys.exit(kept < alone / 4)
END2
}
is_ready() {
	grep -q "^ready $1" "$TEST_DIR/$1"
}
# Next to the last two, what it keeps is little more than that: they need more rounds, in `make torture`.
ways="commands searches doorbells${TORTURE_N:+ requests comers}"
for way in ${WAYS:-$ways}; do
	start c $way "$T/app_device_starving" $way
	starving=$!
	check "$way: they begin" wait_for 60 is_ready $way
	# The machine may have other things to do just then.
	share $starving || share $starving || share $starving
	is "$way: a program keeps half of its share" $? 0
	check "$way: they have not given up" kill -CONT -$starving
	kill -KILL -$starving
	wait $starving 2>/dev/null
done
check "the program goes on" kill -0 "${pids[0]}"
check "the fabric process answers" limit "$R" status
done_testing
