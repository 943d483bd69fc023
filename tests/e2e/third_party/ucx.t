#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one nodes fabrics
# UCX, with its ucx_perftest: every operation over its RC and UD transports.
. "$(dirname "$0")/../../lib/lib.sh"
need ucx_perftest

# Nothing but what goes through verbs; what UCX has to say is an error.
export UCX_NET_DEVICES=rdmaemu0:1 UCX_LOG_LEVEL=error UCX_WARN_UNUSED_ENV_VARS=n
# A strong fence of UCX 1.18 flushes the peer's memory, which its rc_v says it cannot do: it takes a key that only its
# own code for mlx5's hardware makes.
export UCX_FENCE_MODE=weak
no_mpi=$(without_mpi)

# ucx TRANSPORTS TEST SIZE - it is done, and nothing is said that is no result
ucx() {
	UCX_TLS=$1 pair_run ucx_perftest $no_mpi -t "$2" -s "$3" -n 100 -w 10 && ! grep -h "UCX  \|ERROR" "$TEST_DIR"/{server,client}.out
}

for transports in rc_v ud_v; do
	for size in 8 100000; do
		for test in tag_lat tag_bw ucp_am_lat ucp_put_lat ucp_get stream_lat; do
			check "UCX $transports: $test, $size bytes" ucx $transports $test $size
		done
	done
done
# RC only: UCX makes those of the datagram transport of messages.
for test in ucp_add ucp_fadd ucp_swap ucp_cswap; do
	for size in 4 8; do
		check "UCX rc_v: $test, $size bytes" ucx rc_v $test $size
	done
done
done_testing
