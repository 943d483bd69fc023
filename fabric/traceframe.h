/* SPDX-License-Identifier: MIT */
/**
 * DOC: frames of a captured trace: what RDMA packet they carry.
 *
 * Pure functions over bytes that anybody may have made: no length that stands in a frame is trusted.
 */
#ifndef FABRIC_TRACEFRAME_H
#define FABRIC_TRACEFRAME_H

#include "emulator/types.h"

/** enum trace_link - link types that are understood: LINKTYPE_* of pcap. */
enum trace_link {
	TRACE_LINK_ETHERNET = 1,
	TRACE_LINK_RAW_OLD = 12, /* DLT_RAW, as libpcap calls LINKTYPE_RAW */
	TRACE_LINK_RAW = 101,
	TRACE_LINK_SLL = 113,
	TRACE_LINK_ERF = 197,
	TRACE_LINK_IPV4 = 228,
	TRACE_LINK_IPV6 = 229,
	TRACE_LINK_IB = 247,
	TRACE_LINK_SLL2 = 276,
};

/** enum trace_transport - the upper three bits of the BTH's opcode. */
enum trace_transport {
	TRACE_RC = 0,
	TRACE_UC = 1,
	TRACE_UD = 3,
	TRACE_XRC = 5,
};

/** struct trace_addr - who sends or gets: @kind '4', '6' (also a GID) or 'L', a LID; unused bytes are 0 */
struct trace_addr {
	u8 kind;
	u8 b[16];
};

/**
 * struct trace_cm - of a message of connection management.
 * @attr: its attribute id; 0: it is of no such message
 * @qpn, @psn: REQ's and REP's: the sender's QP, and the PSN that the other is to begin with
 */
struct trace_cm {
	u32 attr;
	u32 local_id, remote_id;
	u32 qpn, psn;
};

/**
 * struct trace_pkt - an RDMA packet of a trace.
 * @transport: enum trace_transport
 * @opcode: the lower five bits of the BTH's
 * @src_qpn: UD's; 0 where the packet does not say
 * @aeth: the syndrome, of acknowledges
 * @size: bytes of payload
 */
struct trace_pkt {
	struct trace_addr src, dst;
	u32 transport;
	u32 opcode;
	u32 src_qpn, dst_qpn;
	u32 psn;
	u32 aeth;
	u32 size;
	struct trace_cm cm;
};

enum trace_verdict {
	TRACE_OTHER, /* not of RDMA, or of a transport that rules do not know */
	TRACE_RDMA,
	TRACE_BAD, /* it says that it is, but is cut short, or its lengths are impossible */
};

/** trace_link_known() - whether frames of that link type are understood. */
bool trace_link_known(u32 link);
/**
 * trace_frame() - look at a frame.
 * @caplen: bytes at @bytes; @len: those that it had on the wire
 */
enum trace_verdict trace_frame(u32 link, const u8 *bytes, u32 caplen, u32 len, struct trace_pkt *p);

#endif
