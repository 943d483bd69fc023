#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 40
# waits
# settings: one: fabrics of its own
# Joined fabrics with InfiniBand ports, isolated programs, memory that the fabric process cannot map, names and IPv6.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need ibv_rc_pingpong ibv_devinfo ib_send_bw rping python3

stop_all() {
	local side
	for side in a b c; do
		RDMAEMU_DIR=$TEST_DIR/$side "$RDMAEMU" fabric stop >/dev/null 2>&1
	done
}
trap stop_all EXIT

# join_two ARGS... - A and B, with the same further settings
join_two() {
	local port
	port=$(free_port)
	stop_all
	on_a fabric start --listen 127.0.0.1:$port --name alpha "$@" &&
		on_b fabric start --join 127.0.0.1:$port --name beta "$@" &&
		on_a run --node na -- true && on_b run --node nb -- true &&
		wait_for 10 knows on_b na && wait_for 10 knows on_a nb
}

# --- InfiniBand ---

check "InfiniBand: two fabrics join" join_two --profile infiniband
# lids SIDE - of all ports of all members, as the side sees them
lids() {
	"$1" status --json | json "' '.join(sorted(str(p['lid']) for v in d['devices'] for p in v['ports']))"
}
unique() {
	local all
	all=$(lids on_a)
	[ "$all" = "$(lids on_b)" ] && [ "$(tr ' ' '\n' <<<"$all" | sort -u | wc -l)" = "$(wc -w <<<"$all")" ] &&
		[ "$(wc -w <<<"$all")" -ge 8 ] && ! grep -qw 0 <<<"$all" && return
	echo "$all, $(lids on_b)"
	return 1
}
check "InfiniBand: LIDs are unique, and the same to all" unique
# One subnet manager: each node says the same of it, and has its own LIDs.
subnet() {
	on_a run --node na -- ibv_devinfo -v >"$TEST_DIR/ia" && on_b run --node nb -- ibv_devinfo -v >"$TEST_DIR/ib" || return 1
	grep -q 'PORT_ACTIVE' "$TEST_DIR/ia" || return 1
	[ "$(grep sm_lid "$TEST_DIR/ia")" = "$(grep sm_lid "$TEST_DIR/ib")" ] &&
		[ "$(grep port_lid "$TEST_DIR/ia")" != "$(grep port_lid "$TEST_DIR/ib")" ] &&
		[ "$(grep -o 'fe80:0000:0000:0000' "$TEST_DIR/ia" | wc -l)" -ge 2 ]
}
check "InfiniBand: ibv_devinfo" subnet
for p in rc uc ud srq; do
	check "InfiniBand: ibv_${p}_pingpong, by LID" across ibv_${p}_pingpong -n 200
done
check "InfiniBand: ibv_rc_pingpong -c, by LID" across ibv_rc_pingpong -n 200 -c
check "InfiniBand: ibv_rc_pingpong, by GID" across ibv_rc_pingpong -n 200 -g 0
check "InfiniBand: second port" across ibv_rc_pingpong -n 200 -i 2
check "InfiniBand: ib_send_bw" across ib_send_bw -s 65536 -n 200
check "InfiniBand: ib_send_bw -c UD" across ib_send_bw -c UD -s 1024 -n 200 -r 512
check "InfiniBand: ib_read_bw" across ib_read_bw -s 1048576 -n 50
check "InfiniBand: ib_write_lat" across ib_write_lat -n 200
addr=$(address on_a na)
check "InfiniBand: rping" cm_across "rping -s -a $addr -S 3000" "rping -c -a $addr -C 20 -V -S 3000"
check "InfiniBand: ucmatose" cm_across "ucmatose -b $addr -S 3000" "ucmatose -s $addr -S 3000"

# --- isolated programs, on one side and on both ---

both_kinds() {
	check "$1: RC" across ibv_rc_pingpong -g $GID -n 200 -c
	check "$1: large writes" across ib_write_bw -x $GID -s 1048576 -n 50
	check "$1: large reads" across ib_read_bw -x $GID -s 1048576 -n 50
	check "$1: atomics" across ib_atomic_bw -x $GID -n 100
	check "$1: messages" across ib_send_bw -x $GID -s 300000 -n 100
	check "$1: datagrams" across ib_send_bw -c UD -x $GID -s 1024 -n 200 -r 512
	addr=$(address on_a na)
	check "$1: rping" cm_across "rping -s -a $addr -S 3000" "rping -c -a $addr -C 20 -V -S 3000"
}

check "isolated: two fabrics join" join_two --isolated
both_kinds "isolated"
stop_all
port=$(free_port)
check "isolated A" on_a fabric start --isolated --listen 127.0.0.1:$port --name alpha
check "direct B" on_b fabric start --join 127.0.0.1:$port --name beta
on_a run --node na -- true
on_b run --node nb -- true
check "they know each other" wait_for 10 knows on_b na
both_kinds "isolated and direct"

# --- memory that the fabric process cannot reach ---

