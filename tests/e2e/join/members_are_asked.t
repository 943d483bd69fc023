#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 10
# settings: one: fabrics of its own
# `--member`: the status, journal and fault rules of a fabric that has joined, directly or through a hub.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
need python3 ib_send_bw

stop_all() {
	local side
	for side in a b c; do
		on_$side fabric stop >/dev/null 2>&1
	done
}
trap stop_all EXIT
cd "$TEST_DIR" || exit 1

all_know() {
	knows on_a gamma && knows on_b gamma && knows on_c beta
}
port=$(free_port)
check 'a hub' on_a fabric start --name alpha --listen "127.0.0.1:$port"
check 'a member' on_b fabric start --name beta --join "127.0.0.1:$port"
check 'another one' on_c fabric start --name gamma --join "127.0.0.1:$port"
check 'they know each other' wait_for 60 all_know
is 'those that do not listen reach each other through the hub' \
	"$(on_b status --json | json "[m['state'] + ' ' + m['via'] for m in d['members'] if m['name'] == 'gamma'][0]")" 'behind alpha'

# A program on gamma alone, whose second SEND is lost and sent again.
tcp=$(free_port)
check 'a rule there' on_c fault add 'lost: drop opcode=SEND nth=2'
on_c run --node nc -- ib_send_bw -F -D 600 -s 100 -p "$tcp" >/dev/null 2>&1 &
server=$!
check 'a server' wait_listen "$tcp" $server
on_c run --node nc -- ib_send_bw -F -D 600 -s 100 -p "$tcp" localhost >/dev/null 2>&1 &
client=$!
rule_has_hit() {
	[ "$(on_c fault list --json | json "d['faults'][0]['hits']")" = 1 ]
}
check 'a rule has hit' wait_for 60 rule_has_hit

# The journal grows while the programs run: two answers are equal when nothing has come between them.
same_log() {
	[ "$(on_$1 log --member gamma "${@:2}")" = "$(on_c log "${@:2}")" ]
}
for side in a b; do
	is "$side: the rules" "$(on_$side fault list --member gamma --json | json "d['faults'][0]['name'], d['faults'][0]['hits']")" "('lost', 1)"
	is "$side: the programs" "$(on_$side status --member gamma --json | json "d['fabric'], [(c['name'], c['node']) for c in d['clients']]")" \
		"('default', [('ib_send_bw', 'nc'), ('ib_send_bw', 'nc')])"
	is "$side: the process" "$(on_$side status --member gamma --json | json "d['pid']")" "$(on_c status --json | json "d['pid']")"
	is "$side: as text" "$(on_$side status --member gamma | grep -c '^program')" "$(on_c status | grep -c '^program')"
	check "$side: all details" test "$(on_$side status -v --member gamma | wc -l)" -gt "$(on_c status | wc -l)"
	is "$side: metrics" "$(on_$side status --prometheus --member gamma | grep -c '^rdmaemu_fault_hits_total.*lost.* 1$')" 1
	check "$side: the journal" wait_for 60 same_log "$side" --json
	check "$side: as text, of a node" wait_for 60 same_log "$side" --node nc
	check "$side: it is not empty" grep -q 'by fault rule lost' <(on_$side log --member gamma)
	is "$side: a node that is none" "$(on_$side log --member gamma --node nobody 2>&1)" \
		"rdmaemu: fabric gamma has no node 'nobody'; see 'rdmaemu status'"
done
is 'the hub has programs of its own only' "$(on_b status --member alpha --json | json "len(d['clients'])")" 0

limit env RDMAEMU_DIR="$TEST_DIR/b" "$RDMAEMU" top --batch --joined --count 2 --interval 300 >top
is 'top: all members' "$(grep -c '^rdmaemu top: fabrics default, alpha, gamma, up ' top)" 2
is 'top: their queue pairs' "$(grep -E '^gamma ' top | awk '{ print $1, $2, $3 }' | sort | uniq -c | tr -s ' ')" ' 4 gamma nc ib_send_bw'
is 'top: their rules' "$(grep -c '^fault lost' top)" "$(grep -c '^rdmaemu top' top)"
kill $client $server
wait $client $server 2>/dev/null

# More than a piece of a text.
for i in $(seq 60); do
	on_c run --node "many$i" -- true || break
done
sorted='sorted((n["name"], n["addresses"]) for n in d["nodes"])'
on_b status --member gamma --json >far.json
check 'a long status' test "$(wc -c <far.json)" -gt 40000
is 'arrives whole' "$(json "$sorted" <far.json)" "$(on_c status --json | json "$sorted")"
pids=()
for i in 1 2 3 4 5 6 7 8; do
	on_b status --member gamma --json >"far.$i" &
	pids+=($!)
	on_a status --member gamma --json >"near.$i" &
	pids+=($!)
done
wait "${pids[@]}"
is 'as often as it is asked' "$(for f in far.? near.?; do json "$sorted" <$f; done | sort | uniq -c | sed 's/ \[.*//' | tr -d ' ')" 16

rdmaemu_says() {
	local out status=0
	out=$("$1" "${@:4}" 2>&1) || status=$?
	is "$2" "$status $out" "$3"
}
rdmaemu_says on_b 'no such member' "1 rdmaemu: fabric default has joined with no fabric 'delta'; see 'rdmaemu status'" status --member delta
rdmaemu_says on_b 'no audit' "2 rdmaemu: status: --audit: expected no --member" status --audit --member gamma
rdmaemu_says on_b 'no following' "2 rdmaemu: log: --member: expected no --last or --follow" log --follow --member gamma
rdmaemu_says on_b 'a name that is none' "2 rdmaemu: status: --member 'a/b': expected 1 to 40 of A-Z a-z 0-9 . _ -, the first a letter, digit or _" status --member a/b
pid=$(on_c status --json | json "d['pid']")
kill -STOP "$pid"
out=$(on_b status --member gamma 2>&1)
status=$?
kill -CONT "$pid"
is 'a member that is stopped' "$status $(grep -cE "^rdmaemu: fabric ('gamma' does not answer|default has no connection with fabric 'gamma' now)$" <<<"$out")" '1 1'
check 'it answers again' wait_for 60 on_b status --member gamma
check 'a member leaves' on_c fabric stop
gone() {
	[ "$(on_b status --member gamma 2>&1)" = "rdmaemu: fabric default has no connection with fabric 'gamma' now" ]
}
check 'and is asked no more' wait_for 60 gone
done_testing
