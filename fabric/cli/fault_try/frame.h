/* SPDX-License-Identifier: MIT */
/**
 * DOC: the part of a captured frame that fault rules see. traces/formats/roce.h reads the frame
 * itself.
 */
#ifndef FABRIC_CLI_FAULT_TRY_FRAME_H
#define FABRIC_CLI_FAULT_TRY_FRAME_H

#include "traces/formats/roce.h"

/** struct trace_addr - an address: @kind '4', '6' (also a GID) or 'L', a LID; unused bytes are 0 */
struct trace_addr {
	u8 kind;
	u8 b[16];
};

/**
 * struct trace_cm - fields of a message of connection management.
 * @attr: its attribute id; 0: it is not such a message
 * @qpn, @psn: of REQ and REP: the sender's QP, and the PSN that the other side begins with
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
 * @src_qpn: of UD; 0 if the packet does not have it
 * @aeth: the syndrome of an ACK
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
	TRACE_OTHER, /* not RDMA, or a transport that rules do not know */
	TRACE_RDMA,
	TRACE_BAD, /* RDMA, but cut short, or with impossible lengths */
};

/**
 * trace_frame_parse() - read a frame. Checksums are not checked: rules see packets where they are
 * sent.
 * @link: enum roce_link
 * @caplen: bytes at @bytes; @len: bytes that it had on the wire
 */
enum trace_verdict trace_frame_parse(u32 link, const u8 *bytes, u32 caplen, u32 len,
				     struct trace_pkt *p);

#endif
