#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: looks at packets
# Captures of SRD: the ladder has the packets, and tshark, with the dissector that is installed, their fields: queue
# pairs, PSNs of each flow, keys and lengths, how many packets an ACK is about, and NAKs.
. "$(dirname "$0")/../../lib/lib.sh"
need tshark python3
export RDMAEMU_PROFILE=efa
LUA=$TOP/traces/wireshark/srd.lua
cd "$TEST_DIR" || exit 1
# Wireshark 4.4 runs no scripts for root. In a user namespace without a map this process is nobody, with root's files.
as_user=()
! is_root || ! unshare -U true 2>/dev/null || as_user=(unshare -U)
dissector() {
	HOME=$TEST_DIR limit "${as_user[@]}" tshark -X lua_script:"$LUA" "$@"
}
dissector -r "$TOP/tests/data/traces/nak_access.pcap" -Y srd >/dev/null 2>&1 ||
	skip_all "this tshark runs no scripts in Lua, or none for root"

# fields FILTER NAME... - of each packet, as tshark with the dissector sees them
fields() {
	local f names=()
	for f in "${@:2}"; do names+=(-e "$f"); done
	dissector -r srd.pcapng -Y "$1" -T fields "${names[@]}" 2>tshark.err
}
messages() {
	limit "$RDMAEMU" run -- "$T/app_srd_messages" "$@" >/dev/null
}

check "a fabric of EFA devices" limit "$RDMAEMU" fabric start || done_testing
check "a capture" limit "$RDMAEMU" capture start --erf srd.pcapng
check "SENDs" messages send 3 100
check "READs" messages read 2 10000
check "WRITEs" messages write 2 10000
check "a rule" limit "$RDMAEMU" fault add 'nak code=REM_ACCESS_ERR opcode=RDMA_WRITE nth=1'
check "a WRITE that is refused" messages write 1 100
check "the capture ends" limit "$RDMAEMU" capture stop

all=$(fields frame frame.number | wc -l)
is "every packet is one of SRD" "$(fields srd srd.opcode | wc -l)" "$all"
is "the dissector has no complaint" "$(grep -v '^Running as user' tshark.err)" ""
is "packets by opcode: SEND, WRITE, READ and their answers" "$(fields srd srd.opcode | sort -n | uniq -c | xargs)" \
	"3 4 2 6 2 7 2 8 1 10 2 12 2 13 2 14 2 15 6 17"
is "PSNs of the SENDs" "$(fields 'srd.opcode == 4' srd.psn | xargs)" "0 1 2"
is "and of their ACKs, of one packet each" "$(fields 'srd.opcode == 17' srd.psn srd.aeth.packets | head -n 3 | xargs)" "0 1 1 1 2 1"
is "an ACK of a WRITE is about all its packets" \
	"$(fields 'srd.opcode == 17 && srd.aeth.packets == 3' srd.psn | xargs)" "0 3"
is "READs name what they read" "$(fields 'srd.opcode == 12' srd.reth.length srd.psn | xargs)" "10000 0 10000 3"
is "requests name their sender, answers go to it" "$(fields 'srd.opcode == 4' srd.srcqp | sort -u)" \
	"$(fields 'srd.opcode == 17' srd.destqp | head -n 1)"
is "the Q_Key" "$(fields srd.qkey srd.qkey | sort -u)" 0x11223344
is "the NAK, in words" "$(fields 'srd.aeth.syndrome == 0x62' _ws.col.Info | grep -c 'SRD NAK remote access of 1 packets to QP')" 1
is "without the dissector tshark takes READ requests for something else" \
	"$(limit tshark -r srd.pcapng -Y '_ws.malformed' 2>/dev/null | wc -l)" 2
ladder() {
	limit "$RDMAEMU" trace ladder srd.pcapng >ladder
	[ "$(grep -c 'SEND_ONLY qp' ladder) $(grep -c 'RDMA_READ_REQUEST qp' ladder) $(grep -c 'NAK remote access' ladder)" = "3 2 1" ]
}
check "the ladder has them without" ladder
done_testing
