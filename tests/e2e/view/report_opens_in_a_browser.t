#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs on two nodes of one fabric
# A page of `rdmaemu report` in Chromium: its first sentence, the ladder by keyboard and mouse, dark and light, 360
# pixels, names for screen readers, names that are markup, and 100,000 packets.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/failed_run.sh"
need python3 ib_send_bw chromium

R=$RDMAEMU
cd "$TEST_DIR" || exit 1
failed_run run.html
cat >evil.json <<'END'
{"ts": 5, "kind": "completion", "severity": "error", "status": "<b>", "peer": 7, "text": ["x"], "who":
 {"name": "</script><script>document.title = 'evil'</script>", "pid": {}}}
END
limit "$R" report evil.html evil.json
limit python3 "$TOP/tests/lib/py/many_packets.py" 100000 many.pcap
limit "$R" report many.html many.pcap
HOME=$PWD limit python3 "$TOP/tests/lib/py/report_in_browser.py" run.html evil.html many.html . || FAILED=1
done_testing
