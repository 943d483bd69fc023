#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 60
# settings: one nodes: a replay makes one fabric
# Calls of UCX and libfabric are recorded, and replayed without them.
. "$(dirname "$0")/../../lib/lib.sh"
need ucx_perftest fi_pingpong
. "$TOP/tests/lib/replay.sh"

export UCX_NET_DEVICES=rdmaemu0:1 UCX_LOG_LEVEL=error UCX_WARN_UNUSED_ENV_VARS=n
# Recorder and replay look through all receives of a queue pair, and 100 messages need few of 4096 with 8 KiB.
export UCX_IB_RX_QUEUE_LEN=512 UCX_IB_TX_BUFS_GROW=64
no_mpi=$(without_mpi)

# lost NAME - whether a datagram of the recorded pair has found no receive posted
lost() {
	local pid
	for pid in $(sed -n 's/^pid //p' "$TEST_DIR/trace.$1"/p*/program); do
		limit "$REAL" log --program "$pid" | grep -q 'dropped: no receive is posted' && return
	done
	return 1
}

# kept NAME COMMAND... - recorded, once more as long as datagrams are lost: which ones is in no record
kept() {
	local i
	for i in 1 2 3 4 5; do
		recorded "$@" || return
		lost "$1" || return 0
	done
}

# ucx TRANSPORT TEST SIZE
ucx() {
	if [ "${SAN_RDMAEMU-}" ] && [ "$1$3" = ud_v100000 ]; then
		skip "ucx_$1_$2_$3" "datagrams find no receive posted at a sanitizer's speed; which were lost is in no record"
		return
	fi
	[ "$1" != ud_v ] || local RECORD=kept
	UCX_TLS=$1 pp "ucx_$1_$2_$3" ucx_perftest $no_mpi -t "$2" -s "$3" -n 100 -w 10
}
# Between nodes only addresses differ, not how UCX splits large messages.
# shellcheck disable=SC2046
for size in 8 $(in_one echo 100000); do
	for test in tag_lat ucp_am_lat ucp_put_lat ucp_get stream_lat; do
		ucx rc_v $test $size
		ucx ud_v $test $size
	done
done
ucx rc_v tag_bw 8

# Its thread for asynchronous events takes one about a queue pair while another thread destroys it; in some runs it
# comes too late for that.
taken() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		UCX_TLS=rc_v recorded async pair_run ucx_perftest $no_mpi -t tag_lat -s 8 -n 10 -w 1 || return
		grep -q 'IBV_EVENT_QP_LAST_WQE_REACHED event.element=qp[0-9]*$' "$TEST_DIR"/trace.async/p*/calls && return
	done
	return 1
}
check "an asynchronous event of a queue pair that ends" taken
check "it is taken while the queue pair is destroyed" /usr/bin/python3 "$TOP/tests/lib/py/trace_edit.py" "$TEST_DIR/trace.async" async
for _ in 1 2 3 4 5; do
	check "who takes an asynchronous event comes before what makes it forgotten" replays "$TEST_DIR/trace.async"
done

for test in ucp_add ucp_fadd ucp_swap ucp_cswap; do
	ucx rc_v $test 8
done

# fi PROVIDER ENDPOINT SIZE - it looks at no loopback address
fi_pp() {
	SERVER_PORT=-B CLIENT_PORT=-P pp "fi_$1_$2_$3" fi_pingpong -p "$1" -e "$2" -c -I 20 -S "$3"
}
if [ "$SETTING" != one ] || [ -n "$(ip -o addr show up scope global 2>/dev/null)" ]; then
	for size in 1 4096 100000; do
		fi_pp verbs msg $size
	done
	fi_pp verbs dgram 1024
	fi_pp "verbs;ofi_rxd" rdm 1024
fi
done_testing
