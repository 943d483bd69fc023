/* SPDX-License-Identifier: MIT */
/**
 * DOC: converts between RDMA packets and frames: RoCE v2, RoCE v1 and InfiniBand.
 *
 * A struct roce_pkt has the contents of all headers of a frame, in host order. roce_build() makes a
 * frame of it and computes lengths, checksums, pad, ICRC and VCRC. roce_parse() is the reverse, and
 * reports what is wrong with the frame. Both are pure functions. Frames may come from anywhere, so
 * roce_parse() trusts no length in them. Headers are those of IBTA volume 1, chapter 9, and for
 * RoCE annexes A16 and A17.
 */
#ifndef TRACES_FORMATS_ROCE_H
#define TRACES_FORMATS_ROCE_H

#include "emulator/types.h"

/**
 * enum roce_link - link types, LINKTYPE_* of pcap. roce_parse() reads all of them, roce_build()
 * makes ETHERNET and IB.
 */
enum roce_link {
	ROCE_LINK_ETHERNET = 1,
	ROCE_LINK_RAW_OLD = 12, /* DLT_RAW, as libpcap calls LINKTYPE_RAW */
	ROCE_LINK_RAW = 101,
	ROCE_LINK_SLL = 113,
	ROCE_LINK_ERF = 197,
	ROCE_LINK_IPV4 = 228,
	ROCE_LINK_IPV6 = 229,
	ROCE_LINK_IB = 247, /* from the LRH to the VCRC */
	ROCE_LINK_SLL2 = 276,
};

/** enum roce_net - the network layer of a packet. It determines the link type of its frames. */
enum roce_net {
	ROCE_IP4, /* Ethernet, IPv4, UDP 4791 */
	ROCE_IP6, /* Ethernet, IPv6, UDP 4791 */
	ROCE_V1, /* Ethernet, GRH */
	ROCE_IB, /* LRH */
	ROCE_IB_GRH, /* LRH, GRH */
};

/** enum roce_transport - the upper three bits of the BTH opcode. */
enum roce_transport {
	ROCE_RC = 0,
	ROCE_UC = 1,
	ROCE_RD = 2,
	ROCE_UD = 3,
	ROCE_CNP = 4, /* congestion notification, annex A17.9.3: opcode 0x81 alone */
	ROCE_XRC = 5,
};

/** enum roce_op - the lower five bits: IBTA volume 1, table 38. */
enum roce_op {
	ROCE_SEND_FIRST,
	ROCE_SEND_MIDDLE,
	ROCE_SEND_LAST,
	ROCE_SEND_LAST_IMM,
	ROCE_SEND_ONLY,
	ROCE_SEND_ONLY_IMM,
	ROCE_WRITE_FIRST,
	ROCE_WRITE_MIDDLE,
	ROCE_WRITE_LAST,
	ROCE_WRITE_LAST_IMM,
	ROCE_WRITE_ONLY,
	ROCE_WRITE_ONLY_IMM,
	ROCE_READ_REQ,
	ROCE_READ_RESP_FIRST,
	ROCE_READ_RESP_MIDDLE,
	ROCE_READ_RESP_LAST,
	ROCE_READ_RESP_ONLY,
	ROCE_ACK,
	ROCE_ATOMIC_ACK,
	ROCE_CMP_SWAP,
	ROCE_FETCH_ADD,
	ROCE_RESYNC, /* RD only */
	ROCE_SEND_LAST_INV,
	ROCE_SEND_ONLY_INV,
	ROCE_FLUSH = 28,
	ROCE_ATOMIC_WRITE,
};

#define ROCE_OPCODE(transport, op) ((u8)((transport) << 5 | (op)))
#define ROCE_OPCODE_CNP		   0x81u

/** enum roce_hdr - extended headers, in their order after the BTH. */
enum roce_hdr {
	ROCE_RDETH = 1 << 0,
	ROCE_DETH = 1 << 1,
	ROCE_XRCETH = 1 << 2,
	ROCE_FETH = 1 << 3,
	ROCE_RETH = 1 << 4,
	ROCE_ATOMICETH = 1 << 5,
	ROCE_AETH = 1 << 6,
	ROCE_ATOMICACKETH = 1 << 7,
	ROCE_IMMDT = 1 << 8,
	ROCE_IETH = 1 << 9,
	ROCE_PAYLOAD = 1 << 10, /* not a header: there may be payload */
	ROCE_KNOWN = 1 << 11, /* the opcode is defined */
};

