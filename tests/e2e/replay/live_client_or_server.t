#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: the recorded programs are on nodes of their own
# `rdmaemu replay DIR --as PROGRAM -- OTHER`: a client without its server, and a server without its client.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need rping ucmatose rdma_server

# record NAME SERVER -- CLIENT - into $TEST_DIR/NAME; the server becomes p1
record() {
	local dir=$TEST_DIR/$1 server=() s
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	limit "$RDMAEMU" record -o "$dir" --node a -- "${server[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	s=$!
	wait_for 60 grep -qs '^rdma_listen .* = 0' "$dir/p1/calls" || return
	limit "$RDMAEMU" record -o "$dir" --node b -- "$@" >"$TEST_DIR/client.out" 2>&1 </dev/null
	wait $s
	! grep -l '^command ' "$dir/p3/program" 2>/dev/null
}

# as DIR PROGRAM COMMAND...
as() {
	local dir=$1 program=$2
	shift 2
	limit "$RDMAEMU" replay "$TEST_DIR/$dir" --as "$program" "${IGNORE[@]}" --timeout $((60 * SLOW * PATIENCE)) -- "$@" </dev/null
}
IGNORE=()

# as_rping - as(), with a live rping that may trip over itself at its end
as_rping() {
	local status=0
	as "$@" >"$TEST_DIR/as.out" 2>&1 || status=$?
	did_well $status "$TEST_DIR/as.out" && status=0
	cat "$TEST_DIR/as.out"
	return $status
}

# differs NAME WORDS DIR PROGRAM COMMAND... - status 1, and that is shown
differs() {
	local name=$1 words=$2 out status=0
	shift 2
	out=$(as "$@" 2>"$TEST_DIR/err") || status=$?
	if [ $status = 1 ] && [[ $out == *"$words"* ]]; then
		ok "$name"
	else
		not_ok "$name" "status $status: $out" "$(cat "$TEST_DIR/err")" "wanted: $words"
	fi
}

refuses() {
	rdmaemu_refuses replay "$1" 2 "${@:2}"
}

S='10.77.0.1'
check "rping is recorded" record rping rping -s -C 5 -- rping -c -a $S -C 5
check "a client without its server: rping" as_rping rping p2 rping -s -C 5
check "a server without its client: rping" as_rping rping p1 rping -c -a $S -C 5
check "the same once more" as_rping rping p1 rping -c -a $S -C 5 -v
differs "a client of other sizes" "memory at its end differs" rping p1 rping -c -a $S -C 5 -S 200
IGNORE=(--ignore memory)
check "sizes are not compared" as_rping rping p1 rping -c -a $S -C 5 -S 200
IGNORE=()
differs "a client that ends sooner" "has ended with" rping p1 rping -c -a $S -C 2

# The live program's output must not mix with the JSON; the shell prints even if rping fails.
json_alone() {
	local want=$1 status=0
	shift
	limit "$RDMAEMU" replay --json "$TEST_DIR/rping" --as p1 --timeout $((60 * SLOW * PATIENCE)) -- sh -c "$1" \
		>"$TEST_DIR/out" 2>"$TEST_DIR/err" </dev/null || status=$?
	cat "$TEST_DIR/out" "$TEST_DIR/err"
	{ [ $status = "$want" ] || { [ "$want" = 0 ] && did_well $status "$TEST_DIR/err"; }; } && ! grep -qx 'a word of its own' "$TEST_DIR/out" &&
		[ "$(grep -c '^a word of its own$' "$TEST_DIR/err")" = 1 ] && json "$2" <"$TEST_DIR/out" | grep -qx True
}
check "JSON has standard output for itself" json_alone 0 "echo a word of its own; exec rping -c -a $S -C 5 -v" \
	"d['divergence'] is None and d['programs'] == 1 and d['completions'] > 0"
check "so it has where the replay diverges" json_alone 1 "echo a word of its own; exec rping -c -a $S -C 2" \
	"'has ended with' in d['divergence']"
with_text() {
	limit "$RDMAEMU" replay "$TEST_DIR/rping" --as p1 -- sh -c "echo a word of its own; exec rping -c -a $S -C 5" \
		>"$TEST_DIR/out" 2>/dev/null </dev/null
	grep -qx 'a word of its own' "$TEST_DIR/out" && grep -q 'no divergence$' "$TEST_DIR/out"
}
check "without it the live program has it as well" with_text

# It sends uninitialised memory, whose content depends on earlier events. The tunable makes malloc(3)
# fill it, except memory from the per-thread cache, which is therefore off.
export GLIBC_TUNABLES=glibc.malloc.perturb=85:glibc.malloc.tcache_count=0
check "ucmatose is recorded" record ucmatose ucmatose -c 2 -C 4 -- ucmatose -s $S -c 2 -C 4
check "a client without its server: ucmatose" as ucmatose p2 ucmatose -c 2 -C 4
check "a server without its client: ucmatose" as ucmatose p1 ucmatose -s $S -c 2 -C 4
differs "a client whose receives are too small" "status differs" ucmatose p1 ucmatose -s $S -c 2 -C 4 -S 50
unset GLIBC_TUNABLES

