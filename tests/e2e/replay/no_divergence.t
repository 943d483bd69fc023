#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one nodes: a replay makes one fabric
# Programs are recorded, and their traces replayed without them: no call may return anything else.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need ibv_rc_pingpong ib_send_bw rping ucmatose python3

. "$TOP/tests/lib/replay.sh"

pp rc_pingpong ibv_rc_pingpong -g 0 -n 100
pp rc_pingpong_e ibv_rc_pingpong -g 0 -n 100 -e -c
pp rc_pingpong_ts ibv_rc_pingpong -g 0 -n 100 -t
pp rc_pingpong_new ibv_rc_pingpong -g 0 -n 100 -N
pp uc_pingpong ibv_uc_pingpong -g 0 -n 100
pp ud_pingpong ibv_ud_pingpong -g 0 -n 100
pp srq_pingpong ibv_srq_pingpong -g 0 -n 100
pp xsrq_pingpong ibv_xsrq_pingpong -g 0 -n 100
for test in ib_send_lat ib_send_bw ib_write_lat ib_write_bw ib_read_lat ib_read_bw ib_atomic_lat ib_atomic_bw; do
	pp $test $test -n 100 -F
done
pp send_bw_ud ib_send_bw -c UD -n 100 -F
pp write_bw_uc ib_write_bw -c UC -n 100 -F
pp send_bw_xrc ib_send_bw -c XRC -n 100 -F
pp send_bw_srq ib_send_bw --use-srq -n 100 -F
pp send_lat_events ib_send_lat -e -n 100 -F
pp write_bw_both ib_write_bw -b -n 100 -F
pp send_bw_4qps ib_send_bw -q 4 -n 100 -F

cm() {
	local name=$1 port
	port=$(free_port)
	round "$name" cm_both TCP "$port" "${2//PORT/$port}" "${3//PORT/$port}"
}
cm rping "rping -s -p PORT -C 20" "rping -c -p PORT -a $ADDR -C 20 -V"
recorded_in_time() {
	in_time recorded "$@"
}
# One buffer for what is sent and what is received: the program puts back what lay there before.
for test in ib_send_bw ib_write_bw ib_read_lat ib_atomic_bw; do
	RECORD=recorded_in_time cm ${test}_cm "$test -R -n 100 -F -p PORT" "$test -R -n 100 -F -p PORT $ADDR"
done
cm ucmatose "ucmatose -p PORT" "ucmatose -s $ADDR -p PORT"

# Its port is its own.
round udaddy cm_both UDP 7174 "udaddy -b $ADDR" "udaddy -s $ADDR"

done_testing
