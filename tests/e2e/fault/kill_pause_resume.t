#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: names its nodes itself
# Rules that kill, pause and resume programs: they hit the named programs, and all others continue; limits that shrink.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_asyncwatch ibv_rc_pingpong ib_write_bw ib_send_lat
"$RDMAEMU" fabric start

fault() {
	limit "$RDMAEMU" fault "$@"
}

# watch NODE - a client that waits, on a node: its pid in PID
watch() {
	limit "$RDMAEMU" run --node "$1" -- ibv_asyncwatch >"$TEST_DIR/watch.$1" 2>&1 </dev/null &
	JOB=$!
	wait_for 20 has_client "$1"
	PID=$(status_json | json "[c['pid'] for c in d['clients'] if c['node'] == '$1'][0]")
}

has_client() {
	status_json | json "[c['pid'] for c in d['clients'] if c['node'] == '$1'][0]"
}

# state PID - as in proc(5): S sleeping, T stopped
state() {
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1
}

is_state() {
	[ "$(state "$1")" = "$2" ]
}

hits() {
	limit "$RDMAEMU" fault list --json | json "[r['hits'] for r in d['faults']][-1]"
}

# --- kill
watch a
JOB_A=$JOB PID_A=$PID
watch b
JOB_B=$JOB PID_B=$PID
bash -c 'exec -a ibv_asyncwatch sleep 600' &
other=$!
fault add 'kill node=a'
wait $JOB_A
is "kill: SIGKILL" $? 137
check "a client of another node lives" wait_for 10 is_state "$PID_B" S
is "one hit" "$(hits)" 1
fault add "kill pid=$PID_B signal=TERM"
wait $JOB_B
is "signal=TERM" $? 143
watch c
fault add 'kill program=ibv_asyncwatch signal=SIGINT'
wait $JOB
is "signal=SIGINT, by the program's name" $? 130
is "nobody else of that name" "$(state $other)" S
for rule in 'kill program=ibv_asyncwatch' 'pause node=c' 'pause pid=1 for=1s'; do
	fault add "$rule" 2>"$TEST_DIR/err"
	is "$rule: nobody is there: refused" "$? $(grep -c "'${rule%% *}': expected a program .* runs now" "$TEST_DIR/err")" "1 1"
done
fault add 'kill program=ibv_asyncwatch at=1000s'
is "with at= somebody may come" $? 0
kill $other
fault clear

# --- pause
watch a
fault add 'p: pause node=a'
check "paused" wait_for 10 is_state "$PID" T
fault add 'resume node=a'
check "resumed" wait_for 10 is_state "$PID" S
fault remove p
fault add 'p: pause program=ibv_asyncwatch'
check "paused again" wait_for 10 is_state "$PID" T
fault remove p
check "who removes the rule resumes" wait_for 10 is_state "$PID" S
fault add "p: pause pid=$PID for=$((5 + PATIENCE))s"
check "for a while" wait_for 10 is_state "$PID" T
check "and no longer" wait_for 10 is_state "$PID" S
is "a hit" "$(hits)" 1
fault add 'q: pause node=a at=1000s'
is "not before its time" "$(state "$PID")" S
fault add 'r: pause node=a'
check "paused at last" wait_for 10 is_state "$PID" T
limit "$RDMAEMU" fabric stop
"$RDMAEMU" fabric start
check "the fabric's end resumes" wait_for 10 is_state "$PID" S
kill "$PID" 2>/dev/null
wait "$JOB" 2>/dev/null

# --- paused again and again in the middle of its work, which others do not wait for
limit "$RDMAEMU" run --node a -- true
limit "$RDMAEMU" run --node b -- true
limit "$RDMAEMU" run --node c -- true
limit "$RDMAEMU" run --node d -- true
port=$(free_port)
limit "$RDMAEMU" run --node a -- ib_write_bw -F -s 4096 -n 200000 -p "$port" >"$TEST_DIR/sa" 2>&1 &
sa=$!
wait_listen "$port" $sa
limit "$RDMAEMU" run --node b -- ib_write_bw -F -s 4096 -n 200000 -p "$port" 10.77.0.1 >"$TEST_DIR/cb" 2>&1 &
cb=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
	fault add "pause node=b for=${i}0ms; pause node=a for=30ms"
	sleep 0.02
done
others() {
	local s at
	at=$(free_port)
	limit "$RDMAEMU" run --node c -- ib_send_lat -F -n 2000 -p "$at" >/dev/null 2>&1 </dev/null &
	s=$!
	wait_listen "$at" $s &&
		limit "$RDMAEMU" run --node d -- ib_send_lat -F -n 2000 -p "$at" 10.77.0.3 && wait $s
}
check "others go on" others
wait $cb
is "the client has come to its end" $? 0
wait $sa
is "the server, too" $? 0
is "nobody was stopped inside the engine" "$(limit "$RDMAEMU" log | grep -c 'stopped inside')" 0
fault clear
check "the HCA is in order" limit "$RDMAEMU" status --audit

# --- limits
max_of() {
	limit "$RDMAEMU" run --node "$1" -- ibv_devinfo -v | sed -n "s/.*$2:[[:space:]]*//p"
}
before=$(max_of a max_qp)
fault add 'limit max_qp=1 max_cqe=1000 node=a'
is "a limit shrinks" "$(max_of a max_qp) $(max_of a max_cqe)" "1 1000"
is "on that node" "$(max_of b max_qp)" "$before"
is "no limit grows" "$(limit "$RDMAEMU" fault add limit max_qp=99999999 2>&1)" \
	"rdmaemu: fault: 'max_qp': expected a value below the limit that the device has: rules only lower it"
is "it is as before" "$(max_of a max_qp) $(max_of b max_qp)" "1 $before"
port=$(free_port)
limit "$RDMAEMU" run --node a -- ibv_rc_pingpong -g 1 -p "$port" >/dev/null 2>&1 </dev/null &
job=$!
wait_listen "$port" $job
is "creation fails as the device says" "$(limit "$RDMAEMU" run --node a -- \
	ibv_rc_pingpong -g 1 -p "$(free_port)" 2>&1 </dev/null | grep -c "Couldn't create QP")" 1
kill $job
limit "$RDMAEMU" run --node e -- true
fault add 'limit max_mr=7 node=f'
limit "$RDMAEMU" run --node f -- true
is "a node that comes later has it, too" "$(max_of f max_mr)" 7
fault clear
is "without rules all is as before" "$(max_of a max_qp)" "$before"
done_testing
