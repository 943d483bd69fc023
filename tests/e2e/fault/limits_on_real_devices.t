#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# `limit` on real devices: queries and calls answer as on an emulated device with these limits. The emulator of an outer
# run stands for the real devices.
. "$(dirname "$0")/../../lib/lib.sh"
need rping

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

# real ARGS... - `rdmaemu run --real` with these
real() {
	emu "$R" run --real --fresh "$@"
}

cat >rules <<END
limit max_qp=2 max_cq=3 max_mr=2 max_pd=2 must-fire
limit max_srq=1 max_qp_wr=10 max_sge=2 max_cqe=100 must-fire
limit max_srq_wr=8 max_mr_size=4096 max_wq_type_rq=5 must-fire
END
seen=$(real --scenario rules -- "$T/app_fault_limits" 2>&1)
is "as on an emulated device" "$seen" "$(limit "$R" run --fresh --scenario rules -- "$T/app_fault_limits" 2>&1)"
is "which has these limits" "$(head -3 <<<"$seen")" "max_qp 2 2, max_cq 3, max_mr 2, max_pd 2, max_srq 1, \
max_qp_wr 10, max_sge 2, max_cqe 100, max_srq_wr 8, max_mr_size 4096, max_wq_type_rq 5
PDs: 2, then ENOMEM, and again one for one
CQs: 3, then ENOMEM, and again one for one"
echo "limit max_qp=2 at=3600s" >rules
is "not before its time" "$(real --scenario rules -- "$T/app_fault_limits" | grep ^QPs)" \
	"$(emu "$T/app_fault_limits" | grep ^QPs)"

# --- objects that librdmacm creates, and the journal

echo "limit max_qp=0 must-fire" >rules
is "rdma_create_qp() fails, and the journal says why" "$(real --explain --scenario rules -- rping -c -a 127.0.0.1 -C 1 2>&1 |
	sed -En 's/.*(rdma_create_qp)\(.*\): by/\1: by/p')" \
	"rdma_create_qp: by fault rule f1: limit max_qp=0 must-fire (rules:1)"

# --- what cannot be

# refused RULE WORDS - the rule is refused with these words
refused() {
	echo "$1" >rules
	is "refused: $1" "$(emu "$R" run --real --scenario rules --dry-run -- true 2>&1)" "rdmaemu: rules:1: $2"
}
refused "limit max_sge_rd=1" "'max_sge_rd': expected a limit that a call of the program can exceed"
refused "limit max_qp=1 device=x" "'device': expected no device=: the rule lowers all devices"
done_testing
