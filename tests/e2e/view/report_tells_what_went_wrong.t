#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on two nodes of one fabric
# `rdmaemu report` and `rdmaemu run --report`: the page has all that the run has left, and nothing in it can leave its
# place: it is valid HTML, whatever programs are called.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/failed_run.sh"
need python3 ib_send_bw

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
mkdir tmp
data() {
	python3 "$TOP/tests/lib/py/report_page.py" "$@"
}

status=0
failed_run run.html "$PWD/tmp" || status=$?
is 'the status is that of the program' "$(data run.html "d['run']['exit_status']")" "$status"
is 'it has failed' "$((status > 0))" 1
is 'no file is left' "$(ls tmp)" ''
is 'first comes the error of the run' "$(data run.html "d['wrong'][0]['status'], d['wrong'][0]['severity']")" "('IBV_WC_RETRY_EXC_ERR', 'error')"
is 'with its rule' "$(data run.html "d['wrong'][0]['rule_text']")" 'cut: drop opcode=SEND_MIDDLE after=9'
is 'rules with their hits' "$(data run.html "[(r['name'], r['hits'] > 0) for r in d['rules']]")" "[('cut', True), ('idle', False)]"
is 'each packet has a value in each column' "$(data run.html "{len(p[c]) for c in p if c != 'frames'} == {d['packets']['count']}")" True
is 'all packets of the capture are there' "$(data run.html "d['packets']['count']")" \
	"$("$R" log | sed -n 's/.*capture 1: it has ended, after \([0-9]*\) packets/\1/p')"
is 'as many are lost as the rule has hit' "$(data run.html "sum(f & 1 for f in p['flags']) == [r['hits'] for r in d['rules']][0]")" True
is 'they have the comment' "$(data run.html "{d['packets']['texts'][n - 1] for n, f in zip(p['note'], p['flags']) if f & 1}")" \
	"{'dropped by fault rule cut: drop opcode=SEND_MIDDLE after=9'}"
is 'one connection, of two nodes' "$(data run.html "len({f.get('connection') for f in d['packets']['flows']}), sorted(h['node'] for h in d['packets']['hosts'])")" "(1, ['a', 'b'])"
is 'the bytes of each packet' "$(data run.html "len(p['frames']) == d['packets']['count'] and all(len(f[2]) == 2 * 96 or f[1] + 24 > len(f[2]) // 2 for f in p['frames'])")" True
is 'what was in flight while it waited' "$(data run.html "max(s['in_flight'] for s in d['samples']) > 0, max(s['memory'] for s in d['samples']) > 0, [s['ts'] for s in d['samples']] == sorted(s['ts'] for s in d['samples'])")" '(True, True, True)'

# Other sources.
limit "$R" report now.html
is 'a running fabric' "$(data now.html "d['sources'][0]['kind'], len(d['rules']), 'qps' in d['status'], p")" "('fabric', 2, True, None)"
"$R" log --json >log.json
is 'with its journal' "$(data now.html "d['journal']")" "$(json d <log.json)"
"$R" fault list --json >rules.json
limit "$R" report json.html log.json rules.json
is 'what other verbs print' "$(data json.html "len(d['journal']) > 5, len(d['rules'])")" '(True, 2)'
"$R" fabric stop
limit "$R" report kept.html
is 'a fabric that has ended' "$(data kept.html "[e['status'] for e in d['journal'] if e['severity'] == 'error'][0]")" IBV_WC_RETRY_EXC_ERR
limit "$R" report devices.html "$TOP"/tests/data/traces/*.pcap*
is 'captures of other devices' "$(data devices.html "len(p['time']) == d['packets']['count'] > 50, min(p['time'][1:]) >= 0")" '(True, True)'
limit "$R" report trace.html "$TOP/traces/samples/rping"
is 'a trace' "$(data trace.html "[(q['name'], q['completions'], 'SEND' in q['latency']) for q in d['programs']]")" \
	"$("$R" trace stat --json "$TOP/traces/samples/rping" | json "[(q['name'], q['completions_by_status'], True) for q in d]")"
is 'its memory, with the accesses of both sides' "$(data trace.html "[(m['length'], m['local'] > 0, m['remote'] > 0) for m in d['memory']]")" \
	"[(16, True, False), (16, True, False), (64, True, False), (16, True, False), (16, True, False), (64, False, True), (64, False, True)]"

# Names that would end an element, or are no text at all.
python3 - <<'END'
evil = '</script><script>document.title = "evil"</script><!-- & \\" \u2028'
line = ('{"ts": 5, "kind": "completion", "severity": "error", "status": "IBV_WC_SUCCESS<b>", "who": {"name": "%s", "pid": 1, '
        '"node": "\x7f\xc2\x85"}, "peer": {}, "text": "\\u0000\\u0007' % evil.replace('"', '\\"').replace('\\\\"', '\\"')).encode('latin-1', 'ignore')
open('evil.json', 'wb').write(line + b'\xff\xfe<!--<script>", "line": "x"}\n')
END
limit "$R" report evil.html evil.json
is 'names of programs stay data' "$(data evil.html "'document.title = \"evil\"' in d['journal'][0]['who']['name'], page.count('<script'), page.count('</script')")" '(True, 6, 6)'
is 'bytes that are no UTF-8 are replaced' "$(data evil.html "d['journal'][0]['text'].count(chr(0xfffd))")" 2
if command -v tidy >/dev/null; then
	is 'HTML is valid' "$(for f in *.html; do tidy -q -e --drop-empty-elements no "$f" 2>&1; done)" ''
else
	skip 'HTML is valid' 'tidy is not installed'
fi

rdmaemu_refuses report 'a page that is none' 2 'ends in .html' log.json
rdmaemu_refuses report 'a file that is not there' 1 'No such file' page.html none
rdmaemu_refuses report 'a file of another kind' 1 'expected a capture' page.html "$TOP/README.md"
rdmaemu_refuses report 'JSON of another kind' 1 'expected a capture' page.html <(echo '{"a": 1}')
rdmaemu_refuses report 'a page that cannot be written' 1 'No such file' none/page.html log.json
rdmaemu_refuses run 'a page that is none' 125 'ends in .html' --fresh --report page.pcap -- true
is 'nothing was written' "$(ls page.* 2>/dev/null)" ''
done_testing
