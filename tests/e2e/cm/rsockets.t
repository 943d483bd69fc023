#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# waits
# settings: one nodes fabrics
# rsockets: the real library's code over our rdma_cm, with its own programs, and preloaded into plain
# TCP programs. Its standard tests are in tests/e2e/cm/rsockets_standard_tests.t.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rsockets.sh"
need rstream riostream rcopy udpong

for t in b n r v "b -T v" "r -T b"; do
	stream_check 1 rstream -I 10 -C 20 -S 5000 -T $t
done
# A client that polls for the last message when the server has already shut down takes POLLHUP for an
# error (16). The server's results show how much it had sent and received by then.
async() {
	local port client=0 server=0
	port=$(free_port)
	cm_start TCP "$port" "$@" -p "$port" || return
	cm_client "$@" -p "$port" -s $ADDR || client=$?
	wait "$SERVER" || server=$?
	[ $server = 0 ] && { [ $client = 0 ] || [ $client = 16 ]; } &&
		says server.out 1 '^[^ ]+ +[0-9].*s +[0-9.]+ +[0-9.]+$' && return
	echo "server: status $server, client: status $client"
	tail -n 20 "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
for t in a "a -T b" "a -T v"; do
	check "rstream -T $t" async rstream -I 10 -C 20 -S 5000 -T $t
done
stream_check 1 rstream -I 10 -C 20 -B 65536
stream_check 1 rstream -I 10 -C 20 -i 0
stream_check 1 rstream -I 10 -C 20 -f ip
sizes="1 64 65 4096 100000 5000000"
if [ "$SLOW" != 1 ]; then
	skip "rstream -S 1" "sends 16 bytes of a buffer that has one, which a sanitizer ends"
	sizes=${sizes#1 }
fi
for size in $sizes; do
	stream_check 1 rstream -I 2 -C 5 -S $size -T v
done
# all_sizes PROGRAM - those of its option -S all, from 64 bytes to 6 MiB
all_sizes() {
	local size
	for ((size = 64; size <= 4 << 20; size *= 2)); do
		stream 1 "$1" -T b -I 2 -C 3 -S $size && stream 1 "$1" -T b -I 2 -C 3 -S $((size + size / 2)) || {
			echo "at $size bytes"
			return 1
		}
	done
}
for program in rstream riostream; do
	in_one check "$program: all sizes of its standard tests" all_sizes $program
done
for t in a "a -T b"; do
	check "riostream -T $t" async riostream -I 10 -C 10 -S 5000 -T $t
done
for t in b n v "b -T v"; do
	stream_check 1 riostream -I 10 -C 10 -S 5000 -T $t
done

keepalive() {
	local port
	port=$(free_port)
	cm_both TCP "$port" "rstream -k 1 -I 10 -C 10 -p $port" \
		"rstream -k 1 -I 10 -C 10 -p $port -s $ADDR" && says client.out 1 '^Keepalive: ON'
}
check "rstream -k" keepalive

v6() {
	local port
	port=$(free_port)
	cm_both TCP "$port" "rstream -I 10 -p $port -b $ADDR6" "rstream -I 10 -p $port -s $ADDR6" &&
		says client.out 2 .
}
check "rstream over IPv6" v6

# Without -T b it does not wait in connect(), and prints that poll() returned an error (POLLERR, 8).
refused() {
	local status=0
	cm_client "$@" -s $ADDR -p "$(free_port)" || status=$?
	failed $status && grep -q "Connection refused" "$TEST_DIR/client.out" &&
		return
	[ "$*" = rstream ] && [ $status = 8 ] && return
	echo "status $status:"
	cat "$TEST_DIR/client.out"
	return 1
}
check "rstream: nobody listens" refused rstream
check "rstream -T b: nobody listens" refused rstream -T b

# datagrams ARGS... - udpong's server does not end. Datagrams of rsockets have no GRH, which only
# InfiniBand allows, and their QP is bound to the socket's own address, which loopback ones are not.
case $SETTING in
one) OWN=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m1 -v :) || OWN='' ;;
*) OWN=$ADDR ;;
esac
datagrams() {
	local port RDMAEMU_PROFILE=infiniband RDMAEMU_FABRIC=${RDMAEMU_FABRIC-}datagrams
	export RDMAEMU_PROFILE RDMAEMU_FABRIC
	port=$(free_port)
	SERVER_ENDS=no cm_both UDP-SOCKET "$port" "udpong -b $OWN -p $port $*" \
		"udpong -b ${OWN/$ADDR/$CLIENT} -p $port -s $OWN $*" &&
		! grep -i error "$TEST_DIR/client.out" && grep -q . "$TEST_DIR/client.out"
}
udpong() {
	if [ "$SETTING" = nodes ]; then
		# Their sockets send to the node's address, of which the kernel knows nothing.
		:
	elif by_wire; then
		skip "udpong $*" "wires are of RoCE ports"
	elif [ -n "$OWN" ]; then
		check "udpong $*" datagrams "$@"
	else
		skip "udpong $*" "no address but loopback ones"
	fi
}
for args in "-C 100" "-C 100 -S 16" "-C 100 -S 1000 -T a" "-C 100 -T b" "-C 100 -T n" "-C 50 -T e" \
	"-C 20 -T e -T b"; do
	# shellcheck disable=SC2086
	udpong $args
