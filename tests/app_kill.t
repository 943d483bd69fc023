#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# kill -9 of a peer, of the fabric; SIGSTOP of a target.
. "$(dirname "$0")/lib.sh"
app app_kill peer
app app_kill stopped
"$RDMAEMU" fabric stop >/dev/null 2>&1
for mode in "" --isolated; do
	"$RDMAEMU" fabric start $mode >/dev/null
	pid=$(status_json | json 'd["pid"]')
	app app_kill fabric "$pid"
	# A new one starts in its place.
	check "a new fabric takes over ${mode:-direct}" emu ibv_devinfo
	"$RDMAEMU" fabric stop >/dev/null 2>&1
done
done_testing
