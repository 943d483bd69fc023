#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: two fabrics of its own
# A program that polls receives what comes by a wire itself, while its fabric process is stopped, too. Rules and
# captures see all packets nevertheless; a program that is killed meanwhile harms nobody.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
need ib_send_lat ib_send_bw ibv_rc_pingpong tshark
roce_netns

two_wires
processes=$(for side in on_a on_b; do $side status --json | json "d['pid']"; done)

# Packets that A's interface has received: its fabric process need not run for that.
packets() {
	"${IN_A[@]}" awk '!/lo:/ && NR > 2 { sum += $3 } END { print sum + 0 }' /proc/net/dev
}

more_than() {
	[ "$(packets)" -gt "$1" ]
}

# begin COMMAND - a server on A and a client on B, which run until they are killed
begin() {
	local port
	port=$(free_port)
	# shellcheck disable=SC2086
	RDMAEMU_DIR=$TEST_DIR/a "${IN_A[@]}" "$RDMAEMU" run -- $1 -x $GID -p "$port" >"$TEST_DIR/server.out" 2>&1 </dev/null &
	server=$!
	"${IN_A[@]}" "$T/sys_port" wait "$port" $server $((60 * SLOW * PATIENCE))
	# shellcheck disable=SC2086
	RDMAEMU_DIR=$TEST_DIR/b "${IN_B[@]}" "$RDMAEMU" run -- $1 -x $GID -p "$port" $OOB >"$TEST_DIR/client.out" 2>&1 \
		</dev/null &
	client=$!
	wait_for 20 more_than $(($(packets) + 500))
}

end() {
	kill -KILL $client $server
	wait $client $server 2>/dev/null
}

# passes N - whether N packets pass; not if none does for about two seconds
passes() {
	local goal=$(($(packets) + $1)) last=0 now idle
	for ((idle = 0; idle < 100; idle++)); do
		now=$(packets)
		[ "$now" -lt "$goal" ] || return 0
		[ "$now" = "$last" ] || idle=0
		last=$now
		sleep 0.02
	done
	return 1
}

# asleep - whether both fabric processes wait for events
asleep() {
	local p
	for p in $processes; do
		grep -q '^State:.S' "/proc/$p/status" || return 1
	done
}

# goes_on - whether packets pass while both fabric processes are stopped. One that is stopped within the engine, or
# while datagrams are its own, holds up everybody: then another moment is tried.
goes_on() {
	local i ret
	for i in {1..20}; do
		wait_for 1 asleep
		# shellcheck disable=SC2086
		kill -STOP $processes
		sleep 0.2
		passes 500
		ret=$?
		# shellcheck disable=SC2086
		kill -CONT $processes
		[ $ret != 0 ] || return 0
		echo "attempt $i: none passes"
		sleep 0.$((i % 10))
	done
	return 1
}

# alone COMMAND - whether it goes on while both fabric processes are stopped
alone() {
	local ret=0
	begin "$1" || ret=1
	[ $ret != 0 ] || goes_on || ret=2
	end
	[ $ret = 0 ] || { echo "status $ret"; cat "$TEST_DIR/server.out" "$TEST_DIR/client.out"; }
	return $ret
}
for type in RC UC UD; do
	check "programs that poll exchange messages of $type while both fabric processes are stopped" \
		alone "ib_send_lat -c $type -s 64 -n 50000000"
done
check "and messages of several packets" alone "ib_send_lat -c RC -s 9000 -n 50000000"
check "all datagrams were good" wires_have_lost_nothing

for p in rc uc ud; do
	check "ibv_${p}_pingpong finds the data that was sent" across ibv_${p}_pingpong -g $GID -n 3000 -c
done
check "a program that sleeps is woken up" across ibv_rc_pingpong -g $GID -n 1000 -e -c
check "ib_atomic_lat" across ib_atomic_lat -x $GID -n 500
check "ib_read_lat" across ib_read_lat -x $GID -n 500
check "ib_write_lat, where programs poll memory" across ib_write_lat -x $GID -n 500
check "ib_send_bw in both directions" across ib_send_bw -x $GID -s 64 -n 5000 -b

# killed - whether another pair of programs of the same fabrics goes on when programs that receive are killed
killed() {
	local i ret=0
	for i in 1 2 3 4 5; do
		begin "ib_send_lat -c RC -s 64 -n 50000000" || ret=1
		kill -KILL $client
		across ibv_rc_pingpong -g $GID -n 1000 -c || ret=2
		end
	done
	return $ret
}
check "a program that is killed while it receives disturbs no other" killed

hits() {
	on_b fault list --json | json "sum(r['hits'] for r in d['faults'])"
}
have_hit() {
	[ "$(hits)" -gt 0 ]
}
# looked_at COMMAND... - whether a rule that is added in the midst of traffic hits a packet
looked_at() {
	local ret=0
	begin "ib_send_lat -c RC -s 64 -n 50000000" || ret=1
	on_b fault add "$@" >/dev/null || ret=2
	[ $ret != 0 ] || wait_for 20 have_hit || ret=3
	on_b fault clear >/dev/null
	end
	[ $ret = 0 ] || echo "status $ret"
	return $ret
}
check "a rule about SENDs sees them" looked_at drop node=node0 opcode=SEND_ONLY direction=rx nth=10
check "a rule about ACKs sees them" looked_at drop node=node0 opcode=ACKNOWLEDGE direction=rx nth=10

has_captured() {
	[ "$(on_b capture list --json | json "d[0]['packets']")" -ge 400 ]
}
# captured - whether a capture that begins in the midst of traffic has what arrives, too
captured() {
	local n ret=0
	begin "ib_send_lat -c RC -s 64 -n 50000000" || ret=1
	on_b capture start "$TEST_DIR/b.pcapng" >/dev/null || ret=2
	wait_for 20 has_captured || ret=3
	on_b capture stop >/dev/null
	end
	n=$(tshark -r "$TEST_DIR/b.pcapng" -Y 'ip.src == 192.0.2.1' 2>/dev/null | wc -l)
	[ $ret = 0 ] && [ "$n" -gt 100 ] && return
	echo "status $ret, $n packets of A"
	return 1
}
check "a capture has what arrives" captured

begin "ib_send_lat -c RC -s 64 -n 50000000"
check "A's fabric ends while a program receives" on_a fabric stop
check "another one starts at the same address" on_a fabric start --roce 192.0.2.1
end
check "programs reach it" across ibv_rc_pingpong -g $GID -n 300 -c
check "the tables of A are consistent" on_a status --audit
check "the tables of B are consistent" on_b status --audit
done_testing
