#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: fabrics of its own
# Three members: a full mesh, and two that reach each other only through the third, a hub.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need ibv_rc_pingpong ib_send_bw rping udaddy mckey python3

stop_all() {
	local side
	for side in a b c d; do
		RDMAEMU_DIR=$TEST_DIR/$side "$RDMAEMU" fabric stop >/dev/null 2>&1
	done
}
trap stop_all EXIT

# between SIDE NODE SIDE NODE COMMAND... - with the server on the first side's node
between() {
	local SERVER_ON=on_$1 NODE_A=(--node "$2") CLIENT_ON=on_$3 NODE_B=(--node "$4")
	shift 4
	"$@"
}

# all_know - each side can reach the others' nodes
all_know() {
	local side n
	for side in a b c; do
		for n in a b c; do
			knows on_$side n$n || return 1
		done
	done
}

# way SIDE NAME - how the member is reached
way() {
	"on_$1" status --json | json "[m['state'] + ' ' + m.get('via', '') for m in d['members'] if m['name'] == '$2'][0]"
}

# group ADDRESS - programs on all sides are members of a group; what one of them sends all others get
group() {
	local side pids=() bad=0 c=0 addr
	for side in a b; do
		addr=$(address on_$side n$side)
		rm -f "$TEST_DIR/$side.out"
		on_$side run --node n$side -- stdbuf -oL mckey -m "$1" -b "$addr" >"$TEST_DIR/$side.out" 2>&1 </dev/null &
		pids+=($!)
		wait_for 20 grep -q joined "$TEST_DIR/$side.out"
	done
	addr=$(address on_c nc)
	on_c run --node nc -- mckey -m "$1" -b "$addr" -s >"$TEST_DIR/c.out" 2>&1 || c=$?
	wait "${pids[0]}" || bad=1
	wait "${pids[1]}" || bad=1
	[ $bad$c = 00 ] && return
	tail "$TEST_DIR"/[abc].out
	return 1
}

# works SIDE SIDE HOW - what must work between two sides; all of it between B and C, whom A has brought together
works() {
	local s=$1 c=$2 how="$1 and $2, $3" addr
	addr=$(address "on_$s" "n$s")
	set -- "$s" "n$s" "$c" "n$c"
	check "RC: $how" between "$@" across ibv_rc_pingpong -g $GID -n 200 -c
	[ "$s$c" = bc ] || return
	check "RC writes: $how" between "$@" across ib_write_bw -x $GID -s 262144 -n 100
	check "RC reads: $how" between "$@" across ib_read_bw -x $GID -s 262144 -n 100
	check "atomics: $how" between "$@" across ib_atomic_bw -x $GID -n 100
	check "UC: $how" between "$@" across ib_write_bw -c UC -x $GID -s 4096 -n 200
	check "UD: $how" between "$@" across ib_send_bw -c UD -x $GID -s 1024 -n 200 -r 512
	check "XRC: $how" between "$@" across ib_send_bw -c XRC -x $GID -s 4096 -n 200
	check "rdma_cm: $how" between "$@" cm_across "rping -s -a $addr -S 2000" "rping -c -a $addr -C 20 -V -S 2000"
	check "rdma_cm, datagrams: $how" between "$@" cm_across "udaddy -b $addr -S 500" "udaddy -s $addr -S 500"
}

all_work() {
	local side
	for side in a b c; do
		on_$side run --node n$side -- true
	done
	check "all know of all, $1" wait_for 20 all_know
	works a b "$1"
	works b c "$1"
	works c a "$1"
	check "multicast to all, $1" steady group 239.1.2.3
}

# --- all listen ---

port_a=$(free_port) port_b=$(free_port) port_c=$(free_port)
check "A listens" on_a fabric start --listen 127.0.0.1:$port_a --name alpha
check "B joins A, and listens" on_b fabric start --listen 127.0.0.1:$port_b --join 127.0.0.1:$port_a --name beta
check "C joins A, and listens" on_c fabric start --listen 127.0.0.1:$port_c --join 127.0.0.1:$port_a --name gamma
direct() {
	is_direct() {
		[ "$(way $1 $2)" = "direct " ]
	}
	is_direct b gamma && is_direct c beta && is_direct a beta && is_direct a gamma
}
check "B and C have met directly" wait_for 20 direct
all_work "in a mesh"

