#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: two fabrics of its own
# Fault rules between joined fabrics: each fabric process applies its rules to packets that leave and that arrive at
# its own ports; also multicast.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need ib_send_bw rping mckey python3

port=$(free_port)

stop_all() {
	RDMAEMU_DIR=$TEST_DIR/a "$RDMAEMU" fabric stop >/dev/null 2>&1
	RDMAEMU_DIR=$TEST_DIR/b "$RDMAEMU" fabric stop >/dev/null 2>&1
}
trap stop_all EXIT

hits() {
	"$1" fault list --json | python3 -c "import json, sys; print([r['hits'] for r in json.load(sys.stdin)['faults']])"
}

# across NAME RULES-OF-A RULES-OF-B HITS-OF-A HITS-OF-B PROGRAM... - server on A, client on B
across() {
	local name=$1 rules_a=$2 rules_b=$3 want_a=$4 want_b=$5 p
	shift 5
	on_a fault clear
	on_b fault clear
	[ -z "$rules_a" ] || on_a fault add "$rules_a"
	[ -z "$rules_b" ] || on_b fault add "$rules_b"
	p=$(free_port)
	check "$name" both_sides "$p" "$1 -p $p" "$1 -p $p $OOB"
	is "$name: hits" "$(hits on_a) $(hits on_b)" "$want_a $want_b"
}

on_a fabric start --listen 127.0.0.1:$port --name alpha
on_b fabric start --join 127.0.0.1:$port --name beta
on_a run --node na -- true
on_b run --node nb -- true
check "the fabrics know each other" eval 'wait_for 10 knows on_b na && wait_for 10 knows on_a nb'
# Three packets a message, also where the ports' MTU is 4096, as on a host that has only its loopback interface.
send="ib_send_bw -F -x 1 -m 1024 -n 50 -s 3000 -u 18"
across "without rules" '' '' '[]' '[]' "$send"
across "dropped where it leaves" '' 'drop node=nb direction=tx opcode=SEND_MIDDLE,SEND_FIRST nth=4' '[]' '[1]' "$send"
across "dropped where it arrives" 'drop node=na direction=rx opcode=SEND_FIRST,SEND_ONLY nth=4' '' '[1]' '[]' "$send"
across "an ACK, at the sending port" 'drop node=na direction=tx opcode=ACK nth=1' '' '[1]' '[]' "$send"
across "damaged, and known as such where it arrives" 'corrupt peer=nb opcode=REQUEST nth=3' '' '[1]' '[]' "$send"
is "that port has counted it" \
	"$(on_a status --json | json "sum(p['counters']['rcv_errors'] for d in d['devices'] for p in d['ports'])")" 1
across "RNR NAKs of the receiver" 'rnr node=na for=2' '' '[2]' '[]' "$send"
across "late at one, twice at the other" 'duplicate opcode=REQUEST nth=2' 'delay 2ms opcode=REQUEST nth=3' '[1]' '[1]' "$send"
across "rules of others" 'drop node=nc' 'drop link=na-nc' '[0]' '[0]' "$send"
on_a fault clear
on_b fault clear
on_a fault add 'partition na|nb for=30ms'
p=$(free_port)
check "it heals" both_sides "$p" "$send -p $p" "$send -p $p $OOB"

# --- datagrams to a group, of one fabric

on_a fault clear
# group RULES - mckey from node m1 to node m2, 10 messages; how many have come
group() {
	local s addr1 addr2
	on_a run --node m1 -- true && on_a run --node m2 -- true
	addr1=$(address on_a m1)
	addr2=$(address on_a m2)
	rm -f "$TEST_DIR/server.out"
	on_a run --node m2 -- stdbuf -oL mckey -m 239.9.9.9 -b "$addr2" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	s=$!
	wait_for 20 grep -q joined "$TEST_DIR/server.out"
	on_a fault add "$1"
	on_a run --node m1 -- mckey -m 239.9.9.9 -b "$addr1" -s >"$TEST_DIR/client.out" 2>&1
	[ "$2" = waits ] || wait $s
	STATUS=$?
	[ "$2" != waits ] || { sleep 0.3 && kill -0 $s 2>/dev/null && STATUS=waits && end_job $s; }
	wait $s 2>/dev/null
	GROUP="$STATUS $(hits on_a)"
	on_a fault clear
}

group 'drop node=m2 direction=rx opcode=SEND_WITH_IMM nth=2' waits
is "a group's copy is dropped: its member waits for it" "$GROUP" 'waits [1]'
group 'delay 3ms node=m2 opcode=SEND_WITH_IMM for=4' ends
is "late" "$GROUP" '0 [4]'
group 'duplicate node=m2 opcode=SEND_WITH_IMM nth=2' ends
is "twice" "$GROUP" '0 [1]'
done_testing
