#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: what is recorded is the same wherever its sides are
# `rdmaemu record`: programs behave as without it, and the trace is true.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need ibv_rc_pingpong ib_send_bw ib_write_lat
export RDMAEMU_LINGER=60000

# record DIR COMMAND... - recorded, as `rdmaemu run` would run it
record() {
	local dir=$1
	shift
	# shellcheck disable=SC2046
	limit env $(clock_env "$1") "$RDMAEMU" record -o "$dir" -- "$@"
}

# sides DIR PROGRAM ARGS... - server and client of one program, both recorded into DIR. Outputs are left in $TEST_DIR.
sides() {
	local dir=$1 port s=0 c=0 server
	shift
	rm -rf "$dir"
	port=$(free_port)
	record "$dir" "$@" -p "$port" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_listen "$port" $server &&
		record "$dir" "$@" -p "$port" "$ADDR" >"$TEST_DIR/client.out" 2>&1 </dev/null || c=$?
	[ $c = 0 ] || kill $server 2>/dev/null
	wait $server || s=$?
	[ $s = 0 ] && [ $c = 0 ] && return
	tail -n 5 "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}

# stat DIR PROGRAM - what `trace stat` says of the Nth program
stat_of() {
	limit "$RDMAEMU" trace stat --program "$2" "$1"
}

# has DIR N LINE... - the Nth program's statistics have these lines
has() {
	local dir=$1 n=$2 out line
	shift 2
	out=$(stat_of "$dir" "p$n") || return
	for line; do
		grep -qF -- "$line" <<<"$out" || {
			echo "no '$line' in:"
			echo "$out"
			return 1
		}
	done
}

# reads_back DIR - each line of its calls is one that the reader makes the same line of
reads_back() {
	"$T/unit/traces/calls/test_calls" "$1"/p*/calls
}

# in_order DIR - the records of each thread lie in the order of their times: that is how they are played
in_order() {
	limit "$RDMAEMU" trace show "$1" | awk '
		/^p[0-9]/ { delete last }
		/^ +[0-9.]+ t[0-9]+ / {
			if ($1 + 0 < last[$2]) {
				print "behind " last[$2] ": " $0
				bad = 1
			}
			last[$2] = $1 + 0
			n++
		}
		END { exit bad || n < 10 }'
}

# traced NAME DIR - checks that every trace must pass
traced() {
	check "$1: lines read back" reads_back "$2"
	check "$1: the trace is whole" limit "$RDMAEMU" trace stat "$2"
	check "$1: each thread's records are in order" in_order "$2"
	is "$1: both programs ended" "$(limit "$RDMAEMU" trace stat --json "$2" |
		json 'len([p for p in d if p["ended"]])')" 2
}

# --- ping-pongs and perftest: as many work requests as they say ---

n=0
for c in "ibv_rc_pingpong -n 50" "ibv_rc_pingpong -n 50 -e" "ibv_rc_pingpong -n 50 -N" "ibv_rc_pingpong -n 50 -t" "ibv_uc_pingpong -n 50" \
	"ibv_ud_pingpong -n 50"; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	if check "$c" sides "$TEST_DIR/pp$n" $c -g 0; then
		traced "$c" "$TEST_DIR/pp$n"
		check "$c: 50 SENDs each" has "$TEST_DIR/pp$n" 1 'SEND: 50 work requests' 'completions IBV_WC_SUCCESS: 100'
		check "$c: 50 SENDs each" has "$TEST_DIR/pp$n" 2 'SEND: 50 work requests' 'completions IBV_WC_SUCCESS: 100'
	fi
done

perf() {
	local name=$1 line=$2
	shift 2
	check "$*" with_clock sides "$TEST_DIR/perf" "$@" || return
	traced "$*" "$TEST_DIR/perf"
	check "$*: $line" has "$TEST_DIR/perf" 2 "$line"
}

perf send 'SEND: 1000 work requests, 65536000 bytes' ib_send_bw -n 1000
perf write 'RDMA_WRITE: 1000 work requests, 65536000 bytes' ib_write_bw -n 1000
perf read 'RDMA_READ: 1000 work requests' ib_read_bw -n 1000
perf atomic 'ATOMIC_FETCH_AND_ADD: 1000 work requests' ib_atomic_bw -n 1000
perf lat 'RDMA_WRITE: 100 work requests' ib_write_lat -n 100

