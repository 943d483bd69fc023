# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Helpers of all *.t files, which source it; tests/run starts those with a private RDMAEMU_DIR. A test
# prints `ok NAME`, `not ok NAME` or `ok NAME # SKIP why` per check.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in
/*) ;;
*) BUILD=$TOP/$BUILD ;;
esac
RDMAEMU=${SAN_RDMAEMU:-$BUILD/bin/rdmaemu}
SHIM=$BUILD/lib/librdmaemu.so
T=$BUILD/tests
TEST_DIR=${TEST_DIR:-$(mktemp -d "${TMPDIR:-/tmp}/rdmaemu-t.XXXXXX")}
export RDMAEMU_DIR=${RDMAEMU_DIR:-$TEST_DIR/state}

# A factor for time limits and counts: sanitizer builds are slower, and tests/san.sh sets it.
SLOW=${TEST_SLOW:-1}
# A factor for time limits alone: how slow the machine is, which tests/run measures.
PATIENCE=${PATIENCE:-1}
LIMIT=$((180 * SLOW * PATIENCE))
FAILED=0

ok() {
	echo "ok $1"
}

not_ok() {
	echo "not ok $1"
	shift
	[ $# = 0 ] || printf '# %s\n' "$@"
	FAILED=$((FAILED + 1))
}

skip() {
	echo "ok $1 # SKIP $2"
}

# skip_all WHY - the whole test cannot be run here
skip_all() {
	echo "# SKIP $1"
	exit 77
}

# done_testing - last line of a test
done_testing() {
	setting_down
	[ "$FAILED" = 0 ]
	exit
}

# check NAME COMMAND... - COMMAND must succeed; its output is shown if it does not
check() {
	local name=$1 out status=0
	shift
	out=$("$@" 2>&1 </dev/null) || status=$?
	if [ $status = 0 ]; then
		ok "$name"
	else
		not_ok "$name" "status $status: $*"
		[ -z "$out" ] || printf '%s\n' "$out" | tail -n 40 | sed 's/^/#   /'
	fi
	return $status
}

# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got:    $2" "wanted: $3"
	fi
}

# tap COMMAND... - one that prints checks itself, as lines `ok NAME` and `not ok NAME`
tap() {
	local status=0 out
	out=$("$@" 2>&1 </dev/null) || status=$?
	printf '%s\n' "$out"
	if [ $status != 0 ]; then
		FAILED=$((FAILED + 1))
		grep -q '^not ok ' <<<"$out" || not_ok "$*: status $status"
	fi
}

# limit COMMAND... - with the general time limit; the command stays in this process group
limit() {
	timeout --foreground -k 5 "$LIMIT" "$@"
}

# end_job PID - end a command that a function runs in the background: the subshell around it would not pass a signal on
end_job() {
	local command
	command=$(pgrep -P "$1" | head -n 1)
	kill "${command:-$1}" 2>/dev/null || :
}

# rdmaemu_refuses VERB NAME STATUS WORDS ARGS... - `rdmaemu VERB ARGS...` ends with that status and prints
# one line on stderr that contains these words
rdmaemu_refuses() {
	local verb=$1 name=$2 want=$3 words=$4 err status=0
	shift 4
	# shellcheck disable=SC2086
	err=$(limit "$RDMAEMU" $verb "$@" 2>&1 >/dev/null </dev/null) || status=$?
	if [ $status = "$want" ] && [ "$(wc -l <<<"$err")" = 1 ] && [[ $err == *"$words"* ]]; then
		ok "$name"
	else
		not_ok "$name" "status $status: $err" "wanted: $words"
	fi
}

# emu COMMAND... - run it under `rdmaemu run`, at the server's place
emu() {
	setting_up && limit "$RDMAEMU" run "${SERVER_AT[@]}" -- "$@"
}

# free_port - print a TCP port that no other test was given and no socket listens on
free_port() {
	"$T/sys_port" free "${TEST_PORTS:-${TMPDIR:-/tmp}/rdmaemu-ports.$(id -u)}"
}

# wait_listen PORT PID - wait until a socket listens on PORT; fails if PID exits
wait_listen() {
	"$T/sys_port" wait "$1" "$2" $((60 * SLOW * PATIENCE))
}

# wait_for SECONDS COMMAND... - wait until COMMAND succeeds, up to four times as long: the machine may be busy
wait_for() {
	local i n=$(($1 * 50 * 4 * SLOW * PATIENCE))
	shift
	for ((i = 0; i < n; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.02
	done
	return 1
}

# pair_once PROGRAM ARGS... - server and client of one program, as perftest and ibv_*_pingpong
# take them: -p PORT, and the client the address; where the setting has them (tests/lib/setting.sh). Leaves
# both outputs in $TEST_DIR; fails if either fails. PAIR_SERVER and PAIR_CLIENT may hold a command to run
# each side by, SERVER_PORT and CLIENT_PORT what is -p on its side.
pair_once() {
	local port server s=0 c=0 side CMD
	port=$(free_port)
	# On Ethernet, ping-pongs reach another node by its GID only.
	if [ "$SETTING" != one ] && [[ $1 == ibv_*_pingpong && " $* " != *' -g '* ]]; then
		set -- "$@" -g 1
	fi
	# shellcheck disable=SC2046
	set -- "$@" $(without_clock "$1")
	command_a "$@" "${SERVER_PORT--p}" "$port" || return
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	if wait_listen "$port" $server; then
		run_b "$@" "${CLIENT_PORT--p}" "$port" "$ADDR" \
			>"$TEST_DIR/client.out" 2>&1 </dev/null || c=$?
	else
		echo "server did not listen" >"$TEST_DIR/client.out"
		c=1
	fi
	[ $c = 0 ] || kill $server 2>/dev/null || :
	wait $server || s=$?
	[ $s = 0 ] && [ $c = 0 ] && return 0
	for side in server client; do
		echo "$side: status $([ $side = server ] && echo $s || echo $c)"
		pair_complaints "$TEST_DIR/$side.out"
	done
	limit "$RDMAEMU" log --fabric "$(fabric_name)" 2>&1 | tail -n 6
	[ "$SETTING" != fabrics ] || at_client "$RDMAEMU" log --fabric "$(fabric_name)" 2>&1 | tail -n 6
	return 1
}

# pair_complaints FILE - what one side printed, without its rulers and addresses: stdout is buffered, so a line of
# stderr may stand before, after or among hundreds of them
pair_complaints() {
	grep -vE '^[-* ]*$|(local|remote) address:|^ *GID:' "$1" | sed '14,${$!d}; 13{$!s/.*/.../}'
}

