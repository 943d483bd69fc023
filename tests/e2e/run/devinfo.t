#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: what a node has
# ibv_devices and ibv_devinfo show the device.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devices ibv_devinfo

devices=$(emu ibv_devices 2>&1)
check "ibv_devices exits with 0" emu ibv_devices
is "ibv_devices lists one device" "$(sed 1,2d <<<"$devices" | grep -cE '^ +[a-z0-9_]+[[:space:]]+[0-9a-f]{16}$')" 1

info=$(emu ibv_devinfo -v 2>&1)
status=$?
is "ibv_devinfo -v exits with 0" $status 0

# has NAME PATTERN - a line of ibv_devinfo -v
has() {
	if grep -qE "$2" <<<"$info"; then
		ok "$1"
	else
		not_ok "$1" "no line matches: $2" "$(grep -E "${2%%:*}:" <<<"$info")"
	fi
}

has "port is active" '^[[:space:]]*state:[[:space:]]+PORT_ACTIVE \(4\)'
has "link layer is Ethernet" '^[[:space:]]*link_layer:[[:space:]]+Ethernet'
has "transport is InfiniBand" '^[[:space:]]*transport:[[:space:]]+InfiniBand \(0\)'
has "one port" '^[[:space:]]*phys_port_cnt:[[:space:]]+1$'
has "active MTU" '^[[:space:]]*active_mtu:[[:space:]]+(256|512|1024|2048|4096) \([1-5]\)'
has "max MTU" '^[[:space:]]*max_mtu:[[:space:]]+4096 \(5\)'
has "link is up" '^[[:space:]]*phys_state:[[:space:]]+LINK_UP \(5\)'
has "node GUID" '^[[:space:]]*node_guid:[[:space:]]+([0-9a-f]{4}:){3}[0-9a-f]{4}$'
has "IPv4-mapped GID" '^[[:space:]]*GID\[.*::ffff:[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+'
has "GIDs are RoCE v2" '^[[:space:]]*GID\[.*RoCE v2'
has "atomics" '^[[:space:]]*atomic_cap:[[:space:]]+ATOMIC_(HCA|GLOB)'
has "at least one P_Key" '^[[:space:]]*max_pkeys:[[:space:]]+[1-9]'
has "QPs" '^[[:space:]]*max_qp:[[:space:]]+[1-9][0-9]{2,}$'
has "work requests" '^[[:space:]]*max_qp_wr:[[:space:]]+[1-9][0-9]{2,}$'
has "CQ entries" '^[[:space:]]*max_cqe:[[:space:]]+[1-9][0-9]{3,}$'
has "reads and atomics" '^[[:space:]]*max_qp_rd_atom:[[:space:]]+[1-9]'
has "completion vectors" '^[[:space:]]*num_comp_vectors:[[:space:]]+[1-9]'

if grep -q 'GID\[.*RoCE v1' <<<"$info"; then
	not_ok "no GID is of RoCE v1" "$(grep 'RoCE v1' <<<"$info")"
else
	ok "no GID is of RoCE v1"
fi
is "nothing on standard error" "$(emu ibv_devinfo 2>&1 >/dev/null)" ""

name=$(sed -n 's/^hca_id:[[:space:]]*//p' <<<"$info")
case $name in
mlx*) not_ok "the device's name claims no vendor" "$name" ;;
*) ok "the device's name claims no vendor" ;;
esac
# attr FILE - an attribute of the device in sysfs
attr() {
	emu cat "/sys/class/infiniband/$name/$1"
}
has "sysfs and the verbs agree on the firmware" "^[[:space:]]*fw_ver:[[:space:]]+$(attr fw_ver)\$"
has "on the revision" "^[[:space:]]*hw_ver:[[:space:]]+$(attr hw_rev)\$"
has "on the vendor" "^[[:space:]]*vendor_id:[[:space:]]+0x[0-9a-f]*$(attr device/vendor | cut -c3-)\$"
has "on the part" "^[[:space:]]*vendor_part_id:[[:space:]]+$(($(attr device/device)))\$"

is "ibv_devinfo -d finds it by name" \
	"$(emu ibv_devinfo -d "$name" 2>/dev/null | sed -n 's/^hca_id:[[:space:]]*//p')" "$name"
is "ibv_devinfo -l lists it" "$(emu ibv_devinfo -l 2>/dev/null | sed -n 2p | tr -d '[:space:]')" "$name"
if emu ibv_devinfo -d no_such_device >/dev/null 2>&1; then
	not_ok "an unknown device is refused"
else
	ok "an unknown device is refused"
fi
done_testing