# A status has the members, each with its ends' ids, and with what has passed.
members() {
	local a b
	a=$(on_a status --json) b=$(on_b status --json)
	python3 - "$a" "$b" <<'END'
import json, sys
a, b = (json.loads(x) for x in sys.argv[1:])
def member(d, name):
    return [m for m in d["members"] if m["name"] == name][0]
beta, alpha = member(a, "beta"), member(b, "alpha")
gamma = member(b, "gamma")
assert len(a["members"]) == 2, a["members"]
assert alpha["id"] == a["join"]["id"] and beta["id"] == b["join"]["id"]
assert a["join"]["name"] == "alpha" and a["join"]["turned_away"] == 0
for m in alpha, beta:
    assert m["state"] == "direct" and "via" not in m and m["address"].startswith("127.0.0.1:"), m
    assert m["sent"]["bursts"] > 200 and m["sent"]["bytes"] > 200 * 4096, m
    assert m["received"]["bursts"] > 200 and m["waiting"] == 0, m
    assert 0 < m["credit"]["requests"] <= 4 << 20 and 0 < m["credit"]["answers"] <= 4 << 20, m
assert gamma["received"]["bytes"] > 100 * 262144 and gamma["sent"]["bytes"] > 100 * 262144, gamma
assert alpha["address"].endswith(":%d" % a["join"]["port"])
assert beta["sent"]["bursts"] == alpha["received"]["bursts"], (alpha, beta)
assert beta["sent"]["bytes"] == alpha["received"]["bytes"], (alpha, beta)
assert [n.get("member") for n in a["nodes"] if n["name"] == "nb"] == ["beta"]
assert [n.get("member") for n in a["nodes"] if n["name"] == "na"] == [None]
assert {d.get("member") for d in a["devices"] if d["node"] == "nb"} == {"beta"}
END
}
check "members in the status" members
in_text() {
	on_a status -v >"$TEST_DIR/text"
	grep -q "^joined as alpha ([0-9a-f]\{16\}), listens at port $port_a, 0 turned away" "$TEST_DIR/text" &&
		grep -q "^member beta ([0-9a-f]\{16\}): direct, 127.0.0.1:" "$TEST_DIR/text" &&
		grep -q "^  sent [0-9]* bursts, [0-9]* bytes; received [0-9]*, [0-9]*; dropped 0; waiting 0 bytes; credit " \
			"$TEST_DIR/text" &&
		grep -q "^device rdmaemu0: node nb of beta, GUID" "$TEST_DIR/text" && return
	cat "$TEST_DIR/text"
	return 1
}
check "and in its text" in_text

kill -KILL "$(on_a status --json | json 'd["pid"]')"
gone() {
	case $(way b alpha) in "$1 ") ;; *) return 1 ;; esac
}
check "one that was killed is away" wait_for 5 gone away
check "B and C without A" between b nb c nc across ibv_rc_pingpong -g $GID -n 200 -c
check "and then dead" wait_for 30 gone dead
on_c fabric stop
check "one that has left is dead at once" wait_for 5 eval '[ "$(way b gamma)" = "dead " ]'
stop_all

# --- a hub ---

