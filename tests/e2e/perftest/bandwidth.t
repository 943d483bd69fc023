#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 60
# waits
# settings: one nodes fabrics
# The bandwidth programs of perftest over RC.
. "$(dirname "$0")/../../lib/lib.sh"
need ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw

n=$(by_setting 1000 200)
for t in send write read; do
	pair ib_${t}_bw -n $n
	pair ib_${t}_bw -n $n -s 1
	pair ib_${t}_bw -n $n -b
	in_one pair ib_${t}_bw -n 100 -a
	[ "$SETTING" = one ] || pair_sizes ib_${t}_bw -n 20
	pair_sizes ib_${t}_bw -n 20 -b
	pair ib_${t}_bw -n $n -q 16
	pair ib_${t}_bw -n $n -q 16 -b -s 4096
	[ $t = write ] || pair ib_${t}_bw -n $n -e # a WRITE has no event
	pair ib_${t}_bw -n $n -m 1024 -s 5000
	pair ib_${t}_bw -n $n -c RC --use_old_post_send
	pair ib_${t}_bw -n $n -l 8 -s 64
	pair ib_${t}_bw -D 1 -s 4096
done
pair ib_send_bw -n $n -I 64 -s 64
pair ib_write_bw -n $n -I 64 -s 64
pair ib_write_bw -n $n -I 512 -s 512
pair ib_send_bw -n $n -r 1
pair ib_send_bw -n $n -t 1
pair ib_send_bw -n $n -Q 1
pair ib_send_bw -n $n -N
pair ib_atomic_bw -n $n
pair ib_atomic_bw -n $n -A FETCH_AND_ADD
pair ib_atomic_bw -n $n -A CMP_AND_SWAP
pair ib_atomic_bw -n $n -A CMP_AND_SWAP -q 4 -b
pair ib_atomic_bw -n $n -A FETCH_AND_ADD -e
done_testing
