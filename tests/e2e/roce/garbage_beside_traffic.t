#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: two fabrics of its own
# GARBAGE datagrams (3,000) that are no packets, or nobody's, arrive at a wire next to traffic whose data is checked:
# each is counted by its kind, and the traffic does not notice.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ibv_rc_pingpong rping
roce_netns
GARBAGE=${GARBAGE:-3000}
KIND=$((GARBAGE / 3))

two_wires
check "they reach each other" across ibv_rc_pingpong -g $GID -n 20 -c

# Its own limit: other programs here take seconds.
garbage() {
	"${IN_B[@]}" timeout $((60 * SLOW * PATIENCE + GARBAGE / 100)) \
		/usr/bin/python3 "$TOP/tests/lib/py/roce_garbage.py" 192.0.2.2 192.0.2.1 $((3 * KIND))
}
# beside_garbage - run programs that check their data until all garbage was sent
beside_garbage() {
	local sender ret=0
	garbage &
	sender=$!
	while :; do
		across ibv_rc_pingpong -g $GID -n 200 -s 20000 -c &&
			cm_across "rping -s -a 192.0.2.1 -S 9000" "rping -c -a 192.0.2.1 -C 50 -V -S 9000" || ret=1
		[ $ret = 0 ] && kill -0 $sender 2>/dev/null || break
	done
	[ $ret = 0 ] || kill $sender 2>/dev/null
	wait $sender && [ $ret = 0 ]
}
check "traffic is intact beside $((3 * KIND)) datagrams of garbage" beside_garbage

# counter NAME - of A's wire
counter() {
	on_a status --json | json "d['wires'][0]['$1']"
}
# not_read - what the kernel has dropped since a socket of A, or a table on the way from B, was full
not_read() {
	{
		awk '$2 ~ /:12B7$/ { print $NF }' /proc/net/udp
		"${IN_B[@]}" awk '/^Udp: [0-9]/ { print $7 }' /proc/net/snmp
	} | awk '{ n += $1 } END { print n + 0 }'
}
# about VALUE SLACK - whether it is KIND, but for SLACK and what the kernel has dropped
about() {
	local value=$1 lost
	lost=$(($2 + $(not_read)))
	[ "$value" -le $((KIND + $2)) ] && [ "$value" -ge $((KIND - lost)) ] || { echo "$value, lost $lost"; return 1; }
}
check "what is no packet is counted" about "$(counter malformed)" 0
# A wrong ICRC is right for some identification of 65,536 in one of 65,536 packets.
check "wrong ICRCs are counted" about "$(counter bad_icrc)" $((3 + KIND / 16384))
sent_and_received() {
	local sent received lost
	sent=$(($(on_b status --json | json "d['wires'][0]['sent']") + 3 * KIND))
	received=$(counter received) lost=$(not_read)
	[ $((received + lost)) = "$sent" ] || { echo "sent $sent, received $received, not read $lost"; return 1; }
}
check "and nothing was lost without being counted" sent_and_received
check "the tables are consistent" on_a status --audit
done_testing
