#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: names its nodes itself
# Topology files: the nodes that they create, errors in them, and a thousand nodes.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devinfo ibv_rc_pingpong

fabric() {
	limit "$RDMAEMU" fabric "$@"
}

# sys NODE FILE... - files of /sys/class/infiniband as a program of the node sees them
sys() {
	local node=$1
	shift
	(cd / && limit "$RDMAEMU" run --node "$node" -- cat "${@/#//sys/class/infiniband/}")
}

topo=$TEST_DIR/topo
cat >"$topo" <<-EOF
	# three kinds of nodes
	subnet 10.99.0.0/24
	node small --profile minimal
	node ib --devices 2 --ports=2 --profile infiniband --address 10.98.0.7
	node plain --address 10.99.0.1 --address fd99::1   # told, so that small gets another
	port pkey --node ib --device rdmaemu1 1 0x8123
	port lid --node ib --device rdmaemu1 --port 2 77
	port link --node small delay 1us mtu 256
	port down --node plain
EOF
check "a topology" fabric start --topology "$topo"
status=$(status_json)
is "nodes and devices" "$(json '[(n["name"], n["devices"]) for n in d["nodes"]]' <<<"$status")" \
	"[('node0', 1), ('ib', 2), ('plain', 1), ('small', 1)]"
is "addresses" "$(json '[n["addresses"][0] for n in d["nodes"][1:]]' <<<"$status")" \
	"['10.98.0.7', '10.99.0.1', '10.99.0.5']"
is "a LID" "$(sys ib rdmaemu1/ports/2/lid)" 0x4d
is "a P_Key" "$(sys ib rdmaemu1/ports/1/pkeys/1)" 0x8123
check "which the other device has not" test "$(sys ib rdmaemu0/ports/1/pkeys/1)" != 0x8123
is "a port that is down" "$(sys plain rdmaemu0/ports/1/state)" "1: DOWN"
is "a profile" "$(limit "$RDMAEMU" run --node small ibv_devinfo -v | awk '/max_sge:/ { print $2 }')" 1
check "the same topology again" fabric start --topology "$topo"
echo 'node more' >>"$topo"
status=0
fabric start --topology "$topo" 2>/dev/null || status=$?
is "another one is refused" $status 1
fabric stop

# wrong LINE... - the last line is refused, with one message that names it
wrong() {
	local status=0 n=$#
	printf '%s\n' "$@" >"$topo"
	fabric start --fabric wrong --topology "$topo" 2>"$TEST_DIR/err" || status=$?
	if [[ $status = [12] ]] && [ "$(wc -l <"$TEST_DIR/err")" = 1 ] && grep -q "topo:$n: " "$TEST_DIR/err"; then
		ok "refused: ${*: -1}"
	else
		not_ok "refused: ${*: -1}" "status $status" "$(cat "$TEST_DIR/err")"
	fi
}
wrong 'nodes a'
wrong '# x' '' 'node'
wrong 'node a' 'node a'
wrong 'node node0'
wrong 'node ../x'
wrong 'node a --devices 9'
wrong 'node a --devices 0'
wrong 'node a --ports 3'
wrong 'node a --devices'
wrong 'node a --color red'
wrong 'node a b'
wrong 'node a --profile nothing'
wrong 'node a --address 10.1.2'
wrong 'node a --address 127.0.0.1'
wrong 'node a --address fe80::1'
wrong 'node a --address 10.1.2.3' 'node b --address 10.1.2.3'
wrong 'node a --address 10.1.2.3 --address 10.1.2.4'
wrong 'subnet 10.0.0.1/8'
wrong 'subnet 10.0.0.0/30'
wrong 'subnet fd00::/16'
wrong 'subnet'
wrong 'port'
wrong 'port sideways'
wrong 'port up 1'
wrong 'port down --node b'
wrong 'port down --device mlx5_0'
wrong 'port down --port 2'
wrong 'port lid 5'
wrong 'port pkey 1 0x8001'
wrong 'port pkey 0 0x18001'
wrong 'port link delay'
wrong 'port link delay 5'
wrong 'node a' 'port link --node a rate fast'
wrong 'subnet 10.5.0.0/29' 'node a --devices 8 --ports 2'
wrong 'wire'
wrong 'wire tcp 192.0.2.1'
wrong 'wire roce'
wrong 'wire roce 192.0.2.1, 192.0.2.2'
wrong 'wire roce a,b,c,d,e'
wrong 'wire roce 192.0.2.1' 'wire roce 192.0.2.2'
wrong "node $(printf 'x%.0s ' {1..80})"
is "no fabric was left" "$(fabric status --fabric wrong)" "fabric wrong: not running"
status=0
fabric start --fabric wrong --topology /nonexistent 2>/dev/null || status=$?
is "no such file" $status 2
for subnet in 10.0.0.0 10.0.0.0/33 nonsense 10.0.0.0/16,; do
	status=0
	fabric start --fabric wrong --subnet "$subnet" 2>/dev/null || status=$?
	is "no subnet: $subnet" $status 2
done

for ((i = 1; i <= 1000; i++)); do echo "node n$i"; done >"$topo"
check "1,000 nodes" fabric start --topology "$topo" --subnet 10.66.0.0/16
status=$(status_json)
is "they are there" "$(json '[len(d["nodes"]), len(d["devices"])]' <<<"$status")" "[1001, 1001]"
rss=$(awk '/^VmRSS:/ { print $2 }' "/proc/$(json 'd["pid"]' <<<"$status")/status")
# Sanitizers need several times as much.
check "in less than 32 MiB: $rss KiB" test "$rss" -lt $((32768 * SLOW * SLOW))
is "the last one has its address" "$(json 'd["nodes"][1000]["addresses"][0]' <<<"$status")" 10.66.3.232
export PAIR_SERVER='env RDMAEMU_NODE=n1' PAIR_CLIENT='env RDMAEMU_NODE=n1000'
pair ibv_rc_pingpong -g 1 -n 200
check "the HCA is sound" test "$(status_json --audit | json 'd["audit"]')" = clean
fabric stop
done_testing
