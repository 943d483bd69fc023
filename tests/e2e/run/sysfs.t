#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: files and counters of a node
# /sys/class/infiniband as programs see it: attributes, counters that advance, ports that change state.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devinfo ibv_rc_pingpong ibv_ud_pingpong

D=/sys/class/infiniband/rdmaemu0

fabric() {
	limit "$RDMAEMU" fabric "$@"
}

port() {
	limit "$RDMAEMU" port "$@"
}

# attr FILE - of the device
attr() {
	emu cat "$D/$1"
}

# diff_of NAME FILE... - leaves the difference to what begin() has seen in variables of the names
files=(counters/port_xmit_data counters/port_rcv_data counters/port_xmit_packets counters/port_rcv_packets
	counters/unicast_xmit_packets counters/multicast_xmit_packets counters/multicast_rcv_packets
	hw_counters/sent_pkts hw_counters/rcvd_pkts hw_counters/rdma_sends hw_counters/rdma_recvs
	hw_counters/rcvd_rnr_err hw_counters/send_rnr_err hw_counters/send_err hw_counters/link_downed
	hw_counters/retry_exceeded_err hw_counters/completer_retry_err)
declare -A before grown

snapshot() {
	local i=0 value paths
	paths=("${files[@]/#/$D/ports/1/}")
	while read -r value; do
		snap[${files[i++]}]=$value
	done < <(emu cat "${paths[@]}")
	[ $i = ${#files[@]} ]
}

begin() {
	local -A snap=()
	local f
	snapshot
	for f in "${files[@]}"; do
		before[$f]=${snap[$f]}
	done
}

end() {
	local -A snap=()
	local f
	snapshot
	for f in "${files[@]}"; do
		grown[${f#*/}]=$((snap[$f] - before[$f]))
	done
}

for mode in '' --isolated; do
	check "fabric start $mode" fabric start $mode

	# Attributes agree with the verbs.
	info=$(emu ibv_devinfo -v)
	is "node_type" "$(attr node_type)" "1: CA"
	is "node_guid" "$(attr node_guid)" "$(sed -n 's/^[[:space:]]*node_guid:[[:space:]]*//p' <<<"$info")"
	is "sys_image_guid" "$(attr sys_image_guid)" "$(attr node_guid)"
	is "hw_rev" "$(attr hw_rev)" "0x1"
	is "hca_type" "$(attr hca_type)" "rdmaemu"
	is "state" "$(attr ports/1/state)" "4: ACTIVE"
	is "phys_state" "$(attr ports/1/phys_state)" "5: LinkUp"
	is "rate" "$(attr ports/1/rate)" "100 Gb/sec (4X EDR)"
	is "lid" "$(attr ports/1/lid)" "0x0"
	is "link_layer" "$(attr ports/1/link_layer)" "Ethernet"
	is "cap_mask" "$(attr ports/1/cap_mask)" \
		"$(sed -n 's/^[[:space:]]*port_cap_flags:[[:space:]]*//p' <<<"$info")"
	is "pkeys/0" "$(attr ports/1/pkeys/0)" "0xffff"
	is "gids/0" "$(attr ports/1/gids/0 | cut -c1-19)" "fe80:0000:0000:0000"
	is "gid_attrs/types/0" "$(attr ports/1/gid_attrs/types/0)" "RoCE v2"
	check "gid_attrs/ndevs/0 is an interface" emu sh -c "test -d /sys/class/net/\$(cat $D/ports/1/gid_attrs/ndevs/0)"
	is "an empty GID's type: EINVAL" \
		"$(LC_ALL=C emu cat $D/ports/1/gid_attrs/types/15 2>&1 | sed 's/.*: //')" "Invalid argument"
	is "lifespan" "$(attr ports/1/hw_counters/lifespan)" 10

	# Counters: 100 messages of 4096 bytes each way at a path MTU of 1024 are 4 packets each; RC
	# acknowledges each message.
	begin
	PAIR_NAME="RC traffic $mode" pair ibv_rc_pingpong -g 0 -n 100 -s 4096 -m 1024
	end
	is "rdma_sends" "${grown[rdma_sends]}" 200
	is "rdma_recvs" "${grown[rdma_recvs]}" 200
	is "port_xmit_packets" "${grown[port_xmit_packets]}" 1000
	is "what is sent is received" "${grown[port_rcv_packets]} ${grown[rcvd_pkts]} ${grown[sent_pkts]}" \
		"1000 1000 1000"
	is "unicast" "${grown[unicast_xmit_packets]} ${grown[multicast_xmit_packets]}" "1000 0"
	least=$((200 * 4096 / 4)) most=$((200 * 4096 / 4 + 1000 * 100 / 4))
	if [ "${grown[port_xmit_data]}" -ge $least ] && [ "${grown[port_xmit_data]}" -le $most ]; then
		ok "port_xmit_data: words of payload and headers"
	else
		not_ok "port_xmit_data: words of payload and headers" "${grown[port_xmit_data]}, not $least to $most"
	fi
	is "port_rcv_data" "${grown[port_rcv_data]}" "${grown[port_xmit_data]}"
	is "no errors" "${grown[send_err]} ${grown[retry_exceeded_err]} ${grown[send_rnr_err]}" "0 0 0"
	begin
	PAIR_NAME="UD traffic $mode" pair ibv_ud_pingpong -g 0 -n 100 -s 512
	end
	is "datagrams: no ACKs" "${grown[sent_pkts]} ${grown[rdma_sends]}" "200 200"
	is "relative paths show what was there when the program started" \
		"$(emu sh -c "cd $D/ports/1/hw_counters && cat sent_pkts")" "$(attr ports/1/hw_counters/sent_pkts)"

	# Ports.
	begin
	check "port down" port down
	is "state" "$(attr ports/1/state), $(attr ports/1/phys_state)" "1: DOWN, 3: Disabled"
	is "ibv_devinfo" "$(emu ibv_devinfo | sed -n 's/^[[:space:]]*state:[[:space:]]*//p')" "PORT_DOWN (1)"
	is "status" "$(status_json | json 'd["devices"][0]["ports"][0]["state"]')" DOWN
	check "port up" port up --device rdmaemu0 --port 1
	is "state" "$(attr ports/1/state)" "4: ACTIVE"
	end
	is "link_downed" "${grown[link_downed]}" 1
	check "port pkey" port pkey 0 0x8042
	is "pkeys/0" "$(attr ports/1/pkeys/0)" "0x8042"
	check "and back" port pkey 0 0xffff
	RUN_FLAGS=$mode RDMAEMU_CONTROL=yes app app_device_port "$RDMAEMU"
	check "fabric stop" fabric stop
done

out=$(port down 2>&1)
is "port of no fabric" "$? $out" "1 rdmaemu: fabric default is not running"
fabric start
out=$(port down --device nonesuch 2>&1)
is "port of no device" "$?" 1
out=$(port down --port 2 2>&1)
is "no such port" "$?" 1
out=$(port lid 5 2>&1)
is "no LIDs on Ethernet" "$? $out" "1 rdmaemu: only ports with link layer InfiniBand have LIDs"
out=$(port sideways 2>&1)
is "no such verb" "$?" 2
fabric stop

# InfiniBand.
export RDMAEMU_FABRIC=ib
check "fabric start" fabric start --profile infiniband
is "link_layer" "$(attr ports/2/link_layer)" "InfiniBand"
is "lid, sm_lid" "$(attr ports/2/lid) $(attr ports/2/sm_lid)" "0x3 0x1"
is "pkeys" "$(attr ports/1/pkeys/1) $(attr ports/1/pkeys/7)" "0x8001 0x0000"
is "gid_attrs/types/0" "$(attr ports/1/gid_attrs/types/0)" "IB/RoCE v1"
check "device/net has the interfaces, as with IPoIB" emu sh -c \
	"for i in $D/device/net/*; do test -d \$i && ls /sys/class/net | grep -qx \${i##*/} || exit; done"
check "port lid" port lid --port 2 77
is "lid" "$(attr ports/2/lid)" "0x4d"
is "ibv_devinfo" "$(emu ibv_devinfo -i 2 | sed -n 's/^[[:space:]]*port_lid:[[:space:]]*//p')" 77
pair ibv_rc_pingpong -i 2
port lid --port 1 77 2>/dev/null
is "a LID that another port has" "$?" 1
if command -v ibstat >/dev/null; then
	is "ibstat" "$(emu ibstat rdmaemu0 2 | sed -n 's/^.*Base lid: //p')" 77
else
	skip "ibstat" "not installed"
fi
check "fabric stop" fabric stop
unset RDMAEMU_FABRIC

# GIDs follow the addresses of the host, in a network namespace of its own.
if ! is_root || ! unshare -n true 2>/dev/null || ! command -v ip >/dev/null; then
	skip "addresses that come and go" "needs root, network namespaces and ip"
	done_testing
fi
# shellcheck disable=SC2016
unshare -n bash -c '
	ip link set lo up
	"$1" fabric start --fabric ns
	"$1" run --fabric ns -- timeout 300 stdbuf -oL ibv_asyncwatch >"$2" &
	watch=$!
	for i in $(seq 3000); do
		grep -q "async event FD" "$2" && break
		sleep 0.02
	done
	ip addr add 192.0.2.7/32 dev lo
	for i in $(seq 3000); do
		grep -q GID_CHANGE "$2" && break
		sleep 0.02
	done
	"$1" run --fabric ns -- ibv_devinfo -v | grep "GID\[" >"$2.gids"
	"$1" run --fabric ns -- sh -c "cat /sys/class/infiniband/rdmaemu0/ports/1/gids/*" >"$2.sysfs"
	ip addr del 192.0.2.7/32 dev lo
	for i in $(seq 3000); do
		"$1" run --fabric ns -- ibv_devinfo -v | grep "GID\[" >"$2.after"
		grep -q 192.0.2.7 "$2.after" || break
		sleep 0.02
	done
	kill $watch
	"$1" fabric stop --fabric ns
' ns "$RDMAEMU" "$TEST_DIR/watch" 2>"$TEST_DIR/ns.err"
is "IBV_EVENT_GID_CHANGE" "$(grep -c -m1 GID_CHANGE "$TEST_DIR/watch")" 1
is "the address is a GID" "$(grep -c '::ffff:192.0.2.7' "$TEST_DIR/watch.gids")" 1
check "in sysfs as well" grep -q 'ffff:c000:0207' "$TEST_DIR/watch.sysfs"
is "and gone with the address" "$(grep -c '::ffff:192.0.2.7' "$TEST_DIR/watch.after")" 0
done_testing
