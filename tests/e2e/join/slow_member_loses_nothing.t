#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: three fabrics of its own
# A fabric that gets no CPU for longer than all retries of a queue pair take delays its members' programs, and ends none
# of them: the connection between fabrics loses nothing, so what it carries late is not lost. READs are not sent again
# and again meanwhile: their answers would make the fabric slower still.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need ib_read_bw ib_send_lat

port=$(free_port)
stop_all() {
	local side
	kill -CONT $slow 2>/dev/null
	for side in a b c; do
		on_$side fabric stop >/dev/null 2>&1
	done
}
trap stop_all EXIT
check "A starts" on_a fabric start --listen 127.0.0.1:$port --name alpha
check "B joins it" on_b fabric start --join 127.0.0.1:$port --name beta
on_a run --node na -- true && on_b run --node nb -- true
check "A knows B's node" wait_for 10 knows on_a nb
check "B knows A's node" wait_for 10 knows on_b na
slow=$(on_a status --json | json 'd["pid"]')

# retries - retransmissions of B's programs so far
retries() {
	on_b log | grep -c 'sends again\|IBV_WC_RETRY_EXC_ERR'
}
carried() {
	[ "$(on_b status --json | json "sum(m['received']['bursts'] for m in d['members'])")" -gt "$1" ]
}

# stopped_within PROGRAM ARGS... - the server's fabric is stopped while the program talks to it
stopped_within() {
	local pair before
	before=$(on_b status --json | json "sum(m['received']['bursts'] for m in d['members'])")
	both_sides "$port2" "$* -F -p $port2" "$* -F -p $port2 $OOB" &
	pair=$!
	wait_for 20 carried $((before + 200)) || return
	kill -STOP "$slow"
	# Longer than all retries of perftest, and less than after what a member is taken for dead.
	sleep 2
	kill -CONT "$slow"
	wait $pair
}
port2=$(free_port)
check "READs of 16 queue pairs outlive it" stopped_within ib_read_bw -n 2000 -q 16
check "and SENDs with one outstanding" stopped_within ib_send_lat -n 5000
check "nothing was sent again" test "$(retries)" = 0

# Neither B nor C listens: A is their hub.
check "C joins A" on_c fabric start --join 127.0.0.1:$port --name gamma
on_c run --node nc -- true
check "B knows C's node" wait_for 10 knows on_b nc
check "C knows B's node" wait_for 10 knows on_c nb
slow=$(on_c status --json | json 'd["pid"]')
SERVER_ON=on_c NODE_A=(--node nc)
check "READs through a hub outlive it" stopped_within ib_read_bw -n 2000 -q 16
check "nothing was sent again through it" test "$(retries)" = 0
check "and all are joined still" test "$(on_a log | grep -c 'turned away\|violates\|is dead')" = 0
done_testing
