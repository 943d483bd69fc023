#!/bin/sh
# SPDX-License-Identifier: MIT
# What a job in a plain container does: it runs its programs with rdmaemu.
set -eu
rdmaemu fabric start
server=
# The log goes with the fabric: print it first if anything failed.
ended() {
	status=$?
	[ -z "$server" ] || kill $server 2>/dev/null || :
	[ $status = 0 ] || rdmaemu log
	rdmaemu fabric stop
}
trap ended EXIT
rdmaemu run ibv_devinfo
# Two nodes of one fabric: two hosts on one machine.
rdmaemu run --node a ib_write_bw -F -x 1 -n 100 &
server=$!
# Retry until the server listens, for at most 30 s.
tries=0
until sleep 1; rdmaemu run --node b ib_write_bw -F -x 1 -n 100 127.0.0.1; do
	tries=$((tries + 1))
	[ $tries -lt 30 ]
done
wait $server
