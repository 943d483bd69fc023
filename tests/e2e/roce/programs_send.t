#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: two fabrics of its own
# A program sends the packets of its requests itself, while its fabric process is stopped, too; one in another network
# namespace, or of a fabric whose packets something looks at, leaves them to the fabric process.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ib_send_bw rping
roce_netns

two_wires
process=$(on_b status --json | json "d['pid']")

received() {
	on_a status --json | json "d['wires'][0]['received']"
}

more_than() {
	[ "$(received)" -gt "$1" ]
}

# Datagrams of UC and UD need no answer, so B's program goes on without its fabric process.
# sends_alone ARGS... - whether A receives what it sends then
sends_alone() {
	local ret=0
	sender_start "$@" -D 60
	wait_for 20 more_than $(($(received) + 1000)) || ret=1
	kill -STOP "$process"
	sleep 0.2
	wait_for 20 more_than $(($(received) + 1000)) || ret=2
	kill -CONT "$process"
	[ $ret = 0 ] || echo "status $ret"
	sender_end $ret
}
for type in UC UD; do
	check "a program sends $type messages of one packet without its fabric process" sends_alone -c $type -s 64
done
check "and UC messages of several" sends_alone -c UC -s 30000
check "and UC messages that are posted in lists" sends_alone -c UC -s 64 -l 8
check "all datagrams were good" wires_have_lost_nothing

# The same with RC, where the fabric process sends again what was lost.
check "ib_send_bw with data of one packet" across ib_send_bw -x $GID -s 100 -n 5000
check "ib_write_bw -q 8" across ib_write_bw -x $GID -s 100 -n 500 -q 8

timeouts() {
	on_b run -- cat /sys/class/infiniband/rdmaemu0/ports/1/hw_counters/completer_retry_err
}
before=$(timeouts)
# Its own namespace has B's address as well, on an interface that leads nowhere.
foreign() {
	limit "${IN_B[@]}" env RDMAEMU_DIR="$TEST_DIR/b" unshare -n bash -c 'ip link add v0 type veth peer name v1 &&
		ip addr add 192.0.2.2/24 dev v0 && ip link set v0 up && ip link set v1 up && exec "$@"' - "$RDMAEMU" "$@"
}
served() {
	local server ret=0
	on_a run -- rping -s -a 192.0.2.1 -C 20 >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	wait_for 20 cm_listens
	"$@" run -- rping -c -a 192.0.2.1 -C 20 >"$TEST_DIR/client.out" 2>&1 </dev/null || ret=$?
	did_well $ret "$TEST_DIR/client.out" && ret=0
	[ $ret = 0 ] || end_job $server
	wait $server
	did_well $? "$TEST_DIR/server.out" && [ $ret = 0 ] && return
	cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"
	return 1
}
check "a program in another namespace with the same address reaches A" served foreign
check "nothing that it sent was lost" [ "$(timeouts)" -eq "$before" ]

check "a rule is added" on_b fault add drop opcode=SEND nth=100
check "ib_send_bw where a rule looks at packets" across ib_send_bw -x $GID -s 100 -n 500
is "the rule has hit one" "$(on_b fault list --json | json "[r['hits'] for r in d['faults']]")" "[1]"
check "the tables of B are consistent" on_b status --audit
done_testing
