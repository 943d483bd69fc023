/* SPDX-License-Identifier: MIT */
/**
 * DOC: what fault rules see of a frame of a captured trace. The frame itself is read by traces/formats/roce.h.
 */
#ifndef FABRIC_CLI_FAULT_TRY_FRAME_H
#define FABRIC_CLI_FAULT_TRY_FRAME_H

#include "traces/formats/roce.h"

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
 * @transport: enum roce_transport
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

/**
 * trace_frame_parse() - look at a frame. Checksums are not asked about: rules see packets where they are sent.
 * @link: enum roce_link
 * @caplen: bytes at @bytes; @len: those that it had on the wire
 */
enum trace_verdict trace_frame_parse(u32 link, const u8 *bytes, u32 caplen, u32 len,
				     struct trace_pkt *p);

#endif
