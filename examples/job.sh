#!/bin/sh
# What a job in a plain container does: nothing but to run its programs by rdmaemu.
set -eu
rdmaemu fabric start
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null || :; rdmaemu fabric stop' EXIT
rdmaemu run ibv_devinfo
# Two nodes of one fabric: as two hosts, on one.
rdmaemu run --node a ib_write_bw -F -x 1 -n 100 &
server=$!
# Until the server listens, for 30 s at most.
tries=0
until sleep 1; rdmaemu run --node b ib_write_bw -F -x 1 -n 100 127.0.0.1; do
	tries=$((tries + 1))
	[ $tries -lt 30 ]
done
wait $server