/** enum roce_wrong - what is wrong with a parsed frame; 0: nothing. */
enum roce_wrong {
	ROCE_BAD_SHORT = 1 << 0, /* ends within its headers or ICRC: fields after that are 0 */
	ROCE_BAD_LEN = 1 << 1, /* lengths in the headers contradict each other */
	ROCE_BAD_IP_CSUM = 1 << 2,
	ROCE_BAD_UDP_CSUM = 1 << 3, /* the checksum is present and wrong */
	ROCE_BAD_GRH = 1 << 4, /* version or next header of a GRH, or link version of an LRH */
	ROCE_BAD_TVER = 1 << 5, /* transport header version is not 0 */
	ROCE_BAD_OPCODE = 1 << 6, /* unknown: everything after the BTH is payload */
	ROCE_BAD_PAD = 1 << 7, /* more pad than payload, or their sum is no multiple of 4 */
	ROCE_BAD_PAYLOAD = 1 << 8, /* payload with an opcode that has none */
	ROCE_BAD_ICRC = 1 << 9,
	ROCE_BAD_VCRC = 1 << 10,
	ROCE_CUT = 1 << 11, /* not an error: not all was captured, so ICRC and VCRC are unchecked */
};

#define ROCE_UDP_PORT 4791u
#define ROCE_MAD_QKEY 0x80010000u
/* The most bytes before the payload: a capture of this many bytes has all headers. */
#define ROCE_HDR_MAX 128u
/* The longest frame that roce_build() makes. */
#define ROCE_FRAME_MAX (22u + 40u + 65535u)
#define ROCE_VLAN(tci) (0x8100u << 16 | (tci)) /* an entry of roce_pkt.vlan */
#define ROCE_IP_DF     0x4000u /* roce_pkt.ip_frag of RoCE packets */

/**
 * struct roce_pkt - one packet. Integers in host order; bytes (MACs, GIDs) as on the wire. @opcode
 * determines which fields of the extended headers are valid: roce_headers().
 *
 * @net: enum roce_net
 * @vlan: of Ethernet, outer tag first: protocol (0x8100, 0x88a8) << 16 | TCI; 0: none
 * @tclass: traffic class, or IPv4's type of service (DSCP << 2 | ECN)
 * @flow_label: of IPv6 and GRH, 20 bits
 * @ip_id, @ip_frag: IPv4 identification; flags and fragment offset, usually ROCE_IP_DF
 * @hop_limit: or IPv4's TTL
 * @sgid, @dgid: IPv4 addresses as ::ffff:a.b.c.d
 * @udp_csum: as in the frame; RoCE uses 0, no checksum. @udp_sum: for roce_build(): compute it if
 *	the frame is whole
 * @vl, @sl, @slid, @dlid: of the LRH
 * @ecn: FECN 0x80, BECN 0x40, and six reserved bits
 * @resv7: the bits after AckReq
 * @syndrome, @msn: AETH
 * @eec: RDETH; @srqn: XRCETH; @qkey, @sqpn: DETH; @flush: FETH
 * @va, @rkey, @dma_len: RETH; AtomicETH has the first two as well
 * @swap, @compare: AtomicETH; @swap is also the value that a FetchAdd adds
 * @orig: AtomicAckETH; @imm: ImmDt; @inv_rkey: IETH
 * @payload: the first @payload_cap bytes of @payload_len, without pad. After roce_parse() it points
 *	into the frame. roce_build() needs no more bytes than roce_payload_needed() says.
 * @icrc_xor: for roce_build(): corrupts the ICRC; 0: the ICRC is right. roce_parse() leaves it 0
 * @pad, @icrc, @vcrc, @wrong: from roce_parse(); roce_build() ignores them
 */
struct roce_pkt {
	/* network */
	u8 net;
	u8 eth_dst[6], eth_src[6];
	u32 vlan[2];
	u8 tclass;
	u32 flow_label;
	u16 ip_id, ip_frag;
	u8 hop_limit;
	u8 sgid[16], dgid[16];
	u16 udp_src;
	u16 udp_csum;
	bool udp_sum;
	u8 vl, sl;
	u16 slid, dlid;

	/* BTH */
	u8 opcode;
	bool solicited;
	bool mig;
	u8 tver;
	u16 pkey;
	u8 ecn;
	u32 dqpn;
	bool ack_req;
	u8 resv7;
	u32 psn;

	/* extended headers */
	u32 eec;
	u32 qkey, sqpn;
	u32 srqn;
	u32 flush;
	u64 va;
	u32 rkey, dma_len;
	u64 swap, compare;
	u8 syndrome;
	u32 msn;
	u64 orig;
	u32 imm;
	u32 inv_rkey;

	const u8 *payload;
	u32 payload_len, payload_cap;

	u32 icrc_xor;
	u8 pad;
	u32 icrc;
	u16 vcrc;
	u32 wrong; /* enum roce_wrong */
};

