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

# burst GROUP A B - the datagrams that B's address sends to a group arrive at A's while A's fabric process is stopped
burst() {
	local receiver ret=0
	on_a run -- stdbuf -oL mckey -m "$1" -b "$2" -C $COUNT -S 1000 >"$TEST_DIR/server.out" 2>&1 &
	receiver=$!
	wait_for 20 grep -q "receiving data transfers\|initiating data transfers" "$TEST_DIR/server.out" || ret=1
	kill -STOP "$process"
	[ $ret != 0 ] || on_b run -- mckey -m "$1" -b "$3" -C $COUNT -S 1000 -s >"$TEST_DIR/client.out" 2>&1 || ret=1
	kill -CONT "$process"
	[ $ret = 0 ] || kill $receiver
	wait $receiver && [ $ret = 0 ] && return
	cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
check "a group of IPv4" burst 239.1.2.3 192.0.2.1 192.0.2.2
check "a group of IPv6" burst ff0e::1:2:3 2001:db8::1 2001:db8::2
done_testing
