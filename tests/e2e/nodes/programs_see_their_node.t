#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: names its nodes itself
# Virtual nodes and topology files: unmodified programs see their node's devices and addresses only.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need ibv_devinfo ibv_rc_pingpong rping ib_send_bw

fabric() {
	limit "$RDMAEMU" fabric "$@"
}

# on NODE COMMAND...
on() {
	local node=$1
	shift
	limit "$RDMAEMU" run --node "$node" -- "$@"
}

check "a fabric" fabric start

# The GIDs that programs on a node see.
gids() {
	on "$1" ibv_devinfo -v | sed -n 's/^.*GID\[ *[0-9]*\]:[[:space:]]*\([^,]*\).*/\1/p' | paste -sd ' '
}
list=$(on a ibv_devinfo -l | sed -n '1!s/^[[:space:]]*//p' | paste -sd ' ')
is "node a has one device" "${list% }" rdmaemu0
is "so has node b, and it has the same name" \
	"$(on b ibv_devinfo -l | grep -c rdmaemu)" 1
is "node a has the first addresses of the subnets" "$(gids a | cut -d ' ' -f 2-)" "::ffff:10.77.0.1 fd77::1"
is "node b has the next ones" "$(gids b | cut -d ' ' -f 2-)" "::ffff:10.77.0.2 fd77::2"
is "a name that was there already is the same node" "$(gids a | cut -d ' ' -f 2)" ::ffff:10.77.0.1
guid_a=$(on a cat /sys/class/infiniband/rdmaemu0/node_guid)
guid_b=$(on b cat /sys/class/infiniband/rdmaemu0/node_guid)
guid_0=$(emu cat /sys/class/infiniband/rdmaemu0/node_guid)
is "each node has a tree in sysfs, with GUIDs of its own" \
	"$(printf '%s\n' "$guid_a" "$guid_b" "$guid_0" | sort -u | grep -c :)" 3
is "sysfs and verbs agree" "$(on b ibv_devinfo | sed -n 's/.*node_guid:[[:space:]]*//p')" "$guid_b"
is "the children of a program are on its node" \
	"$(on b sh -c "'$RDMAEMU' run cat /sys/class/infiniband/rdmaemu0/node_guid")" "$guid_b"
is "without --node a program is on the host" "$(emu ibv_devinfo -v | grep -c 10.77)" 0
check "names of nodes resolve" test "$(on b getent ahostsv4 a | head -n 1 | cut -d ' ' -f 1)" = 10.77.0.1

for name in '' . .. a/b 'a b' -x "$(printf 'x%.0s' {1..41})"; do
	status=0
	limit "$RDMAEMU" run --node="$name" -- true 2>"$TEST_DIR/err" || status=$?
	is "no name: '${name:0:8}'" "$status $(wc -l <"$TEST_DIR/err")" "2 1"
done

# Between two nodes: each side of a pair is on its own.
export PAIR_SERVER='env RDMAEMU_NODE=a' PAIR_CLIENT='env RDMAEMU_NODE=b'
for kind in rc uc ud srq; do
	pair ibv_${kind}_pingpong -g 1 -n 200
done
pair ibv_rc_pingpong -g 2 -n 200
check "the addresses are the nodes'" grep -q 'GID fd77::1$' "$TEST_DIR/client.out"
pair ib_send_bw -n 200
pair ib_write_lat -n 200
pair ib_read_bw -n 200
pair ib_atomic_lat -n 200

# both SERVER CLIENT - an rdma_cm server on a, its client on b
both() {
	local port
	port=$(free_port)
	SERVER_ENV=RDMAEMU_NODE=a CLIENT_ENV=${CLIENT_ENV-RDMAEMU_NODE=b} \
		cm_both TCP "$port" "${1//PORT/$port}" "${2//PORT/$port}"
}
check "rping by address" both "rping -s -p PORT -C 20 -V" "rping -c -p PORT -C 20 -V -a 10.77.0.1"
check "rping by IPv6 address" both "rping -s -p PORT -a ::0 -C 20 -V" "rping -c -p PORT -C 20 -V -a fd77::1"
check "rping by name" both "rping -s -p PORT -C 20 -V" "rping -c -p PORT -C 20 -V -a a"
CLIENT_ENV='' check "rping from the host" both "rping -s -p PORT -C 2" "rping -c -p PORT -C 2 -a a"
check "ib_send_bw -R by name" in_time both "ib_send_bw -F -R -n 100 -p PORT" "ib_send_bw -F -R -n 100 -p PORT a"

