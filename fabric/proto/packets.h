/* SPDX-License-Identifier: MIT */
/** DOC: bodies of requests about packets: captures and injection. See fabric/proto/proto.h. */
#ifndef FABRIC_PROTO_PACKETS_H
#define FABRIC_PROTO_PACKETS_H

#include "emulator/hca.h"

#define PROTO_NODE_SIZE sizeof(((struct hca_node *)0)->name)
#define PROTO_DEV_SIZE	32u

/**
 * struct proto_capture - a capture: fabric/capture/control.h.
 * @erf: InfiniBand packets have an ERF header: roce_erf_header()
 * @snaplen: bytes of each frame; 0: all
 * @ring_bytes: of a file of a ring; 0: there is one file; @ring_files: files to keep; 0: all
 * @node, @dev, @port: "", "", 0: all
 * @path: the file, absolute; for a ring the stem of its files' names
 * @packets, @bytes, @filtered, @lost, @files: out: counts
 * @err: out: errno that it has failed with, about @text; 0: none
 * @mode: of files of a ring: the mode that the requesting process would create them with
 * @ended: out: another connection than its owner's has ended it
 */
struct proto_capture {
	u32 id;
	u32 lossy;
	u32 snaplen;
	u32 port;
	u32 erf;
	u32 ended;
	u32 mode;
	u32 pad;
	u64 ring_bytes;
	u32 ring_files;
	u32 files;
	u64 packets;
	u64 bytes;
	u64 filtered;
	u64 lost;
	s32 err;
	u32 state; /* out: enum capture_state */
	char node[PROTO_NODE_SIZE];
	char dev[PROTO_DEV_SIZE];
	char filter[1024];
	char text[256];
	char path[4096];
};

/**
 * struct proto_inject - a queue pair, and the fields of packets of its peer.
 * @node, @dev, @port: in: where it is; empty, 0: anywhere. out
 * @from: in: the node of its peer; empty: any
 * @program: in: its program, by name or process id; empty: any
 * @qpn: in: its number; 0: any connected one, the youngest first
 * @mr: in: the @mr th memory region of its PD, from 1 on; @n_mrs: out: how many there are
 * @gid, @peer_gid, @lid, @peer_lid: out: addresses of both ends
 * @first_request, @first_answer: out: PSN of the first request that it was to receive, and that it
 *	sent
 * @mgid, @mlid: out: its first multicast group; @in_group: it is in one
 * @global: out: its packets have a GRH, on InfiniBand too
 * @epsn: out: PSN of the next request that it expects
 * @una, @next: out: PSN of its oldest request without an ACK, and of its next one
 */
struct proto_inject {
	char node[PROTO_NODE_SIZE];
	char dev[PROTO_DEV_SIZE];
	char from[PROTO_NODE_SIZE];
	char program[JOURNAL_NAME];
	u32 port;
	u32 qpn;
	u32 mr;
	u32 n;
	/* out */
	u32 type; /* enum ib_qp_type */
	u32 state; /* enum ib_qp_state */
	u32 link_layer; /* enum hca_link */
	u32 mtu; /* bytes */
	u32 peer_qpn;
	u32 pkey;
	u32 qkey;
	u32 srqn; /* XRC target: of the first SRQ of its domain */
	u32 flow_label;
	u8 gid[16], peer_gid[16];
	u16 lid, peer_lid;
	u8 sl, tclass, hop_limit, isolated;
	u8 mgid[16];
	u16 mlid;
	u8 global, in_group;
	u32 first_request, first_answer;
	u32 epsn, una, next;
	u32 n_mrs;
	u32 rkey;
	u64 va, len; /* of the region */
};

/**
 * struct proto_settled - whether a capture has all that a queue pair has sent.
 * @qpn: the queue pair's
 * @upto: in: 0, or the value of the previous answer: packets sent by the time of that request count
 * @packets: out: packets that the capture has written so far
 */
struct proto_settled {
	u32 qpn;
	u32 pad;
	u64 upto;
	u64 packets;
};

#define PROTO_FRAME 4608u /* the largest MTU and all headers */

/** struct proto_frame - a frame. @link: LINKTYPE_* of pcap: enum roce_link */
struct proto_frame {
	u32 link;
	u32 len;
	char why[128];
	u8 bytes[PROTO_FRAME];
};

#endif
