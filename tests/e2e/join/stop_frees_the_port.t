#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: fabrics of its own
# When `rdmaemu fabric stop` returns, another fabric can listen at the same address.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"

trap 'on_a fabric stop >/dev/null 2>&1' EXIT
port=$(free_port)
restart() {
	local i

	for i in $(seq 20); do
		on_a fabric start --listen "127.0.0.1:$port" && on_a fabric stop || return
	done
}
check "a fabric listens where another one has listened until now, 20 times" restart
done_testing
