/* SPDX-License-Identifier: MIT */
/**
 * DOC: a burst: a run of packets of one message, the unit on the wire.
 *
 * First PSN, packet count, headers once, payload by reference: what GSO is to TCP. A link that has
 * a reason splits it with burst_split(); all others carry it whole.
 */
#ifndef EMULATOR_BURST_H
#define EMULATOR_BURST_H

#include "emulator/hca.h"

enum burst_op {
	BOP_SEND, /* with or without immediate or invalidate, by flags */
	BOP_WRITE,
	BOP_READ_REQ,
	BOP_READ_RESP,
	BOP_ATOMIC_REQ, /* CmpSwap or FetchAdd, by @atomic_op */
	BOP_ATOMIC_WRITE, /* 8 bytes, written as one */
	BOP_ATOMIC_ACK,
	BOP_ACK, /* ACK, NAK, RNR NAK: by @aeth */
	BOP_FLUSH, /* by @swap */
	BOP_NONE, /* nothing that goes on the wire as a burst; of a foreign packet: a request that does not exist */
};

enum burst_flags {
	BF_FIRST = 1 << 0, /* starts its message */
	BF_LAST = 1 << 1, /* ends it */
	BF_IMM = 1 << 2,
	BF_INV = 1 << 3,
	BF_SOLICITED = 1 << 4,
	BF_ACK_REQ = 1 << 5,
	BF_FOREIGN = 1 << 6, /* packets that anybody may have made: untrusted.h */
};

/**
 * struct burst_seen - header fields that the model has no use for, as packets that came off a wire
 * had them: captures show them. @ecn: FECN, BECN and six reserved bits of the BTH; @resv7: those
 * after AckReq
 */
struct burst_seen {
	u32 flow_label;
	u16 udp_src;
	u8 tclass;
	u8 hop_limit;
	u8 mig;
	u8 ecn;
	u8 resv7;
	u8 none;
};

/**
 * struct burst - see above.
 * @npkts: packets; a READ request is one packet, its @npkts is the count of response packets that
 *         its PSN range takes
 * @len: payload bytes of this burst; READ request: bytes wanted
 * @off: offset of this burst's payload in @mem. READ request: its answer is to begin there, and to
 *       have @len bytes: other devices ask for more at once than one step of the model sends
 * @srqn: XRCETH; SRD: the low byte of the sender's hca_qp.resets, of an answer of its request's
 * @qkey: DETH; @av: datagrams: the address they were sent to
 * @swap: also the FETH of a FLUSH, enum ib_flush; SRD: bytes of the whole message
 * @va, @rkey, @dma_len: RETH, valid in the burst with BF_FIRST; AtomicETH uses @va and @rkey
 */
struct burst {
	u8 op;
	u8 flags;
	u8 aeth; /* syndrome: ACK, READ_RESP, ATOMIC_ACK; request: the responder refuses it so: wc_fault.h */
	u8 atomic_op; /* WR_ATOMIC_* */
	u32 psn;
	union {
		struct hca_path path;
		struct { /* the same, for short */
			HCA_PATH_FIELDS;
		};
	};
	u32 npkts;
	union {
		u32 msn; /* of answers; SRD: packets from @psn on that it is about */
		u32 rule; /* of a request with @aeth: who wants that */
	};
	u32 mtu; /* bytes */
	u32 imm;
	u32 inv_rkey;
	u32 rkey;
	u32 srqn;
	u32 qkey;
	u16 src_slot; /* datagrams: the sender's slot: what they say of @src_qpn may be anything */
	u16 ip_id; /* of the first packet, if it came off a wire */
	u64 va;
	u64 dma_len;
	u64 compare_add;
	u64 swap;
	u64 orig; /* ATOMIC_ACK: value before */
	u64 len;
	u64 off;
	struct burst_seen seen; /* with BF_FOREIGN */
	const struct hca_av *av;
	const struct hca_mem *mem; /* payload; NULL when len is 0 */
};

/** peer_type() - which type of QP one of @type talks to: its own, but for XRC. */
static inline u8 peer_type(u32 type)
{
	_Static_assert((QPT_XRC_SEND ^ 3) == QPT_XRC_RECV, "each other's");
	return (u8)(likely(type < QPT_XRC_SEND) ? type : type ^ 3);
}

/** burst_is_rest() - a later portion of a READ request: its packet came with the first one. */
static inline bool burst_is_rest(const struct burst *b)
{
	return unlikely(b->op == BOP_READ_REQ && b->off);
}

/** packets_of() - packets of a message of @len bytes: at least one. */
static inline u32 packets_of(u64 len, u32 mtu)
{
	return likely(len <= mtu) ? 1 : (u32)((len + mtu - 1) / mtu);
}

/** burst_packets() - packets that go over the wire: those of a READ's answer go the other way. */
static inline u32 burst_packets(const struct burst *b)
{
	return b->op == BOP_READ_REQ ? 1 : b->npkts;
}

/**
 * burst_split() - packets @first .. @first + @n - 1 of @b as a burst of their own.
 * Flags that belong to the ends (FIRST, LAST, IMM, INV, SOLICITED, ACK_REQ) stay with the ends.
 */
void burst_split(const struct burst *b, u32 first, u32 n, struct burst *out);

#endif
