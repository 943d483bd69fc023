#!/bin/bash
# SPDX-License-Identifier: MIT
# alone
# slow 90
# settings: one: nodes of one isolated fabric
# Next to clients of an isolated fabric that take what they can get, a program on another node goes on. Its share is
# half of what it does alone, and it keeps at least half of that; but a test may not rely on the CPUs that a machine has
# just then, so this one holds it to that in `make torture` only, and prints it elsewhere. SIGSTOP has the other clients
# wait while the program is measured alone, in turns.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

R=$RDMAEMU
export RDMAEMU_FABRIC=starving
rounds=${TORTURE_N:+60}
rounds=${rounds:-2}
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

# share PGID - whether the program goes on next to the clients of that process group; in torture, with its share
share() {
	python3 - "$TEST_DIR/count" "$1" "$rounds" "${TORTURE_N:+4}" <<'END2'
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
sys.exit(not kept or bool(sys.argv[4]) and kept < alone / int(sys.argv[4]))
END2
}
is_ready() {
	grep -q "^ready $1" "$TEST_DIR/$1"
}
for way in ${WAYS:-commands searches doorbells requests comers}; do
	start c $way "$T/app_device_starving" $way
	starving=$!
	check "$way: they begin" wait_for 60 is_ready $way
	# The machine may have other things to do just then.
	share $starving || share $starving || share $starving
	is "$way: a program goes on${TORTURE_N:+ with half of its share}" $? 0
	check "$way: they have not given up" kill -CONT -$starving
	kill -KILL -$starving
	wait $starving 2>/dev/null
done
check "the program goes on" kill -0 "${pids[0]}"
check "the fabric process answers" limit "$R" status
done_testing
