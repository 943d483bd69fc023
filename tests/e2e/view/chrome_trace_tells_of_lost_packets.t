#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on two nodes of one fabric
# `rdmaemu trace export --chrome` of a trace with packets: a lost one and the NAK that it leads to are instants of the
# queue pair that has sent it, with the rule, after the post of their message; and of a trace of real devices.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/recorded_pair.sh"
need python3 ib_send_bw ibv_rc_pingpong

R=$RDMAEMU
CHECK=$TOP/tests/lib/py/chrome_trace.py
cd "$TEST_DIR" || exit 1
port=$(free_port)
"$R" fabric start
"$R" record -o T --capture --node a -- ib_send_bw -F -n 5 -s 3000 -p "$port" >/dev/null 2>&1 &
server=$!
check 'a server' wait_listen "$port" $server
"$R" fault add 'one: drop opcode=SEND_MIDDLE nth=1'
check 'a client' limit "$R" record -o T --node b -- ib_send_bw -F -n 5 -s 3000 -p "$port" a
wait $server
check 'an export' limit "$R" trace export --chrome lost.json T
check 'it is in the format' limit python3 "$CHECK" lost.json
# instants EXPRESSION - its value, with w: instants of packets; client: the pid of the trace's client; posts: its posts
instants() {
	python3 - "$1" <<-'END'
		import json, sys
		e = json.load(open('lost.json'))['traceEvents']
		w = sorted((x for x in e if x['ph'] == 'i' and x['cat'] == 'wire'), key=lambda x: x['ts'])
		names = {x['pid']: x['args']['name'] for x in e if x['name'] == 'process_name'}
		client = next(pid for pid, name in names.items() if name.endswith('@b'))
		posts = [x for x in e if x['ph'] == 'X' and x['name'] == 'post_send' and x['pid'] == client]
		print(eval(sys.argv[1]))
	END
}
is 'a lost packet and a NAK, of the sender' "$(instants "[(x['name'], x['pid'] == client, x['tid']) for x in w]")" "[('lost', True, 1), ('NAK sequence', True, 1)]"
is 'with the rule' "$(instants "w[0]['args']['why']")" 'dropped by fault rule one: drop opcode=SEND_MIDDLE nth=1'
is 'both are of one PSN' "$(instants "w[0]['args']['psn'] == w[1]['args']['psn']")" True
is 'they come after the first post' "$(instants "posts[0]['ts'] <= w[0]['ts'] <= w[1]['ts']")" True

check 'programs on real devices are recorded' recorded_pair V run -- "$R" record --real
limit "$R" trace export --chrome real.json V
limit "$R" trace stat --json V >stat.json
check 'its export is in the format, with all work requests' limit python3 "$CHECK" real.json stat.json
"$R" fabric stop
done_testing
