#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: what captures write does not depend on where the programs are
# FLUSH and its answer as frames (IBTA annex A19), and fault rules that name it. tshark 4.0 shows opcode 28 as unknown.
. "$(dirname "$0")/../../lib/lib.sh"
need python3 tshark

CAP=$TEST_DIR/flush.pcapng
APP=$T/app_qp_flush

# look EXPR... - of the capture, by tests/lib/py/capture_check.py
look() {
	/usr/bin/python3 "$TOP/tests/lib/py/capture_check.py" "$CAP" "$@"
}

# field OFFSET SIZE - of the FLUSH packets' headers, what each has, without those that repeat
field() {
	look "sorted({p.body[$1:$1 + $2].hex() for p in packets if p.op == 'RC FLUSH'})"
}

check "the program under a capture" limit "$RDMAEMU" run --fresh --capture "$CAP" -- "$APP" persistent
is "each FLUSH is a packet that asks for its answer" \
	"$(look "count('RC FLUSH') > 0 and all(p.ackreq for p in packets if p.op == 'RC FLUSH')")" True
is "FETH: placement types, selectivity in bits 4 and 5" "$(field 12 4)" \
	"['00000000', '00000001', '00000002', '00000003', '00000011', '00000013']"
is "BTH, FETH, RETH, ICRC, and no payload" \
	"$(look "{len(p.body) for p in packets if p.op == 'RC FLUSH'}")" "{36}"
is "the length of RETH" "$(look "'00000ff8' in $(field 28 4)")" True
# BTH, AETH, ICRC
is "a READ response of 0 bytes answers each that succeeds" \
	"$(look "[len(p.body) for p in packets if p.op == 'RC READ_RESP_ONLY'] == [20] * 7")" True
check "tshark reads them" sh -c "tshark -r '$CAP' -Y 'infiniband.bth.opcode == 28' 2>/dev/null | grep -q RRoCE"

printf '%s\n' 'drop opcode=FLUSH nth=1' 'drop opcode=RDMA_READ_RESPONSE_ONLY nth=1' >"$TEST_DIR/lost.faults"
check "what gets lost is repeated" limit "$RDMAEMU" run --fresh --must-fire --scenario "$TEST_DIR/lost.faults" -- \
	"$APP" persistent
printf '%s\n' 'wc status=BAD_RESP_ERR opcode=FLUSH nth=1' >"$TEST_DIR/status.faults"
is "a status by rule" "$(limit "$RDMAEMU" run --fresh --must-fire --scenario "$TEST_DIR/status.faults" -- \
	"$APP" persistent | grep -c '^not ok')" 1
echo 'wc status=LOC_PROT_ERR opcode=FLUSH' >"$TEST_DIR/none.faults"
rdmaemu_refuses run 'a FLUSH has no local memory that could be refused' 125 IBV_WC_LOC_PROT_ERR \
	--dry-run --scenario "$TEST_DIR/none.faults" -- true
done_testing
