#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one: fabrics of its own, whose processes have all packets
# Chaos and more correct programs: rdma_cm, many threads, byte order, sockets, raw frames, the death of peers.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need rping ucmatose udaddy rstream

export RDMAEMU_LINGER=60000
# of_cm SPACE SERVER CLIENT - programs of the rdma_cm; %p stands for the port, without one it is udaddy's
of_cm() {
	local port=7174
	[[ $2 != *%p* ]] || port=$(free_port)
	check "$name: $2" cm_both "$1" "$port" "${2//%p/$port}" "${3//%p/$port}"
}

for seed in 1 2; do
	export RDMAEMU_CHAOS=$seed
	name="seed $seed"
	"$RDMAEMU" fabric start
	app app_cm_conn remote
	app app_cm_reject local
	app app_cm_sync remote
	app app_cm_mcast local
	app app_cm_chan
	app app_cm_threads
	app app_device_threads $((200 / SLOW))
	app app_qp_order remote $((1000 / SLOW))
	app app_qp_kill peer
	app app_raw_frames remote
	of_cm TCP "rping -s -a $ADDR -p %p -C 50 -V" "rping -c -a $ADDR -p %p -C 50 -V"
	of_cm TCP "ucmatose -p %p -c 20 -C 5" "ucmatose -s $ADDR -p %p -c 20 -C 5"
	of_cm UDP "udaddy -b $ADDR -C 5" "udaddy -s $ADDR -C 5"
	of_cm TCP "rstream -p %p -I 10 -C 10 -S 5000 -T v" "rstream -p %p -s $ADDR -I 10 -C 10 -S 5000 -T v"
	check "$name: the HCA's memory is sound" audit_all
	"$RDMAEMU" fabric stop >/dev/null
done
done_testing
