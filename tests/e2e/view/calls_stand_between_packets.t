#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on two nodes of one fabric
# Calls of recorded programs in a report: on the time of the fabric, where each packet of a message stands after the
# post that sent it, and the last poll after the last ACK; of real devices on a time of their own, without packets.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/recorded_pair.sh"
need python3 ibv_rc_pingpong

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
data() {
	python3 "$TOP/tests/lib/py/report_page.py" "$@"
}
# between PAGE - the number of SENDs of a page that stand after their post, with the next ACK after them
between() {
	python3 - "$1" "$TOP/tests/lib/py" <<-'END'
		import itertools, sys
		sys.path.insert(0, sys.argv[2])
		from report_page import read
		d, p, _, c = read(sys.argv[1])
		at = list(itertools.accumulate(c['time']))
		name = lambda i: d['calls']['texts'][c['name'][i] - 1]
		node = lambda i: d['programs'][c['program'][i]]['node']
		sender = [d['packets']['hosts'][f['from']]['node'] for f in d['packets']['flows']]
		packets = list(zip(itertools.accumulate(p['time']), [sender[f] for f in p['flow']], p['opcode']))
		good = 0
		for n in 'a', 'b':
		    posts = [at[i] for i in range(len(at)) if name(i) == 'ibv_post_send' and node(i) == n]
		    polls = [at[i] + c['took'][i] for i in range(len(at)) if name(i) == 'ibv_poll_cq' and node(i) == n]
		    sends = [t for t, s, op in packets if s == n and op == 4]
		    acks = [t for t, s, op in packets if s != n and op == 17]
		    good += len(posts) == 20 and sum(a <= b <= c for a, b, c in zip(posts, sends, acks))
		    assert polls[-1] >= acks[-1], (polls[-1], acks[-1])
		print(good)
	END
}

"$R" fabric start
check 'two programs are recorded' recorded_pair T record --capture
limit "$R" report run.html T
is 'packets, and calls on their time' "$(data run.html "d['packets']['count'] >= 80, d['calls']['clock'], d['calls']['count'] == len(c['time'])")" "(True, 'fabric', True)"
is 'each message stands after its post' "$(between run.html)" 40
is 'calls have their queue pairs and requests' "$(data run.html "{q in {f['to_qpn'] for f in d['packets']['flows']} for q, n in zip(c['qpn'], c['name']) if d['calls']['texts'][n - 1] == 'ibv_post_send'}, {w for w, n in zip(c['wr_id'], c['name']) if d['calls']['texts'][n - 1] == 'ibv_post_send'}")" "({True}, {'2'})"
sed -i 's/^fabric-clock .*/fabric-clock 1 2 3/' T/p1/program
limit "$R" report broken.html T
is 'a clock that is none places no calls' "$(data broken.html "d['calls']['clock']")" own
PAGE=page.html check 'a run is recorded and reported at once' recorded_pair U record
is 'with both' "$(data page.html "d['packets']['count'] > 0, d['calls']['clock'], d['calls']['count'] > 40, d['run']['exit_status']")" "(True, 'fabric', True, 0)"

# The emulated devices of a run, as those of rdma-core.
check 'programs on real devices are recorded' recorded_pair V run -- "$R" record --real
limit "$R" report real.html V
is 'their calls have a time of their own, and no packets' "$(data real.html "d['sources'][0]['kind'], d['calls']['clock'], d['calls']['count'] > 80, 'packets' in d, c['time'][0]")" "('real trace', 'own', True, False, 0)"
limit "$R" run -- "$R" run --real --report real_run.html -- ibv_devices >/dev/null
is 'a page of a run on real devices' "$(data real_run.html "d['run']['real'], d['run']['exit_status'], 'packets' in d, 'samples' in d")" '(True, 0, False, False)'
rdmaemu_refuses record 'a page of real devices' 2 'rdmaemu report' --real -o W --report page.html -- true
"$R" fabric stop

"$R" fabric start --time-scale 0.25
check 'on a slow clock' recorded_pair X record --capture
limit "$R" report slow.html X
is 'they stand there, too' "$(between slow.html)" 40
"$R" fabric stop
done_testing
