#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: rdma(8) shows a node
# NETLINK_RDMA: rdma(8) of iproute2 shows devices, ports, objects and counters of programs.
. "$(dirname "$0")/../../lib/lib.sh"
PATH=$PATH:/sbin:/usr/sbin
need rdma
app app_device_netlink
export RUN_FLAGS='--isolated --fabric isolated'
app app_device_netlink
export RUN_FLAGS='--node far'
app app_device_netlink
# One program's are shown to others, of the same node only.
shows() {
	[ "$(emu rdma -j resource show cm_id | json "[(c['state'], c['src-addr']) for c in d]")" = \
		"[('LISTEN', '0.0.0.0:$port')]" ]
}
export RUN_FLAGS=
if command -v rping >/dev/null; then
	port=$(free_port)
	"$RDMAEMU" run rping -s -a 0.0.0.0 -p "$port" >/dev/null 2>&1 </dev/null &
	server=$!
	check "an identifier that listens is shown" wait_for 20 shows
	is "not on another node" "$("$RDMAEMU" run --node far rdma -j resource show cm_id | tr -d ' \n')" '[]'
	kill $server
	wait $server 2>/dev/null || :
	is "nor when it has gone" "$(emu rdma -j resource show cm_id | tr -d ' \n')" '[]'
else
	skip "an identifier that listens is shown" "rping is not installed"
fi
done_testing
