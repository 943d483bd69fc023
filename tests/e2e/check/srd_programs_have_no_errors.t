#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: what a program does wrong does not depend on where its peer is
# slow 10
# The check says nothing of perftest over SRD and of libfabric's efa provider, and explains a key that is wrong.
export RDMAEMU_PROFILE=efa
. "$(dirname "$0")/../../lib/lib.sh"
need ib_send_bw ib_send_lat ib_read_bw fi_pingpong

# As in known_programs_have_no_errors.t: they leave objects to the end of the process.
export RDMAEMU_CHECK=errors,warnings,-OBJECT:LEAK:EXIT FI_EFA_ENABLE_SHM_TRANSFER=0

# silent COMMAND... - both sides end well, and neither has a report
silent() {
	"$@" && ! grep -h '^rdmaemu: ' "$TEST_DIR"/{server,client}.out
}
for program in ib_send_bw ib_send_lat ib_read_bw 'ib_send_bw -q 2' 'ib_read_bw -s 1000000'; do
	# shellcheck disable=SC2086
	check "$program over SRD" silent pair_run $program -c SRD -x 0 -n 100
done
if perftest_srd_writes; then
	check "ib_write_bw over SRD" silent pair_run ib_write_bw -c SRD -x 0 -n 100
else
	skip "ib_write_bw over SRD" "this perftest has no WRITE over SRD"
fi
# A message to a receiver that is not ready fails, and the provider sends it again.
SERVER_PORT=-B CLIENT_PORT=-P check "fi_pingpong" silent pair_run fi_pingpong -p efa -e rdm -c -I 20 -S 1024
# It deregisters the memory of its receives before it destroys the queue pair.
RDMAEMU_CHECK+=,-MR:DEREG:POSTED SERVER_PORT=-B CLIENT_PORT=-P \
	check "fi_pingpong, datagrams" silent pair_run fi_pingpong -p efa -e dgram -c -I 20 -S 1024

wrong_key() {
	limit "$RDMAEMU" run -- "$T/app_srd_messages" wrong_key 1 100 >"$TEST_DIR/wrong" 2>&1
	[ $? = 99 ]
}
check "a wrong key ends the program with 99" wrong_key
is "its completion" "$(grep '^send' "$TEST_DIR/wrong")" "send 0 local protection error 5"
check "the report names the request and the key" grep -q 'WR:LKEY:INVALID.*qp1, wr_id 0' "$TEST_DIR/wrong" ||
	cat "$TEST_DIR/wrong"
done_testing