done

# Files, one after the other to one server.
copy() {
	local port size bad=0
	port=$(free_port)
	cm_start TCP "$port" rcopy -p "$port" || return
	for size in 1 4096 1000001 30000000; do
		head -c $size /dev/urandom >"$TEST_DIR/from"
		rm -f "$TEST_DIR/to"
		cm_client rcopy "$TEST_DIR/from" "$ADDR:$TEST_DIR/to" -p "$port" &&
			cmp "$TEST_DIR/from" "$TEST_DIR/to" || bad=1
	done
	cm_stop
	[ $bad = 0 ] && return
	tail -n 20 "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
check "rcopy: files of up to 30 MB" copy

check "isolated: rstream" isolated stream 1 rstream -I 10 -C 20 -T v
check "isolated: rstream -T b -T v" isolated stream 1 rstream -I 10 -C 20 -T b -T v
[ -z "$OWN" ] || [ "$SETTING" = nodes ] || by_wire || check "isolated: udpong" isolated datagrams -C 100
check "isolated: rcopy" isolated copy

# Plain TCP programs: an rdma_cm port in the status shows that they do not use TCP.
preload=$(ls /usr/lib/*/rsocket/librspreload.so /usr/lib*/rsocket/librspreload.so 2>/dev/null | head -n 1)
if [ -z "$preload" ]; then
	skip "plain programs over librspreload" "librdmacm has no librspreload.so here"
	done_testing
fi
SERVER_ENV=LD_PRELOAD=$preload
CLIENT_ENV=$SERVER_ENV

stream_check 1 rstream -I 10 -C 20 -T s
stream_check 1 rstream -I 10 -C 20 -T s -T b -T v
check "rstream -T s -T a" async rstream -I 10 -C 20 -T s -T a

# The other order: behind what rdmaemu preloads, set by a shell.
second() {
	local port
	port=$(free_port)
	# shellcheck disable=SC2016
	SERVER_ENV='' cm_start TCP "$port" sh -c 'LD_PRELOAD=$LD_PRELOAD:'"$preload"' exec "$@"' sh \
		rstream -T s -I 10 -p "$port" || return
	# shellcheck disable=SC2016
	CLIENT_ENV='' cm_client sh -c 'LD_PRELOAD='"$preload"':$LD_PRELOAD exec "$@"' sh \
		rstream -T s -I 10 -p "$port" -s $ADDR || { cat "$TEST_DIR/client.out"; cm_stop; return 1; }
	wait "$SERVER" && says client.out 2 .
}
check "either order of preloading" second

# fetch PORT SIZE COMMAND... - a client gets what sys_tcp serves
fetch() {
	local port=$1 size=$2
	shift 2
	cm_client "$@" "http://$ADDR:$port/$size" || { cat "$TEST_DIR/client.out"; return 1; }
	/usr/bin/python3 -c 'import sys
got = open(sys.argv[1], "rb").read()
n = int(sys.argv[2])
sys.exit(got != (bytes(range(251)) * (n // 251 + 1))[:n])' "$TEST_DIR/got" "$size"
}

plain() {
	local port
	port=$(free_port)
	rm -f "$TEST_DIR/got"
	cm_start TCP "$port" "$T/sys_tcp" "$port" 3 || return
	fetch "$port" 10 "$@" && fetch "$port" 100000 "$@" && fetch "$port" 5000000 "$@" &&
		wait "$SERVER" && return
	cm_stop
	cat "$TEST_DIR/server.out"
	return 1
}
# Python does not do: it asks for its sockets with SOCK_CLOEXEC, which the library leaves alone.
if command -v curl >/dev/null; then
	check "curl" plain curl -sS --http1.0 -o "$TEST_DIR/got"
else
	skip "curl" "not installed"
fi

# A server that forks: its library waits for the first data to make the connection.
SERVER_ENV="$SERVER_ENV RDMAV_FORK_SAFE=1"
CLIENT_ENV=$SERVER_ENV
forking() {
	local port status=0 CMD cmd=(rstream -T f -I 10 -C 20 -S 5000)
	port=$(free_port)
	command_a "${cmd[@]}" -p "$port" || return
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	SERVER=$!
	wait_listen "$port" $SERVER && cm_client "${cmd[@]}" -p "$port" -s $ADDR || status=$?
	[ $status = 0 ] || cm_stop
	wait $SERVER || status=$?
	[ $status = 0 ] && says client.out 2 . && return
	tail -n 20 "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
# It asks its TCP socket for the peer's address: between nodes, that is the loopback one.
[ "$SETTING" = nodes ] || check "rstream -T f: a server that forks" forking
done_testing
