#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: looks at frames
# InfiniBand ports: tshark reads captures made with --erf, but not those of LINKTYPE_INFINIBAND.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/rdmacm.sh"
need tshark rping ibv_rc_pingpong ibv_ud_pingpong

export RDMAEMU_PROFILE=infiniband
ERF=$TEST_DIR/erf.pcapng

# fields FILE NAME... - of each packet
fields() {
	local f names=()
	for f in "${@:2}"; do names+=(-e "$f"); done
	limit tshark -r "$1" -T fields "${names[@]}" 2>/dev/null
}

traffic() {
	local port
	port=$(free_port)
	pair_once ibv_rc_pingpong -n 3 -s 100 && pair_once ibv_ud_pingpong -n 2 -s 64 &&
		cm_both TCP "$port" "rping -s -C 2 -p $port" "rping -c -C 2 -p $port -a $ADDR"
}

check "a fabric of InfiniBand ports" limit "$RDMAEMU" fabric start || done_testing
check "a capture with --erf" limit "$RDMAEMU" capture start --erf "$ERF"
check "one with a snap length" limit "$RDMAEMU" capture start --erf --snaplen 64 "$TEST_DIR/snap.pcapng"
check "one as LINKTYPE_INFINIBAND" limit "$RDMAEMU" capture start "$TEST_DIR/ib.pcapng"
check "traffic" traffic
check "captures end" limit "$RDMAEMU" capture stop

is "tshark knows all packets" "$(fields "$ERF" _ws.col.Protocol | sort -u)" "InfiniBand"
is "none is malformed" "$(tshark_reads -r "$ERF" -Y _ws.malformed 2>/dev/null)" ""
is "SENDs of RC, by LID" "$(limit tshark -r "$ERF" -Y 'infiniband.bth.opcode == 4 and data.len == 100' 2>/dev/null | wc -l)" 6
is "datagrams of the ping-pong" \
	"$(limit tshark -r "$ERF" -Y 'infiniband.bth.opcode == 100 and infiniband.deth.srcqp > 1' 2>/dev/null | wc -l)" 4
is "messages of a connection" "$(fields "$ERF" infiniband.mad.attributeid | sort -u | xargs)" \
	"0x0010 0x0013 0x0014 0x0015 0x0016"
is "each has a LID" "$(fields "$ERF" infiniband.lrh.dlid | grep -c '^[1-9]')" "$(fields "$ERF" frame.number | wc -l)"
is "the same packets with a snap length" "$(fields "$TEST_DIR/snap.pcapng" frame.len infiniband.bth.psn)" \
	"$(fields "$ERF" frame.len infiniband.bth.psn)"
is "of which 64 bytes are captured" "$(fields "$TEST_DIR/snap.pcapng" frame.cap_len | sort -un | tail -n 1)" 64
is "and all of them as LINKTYPE_INFINIBAND" "$(fields "$TEST_DIR/ib.pcapng" frame.number | wc -l)" \
	"$(fields "$ERF" frame.number | wc -l)"
done_testing
