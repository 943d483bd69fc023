#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one nodes fabrics
# The RDMA tests of qperf. Its server forks for each test and opens the device in the child; both
# sides report how much they sent and received.
. "$(dirname "$0")/../../lib/lib.sh"
need qperf

server='' port=''

# Between hosts it needs LIDs: it knows no GIDs.
! by_wire || skip_all "wires are of RoCE ports"
[ "$SETTING" = one ] || export RDMAEMU_PROFILE=infiniband

start_server() {
	local CMD
	port=$(free_port)
	command_a qperf -lp "$port" || return
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_listen "$port" $server
}

stop_server() {
	# Stuck in a test it does not listen to `quit`.
	timeout 5 qperf -lp "$port" 127.0.0.1 quit >/dev/null 2>&1 || kill $server 2>/dev/null
	wait $server
}

# numbers FILE [counts] - every number in there (every number of messages and bytes: its clock goes in steps of
# 10 ms, and by it what takes less has no speed) is above 0 and, as a message cannot arrive that was
# not sent, the receiver of a one-way test has no more of them than the sender. Status 3: one is 0, or missing
numbers() {
	/usr/bin/python3 - "$@" <<'PY'
import re, sys
unit = {'': 1, 'K': 1e3, 'M': 1e6, 'G': 1e9}
words = {'thousand': 1e3, 'million': 1e6, 'billion': 1e9}
seen = {}
for line in open(sys.argv[1]):
    m = re.match(r' +(\w+) +=\s+([\d,.]+) ([KMG]?)i?\S* ?(?:\(([\d,]+)\))?', line)
    if m:
        exact = m[4] or m[2]
        word = re.search(r'(thousand|million|billion)$', line.strip())
        scale = words[word[1]] if word else unit[m[3]]
        seen[m[1]] = float(exact.replace(',', '')) * (1 if m[4] else scale)
counts = [k for k in seen if k.endswith(('_msgs', '_bytes'))]
wanted = (counts if sys.argv[2:] else list(seen)) + ['recv_msgs'] * ('send_msgs' in seen)
if not counts or not all(seen.get(k, 0) > 0 for k in wanted):
    print('a number is 0, or missing')
    sys.exit(3)
if 'send_msgs' in seen:
    # Printed with three digits.
    assert seen['recv_msgs'] <= seen['send_msgs'] * 1.005, 'more received than sent'
PY
}

# run ARGS... - once more if a number is 0, as it is when a side did not get the CPU for all of its second
run() {
	local i status
	for i in 1 2 3; do
		run_b qperf -lp "$port" "$ADDR" "$@" >"$TEST_DIR/out" 2>&1 </dev/null || break
		numbers "$TEST_DIR/out" ${COUNTS-} && return
		status=$?
		[ $status = 3 ] || break
	done
	cat "$TEST_DIR/out" "$TEST_DIR/server.out"
	return 1
}

qp() {
	kill -0 "$server" 2>/dev/null || start_server
	if ! check "qperf $*" run -vvs "$@"; then
		stop_server
		start_server
	fi
}

# exactly N TEST ARGS... - a number of messages instead of a time: all of them arrive
exactly() {
	local n=$1
	shift
	COUNTS=counts run -vvs -n "$n" "$@" &&
		[ "$(grep -cE "^ +(send|recv)_msgs +=  +$n *$" <(tr -d , <"$TEST_DIR/out"))" = 2 ]
}

start_server
n=$(by_setting 300000 5000)
check "qperf -n $n -m 64 rc_bw" exactly $n -m 64 rc_bw
n=$(by_setting 500 50)
check "qperf -n $n -m 1M rc_bw" exactly $n -m 1M rc_bw
for t in rc_bw rc_bi_bw rc_lat uc_bw uc_bi_bw uc_lat; do
	qp -t 1 $t
	qp -t 1 -cp1 -m 5000 $t
done
# It makes address handles of a LID alone, which RoCE has not.
no_address() {
	! run "$@" >"$TEST_DIR/said" &&
		grep -q 'failed to create address handle: Invalid argument' "$TEST_DIR/said"
}
in_one check "qperf ud_lat has no address on Ethernet" no_address -t 1 -m 256 ud_lat
[ "$SETTING" = one ] || for t in ud_bw ud_lat; do
	qp -t 1 -m 256 $t
done
stop_server
start_server
for t in rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw rc_rdma_write_lat \
	rc_rdma_write_poll_lat uc_rdma_write_bw uc_rdma_write_lat uc_rdma_write_poll_lat \
	rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add; do
	qp -t 1 $t
done
# Debian builds it without XRC.
if qperf --help tests | grep -q xrc_ && ! qperf 127.0.0.1 xrc_bw 2>&1 | grep -q 'bad test'; then
	for t in xrc_bw xrc_bi_bw xrc_lat; do
		qp -t 1 $t
	done
else
	skip "qperf xrc_*" "not in this build of qperf"
fi
stop_server
done_testing