check "the hub listens" on_a fabric start --listen 127.0.0.1:$port_a --name alpha
check "B joins it" on_b fabric start --join 127.0.0.1:$port_a --name beta
check "C joins it" on_c fabric start --join 127.0.0.1:$port_a --name gamma
behind() {
	[ "$(way b gamma)" = "behind alpha" ] && [ "$(way c beta)" = "behind alpha" ]
}
check "B and C are behind the hub" wait_for 20 behind
all_work "by a hub"
in_text() {
	on_b status -v | grep -q "^member gamma ([0-9a-f]\{16\}): behind alpha, 127.0.0.1:$port_a"
}
check "who is behind another, in the status" in_text
# The hub goes and comes back: more data than there is credit shows that both have begun anew.
kill -KILL "$(on_a status --json | json 'd["pid"]')"
apart() {
	[ "$(way b gamma)" = "away " ] && [ "$(way c beta)" = "away " ]
}
check "without the hub they are apart" wait_for 10 apart
check "the hub is started again" on_a fabric start --listen 127.0.0.1:$port_a --name alpha
check "the spokes are reachable through it again" wait_for 20 behind
between_bc() {
	between b nb c nc across ib_write_bw -x $GID -s 1048576 -n 100
}
check "and go on" between_bc
stop_all

# --- two hubs: both sides take the same one, and the other one when it has gone ---

check "a hub" on_a fabric start --listen 127.0.0.1:$port_a --name alpha
RDMAEMU_D=$TEST_DIR/d
mkdir -m 700 "$RDMAEMU_D"
on_d() {
	RDMAEMU_DIR=$RDMAEMU_D limit "$RDMAEMU" "$@"
}
check "another hub" on_d fabric start --listen 127.0.0.1:$port_b --join 127.0.0.1:$port_a --name delta
check "B joins both" on_b fabric start --join 127.0.0.1:$port_a,127.0.0.1:$port_b --name beta
check "C joins both" on_c fabric start --join 127.0.0.1:$port_b,127.0.0.1:$port_a --name gamma
on_b run --node nb -- true
on_c run --node nc -- true
same_hub() {
	[ "$(way b gamma)" = "$(way c beta)" ] && [[ $(way b gamma) == behind* ]] && knows on_b nc && knows on_c nb
}
check "B and C take the same hub" wait_for 20 same_hub
check "RC by one of two hubs" between b nb c nc across ibv_rc_pingpong -g $GID -n 200 -c
hub=$(way b gamma)
case $hub in
*alpha) kill -KILL "$(on_a status --json | json 'd["pid"]')" ;;
*) kill -KILL "$(on_d status --json | json 'd["pid"]')" ;;
esac
other_hub() {
	same_hub && [ "$(way b gamma)" != "$hub" ]
}
check "its hub is killed: the other one" wait_for 10 other_hub
check "and it goes on by that" between_bc
on_d fabric stop >/dev/null 2>&1
stop_all

# --- one that takes the place of the dead ---

# member_of NODE - whose node that is, as A has it
member_of() {
	on_a status --json | json "[n.get('member') for n in d['nodes'] if n['name'] == '$1'][0]"
}
check "A listens again" on_a fabric start --listen 127.0.0.1:$port_a --name alpha
on_a run --node na -- true
check "C joins it, with a node" on_c fabric start --join 127.0.0.1:$port_a --name gamma
on_c run --node nc -- true
check "A knows the node" wait_for 20 knows on_a nc
kill -KILL "$(on_c status --json | json 'd["pid"]')"
dead() {
	[ "$(way a gamma)" = "dead " ]
}
check "C is killed, and dead" wait_for 30 dead
check "D joins" on_d fabric start --join 127.0.0.1:$port_a --name delta
is "and has C's place" "$(on_a status --json | json "[m['name'] for m in d['members']]")" "['delta']"
is "but not its node, which is nobody's" "$(member_of nc), $(member_of delta)" "?, delta"
in_text() {
	on_a status -v | grep -q "^device rdmaemu[0-9]*: node nc of ?, GUID"
}
check "also in the text" in_text
check "C is started again" on_c fabric start --join 127.0.0.1:$port_a --name gamma
is "the node is still nobody's" "$(member_of nc), $(member_of gamma)" "?, gamma"
check "C names it" on_c run --node nc -- true
named() {
	[ "$(member_of nc)" = gamma ]
}
check "and it is C's" wait_for 20 named
check "RC to the node" between c nc a na across ibv_rc_pingpong -g $GID -n 200 -c
check "and from it" between a na c nc across ibv_rc_pingpong -g $GID -n 200 -c
on_d fabric stop >/dev/null 2>&1
stop_all
done_testing
