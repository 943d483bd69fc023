#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 40
# settings: one nodes fabrics
# perftest with queue pairs that the rdma_cm connects (-R), and with the rdma_cm for its own exchange (-z).
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat

# perf_once PS PROGRAM ARGS... - both succeed, and the client has one line of results
perf_once() {
	local port ps=$1
	shift
	port=$(free_port)
	cm_both "$ps" "$port" "$* -p $port" "$* -p $port $ADDR" &&
		says client.out 1 '^ *[0-9]+[[:space:]]+[0-9]+[[:space:]]+[0-9.]+[[:space:]]+[0-9.]+'
}

# perf PS PROGRAM ARGS... - the same, again where perftest itself stands in the way
perf() {
	with_clock in_time perf_once "$@"
}

rc() {
	check "$*" perf TCP "$@"
}

# perftest connects by TCP space also where it sends datagrams.
ud() {
	check "$*" perf TCP "$@"
}

n=$(by_setting 1000 200)
for t in send write read atomic; do
	rc ib_${t}_bw -R -n $n
	rc ib_${t}_lat -R -n $n
	rc ib_${t}_bw -R -n $n -q 4
	rc ib_${t}_bw -z -n $n
	rc ib_${t}_lat -z -n $n
done
for t in send write read; do
	rc ib_${t}_bw -R -s 5000 -n $n -b
	rc ib_${t}_bw -R -s 1 -n $n -m 256
done
rc ib_send_bw -R -n $n -e
rc ib_send_lat -R -n $n -e
rc ib_send_bw -R -n $n -q 16 -e
rc ib_send_lat -R -s 64 -I 64 -n $n
rc ib_write_bw -R -D 1
rc ib_send_bw -R -T 96 -n $n
rc ib_send_bw -R -u 16 -n $n
rc ib_send_bw -R --use-srq -n $n
rc ib_send_lat -R --use-srq -n $n
ud ib_send_bw -R -c UD -n $n -r $n -s 1024
ud ib_send_lat -R -c UD -n $n -s 64
ud ib_send_bw -R -c UD -n $n -r $n -s 256 -e

check "isolated: ib_send_bw -R" isolated perf TCP ib_send_bw -R -n 200
check "isolated: ib_write_lat -R" isolated perf TCP ib_write_lat -R -n 200
check "isolated: ib_send_lat -R -c UD" isolated perf TCP ib_send_lat -R -c UD -n 200 -s 64
done_testing
