# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Two fabrics that speak RoCE v2 over a veth pair, next to plain UDP over the same; sourced by tests/bench/run. Without
# network namespaces ROCE_A stays empty, and nothing is measured.

ROCE_A=() ROCE_B=() ROCE_PIDS=()
ROCE_ADDR_A=192.0.2.1 ROCE_ADDR_B=192.0.2.2
# Payloads of packets, and bytes of the datagrams: with a BTH, the RETH that most requests of one packet have, an ICRC.
ROCE_MTUS=(1024 4096)
ROCE_HEADERS=32
ROCE_VETH_MTU=9000

# roce_start - the namespaces, the veth pair, and the fabrics
roce_start() {
	local make=(unshare -n) enter=(-n)
	is_root || make=(unshare -rn) enter=(-U --preserve-credentials -n)
	"${make[@]}" true 2>/dev/null || return 0
	"${make[@]}" sleep infinity &
	ROCE_PIDS=($!)
	ROCE_A=(nsenter -t $! "${enter[@]}")
	wait_for 10 other_netns $! || return
	"${ROCE_A[@]}" unshare -n sleep infinity &
	ROCE_PIDS+=($!)
	ROCE_B=(nsenter -t $! "${enter[@]}")
	wait_for 10 roce_b_is_apart && wait_for 10 roce_veth || return
	in_roce on_a fabric start --fabric roce --roce $ROCE_ADDR_A &&
		in_roce on_b fabric start --fabric roce --roce $ROCE_ADDR_B
}

# shellcheck disable=SC2317
roce_b_is_apart() {
	other_netns "${ROCE_PIDS[1]}" && [ "$("${ROCE_A[@]}" readlink /proc/self/ns/net)" != \
		"$(readlink "/proc/${ROCE_PIDS[1]}/ns/net")" ]
}

# shellcheck disable=SC2317
roce_veth() {
	"${ROCE_A[@]}" ip link set lo up && "${ROCE_B[@]}" ip link set lo up &&
		"${ROCE_A[@]}" ip link add veth0 mtu $ROCE_VETH_MTU type veth peer name veth1 netns "${ROCE_PIDS[1]}" &&
		"${ROCE_B[@]}" ip link set veth1 mtu $ROCE_VETH_MTU up &&
		"${ROCE_A[@]}" ip link set veth0 up &&
		"${ROCE_A[@]}" ip addr add $ROCE_ADDR_A/24 dev veth0 &&
		"${ROCE_B[@]}" ip addr add $ROCE_ADDR_B/24 dev veth1
}

in_roce() {
	local IN_A=("${ROCE_A[@]}" "${IN_A[@]}") IN_B=("${ROCE_B[@]}" "${IN_B[@]}") NODE_A=() NODE_B=()
	local OOB=$ROCE_ADDR_A
	"$@"
}

roce_stop() {
	[ ${#ROCE_PIDS[@]} != 0 ] || return 0
	in_roce on_a fabric stop --fabric roce >/dev/null 2>&1
	in_roce on_b fabric stop --fabric roce >/dev/null 2>&1
	kill "${ROCE_PIDS[@]}"
}

# roce_limits - plain UDP's figures
roce_limits() {
	local m segments=()
	for m in "${ROCE_MTUS[@]}"; do
		segments+=($((m + ROCE_HEADERS)))
	done
	note limits_udp
	if "${ROCE_A[@]}" "$BUILD/bench/limits_udp" $ROCE_ADDR_A $ROCE_ADDR_B "${ROCE_PIDS[1]}" "${segments[@]}" \
		>"$dir/limits" 2>"$dir/log"; then
		json '"\n".join(f"{k} {v}" for k, v in d.items() if k != "cpus")' <"$dir/limits" >>"$samples"
	else
		failure limits_udp
		return 1
	fi
}

# roce - round trips and bandwidth, next to UDP's of the same moment
roce() {
	local PAIR='in_roce across' RDMAEMU_FABRIC=roce m t
	[ ${#ROCE_A[@]} != 0 ] || return 0
	export RDMAEMU_FABRIC
	roce_limits || return
	for t in send write; do
		perf roce_${t}_lat 6 ib_${t}_lat -x $GID -s 2 -n 2000
	done
	for m in "${ROCE_MTUS[@]}"; do
		roce_limits || return
		for t in write read; do
			perf "roce_${t}_bw_$m" 4 ib_${t}_bw -x $GID -m "$m" -s 1048576 -n 1000
		done
	done
}
