#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: two hosts of its own
# The services of examples/compose-roce.yaml, whose fabrics have wires.
. "$(dirname "$0")/../../lib/lib.sh"
need hostname ucmatose python3
own_netns
. "$TOP/tests/lib/compose.sh"
COMPOSE=compose-roce.yaml

containers_up
services_run
crossed() {
	inside client "$RDMAEMU" status --json |
		json "[w for w in d['wires'] if w['sent'] > 4000 and w['received'] > 0][0]"
}
check "the packets came by the bridge" crossed
done_testing
