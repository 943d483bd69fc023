#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the command, and one fabric with nodes of its own
# `rdmaemu fault`, scenarios, rules with times and nodes, and the report at the end of a run.
. "$(dirname "$0")/../../lib/lib.sh"
need python3

FAULT=$T/app_fault_packets
R=$RDMAEMU

# says NAME STATUS TEXT COMMAND... - exit status, and standard error
says() {
	local name=$1 status=$2 text=$3 err got=0
	shift 3
	err=$("$@" 2>&1 >/dev/null) || got=$?
	is "$name" "$got: $err" "$status: $text"
}

fresh() {
	"$R" fabric stop >/dev/null 2>&1
	"$R" fabric start "$@"
}

list() {
	"$R" fault list --json | python3 -c "import json, sys; f = json.load(sys.stdin)['faults']; print($1)"
}

port_state() {
	"$R" run --node "$1" -- ibv_devinfo 2>/dev/null | awk '/state:/ { print $2; exit }'
}

# --- the command

says 'no fabric' 1 "rdmaemu: fabric default is not running" "$R" fault list
fresh
check 'none' "$R" fault list
is 'prints nothing' "$("$R" fault list)" ''
says 'no rule' 2 "rdmaemu: fault add: expected a rule or --scenario; see 'rdmaemu fault add --help'" "$R" fault add
says 'a wrong one' 2 "rdmaemu: fault: 'nth=0': expected 1 or more, at most 1000000000000000" "$R" fault add drop nth=0
check 'one by words' "$R" fault add one: drop opcode=SEND nth=3
check 'several by ;' "$R" fault add 'loss 1% ; two: delay 1ms'
is 'they are there' "$(list "[(r['name'], r['rule'], r['on']) for r in f]")" \
	"[('one', 'drop opcode=SEND nth=3', 'packets'), ('f2', 'loss 1%', 'packets'), ('two', 'delay 1ms', 'packets')]"
says 'a name that is taken: none of them' 1 "rdmaemu: fault: 'one': expected a name that no other rule has" \
	"$R" fault add 'drop ; one: drop'
is 'still three' "$(list 'len(f)')" 3
says 'an unknown device' 1 "rdmaemu: fault: 'mlx5_9': expected a known device" \
	"$R" fault add drop device=mlx5_9
says 'the end of a partition that is none' 1 \
	"rdmaemu: fault: 'one': expected the name of a partition, which was added before" "$R" fault add heal one
says 'the end of no partition' 1 \
	"rdmaemu: fault: 'cut': expected the name of a partition, which was added before" \
	"$R" fault add 'heal cut at=2s ; cut: partition a|b at=1s'
says 'a message that nothing sends' 1 "rdmaemu: fault: 'LAP': expected another message: librdmacm sends no LAP and no APR" \
	"$R" fault add cm drop LAP
says 'a size that no packet has' 2 "rdmaemu: fault: 'size=': expected the payload of one packet: at most 4096 bytes (4114 in a raw frame), 1 or more in a _LAST, and 256, 512, 1024, 2048 or 4096, the MTU, in a _FIRST or _MIDDLE" \
	"$R" fault add drop size=100000
check 'remove' "$R" fault remove one f2
says 'an unknown rule' 1 "rdmaemu: fabric default has no rule 'one'; see 'rdmaemu fault list'" \
	"$R" fault remove one
is 'one is left' "$(list "[r['name'] for r in f]")" "['two']"
check 'clear' "$R" fault clear
is 'none is left' "$("$R" fault list)" ''
for ((i = 0; i < 256; i++)); do echo "drop nth=$((i + 1))"; done >"$TEST_DIR/many"
check '256 rules' "$R" fault add --scenario "$TEST_DIR/many"
says 'not one more' 1 "rdmaemu: fault: 'drop': expected at most 256 rules" "$R" fault add drop
check 'clear them' "$R" fault clear

# --- scenarios

cat >"$TEST_DIR/s" <<-'END'
	# two rules
	drop node=b nth=2
	loss 1% ; x: drop nth=100000   # and one more
