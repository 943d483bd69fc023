#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one nodes fabrics
# ibv_rc_pingpong with each of its options; -c makes it check the received data.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_rc_pingpong

pp() {
	pair ibv_rc_pingpong "$@"
}

pp
pp -g $GID6
pp -c
pp -c -g $GID6 -e
pp -e
pp -o
pp -o -e -g $GID6
pp -N
pp -O -g $GID6
pp -o -P -c
pp -O -P
pp -t
pp -t -o -g $GID6
pp -j
pp -j -c -N
# rdma-core 64 has it: memory that a confidential guest shares.
if ibv_rc_pingpong -h 2>&1 | grep -q -- '-U, '; then
	pp -U
	pp -U -c -e -g $GID6
fi
pp -m 256 -c
pp -m 1024 -c
pp -r 1
pp -r 1 -e
for size in 1 2 63 64 65 72 73 127 128 129 1023 1024 1025 4095 4096 4097 65536; do
	pp -c -s $size -n 200
done
for size in 1048576 16777216 67108864; do
	pp -c -s $size -n 5
	pp -c -s $size -n 3 -e -g $GID6
done
done_testing
