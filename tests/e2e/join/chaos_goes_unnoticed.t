#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: fabrics of its own, whose processes have all packets
# Chaos in joined fabrics: correct programs do not notice.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need ibv_rc_pingpong ib_send_bw ib_write_bw rping udaddy

stop_all() {
	local side
	for side in a b; do
		RDMAEMU_DIR=$TEST_DIR/$side "$RDMAEMU" fabric stop >/dev/null 2>&1
	done
}
trap stop_all EXIT

port=$(free_port)
check "a fabric with chaos" on_a fabric start --listen 127.0.0.1:$port --name alpha --chaos=3
check "and another joins" on_b fabric start --join 127.0.0.1:$port --name beta --chaos=4
on_a run --node na -- true 2>/dev/null
on_b run --node nb -- true 2>/dev/null
check "they know each other" wait_for 20 knows on_b na
check "and the other way" wait_for 20 knows on_a nb
for p in rc uc ud; do
	check "joined: ibv_${p}_pingpong" across ibv_${p}_pingpong -g $GID -n 100 -c
done
check "joined: ib_send_bw" across ib_send_bw -x $GID -s 4096 -n 200
check "joined: ib_write_bw" across ib_write_bw -x $GID -s 262144 -n 50
addr=$(address on_a na)
check "joined: rping" cm_across "rping -s -a $addr -S 3000" "rping -c -a $addr -C 20 -V -S 3000"
check "joined: udaddy" cm_across "udaddy -b $addr -S 500" "udaddy -s $addr -S 500"
for side in on_a on_b; do
	check "$side: the HCA's memory is sound" $side status --audit
done
done_testing