# Port numbers are the node's: b listens at the one that a listens at.
same_port() {
	local port status=0 first s=0
	port=$(free_port)
	SERVER_ENV=RDMAEMU_NODE=a cm_start TCP "$port" rping -s -p "$port" -C 3 || return
	first=$SERVER
	on b rping -s -p "$port" -C 3 >"$TEST_DIR/server.b" 2>&1 &
	wait_for 30 two_listen "$port" || status=1
	CLIENT_ENV=RDMAEMU_NODE=b cm_client rping -c -p "$port" -C 3 -a a || status=1
	CLIENT_ENV=RDMAEMU_NODE=a cm_client rping -c -p "$port" -C 3 -a b || status=1
	wait $! || s=$?
	did_well $s "$TEST_DIR/server.b" || status=1
	s=0
	wait $first || s=$?
	did_well $s "$TEST_DIR/server.out" || status=1
	return $status
}
two_listen() {
	[ "$(status_json | json "sum(i['state'] == 'LISTEN' and i['source'].endswith(':$1') for i in d['ids'])")" = 2 ]
}
check "servers of two nodes at one port" same_port

# A socket to the address of a node leads to the host that has them all.
by_name() {
	local port server status=0
	port=$(free_port)
	on a ib_send_bw -F -n 100 -p "$port" >/dev/null 2>&1 &
	server=$!
	wait_listen "$port" $server && on b ib_send_bw -F -n 100 -p "$port" a || status=1
	wait $server && return $status
}
check "ib_send_bw by name, with its socket" by_name

# Queue pairs of two nodes, whose devices have the same name.
servers=()
for node in a b; do
	port=$(free_port)
	on "$node" ibv_rc_pingpong -g 1 -p "$port" >/dev/null 2>&1 &
	servers+=($!)
	wait_listen "$port" $! || not_ok "a server on $node"
done
text=$(limit "$RDMAEMU" status -v)
is "status: whose queue pairs they are" \
	"$(sed -n 's/^qp .* (ibv_rc_pingpong), \([^,]*\).*/\1/p' <<<"$text" | sort | paste -sd ,)" \
	"rdmaemu0 of node a,rdmaemu0 of node b"
is "and in JSON" "$(status_json | json 'sorted((q["device"], q["node"]) for q in d["qps"])')" \
	"[('rdmaemu0', 'a'), ('rdmaemu0', 'b')]"
kill "${servers[@]}"
wait "${servers[@]}" 2>/dev/null

status=$(status_json)
is "status: nodes" "$(json '[n["name"] for n in d["nodes"]]' <<<"$status")" "['node0', 'a', 'b']"
is "status: their addresses" "$(json 'd["nodes"][2]["addresses"]' <<<"$status")" "['10.77.0.2', 'fd77::2']"
is "status: whose device it is" "$(json '[x["node"] for x in d["devices"]]' <<<"$status")" "['node0', 'a', 'b']"
check "counters are the node's own" test "$(on b cat /sys/class/infiniband/rdmaemu0/ports/1/counters/port_xmit_packets)" -gt 1000
is "the host's have counted less" \
	"$(json 'd["devices"][0]["ports"][0]["counters"].get("xmit_packets", 0) < 1000' <<<"$status")" True
check "port down --node" limit "$RDMAEMU" port down --node b
is "only that node's" "$(status_json | json '[x["ports"][0]["state"] for x in d["devices"]]')" \
	"['ACTIVE', 'ACTIVE', 'DOWN']"
is "and its tree shows it" "$(on b cat /sys/class/infiniband/rdmaemu0/ports/1/state)" "1: DOWN"
check "the HCA is sound" test "$(status_json --audit | json 'd["audit"]')" = clean
fabric stop

# InfiniBand: LIDs lead from one node to another, and IP addresses of nodes to their ports.
export RDMAEMU_FABRIC=ib RDMAEMU_PROFILE=infiniband
check "a fabric of InfiniBand" fabric start
PAIR_NAME="InfiniBand: RC by LID" pair ibv_rc_pingpong -n 200
PAIR_NAME="InfiniBand: UD by LID" pair ibv_ud_pingpong -n 200
lids=$(on a cat /sys/class/infiniband/rdmaemu0/ports/{1,2}/lid && on b cat /sys/class/infiniband/rdmaemu0/ports/{1,2}/lid)
is "each port has a LID of its own" "$(sort -u <<<"$lids" | wc -l)" 4
check "InfiniBand: rping by name" both "rping -s -p PORT -C 20 -V" "rping -c -p PORT -C 20 -V -a a"
fabric stop
done_testing