END
check 'a scenario' "$R" fault add --scenario "$TEST_DIR/s"
check 'the same again' "$R" run --scenario "$TEST_DIR/s" -- true
is 'adds nothing' "$(list "[(r['name'], r['place'].split('/')[-1]) for r in f]")" \
	"[('f260', 's:2'), ('f261', 's:3'), ('x', 's:3')]"
is '--dry-run prints what would be set' "$("$R" run --scenario "$TEST_DIR/s" --dry-run -- true | sed 's/  #.*//')" \
	"$(printf 'f1: drop node=b nth=2\nf2: loss 1%%\nx: drop nth=100000')"
check 'clear' "$R" fault clear
check 'it can be added again then' "$R" fault add --scenario "$TEST_DIR/s"
is 'it is' "$(list 'len(f)')" 3
printf 'drop\n\ndrop foo\n' >"$TEST_DIR/wrong"
says 'a wrong line' 125 "rdmaemu: $TEST_DIR/wrong:3: 'foo': expected KEY=VALUE; its keys: node, peer, link, device, port, program, pid, qp, type, opcode, direction, conn, psn, round, size, nth, after, every, prob, for, at, seed" \
	"$R" run --scenario "$TEST_DIR/wrong" -- true
says 'no such file' 125 "rdmaemu: scenario $TEST_DIR/none: No such file or directory" \
	"$R" run --scenario "$TEST_DIR/none" -- true
is 'RDMAEMU_SCENARIO' "$(RDMAEMU_SCENARIO=$TEST_DIR/s "$R" run --dry-run -- true | wc -l)" 3
echo 'node a' >"$TEST_DIR/topo"
fresh --topology "$TEST_DIR/topo"
says 'a topology says which nodes there are' 1 "rdmaemu: fault: 'b': expected node= with a node of the topology" \
	"$R" fault add drop node=b
says 'also for links' 1 "rdmaemu: fault: 'a-b': expected link= with a node of the topology, or two with '-' between" \
	"$R" fault add drop link=a-b
check 'those are known' "$R" fault add 'drop node=a ; drop link=a-node0 ; partition a|*'

# --- the end of a run

printf 'loss 50%% opcode=SEND\ndrop node=nowhere\nlate: drop nth=100000\n' >"$TEST_DIR/end"
fresh --seed 77
out=$("$R" run --scenario "$TEST_DIR/end" -- "$FAULT" local UD send 8 10 2>&1 >/dev/null)
is 'what never hit, and the seed' "$out" "rdmaemu: fault f2 never matched: drop node=nowhere ($TEST_DIR/end:2)
rdmaemu: fault late never hit: drop nth=100000 ($TEST_DIR/end:3): seen 8 times
rdmaemu: faults were decided by --seed 77"
"$R" run --scenario "$TEST_DIR/end" -- sh -c 'exit 7' 2>/dev/null
is 'the exit status is the program’s' $? 7

# Rules that somebody else has added, before the program was started.
fresh --seed 77
at_end() {
	"$R" run -- sh -c 'exit 7' 2>&1
}
is 'without rules it is silent' "$(at_end)" ''
"$R" fault add 'drop opcode=SEND_ONLY nth=3 ; drop node=nowhere'
is 'rules that the fabric had' "$(at_end)" "rdmaemu: fault f1 never matched: drop opcode=SEND_ONLY nth=3
rdmaemu: fault f2 never matched: drop node=nowhere"
at_end >/dev/null
is 'and the exit status' $? 7
is 'those that hit are not in it' "$("$R" run -- "$FAULT" local RC send 5 10 2>&1 >/dev/null)" \
	'rdmaemu: fault f2 never matched: drop node=nowhere'
"$R" fault clear
is 'nor those that are no more' "$(at_end)" ''

# --- isolated fabrics

"$R" fabric stop
"$R" fabric start --isolated
"$R" fault add 'drop opcode=SEND_ONLY nth=3 ; rnr nth=4'
is 'rules in an isolated fabric' "$("$R" run -- "$FAULT" local RC send 5 10 2>&1 | grep -c success)" 5
is 'they have hit' "$(list "[r['hits'] for r in f]")" '[1, 1]'

# --- time, by hand