check "rdma_server is recorded" record ep rdma_server -- rdma_client -s $S
check "a client without its server: rdma_server" as ep p2 rdma_server
check "a server without its client: rdma_client" as ep p1 rdma_client -s $S

# A replay that is killed; "owner" is locked as long as somebody uses the directory.
dirs() {
	find "$RDMAEMU_DIR" -maxdepth 1 -name 'replay-*' -printf '%f\n' | sort | xargs
}
mkdir -m 700 "$RDMAEMU_DIR/replay-abcdef" "$RDMAEMU_DIR/replay-longname" "$RDMAEMU_DIR/replay-locked"
touch "$RDMAEMU_DIR/replay-locked/owner"
(flock 9 && exec sleep 600) 9<"$RDMAEMU_DIR/replay-locked/owner" &
holder=$!
before=$(dirs)
"$RDMAEMU" replay "$TEST_DIR/rping" --as p1 -- sh -c 'echo $$ >"$1"; exec sleep 300' sh "$TEST_DIR/pid" >/dev/null 2>&1 </dev/null &
replay=$!
wait_for 20 test -s "$TEST_DIR/pid"
as_rping rping p1 rping -c -a $S -C 5 >/dev/null
is "a replay that runs keeps its directory" "$(dirs | wc -w)" $(($(wc -w <<<"$before") + 1))
kill -9 $replay
wait $replay 2>/dev/null
as_rping rping p1 rping -c -a $S -C 5 >/dev/null
is "one that was killed leaves it, and its program still has it" "$(dirs | wc -w)" $(($(wc -w <<<"$before") + 1))
kill -9 "$(cat "$TEST_DIR/pid")"
# unused - another replay clears it away, when all that the killed one has started is gone
unused() {
	as_rping rping p1 rping -c -a $S -C 5 >/dev/null
	[ "$(dirs)" = "$before" ]
}
eventually_unused() {
	local i
	for i in {1..10}; do
		unused && return
		sleep 3 # who asks whether the fabric is there has it stay a second longer
	done
	dirs
	return 1
}
check "a later one removes it, and nothing else" eventually_unused
kill $holder
wait $holder 2>/dev/null

refuses "no live program" "expected a live program after" "$TEST_DIR/rping" --as p1
refuses "no such program: the programs are named" "expected a program of $TEST_DIR/rping: p1 (rping), p2 (rping)" \
	"$TEST_DIR/rping" --as server -- true
refuses "two of that name" "has several of that name: expected one of p1 (rping), p2 (rping)" "$TEST_DIR/rping" --as rping -- true
refuses "no such field" "expected wr_id, status" "$TEST_DIR/rping" --as p1 --ignore colour -- true
refuses "one that does not listen" "does not listen" "$TEST_DIR/rping" --as p2 --timeout 2 -- sleep 9

# soon STATUS LINE PROGRAM COMMAND... - the replay ends long before its timeout, with that status and only that line
soon() {
	local want=$1 line=$2 program=$3 out status=0 since=$SECONDS
	shift 3
	out=$(limit "$RDMAEMU" replay "$TEST_DIR/rping" --as "$program" --timeout 300 -- "$@" 2>"$TEST_DIR/err" </dev/null) || status=$?
	echo "status $status after $((SECONDS - since)) s: $out"
	cat "$TEST_DIR/err"
	[ $status = "$want" ] && [ $((SECONDS - since)) -lt $((150 * SLOW)) ] || return
	if [ $want = 1 ]; then
		[ "$(wc -l <<<"$out")" = 1 ] && grep -qE -- "$line" <<<"$out"
	else
		[ -z "$out" ] && [ "$(cat "$TEST_DIR/err")" = "$line" ]
	fi
}
REQUEST='^p1/calls:[0-9]* \(rping\): waits for RDMA_CM_EVENT_CONNECT_REQUEST; the live program'
check "it has ended before it connected" soon 1 "$REQUEST \(false\) has ended with status 1$" p1 false
check "it was killed" soon 1 "$REQUEST \(.*\) has ended with signal 9 \(Killed\)$" p1 sh -c 'kill -9 $$'
check "it has ended before it listened" soon 1 '^p2 \(rping\): waits for .* to listen; the live program \(true\) has ended with status 0$' p2 true
check "it ends sooner than it did" soon 1 "^p1/data:[0-9]* \(rping\): waits for .*; the live program \(rping -c -a $S -C 4\) has ended with status" \
	p1 rping -c -a $S -C 4
check "a program that does not exist" soon 127 "rdmaemu: /no/such: No such file or directory" p1 /no/such
check "which was to listen" soon 127 "rdmaemu: /no/such: No such file or directory" p2 /no/such
check "a file that is no program" soon 126 "rdmaemu: /etc/passwd: Permission denied" p1 /etc/passwd
check "a command that leaves its program behind" as_rping rping p1 sh -c "(sleep 3; exec rping -c -a $S -C 5) >/dev/null &"
done_testing
