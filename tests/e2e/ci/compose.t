#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: two hosts of its own
# The services of examples/compose.yaml, joined by TCP.
. "$(dirname "$0")/../../lib/lib.sh"
need hostname ib_write_bw python3
own_netns
. "$TOP/tests/lib/compose.sh"
COMPOSE=compose.yaml

containers_up
services_run
report() {
	grep -E '^ *65536 +5000 ' "$TEST_DIR/client.out" || {
		tail -n 20 "$TEST_DIR/client.out"
		return 1
	}
}
check "the client has its figures" report
joined() {
	inside client "$RDMAEMU" status --json |
		json "[m for m in d['members'] if m['name'] == 'server' and m['sent']['bytes'] > 5000 * 65536][0]"
}
check "they came by the bridge" joined
done_testing