/** roce_headers() - enum roce_hdr of a BTH opcode; 0: the opcode is not defined. */
u32 roce_headers(u8 opcode);
/** roce_is_nak() - whether the syndrome of an AETH is a NAK or an RNR NAK. */
bool roce_is_nak(u8 syndrome);
/** roce_syndrome_name() - "ACK", "RNR NAK", "NAK sequence" ... */
const char *roce_syndrome_name(u8 syndrome);
/**
 * roce_is_response() - whether it is an ACK, a READ response or an atomic response, of RC, RD or
 * XRC.
 */
bool roce_is_response(u8 opcode);
/** roce_link_of() - the link type (enum roce_link) for an enum roce_net: ETHERNET or IB. */
u32 roce_link_of(u32 net);

/**
 * roce_frame_len() - bytes of the packet's frame on the wire; depends on @payload_len and the
 * headers.
 */
u32 roce_frame_len(const struct roce_pkt *p);
/**
 * roce_payload_needed() - bytes that must be at @payload to build the first @snap bytes of the
 * frame. Payload after these is not needed, unless they contain a part of the ICRC, which covers
 * all of it.
 */
u32 roce_payload_needed(const struct roce_pkt *p, u32 snap);
/**
 * roce_build() - build the first @snap bytes of the packet's frame, all of it if @snap >=
 * roce_frame_len().
 * @buf: room for @snap bytes, or for the whole frame if that is less
 * @wire_len: set to the bytes of the whole frame
 *
 * Return: bytes at @buf; -EMSGSIZE: too much payload for a frame; -EINVAL: @payload_cap is less
 * than needed, or a field exceeds its bits.
 */
int roce_build(const struct roce_pkt *p, u8 *buf, u32 snap, u32 *wire_len);
/**
 * roce_build_next() - the same, faster, because most headers stay: @buf has what roce_build() made,
 * with the same @snap, of a packet that differs only in @psn, @ip_id and the bytes of the payload.
 */
int roce_build_next(const struct roce_pkt *p, u8 *buf, u32 snap, u32 *wire_len);

/**
 * struct roce_frame - a RoCE v2 frame whose payload is apart.
 * @head: from the Ethernet header to the last header before the payload; @tail: padding and ICRC
 */
struct roce_frame {
	u8 head[ROCE_HDR_MAX], tail[8];
	u32 head_len, tail_len, payload_len;
	const u8 *payload;
};

/**
 * roce_build_around() - build what stands around the payload of a whole RoCE v2 frame without a UDP
 * checksum.
 * @before: NULL, or the frame of a packet that differs as for roce_build_next()
 * @room: NULL, or where the payload is copied to meanwhile, and then belongs to the frame
 *
 * Return: 0 or -errno as roce_build().
 */
int roce_build_around(const struct roce_pkt *p, const struct roce_frame *before, u8 *room,
		      struct roce_frame *f);

/**
 * roce_erf_header() - make the Endace ERF header of an InfiniBand frame: ROCE_ERF_LEN bytes before
 * the frame make it link type ROCE_LINK_ERF. Wireshark reads that, and does not know ROCE_LINK_IB
 * (as of 4.0).
 * @ns: time since 1970; @caplen, @wire_len: of the frame alone
 */
void roce_erf_header(u8 *out, u64 ns, u32 caplen, u32 wire_len);
#define ROCE_ERF_LEN 16u

/** roce_link_known() - whether roce_parse() supports the link type. */
bool roce_link_known(u32 link);
/**
 * roce_parse() - parse a frame.
 * @link: enum roce_link
 * @frame: its first @caplen bytes; @len: bytes on the wire
 * @p: all fields are set; @p->wrong says what is wrong with the frame
 *
 * If the frame is cut (@caplen < @len), the captured part is parsed. IP options, IPv6 extension
 * headers and bytes after the packet are skipped, and are not in @p.
 *
 * Return: 0: an RDMA packet with all its headers, though maybe wrong (@p->wrong); -EBADMSG: it
 * claims to be one, but ends within its headers, or its lengths are impossible; -ENOMSG: it is
 * none.
 */
int roce_parse(u32 link, const u8 *frame, u32 caplen, u32 len, struct roce_pkt *p);
/**
 * roce_find_ip_id() - the IPv4 identification with which the ICRC of a packet is right. A UDP
 * socket does not show it, and the ICRC covers it.
 * @ip: an IPv4 packet of @len bytes, up to its ICRC, without options; its identification is any
 * Return: whether there is one. 16 of the ICRC's 32 bits are left as a check.
 */
bool roce_find_ip_id(const u8 *ip, u32 len, u16 *id);
/** roce_wrong_text() - a text for the lowest bit of @wrong, such as "bad ICRC"; "" for 0. */
const char *roce_wrong_text(u32 wrong);

#endif
