#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: what a program does wrong does not depend on where its peer is
# slow 10
# The check says nothing of programs that are known to be right: an error would end them with status 99, and nothing is
# printed. docs/reference/checks.md has the list of what it says of others.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need ibv_rc_pingpong ibv_ud_pingpong ibv_srq_pingpong ib_send_bw ib_write_lat ib_read_bw ib_atomic_bw rping ucmatose rstream

export RDMAEMU_CHECK=errors,warnings

# silent COMMAND... - both sides end well, and neither has a report
silent() {
	"$@" && ! grep -h '^rdmaemu: ' "$TEST_DIR"/{server,client}.out
}

# Warnings are about perftest's leaks, and about the order in which rping ends.
for program in 'ibv_rc_pingpong -e' ibv_uc_pingpong 'ibv_ud_pingpong -e -g 0'; do
	# shellcheck disable=SC2086
	check "$program" silent pair_run $program -n 100
done
# It counts the messages of all its queue pairs together, and ends while some of them still send.
RDMAEMU_CHECK=errors,warnings,-QP:DESTROY:OUTSTANDING check "ibv_srq_pingpong -e" \
	silent pair_run ibv_srq_pingpong -e -n 100
RDMAEMU_CHECK+=,-OBJECT:LEAK:EXIT
for program in ib_send_bw 'ib_send_bw -e' 'ib_send_bw -c UD' 'ib_write_lat' 'ib_read_bw -e' 'ib_atomic_bw -q 2'; do
	# shellcheck disable=SC2086
	check "$program" silent pair_run $program -n 100
done

cm_pair() {
	local port
	port=$(free_port)
	cm_both TCP "$port" "$1 -p $port" "$2 -p $port"
}
RDMAEMU_CHECK+=,-ID:DESTROY:QP
check rping silent cm_pair "rping -s -C 10" "rping -c -a $ADDR -C 10 -V"
check ucmatose silent cm_pair ucmatose "ucmatose -s $ADDR"

# rsockets make a CQ and its channel for an identifier, and rdma_destroy_qp() destroys both. The context is librdmacm's,
# and rdma_destroy_id() acknowledges the latest event of a synchronous identifier. rstream does not close the socket on
# which it listens.
streams() {
	RDMAEMU_CHECK=errors,OBJECT:LEAK:EXIT cm_pair "rstream -I 10 -C 20 -S 5000" "rstream -s $ADDR -I 10 -C 20 -S 5000" &&
		! grep -hE '^rdmaemu: (error|.* (cq|ch|ctx|ev)[0-9])' "$TEST_DIR"/{server,client}.out
}
check rstream streams
done_testing
