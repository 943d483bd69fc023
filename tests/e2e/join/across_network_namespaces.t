#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: two fabrics of its own
# Fabrics joined over TCP, each in a network namespace of its own with a veth between them, as for an
# ordinary user in a user namespace, and as for containers on one bridge.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need ibv_rc_pingpong ib_send_bw rping
own_netns

unshare -n sleep 1000 &
peer=$!
trap 'kill $peer 2>/dev/null' EXIT
wait_for 10 other_netns $peer
IN_B=(nsenter -t $peer -n)
ip link set lo up
"${IN_B[@]}" ip link set lo up
if ! ip link add veth0 type veth peer name veth1 netns $peer 2>/dev/null; then
	skip_all "no veth interfaces here"
fi
ip addr add 192.0.2.1/24 dev veth0
ip link set veth0 up
"${IN_B[@]}" ip addr add 192.0.2.2/24 dev veth1
"${IN_B[@]}" ip link set veth1 up

# The hosts' own nodes, with the namespaces' addresses.
NODE_A=() NODE_B=()
ADDR_A=192.0.2.1 OOB=192.0.2.1
GID=1
export TEST_PORTS=$TEST_DIR/ports
port=7471
printf 'a shared secret' >"$TEST_DIR/token"
stop_all() {
	on_a fabric stop >/dev/null 2>&1
	on_b fabric stop >/dev/null 2>&1
	kill $peer
}
trap stop_all EXIT

check "A listens at its address" on_a fabric start --listen 192.0.2.1:$port \
	--token-file "$TEST_DIR/token" --name alpha
# As in a container: by its environment, and started by the first program.
joins_by_run() {
	RDMAEMU_JOIN=192.0.2.1:$port RDMAEMU_TOKEN_FILE=$TEST_DIR/token RDMAEMU_NAME=beta \
		RDMAEMU_LINGER=60000 on_b run -- ibv_devinfo >/dev/null && knows on_b alpha
}
check "B joins by RDMAEMU_JOIN" joins_by_run
all_across " (namespaces)"
local_only() {
	RDMAEMU_DIR=$TEST_DIR/a pair_run ibv_rc_pingpong -n 100 -c
}
check "programs of one side among themselves" local_only
done_testing
