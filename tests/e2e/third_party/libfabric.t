#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# libfabric's verbs provider, with its fi_pingpong: connected endpoints, datagrams, and the layers over either
# (RxM, RxD). It finds devices by the addresses of the machine's interfaces.
. "$(dirname "$0")/../../lib/lib.sh"
need fi_pingpong fi_info
# It looks at no loopback address.
[ "$SETTING" != one ] || [ -n "$(ip -o addr show up scope global 2>/dev/null)" ] ||
	skip_all "this machine has no interface with an address"

# Datagrams leave from this GID. By default it is the first one: link-local, and no wire has that.
export FI_VERBS_GID_IDX=$GID6

listed() {
	local protocol
	run_a fi_info -p verbs >"$TEST_DIR/info.out" 2>&1 </dev/null || return
	for protocol in RDMA_CM_IB_RC IB_UD RXM; do
		grep -q "FI_PROTO_$protocol$" "$TEST_DIR/info.out" || return
	done
}
check "fi_info: the verbs provider's endpoints" listed || cat "$TEST_DIR/info.out"

# fi PROVIDER ENDPOINT ARGS... - data compared by itself (-c)
fi_pair() {
	SERVER_PORT=-B CLIENT_PORT=-P pair_run fi_pingpong -p "$1" -e "$2" -c "${@:3}"
}

# rxm ARGS... - a side that sees its peer's disconnection before it looks at its completions once more (it did not
# have the CPU in between) throws away what it still waits for: that its last message has arrived, or the other's. So
# what counts is that each side has compared its data and printed its result.
rxm() {
	local port client CMD
	port=$(free_port)
	rm -f "$TEST_DIR"/{server,client}.out
	command_a stdbuf -oL fi_pingpong -p "verbs;ofi_rxm" -e rdm -c -B "$port" "$@" || return
	"${CMD[@]}" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	SERVER=$!
	wait_listen "$port" $SERVER || return
	command_b stdbuf -oL fi_pingpong -p "verbs;ofi_rxm" -e rdm -c -P "$port" "$@" "$ADDR" || return
	"${CMD[@]}" >"$TEST_DIR/client.out" 2>&1 </dev/null &
	client=$!
	wait_for 45 results
	kill $SERVER $client 2>/dev/null
	wait $SERVER $client
	results && return
	tail -n 6 "$TEST_DIR"/{server,client}.out
	return 1
}

results() {
	grep -q ' 20 *=20 ' "$TEST_DIR/server.out" && grep -q ' 20 *=20 ' "$TEST_DIR/client.out"
}

for size in 1 4096 1048576; do
	check "connected endpoints, $size bytes" fi_pair verbs msg -I 20 -S $size
	check "RxM over them, $size bytes" rxm -I 20 -S $size
	check "RxM over them, tagged, $size bytes" rxm -I 20 -S $size -m tagged
done
for size in 1 1024; do
	check "datagrams, $size bytes" fi_pair verbs dgram -I 20 -S $size
	check "RxD over them, $size bytes" fi_pair "verbs;ofi_rxd" rdm -I 20 -S $size
done
done_testing
