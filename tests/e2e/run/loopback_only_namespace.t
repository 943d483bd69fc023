#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a namespace of its own
# A network namespace with a loopback interface only, and one without any.
. "$(dirname "$0")/../../lib/lib.sh"
need unshare ip ibv_rc_pingpong
if is_root; then
	ns=(unshare -n)
else
	ns=(unshare -rn)
fi
"${ns[@]}" true 2>/dev/null || skip_all "cannot make network namespaces"

inside() {
	limit "${ns[@]}" "$@"
}

check "loopback down" inside "$RDMAEMU" run -- ibv_devinfo -v
"$RDMAEMU" fabric stop >/dev/null 2>&1
check "pingpong in a namespace of its own" inside bash -c '
	ip link set lo up
	. tests/lib/lib.sh
	pair_run ibv_rc_pingpong -c'
"$RDMAEMU" fabric stop >/dev/null 2>&1

# The GIDs are the addresses of the namespace that the fabric was started in.
info=$(inside bash -c '
	ip link set lo up
	ip link add dummy0 type dummy && ip addr add 192.0.2.7/24 dev dummy0 && ip link set dummy0 up || exit 77
	"'"$RDMAEMU"'" run -- ibv_devinfo -v
	"'"$RDMAEMU"'" fabric stop >/dev/null 2>&1' 2>&1)
if [ $? = 77 ]; then
	skip "GID of a chosen address" "no dummy interface here"
elif grep -q '::ffff:192.0.2.7' <<<"$info"; then
	ok "GID of a chosen address"
else
	not_ok "GID of a chosen address" "$(grep GID <<<"$info")"
fi
done_testing