# did_well STATUS FILE - whether a program that printed FILE has done its work: it ended with 0, or rping_reap() had to
# end it, or with 255 because of a race in rping itself: at its end the main thread destroys the channel just before
# the other thread reads from it. FILE then has no other complaint (buffered stdout may stand before it in the line);
# state 10 is DISCONNECTED.
did_well() {
	local reaped
	[ "$1" = 0 ] && return
	if [ "$1" = 143 ]; then
		reaped=("$TEST_DIR"/reaped.*)
		rm "${reaped[0]}" 2>/dev/null || return
	elif [ "$1" != 255 ] || ! grep -q "rdma_get_cm_event: " "$2"; then
		return 1
	fi
	! grep -v "wait for RDMA_READ_ADV state 10$" "$2" | grep -qE "wait for |failed|error|mismatch"
}

# no_report - whether perftest gave up because it could not calibrate its clock: it compares the TSC with
# gettimeofday(), which fails if the scheduler interrupts it often
no_report() {
	grep -qsE "Can't produce a report|couldn't acquire cpu frequency" "$TEST_DIR"/server.out "$TEST_DIR"/client.out
}

# without_clock PROGRAM - the option by which perftest goes on if it cannot calibrate its clock, unless it is repeated
without_clock() {
	[ -n "${CLOCK_IS_TRIED-}" ] || [[ $1 != ib_* ]] || echo -F
}

# tshark_reads ARGS... - tshark, that does not guess what payloads are: it takes some random bytes for a protocol, and
# finds that malformed
tshark_reads() {
	WIRESHARK_CONFIG_DIR=$TOP/tests/lib/wireshark limit tshark "$@"
}

