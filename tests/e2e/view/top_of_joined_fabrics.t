#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 5
# settings: one: programs on two fabrics that have joined
# `rdmaemu top` of several fabrics: both ends of a connection between them stand in one table, and one that ends leaves
# it.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 ib_send_bw

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
join=$(free_port)
port=$(free_port)
check 'a fabric that listens' "$R" fabric start --fabric left --name left --listen "127.0.0.1:$join"
check 'one that joins it' "$R" fabric start --fabric right --name right --join "127.0.0.1:$join"
joined() {
	[ "$("$R" status --fabric right --json | json "[n['name'] for n in d['nodes'] if n['name'] == 'na']")" = "['na']" ]
}
"$R" run --fabric left --node na -- ib_send_bw -F -D 600 -s 3000 -p "$port" >/dev/null 2>&1 &
server=$!
check 'a server' wait_listen "$port" $server
check 'its node is known' wait_for 60 joined
"$R" run --fabric right --node nb -- ib_send_bw -F -D 600 -s 3000 -p "$port" localhost >/dev/null 2>&1 &
client=$!
sends() {
	[ "$("$R" status --fabric right --json | json "sum(q['counters']['xmit_packets'] for q in d['qps']) > 100")" = True ]
}
check 'packets are sent' wait_for 60 sends

limit "$R" top --batch --count 2 --interval 500 left right >both
is 'two fabrics' "$? $(grep -c '^rdmaemu top: fabrics left, right, up ' both)" '0 2'
is 'each queue pair with its fabric' "$(grep -E '^(left|right) ' both | awk '{ print $1, $2, $3, $6 }' | sort | uniq -c | tr -s ' ')" \
	" 2 left na ib_send_bw RC
 2 right nb ib_send_bw RC"
is 'no line of the table is longer than 80' "$(grep -E '^(FABRIC|left|right) ' both | awk 'length($0) > 80' | wc -l)" 0
is 'of one, there is no such column' "$(limit "$R" top --batch --count 1 --fabric right | grep -c FABRIC)" 0

limit "$R" top --batch --interval 200 left right >ends &
top=$!
check 'one sends' wait_for 60 grep -qE '^right +nb .* RTS +[0-9.]+[KMG]? ' ends
check 'the other receives' wait_for 60 grep -qE '^left +na .* RT[RS] +[-0-9.]+[KMG]? +[0-9.]+[KMG]? ' ends
kill $client $server
wait $client $server 2>/dev/null
"$R" fabric stop --fabric left
check 'one that ends leaves the table' wait_for 60 grep -q '^rdmaemu top: fabric right, up ' ends
"$R" fabric stop --fabric right
wait $top
is 'the end of the last one ends it' $? 0
rdmaemu_refuses top 'a fabric that is not running' 1 'left: it is not running' --batch left
done_testing