fresh --clock manual
"$R" run --node a -- true
"$R" fault add 'link down node=a at=10s for=5s ; down: link down node=node0 at=12s'
is 'before' "$(port_state a) $(port_state node0)" 'PORT_ACTIVE PORT_ACTIVE'
"$R" clock advance 11s >/dev/null
is 'its time has come' "$(port_state a) $(port_state node0)" 'PORT_DOWN PORT_ACTIVE'
"$R" clock advance 5s >/dev/null
is 'its time is over, and the other’s has come' "$(port_state a) $(port_state node0)" 'PORT_ACTIVE PORT_DOWN'
"$R" fault remove down
is 'what a rule took down comes up with its end' "$(port_state node0)" PORT_ACTIVE
"$R" fault add 'event port=1 node=a IBV_EVENT_PORT_ERR at=20s ; event port=1 node=a IBV_EVENT_PORT_ACTIVE at=21s'
"$R" clock advance 4500ms >/dev/null
is 'IBV_EVENT_PORT_ERR' "$(port_state a)" PORT_DOWN
"$R" clock advance 1s >/dev/null
is 'IBV_EVENT_PORT_ACTIVE' "$(port_state a)" PORT_ACTIVE
"$R" fault add 'fl: link flap node=a period=10ms for=45ms'
states=$(port_state a)
for i in 1 2 3 4; do
	"$R" clock advance 10ms >/dev/null
	states+=" $(port_state a)"
done
"$R" clock advance 10ms >/dev/null
is 'flap' "$states $(port_state a)" 'PORT_DOWN PORT_ACTIVE PORT_DOWN PORT_ACTIVE PORT_DOWN PORT_ACTIVE'

# --- triggered by a packet

fresh
"$R" fault add 'link down node=node0 opcode=SEND_ONLY psn=+2 conn=1 for=30ms'
"$R" run -- "$FAULT" local RC send 6 10 timeout=12 >"$TEST_DIR/out"
is 'the third SEND takes the link down for a while' "$(grep -c success "$TEST_DIR/out") $(list "f[0]['hits']")" '6 1'
check 'ports went down and up' test "$("$R" log | grep -c 'port 1: \(down\|up\)')" = 2
"$R" fabric stop

# --- between nodes: perftest on a and b

# between RULES - its output; each iteration is acknowledged
between() {
	local port pid
	port=$(free_port)
	fresh
	"$R" run --node a -- true && "$R" run --node b -- true
	"$R" fault add "$1"
	limit "$R" run --node a -- ib_send_bw -F -p "$port" -n 100 -s 1000 -u 12 >"$TEST_DIR/server" 2>&1 &
	pid=$!
	wait_listen "$port" $pid
	limit "$R" run --node b -- ib_send_bw -F -p "$port" -n 100 -s 1000 -u 12 a >"$TEST_DIR/client" 2>&1
	STATUS=$?
	[ $STATUS = 0 ] || kill $pid 2>/dev/null
	wait $pid 2>/dev/null
}

if command -v ib_send_bw >/dev/null; then
	between 'drop link=a-b opcode=SEND_ONLY nth=5 ; drop link=a-c ; corrupt node=b direction=tx opcode=SEND_ONLY nth=9 ; drop node=a direction=tx opcode=SEND'
	is 'link=, node= and direction=' "$STATUS $(list "[r['hits'] for r in f]")" '0 [1, 0, 1, 0]'
	between 'partition a|b for=50ms'
	is 'a partition that is healed in time' "$STATUS" 0
	between 'partition a|b'
	isnt_zero=$([ "$STATUS" != 0 ] && echo fails)
	is 'one that is not' "$isnt_zero" fails
	check 'the journal names it' test "$("$R" log | grep -c 'by fault rule f1: partition a|b')" -gt 0
	between 'partition a|b ; heal opcode=SEND_ONLY nth=3'
	is 'healed by the third packet' "$STATUS" 0
	between 'partition a,b|* ; partition c|a,b'
	is 'partitions of others' "$STATUS $(list "[r['hits'] for r in f]")" '0 [0, 0]'
else
	skip 'between nodes' 'no perftest'
fi
"$R" fabric stop
done_testing
