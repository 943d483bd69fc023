#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on two nodes of one fabric
# A page of `rdmaemu report` in Chromium: its first sentence, the ladder by keyboard and mouse, dark and light, 360
# pixels, the rules of axe-core for everybody's use, names that are markup, calls of programs, and 100,000 packets.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/failed_run.sh"
. "$TOP/tests/lib/recorded_pair.sh"
need python3 ib_send_bw ibv_rc_pingpong chromium

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
failed_run run.html
check 'two programs are recorded' recorded_pair T record --capture
limit "$R" report calls.html T
check 'and on real devices' recorded_pair V run -- "$R" record --real
limit "$R" report real.html V
cat >evil.json <<'END'
{"ts": 5, "kind": "completion", "severity": "error", "status": "<b>", "peer": 7, "text": ["x"], "who":
 {"name": "</script><script>document.title = 'evil'</script>", "pid": {}}}
END
limit "$R" report evil.html evil.json
limit python3 "$TOP/tests/lib/py/many_packets.py" 100000 many.pcap
limit "$R" report many.html many.pcap
HOME=$PWD AXE=$BUILD/npm/node_modules/axe-core/axe.min.js limit python3 "$TOP/tests/lib/py/report_in_browser.py" run.html evil.html many.html calls.html real.html . || FAILED=1
done_testing