# cm_sides DIR PORT SERVER CLIENT - commands of plain words, server and client over the rdma_cm
cm_sides() {
	local dir=$1 s=0 c=0 server
	rm -rf "$dir"
	# shellcheck disable=SC2086
	record "$dir" $3 >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_for 30 cm_listens TCP "$2" $server
	# shellcheck disable=SC2086
	record "$dir" $4 >"$TEST_DIR/client.out" 2>&1 </dev/null || c=$?
	did_well $c "$TEST_DIR/client.out" || kill $server
	wait $server || s=$?
	did_well $c "$TEST_DIR/client.out" && did_well $s "$TEST_DIR/server.out"
}
for c in "rping -C 20 -v" "ucmatose -C 20" "ib_send_bw -n 1000 -R"; do
	n=$(free_port)
	case $c in
	rping*) args=("$c -s -p $n" "$c -c -p $n -a $ADDR") ;;
	ucmatose*) args=("$c -p $n" "$c -p $n -s $ADDR") ;;
	*) args=("$c -p $n" "$c -p $n $ADDR") ;;
	esac
	if check "$c" with_clock in_time cm_sides "$TEST_DIR/cm" "$n" "${args[@]}"; then
		check "$c: lines read back" reads_back "$TEST_DIR/cm"
		check "$c: the trace is whole" limit "$RDMAEMU" trace stat "$TEST_DIR/cm"
	fi
done
# Its sides tell each other by SENDs, too.
sends() {
	local n
	n=$(stat_of "$TEST_DIR/cm" p2 | sed -n 's/.*[^A-Z_]SEND: \([0-9]*\) .*/\1/p')
	echo "$n"
	[ "$n" -ge 1000 ] && [ "$n" -le 1050 ]
}
check "ib_send_bw -R: as many SENDs" sends

# --- payload ---

# bytes DIR - of the programs' data files, beyond their heads
bytes() {
	cat "$1"/p*/data | wc -c
}

payload() {
	local p
	for p in full hash none; do
		RDMAEMU_RECORD_PAYLOAD=$p with_clock sides "$TEST_DIR/payload-$p" ib_send_bw -n 100 -s 4096 || return
		grep -q "^payload $p$" "$TEST_DIR/payload-$p/trace" || return
	done
	# Random bytes of the client's buffer are in the full one only.
	[ "$(bytes "$TEST_DIR/payload-full")" -gt $(($(bytes "$TEST_DIR/payload-none") + 4096)) ]
}
check "--payload full, hash, none" payload

# --- the wire ---

wire() {
	local port
	port=$(free_port)
	rm -rf "$TEST_DIR/wire"
	limit "$RDMAEMU" record -o "$TEST_DIR/wire" --capture -- ibv_rc_pingpong -g 0 -n 20 -p "$port" &
	wait_listen "$port" $! &&
		limit "$RDMAEMU" record -o "$TEST_DIR/wire" --capture -- ibv_rc_pingpong -g 0 -n 20 -p "$port" "$ADDR" &&
		wait $! && [ "$(stat -c %s "$TEST_DIR/wire/wire.pcapng")" -gt 40000 ]
}
check "--capture: the trace has the wire" wire

# --- programs of other kinds ---

# alike NAME PROGRAM ARGS... - one of our test programs, which must say of itself what it says without
alike() {
	local name=$1
	shift
	rm -rf "$TEST_DIR/app"
	check "$name" record "$TEST_DIR/app" "$@" && check "$name: lines read back" reads_back "$TEST_DIR/app"
}
for a in app_cq_extended app_mr_window app_srq_queue app_xrc_sides app_raw_rss app_qp_opcode_table app_uc_message app_ud_mcast app_cm_ep app_qp_ops app_qp_errors; do
	alike "$a" "$T/$a"
done

# Threads: two that ask for one object's name at the same time get the same.
alike app_device_threads "$T/app_device_threads"

# A library that is loaded at run time, its functions by name and version.
dlopened() {
	rm -rf "$TEST_DIR/dl" "$TEST_DIR/names"
	record "$TEST_DIR/names" "$T/sys_shim_nccl" libibverbs.so.1 librdmacm.so || return
	record "$TEST_DIR/dl" /usr/bin/python3 -c 'import ctypes
verbs = ctypes.CDLL("libibverbs.so.1")
n = ctypes.c_int()
verbs.ibv_get_device_list(ctypes.byref(n))
assert n.value == 1, n' || return
	grep -qF 'ibv_get_device_list = list "rdmaemu0" num_devices=1' "$TEST_DIR/dl/p1/calls"
}
check "dlopen() of the RDMA libraries yields the recorder" dlopened

# --- processes ---

record "$TEST_DIR/none" true
is "a program without verbs leaves nothing" "$(ls "$TEST_DIR/none")" trace
record "$TEST_DIR/status" sh -c 'exit 77'
is "exit status" $? 77

