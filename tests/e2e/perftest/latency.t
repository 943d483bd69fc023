#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 70
# waits
# settings: one nodes fabrics
# The latency programs of perftest over RC.
. "$(dirname "$0")/../../lib/lib.sh"
need ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat

n=$(by_setting 1000 200)
for t in send write read; do
	pair ib_${t}_lat -n $n
	pair ib_${t}_lat -n $n -s 65536
	in_one pair ib_${t}_lat -n 10 -a
	[ "$SETTING" = one ] || pair_sizes ib_${t}_lat -n 10
	pair ib_${t}_lat -n $n -c RC -m 256 -s 3000
done
pair ib_send_lat -n $n -I 0
pair ib_send_lat -n $n -I 64
pair ib_send_lat -n $n -I 220 -s 220
pair ib_write_lat -n $n -I 0
pair ib_write_lat -n $n -I 128 -s 128
pair ib_send_lat -n $n -e
pair ib_read_lat -n $n -e
pair ib_read_lat -n $n -o 1
pair ib_send_lat -n $n --use_old_post_send
pair ib_write_lat -n $n --use_old_post_send
pair ib_atomic_lat -n $n
pair ib_atomic_lat -n $n -A FETCH_AND_ADD
pair ib_atomic_lat -n $n -A CMP_AND_SWAP
pair ib_atomic_lat -n $n -A CMP_AND_SWAP -e
done_testing
