#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 2
# settings: one: fabrics of its own
# A queue pair that is attached to a group misses nothing that another host sends from then on.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need mckey
roce_netns

check "a fabric with a wire" on_a fabric start --roce veth0
check "an isolated fabric" on_b fabric start --isolated --roce veth1
check "attached is joined" on_a run -- "$T/app_ud_mcast_at_once" 200 veth0
check "in an isolated fabric, too" on_b run -- "$T/app_ud_mcast_at_once" 200 veth1

# A has only said that it has joined.
for ((i = 0; i < 5; i++)); do
	check "a datagram that is sent at once arrives" mckey_across 239.1.2.3 192.0.2.1 192.0.2.2
done
done_testing