forks() {
	rm -rf "$TEST_DIR/fork"
	record "$TEST_DIR/fork" "$T/app_device_fork" || return
	# Children that use verbs of their own are programs of their own.
	[ -d "$TEST_DIR/fork/p2" ] && limit "$RDMAEMU" trace stat "$TEST_DIR/fork" &&
		[ "$(sed -n 's/^parent //p' "$TEST_DIR/fork/p2/program")" = "$(sed -n 's/^pid //p' "$TEST_DIR/fork/p1/program")" ]
}
check "fork(): a child is a program of its own" forks

# all_read DIR - the trace of a program that was killed has work requests, and the end is missing
killed() {
	local port server client out c s n
	port=$(free_port)
	record "$TEST_DIR/kill" ib_write_bw -p "$port" --run_infinitely >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_listen "$port" $server || return
	record "$TEST_DIR/kill" ib_write_bw -p "$port" --run_infinitely "$ADDR" >"$TEST_DIR/client.out" 2>&1 </dev/null &
	client=$!
	wait_for 20 busy "$TEST_DIR/kill" || { kill $client $server; return 1; }
	# The files grow while they are read.
	for ((n = 0; n < 20; n++)); do
		limit "$RDMAEMU" trace stat "$TEST_DIR/kill" >"$TEST_DIR/live" || { kill $client $server; return 1; }
	done
	kill -9 $(sed -n 's/^pid //p' "$TEST_DIR"/kill/p[12]/program)
	wait $client
	c=$?
	wait $server
	s=$?
	[ $c/$s = 137/137 ] || { echo "ended with $c and $s"; return 1; }
	out=$(limit "$RDMAEMU" trace stat --json "$TEST_DIR/kill") || return
	json 'sum(1 for p in d if not p["ended"])' <<<"$out" | grep -qx 2 &&
		reads_back "$TEST_DIR/kill"
}
# busy DIR - the second program has written more than a MiB
busy() {
	[ "$(stat_of "$1" p2 | sed -n 's/.*RDMA_WRITE: \([0-9]*\) .*/\1/p')" -gt 100 ]
}
check "kill -9: all but the calls under way can be read" killed

# --- without the emulator ---

# Recorded on real devices, if this machine has any, a program sees the same as without.
real_same() {
	local a b
	a=$(ibv_devinfo 2>&1; echo $?)
	b=$(limit "$RDMAEMU" record --real -o "$TEST_DIR/real" -- ibv_devinfo 2>&1; echo $?)
	[ "$a" = "$b" ] && grep -q '^ibv_get_device_list ' "$TEST_DIR/real/p1/calls" &&
		grep -qx 'real yes' "$TEST_DIR/real/trace"
}
check "--real: a program sees what it sees without us" real_same

# Over a library that is there already: that it is the shim's the recorder does not know.
real_over() {
	local port server
	port=$(free_port)
	emu "$RDMAEMU" record --real -o "$TEST_DIR/over" -- ibv_rc_pingpong -g 0 -n 50 -p "$port" &
	server=$!
	wait_listen "$port" $server &&
		emu "$RDMAEMU" record --real -o "$TEST_DIR/over" -- ibv_rc_pingpong -g 0 -n 50 -p "$port" "$ADDR" &&
		wait $server && has "$TEST_DIR/over" 1 'SEND: 50 work requests' && reads_back "$TEST_DIR/over"
}
check "--real: over another library" real_over

# --- what cannot be ---

# refused STATUS PATTERN ARGS... - a line that says why
refused() {
	local want=$1 pattern=$2 status=0 out
	shift 2
	out=$(limit "$RDMAEMU" record "$@" 2>&1 >/dev/null </dev/null) || status=$?
	echo "$out"
	[ $status = "$want" ] && [ "$(wc -l <<<"$out")" = 1 ] && grep -q "$pattern" <<<"$out"
}
mkdir "$TEST_DIR/full"
: >"$TEST_DIR/full/x"
check "no directory given" refused 2 'expected a directory' -- true
check "a directory with other things" refused 125 'expected a new or empty directory' -o "$TEST_DIR/full" -- true
check "a trace that is complete" refused 125 'complete' -o "$TEST_DIR/none" -- true
check "a directory that cannot be made" refused 125 'No such file' -o "$TEST_DIR/no/dir" -- true
check "--payload some" refused 2 'expected full, hash or none' --payload some -o "$TEST_DIR/y" -- true
check "--real --capture" refused 2 'expected a fabric' --real --capture -o "$TEST_DIR/y" -- true
check "no program" refused 2 'expected a program' -o "$TEST_DIR/y"
done_testing
