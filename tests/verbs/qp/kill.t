#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one nodes fabrics
# kill -9 of a peer, of the fabric; SIGSTOP of a target.
. "$(dirname "$0")/../../lib/lib.sh"
app app_qp_kill peer
app app_qp_kill stopped
fabric_stop
# Both sides are on it: tests/e2e/join/two_fabrics.t has another's death.
[ "$SETTING" != fabrics ] || done_testing
for mode in "" --isolated; do
	if [ "$SETTING" = one ]; then
		"$RDMAEMU" fabric start $mode >/dev/null
	else
		RUN_FLAGS=$mode setting_up
	fi
	pid=$(status_json | json 'd["pid"]')
	app app_qp_kill fabric "$pid"
	# A new one starts in its place.
	check "a new fabric takes over ${mode:-direct}" emu ibv_devinfo
	fabric_stop
done
done_testing
