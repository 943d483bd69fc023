# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Helpers of the tests with programs that use the rdma_cm; sourced after tests/lib/lib.sh.

# cm_listens SPACE PORT PID - whether an identifier listens there, or the process has exited. A test polls
# with it, so it starts no Python; the keys of an identifier stand in this order.
cm_listens() {
	local ids
	kill -0 "$3" 2>/dev/null || return 0
	if [ "$1" = UDP-SOCKET ]; then
		# Datagrams of rsockets begin with a plain socket.
		grep -qs ":$(printf %04X "$2") " /proc/net/udp /proc/net/udp6
		return
	fi
	ids=$(status_json 2>/dev/null)
	[[ $ids =~ \"space\":\"$1\",[^}]*\"state\":\"LISTEN\",[^}]*\"source\":\"[^\"]*:$2\" ]]
}

# rping_finished - print the pids of the rpings in a status that have nothing left of verbs and rdma_cm
rping_finished() {
	json "' '.join(str(c['pid']) for c in d['clients'] if c['name'] == 'rping' and
		not c['qps'] + c['cqs'] + c['mrs'] + c['pds'] and c['pid'] not in {i.get('pid') for i in d['ids']})" 2>/dev/null
}

# rping_reap FABRIC... - run in the background until the test ends, it ends each rping that has finished and cannot
# exit; did_well() accepts that end. From rdma-core 59 on rping's second thread waits in poll() and then calls
# rdma_get_cm_event(). If the main thread calls rdma_destroy_id() in between, that takes the event away, as the kernel's
# does, and the main thread joins a thread that waits indefinitely.
rping_reap() {
	local fabric now before='' pid
	# A program that starts or ends gets further within this time.
	while kill -0 $$ && sleep $((5 * SLOW * PATIENCE)); do
		now=
		for fabric in "$@"; do
			now+=" $(status_json --fabric "$fabric" 2>/dev/null | rping_finished)"
			[ "$SETTING" != fabrics ] ||
				now+=" $(client_status --fabric "$fabric" 2>/dev/null | rping_finished)"
		done
		for pid in $now; do
			[[ " $before " != *" $pid "* ]] || { : >"$TEST_DIR/reaped.$pid" && kill "$pid"; }
		done
		before=$now
	done
}

# cm_start SPACE PORT COMMAND... - start a server in the background and wait until it listens in SPACE (TCP,
# UDP, IB, or a plain TCP-SOCKET or UDP-SOCKET); its pid is in SERVER, its output in $TEST_DIR/server.out.
cm_start() {
	local ps=$1 port=$2 CMD
	shift 2
	command_a "$@" || return
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	SERVER=$!
	if [ "$ps" = TCP-SOCKET ]; then
		wait_listen "$port" $SERVER && return
	else
		wait_for 30 cm_listens "$ps" "$port" $SERVER && kill -0 $SERVER 2>/dev/null && return
	fi
	echo "the server does not listen at $port"
	cm_stop
	cat "$TEST_DIR/server.out"
	return 1
}

# cm_stop - end the server with a signal; leaves its exit status in SERVER_STATUS
cm_stop() {
	kill "$SERVER" 2>/dev/null
	wait "$SERVER"
	SERVER_STATUS=$?
	return 0
}

# cm_client COMMAND... - run a client; its output is in $TEST_DIR/client.out
cm_client() {
	local status=0
	run_b "$@" >"$TEST_DIR/client.out" 2>&1 </dev/null || status=$?
	did_well $status "$TEST_DIR/client.out" || return $status
}

# cm_both SPACE PORT SERVER CLIENT - run two command lines, both of which must succeed. SERVER_ENDS=no: the
# server does not end by itself.
cm_both() {
	local s=0 c=0
	# shellcheck disable=SC2086
	cm_start "$1" "$2" $3 || return
	# shellcheck disable=SC2086
	cm_client $4 || c=$?
	if [ $c != 0 ] || [ "${SERVER_ENDS-}" = no ]; then
		cm_stop
	else
		wait "$SERVER" || s=$?
	fi
	[ $c = 0 ] && did_well $s "$TEST_DIR/server.out" && return
	# 143: it was still running when the client had failed.
	[ $c = 0 ] || s=$SERVER_STATUS
	echo "server: status $s"
	tail -n 20 "$TEST_DIR/server.out"
	echo "client: status $c"
	tail -n 20 "$TEST_DIR/client.out"
	return 1
}

# cmtime_both COUNT SERVER_ADDRESS CLIENT_ADDRESS - cmtime makes COUNT connections. From rdma-core 52 on it also
# connects without queue pairs, and invents their numbers from -q on: the sides need different ones, since one device
# refuses a number that another connection has (STALE_CONN, as ib_cm does). From 60 on the sides are peers, which find
# each other at a TCP port, and both end; before, the server serves on.
cmtime_both() {
	local port usage
	port=$(free_port)
	usage=$(cmtime -h 2>&1)
	case $usage in
	*-C\ controller*)
		cm_both TCP-SOCKET "$port" "cmtime -L -b $2 -C $2 -p $port -c $1" \
			"cmtime -b $3 -C $2 -p $port -q 500000 -c $1" && says client.out 2 '^full connect '
		;;
	*base_qpn*)
		SERVER_ENDS=no cm_both TCP "$port" "cmtime -p $port -c $1" "cmtime -p $port -c $1 -s $2 -q 500000" &&
			says client.out 2 '^ *full connect '
		;;
	*)
		SERVER_ENDS=no cm_both TCP "$port" "cmtime -p $port -c $1" "cmtime -p $port -c $1 -s $2" &&
			says client.out 1 '^ *connect '
		;;
	esac
}

# says FILE COUNT PATTERN - whether exactly COUNT lines of a file match
says() {
	local n
	n=$(grep -cE -- "$3" "$TEST_DIR/$1")
	[ "$n" = "$2" ] && return
	echo "$1: $n lines with \"$3\", not $2:"
	tail -n 20 "$TEST_DIR/$1"
	return 1
}

# failed STATUS - whether a program exited with an error, rather than by a time limit or a signal
failed() {
	[ "$1" != 0 ] && [ "$1" != 124 ] && [ "$1" != 137 ] && [ "$1" != 139 ]
}

# isolated COMMAND... - run it on an isolated fabric
isolated() {
	RDMAEMU_ISOLATED=1 RDMAEMU_FABRIC=isolated "$@"
}
