#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the tests next to it show the rest
# SEND, WRITE, READ, atomics and a connection of the rdma_cm between two processes, with so few messages that an
# emulated CPU does it (make test-arm64): small ones in work requests, large ones by copies, data checked.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need ibv_rc_pingpong ibv_ud_pingpong ib_send_bw ib_write_bw ib_write_lat ib_read_lat ib_atomic_bw rping

for size in 32 4096; do
	pair ibv_rc_pingpong -c -s $size -n 20
	pair ib_send_bw -F -s $size -n 20
	pair ib_write_bw -F -s $size -n 20
	pair ib_read_lat -F -s $size -n 20
done
pair ibv_ud_pingpong -g 0 -s 512 -n 20
pair ib_write_lat -F -s 3 -n 20
pair ib_atomic_bw -F -n 20

rping_pings() {
	local port
	port=$(free_port)
	cm_both TCP "$port" "rping -s -p $port" "rping -c -p $port -a $ADDR -C 5 -V"
}
check "rping -C 5 -V" rping_pings
done_testing
