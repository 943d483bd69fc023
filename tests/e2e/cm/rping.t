#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# rping with each of its options.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need rping

here=$ADDR
rping_reap default isolated >/dev/null 2>&1 &

# ping SERVER-ARGS CLIENT-ARGS... - both sides, by IPv4
ping() {
	local port server=$1
	shift
	port=$(free_port)
	cm_both TCP "$port" "rping -s -p $port $server" "rping -c -p $port -a $here $*"
}

rping_check() {
	check "rping -s $1, -c ${*:2}" ping "$@"
}

rping_check "" -C 1
rping_check "" -C 1000
rping_check "-C 100" -C 100
rping_check "" -C 100 -V
rping_check "-q" -C 20 -V
rping_check "" -C 20 -V -q
rping_check "-q" -C 20 -V -q
rping_check "" -C 20 -V -I $CLIENT
rping_check "-a $ADDR" -C 20 -V
rping_check "-d" -C 3 -V -d
for size in 30 64 100 1000 4096 4097 65535; do
	rping_check "-S $size" -C 20 -V -S $size
done

# -v shows each message on both sides.
verbose() {
	ping "-v -S 100" -C 10 -v -S 100 && says client.out 10 '^ping data: rdma-ping-[0-9]: ' &&
		says server.out 10 '^server ping data: rdma-ping-[0-9]: '
}
check "rping -v: ten messages on either side" verbose

v6() {
	local port
	port=$(free_port)
	cm_both TCP "$port" "rping -s -p $port -a $1" "rping -c -p $port -a $ADDR6 -C 20 -V"
}
check "rping over IPv6" v6 $ADDR6
check "rping over IPv6, -a ::0" v6 ::0

# refused PATTERN ARGS... - the client fails and says why
refused() {
	local status=0 pattern=$1
	shift
	cm_client rping -c -C 1 "$@" || status=$?
	failed $status && grep -q "$pattern" "$TEST_DIR/client.out" && return
	echo "status $status, or not \"$pattern\":"
	cat "$TEST_DIR/client.out"
	return 1
}
check "nobody listens" refused RDMA_CM_EVENT_REJECTED -p "$(free_port)" -a $ADDR
# A wire asks nobody whether a host has an address: the request for a connection gets no answer.
nobody=RDMA_CM_EVENT_ADDR_ERROR
! by_wire || nobody=RDMA_CM_EVENT_UNREACHABLE
check "an address of nobody" refused $nobody -p "$(free_port)" -a 192.0.2.77
check "a name of nobody" refused "getaddrinfo failed" -a no.such.name.invalid
check "a size that is too small" refused "Invalid size" -a $ADDR -S 5
check "a size that is too large" refused "Invalid size" -a $ADDR -S 65537

taken() {
	local port status=0
	port=$(free_port)
	cm_start TCP "$port" rping -s -p "$port" || return
	run_a rping -s -p "$port" >"$TEST_DIR/out" 2>&1 </dev/null || status=$?
	cm_stop
	failed $status && grep -q rdma_bind_addr: "$TEST_DIR/out" && return
	echo "status $status"
	cat "$TEST_DIR/out"
	return 1
}
check "a second server on its port" taken

# One server, many clients: one after the other, and at the same time.
persistent() {
	local port i pids=() bad=0 status CMD
	port=$(free_port)
	cm_start TCP "$port" rping -s -P -S 65535 -p "$port" || return
	for i in 1 2 3; do
		cm_client rping -c -p "$port" -a $ADDR -C 50 -V || bad=1
	done
	# Several at a time, but not at the same moment: the server has room for one pending request,
	# and loses one of two.
	for i in 1 2 3 4 5; do
		rm -f "$TEST_DIR/client.$i"
		command_b rping -c -p "$port" -a $ADDR -C 200 -V -v -S $((i * 1000))
		"${CMD[@]}" >"$TEST_DIR/client.$i" 2>&1 </dev/null &
		pids+=($!)
		wait_for 30 grep -qs -e ping -e EVENT -e event "$TEST_DIR/client.$i" || bad=1
	done
	for i in 1 2 3 4 5; do
		status=0
		wait "${pids[i - 1]}" || status=$?
		did_well $status "$TEST_DIR/client.$i" && continue
		echo "client $i: status $status"
		bad=1
	done
	# It serves on.
	cm_client rping -c -p "$port" -a $ADDR -C 5 -V || bad=1
	kill -0 "$SERVER" 2>/dev/null || bad=1
	cm_stop
	[ $bad = 0 ] && return
	tail -n 20 "$TEST_DIR"/client* "$TEST_DIR/server.out"
	return 1
}
# The size of a client's READs and WRITEs must fit the server's buffer.
check "rping -P: a persistent server" persistent

# A server killed in the middle: its client is told and ends.
killed() {
	local port client status=0 CMD
	port=$(free_port)
	cm_start TCP "$port" rping -s -p "$port" || return
	rm -f "$TEST_DIR/client.out"
	command_b rping -c -p "$port" -a $ADDR -v
	"${CMD[@]}" >"$TEST_DIR/client.out" 2>&1 </dev/null &
	client=$!
	wait_for 30 grep -qs "^ping data: " "$TEST_DIR/client.out" && kill -0 $client || return
	kill -KILL "$(pgrep -P "$SERVER")"
	wait "$SERVER"
	wait $client || status=$?
	[ $status != 124 ] && grep -q DISCONNECT "$TEST_DIR/client.out" && return
	echo "client: status $status"
	tail -n 20 "$TEST_DIR/client.out"
	return 1
}
check "a server that is killed: the client is disconnected" killed

can_isolate || { skip "isolated: rping" "this system has no asynchronous I/O"; done_testing; exit; }
check "isolated: rping -C 100 -V" isolated ping "" -C 100 -V
check "isolated: rping -C 20 -V -S 65535" isolated ping "-S 65535" -C 20 -V -S 65535
check "isolated: rping -C 20 -V -q" isolated ping "-q" -C 20 -V -q
check "isolated: rping -P" isolated persistent
done_testing
