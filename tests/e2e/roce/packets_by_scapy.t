#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 6
# alone
# settings: one: a fabric and a script
# A third implementation, written by hand with scapy, exchanges SENDs with a program on an emulated device. Alone: a
# script that gets no CPU for two seconds is dead to a queue pair.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ibv_rc_pingpong
/usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null || skip_all "python3-scapy is not installed"
roce_netns

check "A has a wire" on_a fabric start --roce 192.0.2.1

# exchanges BYTES - whether ibv_rc_pingpong and the script exchange messages of that size
exchanges() {
	local server port ret=0
	port=$(free_port)
	on_a run "${NODE_A[@]}" -- ibv_rc_pingpong -g $GID -n 12 -s "$1" -p "$port" >"$TEST_DIR/server.out" 2>&1 &
	server=$!
	"$T/sys_port" wait "$port" $server $((60 * SLOW * PATIENCE))
	limit "${IN_B[@]}" /usr/bin/python3 "$TOP/tests/lib/py/roce_scapy.py" 192.0.2.2 192.0.2.1 "$port" "$1" 12 || ret=$?
	[ $ret = 0 ] || kill $server
	wait $server || ret=1
	[ $ret = 0 ] || cat "$TEST_DIR/server.out"
	return $ret
}
for size in 1 1023 4098; do
	check "messages of $size bytes come back, across loss and duplicates" exchanges $size
done
if can_compare_captures; then
	check "captures can see each packet" frames_are_finished
	check "a capture has its packets as the interface carries them" captured exchanges 2049
else
	skip "a capture has its packets" "dumpcap, editcap and tshark are not installed"
fi
all_numbered() {
	on_a status --json | json "d['wires'][0]['received'] > 50 and d['wires'][0]['numbered'] == d['wires'][0]['received']"
}
is "identifications that the socket does not show were found" "$(all_numbered)" True
is "and no packet was taken for damaged" "$(on_a status --json | json "d['wires'][0]['bad_icrc']")" 0
check "the tables are consistent" on_a status --audit
done_testing
