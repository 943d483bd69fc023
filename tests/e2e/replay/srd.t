#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# settings: one nodes: a replay makes one fabric
# Programs that use SRD queue pairs, perftest and libfabric's efa provider, are recorded and replayed without them. A
# trace shows such a queue pair as one of IBV_QPT_DRIVER.
export RDMAEMU_PROFILE=efa
. "$(dirname "$0")/../../lib/lib.sh"
need ib_send_bw ib_send_lat ib_read_bw fi_pingpong python3
. "$TOP/tests/lib/replay.sh"

# The fabric stays, with its counters.
export RDMAEMU_LINGER=60000
rnr_naks() {
	status_json --fabric "$(fabric_name)" |
		json 'sum(port["counters"]["send_rnr_err"] for dev in d["devices"] for port in dev["ports"])'
}

# in_order NAME COMMAND... - recorded, once more as long as a message finds no receive posted, as on a busy machine: it
# waits, and others overtake it. In which order they arrive is in no record.
in_order() {
	local before i
	for ((i = 0; i < 12; i++)); do
		before=$(rnr_naks 2>/dev/null || echo 0)
		recorded "$@" || return
		[ "$(rnr_naks)" != "$before" ] || return 0
	done
	echo "messages found no receive posted in $i records"
	return 1
}
RECORD=in_order

for size in 1 4096; do
	pp send_bw_$size ib_send_bw -c SRD -x 0 -n 100 -s $size
done
pp send_lat ib_send_lat -c SRD -x 0 -n 100
pp send_bw_3qps ib_send_bw -c SRD -x 0 -n 100 -q 3
for size in 100 1000000; do
	pp read_bw_$size ib_read_bw -c SRD -x 0 -n 100 -s $size
done
if perftest_srd_writes; then
	pp write_bw ib_write_bw -c SRD -x 0 -n 100 -s 10000
else
	skip write_bw "this perftest has no WRITE over SRD"
fi

# Peers of one machine would use the provider shm.
export FI_EFA_ENABLE_SHM_TRANSFER=0
for size in 64 65536; do
	SERVER_PORT=-B CLIENT_PORT=-P pp fi_rdm_$size fi_pingpong -p efa -e rdm -c -I 20 -S $size
done
SERVER_PORT=-B CLIENT_PORT=-P pp fi_dgram fi_pingpong -p efa -e dgram -c -I 20 -S 64

shown() {
	limit "$REAL" trace show "$TEST_DIR/trace.read_bw_100"
}
is "the trace has the queue pair" "$(shown | grep -c 'ibv_create_qp_ex.*attr.qp_type=IBV_QPT_DRIVER.* = qp1')" 2
is "READs with address handle, queue pair, address and key" \
	"$(shown | grep -cE 'RDMA_READ .*remote=0x[0-9a-f]+ rkey=0x[0-9a-f]+ ah1 remote_qpn=0x')" 100

# Another recording of the same program differs in nothing that counts; one of other messages does.
pp read_bw_again ib_read_bw -c SRD -x 0 -n 100 -s 100
differs() {
	limit "$REAL" trace diff "$TEST_DIR/trace.read_bw_100" "$TEST_DIR/trace.$1" >"$TEST_DIR/diff" 2>&1
}
check "two recordings are the same" differs read_bw_again || cat "$TEST_DIR/diff"
not_same() {
	! differs read_bw_1000000
}
check "one of larger messages is not" not_same
done_testing
