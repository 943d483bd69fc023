#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: no program of two sides
# tshark decodes the packets of an rdma_cm handshake.
. "$(dirname "$0")/../../lib/lib.sh"
command -v tshark >/dev/null || skip_all "tshark is not installed"

check "a capture is written" limit "$T/unit/traces/formats/test_cm_frames" "$TEST_DIR/cm.pcapng" || done_testing
got=$(limit tshark -r "$TEST_DIR/cm.pcapng" -T fields -e _ws.col.Info 2>"$TEST_DIR/tshark.err" |
	sed 's/ *$//' | paste -sd ,)
is "the messages of a connection, a refusal and a datagram service" "$got" \
	"CM: ConnectRequest,CM: ConnectReply,CM: ReadyToUse,CM: DisconnectRequest,CM: DisconnectReply,CM: ConnectRequest,CM: ConnectReject,CM: ServiceIDResReq,CM: ServiceIDResReqResp"
bad=$(limit tshark -r "$TEST_DIR/cm.pcapng" -o ip.check_checksum:TRUE -Y "_ws.malformed or ip.checksum.status == 0" 2>/dev/null)
is "none of them is malformed" "$bad" ""
done_testing