# threads_lend - "lent" where memory of programs with several threads is (docs/design/lent-memory.md), else "kept"
threads_lend() {
	local version
	version=$(getconf GNU_LIBC_VERSION) && version=${version#glibc }
	[ "$(uname -m)" = x86_64 ] && ! printf '%s\n' 2.41 "$version" | sort -VC && echo lent || echo kept
}

# with_clock COMMAND... - runs COMMAND, which runs both sides, again as long as perftest cannot calibrate its clock.
# If a test does not use the figures, -F does as well: perftest then prints some in any case.
with_clock() {
	local i CLOCK_IS_TRIED=yes
	for i in 1 2 3 4; do
		"$@" && return
		no_report || return
	done
	"$@"
}

# too_early FILE - whether FILE is what a client of perftest -R printed that came too early: it connects twice, and does
# not wait until the server listens for the second time (8; of a datagram's service, 1). It tries again with an
# identifier that it has freed, and may crash, while its server waits. On a busy machine one attempt in five comes too
# early.
too_early() {
	grep -Eqs 'RDMA_CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)\.' "$1"
}

# in_time COMMAND... - runs COMMAND, both sides of perftest with -R, again while the client comes too early
in_time() {
	local i
	for ((i = 0; i < 12; i++)); do
		"$@" && return
		too_early "$TEST_DIR/client.out" || return
	done
	"$@"
}

# without_mpi - the option by which a ucx_perftest that is built with MPI (Debian 13) goes without: it takes itself for
# one of MPI's processes where its input is no terminal
without_mpi() {
	! ucx_perftest -h 2>&1 </dev/null | grep -q -- '-P <0|1>' || echo '-P 0'
}

# pair_run PROGRAM ARGS... - pair_once, repeated while perftest cannot calibrate its clock
pair_run() {
	with_clock pair_once "$@"
}

# pair PROGRAM ARGS... - the same as a check of its own, named PAIR_NAME or by the command line
pair() {
	check "${PAIR_NAME-$*}" pair_run "$@"
}

# pair_sizes PROGRAM ARGS... - perftest with messages of several sizes. With -a it tries 23 sizes, and calibrates its
# clock for 0.2 s on each side before each; tests do that once, in `one`, and otherwise take the sizes that differ for
# the emulator: less than a packet, a packet, several, several bursts.
SIZES='1 4096 65536 8388608'
pair_sizes() {
	local size
	for size in $SIZES; do
		pair "$@" -s "$size"
	done
}

# perftest_srd_writes - whether perftest has WRITE over SRD: with rdma-core 50 and perftest 23.10, and later ones
perftest_srd_writes() {
	! "$RDMAEMU" run -- ib_write_bw -c SRD -x 0 127.0.0.1 2>&1 </dev/null | grep -q 'SRD connection only possible in'
}

# is_root - whether this test may change user and namespaces
is_root() {
	[ "$(id -u)" = 0 ]
}

# need PROGRAM... - skip the test when one is not installed
need() {
	local p
	for p; do
		command -v "$p" >/dev/null || skip_all "$p is not installed"
	done
}

# can_isolate - whether isolated fabrics start: the user emulation of qemu has no asynchronous I/O, which they need
can_isolate() {
	! "$RDMAEMU" run --fabric can_isolate --isolated -- true 2>&1 | grep -q 'asynchronous I/O.*not implemented'
}

# need_valgrind - skip the test where programs on the emulator do not run under valgrind
need_valgrind() {
	need valgrind
	[ "$SLOW" = 1 ] || skip_all "valgrind does not run programs under sanitizers"
	case $(uname -m) in
	x86_64 | aarch64) ;;
	*) skip_all "the requests to valgrind are unknown for this machine" ;;
	esac
}

# status_json [FABRIC ARGS...] - what `rdmaemu status --json` prints
status_json() {
	limit "$RDMAEMU" status --json "$@"
}

# cpu_ticks PID - CPU time of a process so far
cpu_ticks() {
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

# json EXPRESSION - evaluate a Python expression over the JSON document `d` on stdin
json() {
	/usr/bin/python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

# gid_index ADDRESS COMMAND... - the index of the GID in what the command prints of a device
gid_index() {
	local address=$1
	shift
	"$@" | sed -n "s/.*GID\[ *\([0-9]*\)\]:.*$address.*/\1/p" | head -n 1
}

# app NAME ARGS... - run a program of tests/verbs, which prints TAP itself, under `rdmaemu run`. RUN_BY may
# hold a wrapper command, RUN_FLAGS flags of `rdmaemu run`. If the program has a second process, that runs
# at the client's place (tests/lib/c/peer.c).
app() {
	local status=0 out name=$1
	shift
	out=$(peer_vars && PAIR_SERVER=${RUN_BY-} run_a "$T/$name" "$@" 2>&1 </dev/null) || status=$?
	sed -E "s|^((not )?ok) |\\1 $name${*:+ $*}${RUN_BY:+ (${RUN_BY##*/})}${RUN_FLAGS:+ (${RUN_FLAGS})}: |" <<<"$out"
	grep -q '^not ok ' <<<"$out" && FAILED=$((FAILED + 1))
	if [ $status != 0 ] && ! grep -q '^not ok ' <<<"$out"; then
		not_ok "$name $*: status $status"
	fi
}

# shellcheck source=tests/lib/setting.sh
. "$TOP/tests/lib/setting.sh"
setting_init "$@"
