# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Two more wires of a guest, whose ends are alike: rdma_rxe (rxe_a, rxe_b), and two fabrics with --roce, the second in a
# network namespace of its own (in_second, on_second). Sourced after tests/lib/rxe_wire.sh.

RXE_A=203.0.113.1 RXE_B=203.0.113.2 EMU_A=100.64.0.1 EMU_B=100.64.0.2

rp_filter=$(cat /proc/sys/net/ipv4/conf/all/rp_filter)
unshare -n sleep infinity &
second=$!
second_ended() {
	in_second "$RDMAEMU" fabric stop --fabric second >/dev/null 2>&1
	in_emu ip link delete veth4 2>/dev/null
	kill $second
	ended
	rdma link delete rxe_a
	rdma link delete rxe_b
	the_host_is_local
}
trap second_ended EXIT

in_second() {
	limit nsenter -t $second -n "$@"
}

on_second() {
	in_second "$RDMAEMU" run --fabric second -- "$@"
}

# a_wire_of_fabrics - a veth pair between the namespaces of both fabrics, and the second fabric
a_wire_of_fabrics() {
	wait_for 10 other_netns $second && wait_for 10 other_netns $peer &&
		in_emu ip link add veth4 type veth peer name veth5 netns $second &&
		in_emu ip addr add $EMU_A/24 dev veth4 && in_emu ip link set veth4 up &&
		in_second ip link set lo up && in_second ip addr add $EMU_B/24 dev veth5 &&
		in_second ip link set veth5 up &&
		in_second "$RDMAEMU" fabric start --fabric second --roce $EMU_B
}

# towards ADDRESS OWN IFACE PEER TABLE - have the host reach its own address by a wire: by IFACE, whose address is OWN
towards() {
	ip neigh replace "$1" lladdr "$(cat "/sys/class/net/$4/address")" nud permanent dev "$3" &&
		ip route add "$1" dev "$3" src "$2" table "$5" &&
		ip rule add pref 10 to "$1" lookup "$5" && ip rule add pref 1 iif "$3" lookup local &&
		echo 1 >"/proc/sys/net/ipv4/conf/$3/accept_local" && echo 0 >"/proc/sys/net/ipv4/conf/$3/rp_filter"
}

# the_host_is_local - undo a_wire_of_rxe(): what reaches the host's own addresses stays in it. The tables of routes end
# with their interfaces.
the_host_is_local() {
	ip rule add pref 0 lookup local
	for pref in 100 10 10 1 1; do
		ip rule del pref $pref
	done
	ip link delete veth2
	echo "$rp_filter" >/proc/sys/net/ipv4/conf/all/rp_filter
} 2>/dev/null

# a_wire_of_rxe - a veth pair in this namespace with rdma_rxe on both ends
a_wire_of_rxe() {
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter &&
		ip link add veth2 type veth peer name veth3 && ip addr add $RXE_A/24 dev veth2 &&
		ip addr add $RXE_B/24 dev veth3 && ip link set veth2 up && ip link set veth3 up &&
		towards $RXE_B $RXE_A veth2 veth3 102 && towards $RXE_A $RXE_B veth3 veth2 103 &&
		ip rule add pref 100 lookup local && ip rule del pref 0 &&
		rdma link add rxe_a type rxe netdev veth2 && rdma link add rxe_b type rxe netdev veth3
}

# like_gids - GID_RXE_A and so on: the indices of the GIDs of both wires' ends
like_gids() {
	GID_RXE_A=$(gid_index $RXE_A ibv_devinfo -v -d rxe_a)
	GID_RXE_B=$(gid_index $RXE_B ibv_devinfo -v -d rxe_b)
	GID_EMU_A=$(gid_index $EMU_A on_emu ibv_devinfo -v)
	GID_EMU_B=$(gid_index $EMU_B on_second ibv_devinfo -v)
}
