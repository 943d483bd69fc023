#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one nodes fabrics
# The programs of rdmacm-utils but rping (tests/e2e/cm/rping.t) and those of rsockets (tests/e2e/cm/rsockets.t).
. "$(dirname "$0")/../../lib/lib.sh"
# The audits look at fabrics that nobody uses any more.
export RDMAEMU_LINGER=60000
. "$TOP/tests/lib/rdmacm.sh"
need ucmatose udaddy mckey rdma_client rdma_server rdma_xclient rdma_xserver cmtime


# both SPACE PROGRAM ARGS... - server and client with the same arguments. udaddy has no choice of ports: but
# those of the rdma_cm are this test's own, like its fabric.
both() {
	local ps=$1 port=7174
	shift
	if [ "$1" = udaddy ]; then
		cm_both "$ps" $port "$*" "${*//$ADDR/$CLIENT} -s $ADDR"
	else
		port=$(free_port)
		cm_both "$ps" "$port" "$* -p $port" "${*//$ADDR/$CLIENT} -p $port -s $ADDR"
	fi
}

both_check() {
	check "${*:2}" both "$@"
}

# All that these print is of success.
for args in "" "-c 100" "-c 100 -C 1 -S 1" "-C 1000" "-C 0" "-S 1" "-S 4096" "-S 100000" "-t 32" \
	"-a 15" "-m" "-m -c 10" "-c 1000 -C 2" "-b $ADDR" "-f ip"; do
	both_check TCP ucmatose $args
done
both_check IB ucmatose -P ib
for args in "" "-c 10" "-c 100 -C 2" "-C 100" "-S 1" "-S 1024" "-t 32" "-b $ADDR"; do
	both_check UDP udaddy $args
done

v6() {
	cm_both "$1" 7174 "$2 -b ::0 -c 5 $3" "$2 -s $ADDR6 -c 5 $3"
}
check "ucmatose over IPv6" v6 TCP ucmatose "-p 7174"
check "udaddy over IPv6" v6 UDP udaddy ""

# ucmatose's and udaddy's clients when nobody listens
nobody() {
	local status=0
	cm_client "$1" -s $ADDR || status=$?
	grep -q "$2" "$TEST_DIR/client.out" && [ $status != 124 ] && return
	echo "status $status:"
	cat "$TEST_DIR/client.out"
	return 1
}
check "ucmatose: nobody listens" nobody ucmatose "event: RDMA_CM_EVENT_REJECTED, error: 8"
check "udaddy: nobody listens" nobody udaddy "event: RDMA_CM_EVENT_UNREACHABLE, error: 1"

# simple CLIENT SERVER ARGS... - the simple ones, which use endpoints and no channels
simple() {
	local port client=$1 server=$2 space=TCP
	shift 2
	port=$(free_port)
	[ "$*" != "-c x" ] || space=IB
	cm_both $space "$port" "$server -p $port $*" "$client -s $ADDR -p $port $*" &&
		says client.out 1 "^$client: end 0" && says server.out 1 "^$server: end 0"
}
check "rdma_client, rdma_server" simple rdma_client rdma_server
check "rdma_xclient, rdma_xserver" simple rdma_xclient rdma_xserver
check "rdma_xclient -c r" simple rdma_xclient rdma_xserver -c r
check "rdma_xclient -c x" simple rdma_xclient rdma_xserver -c x

# mckey: a receiver that has joined, and then a sender
joined() {
	grep -qs "initiating data transfers\|receiving data transfers" "$TEST_DIR/server.out" ||
		! kill -0 "$1" 2>/dev/null
}

mckey_both() {
	local s=0 c=0 i receivers=1 pids=() group=$1 CMD
	shift
	[ "${1-}" != -2 ] || { receivers=2; shift; }
	for ((i = 0; i < receivers; i++)); do
		command_a stdbuf -oL mckey -m "$group" -b "$MCKEY_A" ${RECV_ARGS-} "$@" || return
		rm -f "$TEST_DIR/server.out"
		"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
		pids+=($!)
		wait_for 30 joined $! || c=1
	done
	[ $c != 0 ] || sleep 0.2
	[ $c != 0 ] || cm_client mckey -m "$group" -b "$MCKEY_B" -s "$@" ${SEND_ARGS-} || c=$?
	for i in "${pids[@]}"; do
		[ $c = 0 ] || kill "$i"
		wait "$i" || s=$?
	done
	[ $s = 0 ] && [ $c = 0 ] && return
	echo "receiver: status $s"
	tail -n 20 "$TEST_DIR/server.out"
	echo "sender: status $c"
	tail -n 20 "$TEST_DIR/client.out"
	return 1
}
MCKEY_A=$ADDR MCKEY_B=$CLIENT
check "mckey -m 239.1.2.3" mckey_both 239.1.2.3
check "mckey -C 100 -S 1000" mckey_both 239.1.2.4 -C 100 -S 1000
check "mckey -c 4" mckey_both 239.1.2.5 -c 4
check "mckey, two receivers" mckey_both 239.1.2.6 -2
SEND_ARGS=-o check "mckey -o" mckey_both 239.1.2.7
check "mckey -p 2" mckey_both 239.1.2.8 -p 0x2
MCKEY_A=$ADDR6 MCKEY_B=$CLIENT6
check "mckey -m ff0e::1:2:3" mckey_both ff0e::1:2:3
SEND_ARGS=-o check "mckey -o, IPv6" mckey_both ff0e::1:2:4 -C 50

# More than 1024 requests at a time overrun the server's backlog, as in a kernel: the rest is sent again, seconds later.
check "cmtime -c 100" cmtime_both 100 "$ADDR" "$CLIENT"
check "cmtime -c 1" cmtime_both 1 "$ADDR" "$CLIENT"
check "cmtime -c 1000" cmtime_both 1000 "$ADDR" "$CLIENT"

check "nothing is left" audit_all

check "isolated: ucmatose -c 20" isolated both TCP ucmatose -c 20
check "isolated: ucmatose -m" isolated both TCP ucmatose -m -c 3
check "isolated: udaddy -c 10" isolated both UDP udaddy -c 10
check "isolated: rdma_client" isolated simple rdma_client rdma_server
check "isolated: rdma_xclient -c x" isolated simple rdma_xclient rdma_xserver -c x
MCKEY_A=$ADDR MCKEY_B=$CLIENT
check "isolated: mckey" isolated mckey_both 239.1.2.9
check "isolated: cmtime -c 100" isolated cmtime_both 100 "$ADDR" "$CLIENT"
check "nothing is left in the isolated fabric" audit_all --fabric isolated
done_testing
