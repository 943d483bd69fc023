# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Helpers of the tests with programs that use the rdma_cm; sourced after lib.sh.

# cm_start PS PORT COMMAND... - a server in the background, until it has its port: tcp, udp, or ib; its pid
# is in SERVER and what it prints in $TEST_DIR/server.out. SERVER_ENV may hold variables for it.
cm_start() {
	local ps=$1 port=$2
	shift 2
	# shellcheck disable=SC2086
	(exec env ${SERVER_ENV-} timeout --foreground -k 5 "$LIMIT" "$RDMAEMU" run -- "$@") \
		>"$TEST_DIR/server.out" 2>&1 </dev/null &
	SERVER=$!
	emu "$T/app_cm_wait" "$ps" "$port" $SERVER >"$TEST_DIR/wait.out" 2>&1 && return
	echo "the server does not get port $port"
	cat "$TEST_DIR/wait.out"
	cm_stop
	cat "$TEST_DIR/server.out"
	return 1
}

# cm_stop - end the server by a signal
cm_stop() {
	kill "$SERVER" 2>/dev/null
	wait "$SERVER"
	return 0
}

# cm_client COMMAND... - a client; what it prints is in $TEST_DIR/client.out
cm_client() {
	# shellcheck disable=SC2086
	limit env ${CLIENT_ENV-} "$RDMAEMU" run -- "$@" >"$TEST_DIR/client.out" 2>&1 </dev/null
}

# cm_both PS PORT SERVER CLIENT - commands of plain words: both must succeed. SERVER_ENDS=no: the server does not
# end by itself.
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
	[ $s = 0 ] && [ $c = 0 ] && return
	echo "server: status $s"
	tail -n 20 "$TEST_DIR/server.out"
	echo "client: status $c"
	tail -n 20 "$TEST_DIR/client.out"
	return 1
}

# says FILE COUNT PATTERN - that many lines of a file match
says() {
	local n
	n=$(grep -cE -- "$3" "$TEST_DIR/$1")
	[ "$n" = "$2" ] && return
	echo "$1: $n lines with \"$3\", not $2:"
	tail -n 20 "$TEST_DIR/$1"
	return 1
}

# isolated COMMAND... - in a fabric that runs everything itself
isolated() {
	RDMAEMU_ISOLATED=1 RDMAEMU_FABRIC=isolated "$@"
}