# by_helper SIDE - programs of that side are under a filter, and so is its fabric
by_helper() {
	on_a() {
		RDMAEMU_DIR=$TEST_DIR/a limit $BY_A "$RDMAEMU" "$@"
	}
	on_b() {
		RDMAEMU_DIR=$TEST_DIR/b limit $BY_B "$RDMAEMU" "$@"
	}
	BY_A=$1 BY_B=$2
	join_two
}
no=$T/sys_noptrace
check "helpers on both sides: join" by_helper "$no" "$no"
both_kinds "helpers on both sides"
check "a helper at the target: join" by_helper "$no" ""
both_kinds "a helper at the target"
check "a helper at the sender: join" by_helper "" "$no"
both_kinds "a helper at the sender"
by_helper "" "" >/dev/null 2>&1
stop_all

# --- hosts that were suspended ---

# What had no CPU for longer than a silence may last has heard nothing because it did not listen.
both_stop() {
	local a b side
	a=$(on_a status --json | json 'd["pid"]')
	b=$(on_b status --json | json 'd["pid"]')
	kill -STOP "$a" "$b"
	sleep 7
	kill -CONT "$a" "$b"
	sleep 1
	for side in on_a on_b; do
		$side log | grep "join: .*\(silent\|closed\|lost\)" && return 1
	done
	return 0
}
check "two fabrics join" join_two
check "both are stopped for a while: their connection stays" both_stop
check "and carries on" across ibv_rc_pingpong -g $GID -n 200 -c
stop_all

# --- names and addresses ---

port=$(free_port)
check "--listen localhost" on_a fabric start --listen localhost:$port --name alpha
check "--join localhost" on_b fabric start --join localhost:$port --name beta
check "joined by name" knows on_b alpha
on_b fabric stop >/dev/null
# says_so PATTERN COMMAND... - it fails with one line that matches
says_so() {
	local pattern=$1 out status=0
	shift
	out=$("$@" 2>&1) || status=$?
	[ $status != 0 ] && [ "$(wc -l <<<"$out")" = 1 ] && grep -q "$pattern" <<<"$out" && return
	echo "status $status: $out"
	return 1
}
# It goes on trying, and says so.
no_such_host() {
	on_c fabric start --join no-such-host.invalid:$port --name gamma >"$TEST_DIR/out" 2>&1 || return 1
	on_c log >"$TEST_DIR/log"
	on_c fabric stop
	[ "$(cat "$TEST_DIR/out")" = "rdmaemu: not joined with no-such-host.invalid:$port yet (no such host), retrying" ] &&
		[ "$(grep -c "join: cannot resolve no-such-host.invalid yet, retrying" "$TEST_DIR/log")" = 1 ] && return
	cat "$TEST_DIR/out" "$TEST_DIR/log"
	return 1
}
check "--join of a name that does not resolve" no_such_host
check "--listen at a name that does not resolve" says_so "listen at no-such-host.invalid.*: there is no such address" \
	on_c fabric start --listen no-such-host.invalid:$port --name gamma
check "--listen at a port that is taken" says_so "listen at localhost:$port: Address already in use" \
	on_c fabric start --listen localhost:$port --name gamma
echo secret >"$TEST_DIR/token"
check "--listen at an address that is not the host's" says_so "listen at 192.0.2.200:$port: Cannot assign" \
	on_c fabric start --listen 192.0.2.200:$port --name gamma --token-file "$TEST_DIR/token"
: >"$TEST_DIR/empty"
check "a token file without a token" says_so "token file $TEST_DIR/empty: there is no token in it" \
	on_c fabric start --listen 127.0.0.1:$port --token-file "$TEST_DIR/empty"
install -m 666 "$TEST_DIR/token" "$TEST_DIR/open"
check "a token file that others may write to" says_so "token file $TEST_DIR/open: others may write to it" \
	on_c fabric start --listen 127.0.0.1:$port --token-file "$TEST_DIR/open"
check "no token file" says_so "token file $TEST_DIR/none: No such file" \
	on_c fabric start --listen 127.0.0.1:$port --token-file "$TEST_DIR/none"
for where in 0.0.0.0 '[::]'; do
	check "--listen $where without a token" says_so "listen at .*: an address that is not loopback needs --token-file" \
		on_c fabric start --listen "$where:$port" --name gamma
done
stop_all

if grep -q . /proc/net/if_inet6 2>/dev/null; then
	port=$(free_port)
	check "--listen [::1]" on_a fabric start --listen "[::1]:$port" --name alpha
	check "--join [::1]" on_b fabric start --join "[::1]:$port" --name beta
	check "joined by IPv6" knows on_b alpha
	on_a run --node na -- true
	on_b run --node nb -- true
	wait_for 10 knows on_b na
	check "RC over IPv6" across ibv_rc_pingpong -g $GID -n 200 -c
	port2=$(free_port)
	check "a third joins by IPv6, and listens" on_c fabric start --listen "[::1]:$port2" --join "[::1]:$port" --name gamma
	directly() {
		on_b status --json | json "[m['address'] for m in d['members'] if m['name'] == 'gamma' and m['state'] == 'direct'][0]" | grep -q '\[::1\]\|::1'
	}
	check "B meets it by IPv6" wait_for 10 directly
	stop_all
else
	skip "IPv6" "the host has none"
fi
done_testing
