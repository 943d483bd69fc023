#!/bin/sh
# What a job in a plain container does: nothing but to run its programs by rdmaemu.
set -eu
rdmaemu fabric start
trap 'rdmaemu fabric stop' EXIT
rdmaemu run ibv_devinfo
# Two nodes of one fabric: as two hosts, on one.
rdmaemu run --node a ib_write_bw -x 1 -n 100 &
sleep 1
rdmaemu run --node b ib_write_bw -x 1 -n 100 127.0.0.1
wait $!
