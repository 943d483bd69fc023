#!/bin/bash
# SPDX-License-Identifier: MIT
# alone
# slow 90
# settings: one: nodes of one isolated fabric
# Next to a client of an isolated fabric that takes what it can get, a program on another node goes on. N clients that
# always have work have 1/N of the fabric process each: that is the fair share of a program, and half of it, 1/2N, is
# what it keeps next to clients that are not honest. What 1/N is worth depends on the machine, and on what else is busy
# there, so it is measured: by what the program does next to an honest client whose send queue is always full. In turns,
# SIGSTOP has both kinds of clients wait, the one, or the other. A test may not rely on a machine that is busy with
# others just then, so this one holds the program to its share in `make torture` only, and prints it elsewhere.
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

start honest honest "$T/app_device_busy"
honest=$!

# share PGID - whether the program goes on next to the client of that process group; in torture, with half of its share
share() {
	python3 - "$TEST_DIR/count" "$1" "$honest" "$rounds" "${TORTURE_N:+2}" <<'END2'
import os, signal, struct, sys, time
path, starving, honest, rounds, part = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
def count():
    with open(path, "rb") as f:
        return struct.unpack("<Q", f.read(8))[0]
def per_second(seconds):
    before, began = count(), time.monotonic()
    time.sleep(seconds)
    return (count() - before) / (time.monotonic() - began)
def next_to(running):
    for group in (starving, honest):
        os.killpg(group, signal.SIGCONT if group == running else signal.SIGSTOP)
    time.sleep(0.05)
    return per_second(0.2)
alone = fair = kept = 0
for _ in range(rounds):
    alone += next_to(None)
    fair += next_to(honest)
    kept += next_to(starving)
print(f"# messages/s: {alone / rounds:.0f} alone, {fair / rounds:.0f} next to an honest client,"
      f" {kept / rounds:.0f} next to a starving one: {100 * kept / fair:.0f} % of its share")
sys.exit(not kept or bool(part) and kept < fair / int(part))
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
	is "$way: a program goes on${TORTURE_N:+ with half of its fair share}" $? 0
	check "$way: they have not given up" kill -CONT -$starving
	kill -KILL -$starving
	wait $starving 2>/dev/null
done
kill -CONT -$honest
check "the program goes on" kill -0 "${pids[0]}"
check "the fabric process answers" limit "$R" status
done_testing
