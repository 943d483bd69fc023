#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 3
# settings: one: fabrics of its own
# What arrives for a group while the fabric process has no CPU waits in the group's socket, which has as much room as a
# wire's. The kernel gives a new socket net.core.rmem_default, 208 KiB; these datagrams with their headers need more.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need mckey
roce_netns
COUNT=150

check "a fabric with a wire" on_a fabric start --roce veth0,2001:db8::1
check "another one" on_b fabric start --roce veth1,2001:db8::2
process=$(on_a status --json | json "d['pid']")

# while_stopped ARGS... - run B's command while A's fabric process is stopped
while_stopped() {
	local ret=0
	kill -STOP "$process"
	on_b "$@" || ret=1
	kill -CONT "$process"
	return $ret
}
SEND_BY=while_stopped
check "a group of IPv4" mckey_across 239.1.2.3 192.0.2.1 192.0.2.2 -C $COUNT -S 1000
check "a group of IPv6" mckey_across ff0e::1:2:3 2001:db8::1 2001:db8::2 -C $COUNT -S 1000
done_testing
