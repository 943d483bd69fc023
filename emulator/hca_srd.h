/* SPDX-License-Identifier: MIT */
/**
 * DOC: scalable reliable datagrams in the HCA's memory: docs/design/srd.md.
 *
 * Messages of a queue pair are under way independently of each other: each has an entry in the
 * queue pair's window. A flow is what one queue pair sends to another one. It gives packets their
 * PSNs, and knows which of them have arrived.
 */
#ifndef EMULATOR_HCA_SRD_H
#define EMULATOR_HCA_SRD_H

#include "emulator/limits.h"

#define SRD_WINDOW	 64u /* messages of a QP under way */
#define SRD_SEGMENT	 64u /* packets of a message under way */
#define SRD_PSNS	 4096u /* packets of a flow, from the oldest under way to the newest */
#define HCA_MAX_SRD	 4096u /* queue pairs */
#define HCA_MAX_SRD_FLOW 65536u

/** enum srd_state - an entry of a window. */
enum srd_state {
	SRD_FREE,
	SRD_READY, /* to be sent, or sent again */
	SRD_SENT, /* waits for an answer until its deadline */
	SRD_RNR, /* waits for its deadline, then it is sent again */
};

/**
 * struct srd_msg - a message under way, or its segment: up to SRD_SEGMENT packets.
 * @deadline: fabric clock, ns
 * @acked: packets of the segment that are acknowledged, a bit each
 * @at: srd_at(): where the segment begins in the message, whose length is @total, and its packets;
 *	0 packets: it has no PSNs yet. One store goes on to the next segment.
 * @len: bytes of the segment
 * @psn: of its first packet, in the flow to QP @dst_qpn of @dst_dev
 */
struct srd_msg {
	u64 deadline;
	u64 acked;
	u64 at;
	u64 total;
	u32 len;
	u32 psn;
	u32 dst_dev;
	u32 dst_qpn;
	u8 state; /* enum srd_state */
	u8 retry; /* timeouts left */
	u8 rnr_retry;
	u8 asked; /* fault rules were asked about it */
	u32 held_posts; /* in SRD_RNR: it waits for no more than so many later WQEs; 0: does not matter */
	u8 pad[8];
} cacheline_aligned;
_Static_assert(sizeof(struct srd_msg) == 64, "one line");

static inline u64 srd_at(u64 off, u32 npkts)
{
	return off << 8 | npkts;
}

static inline u64 srd_off(const struct srd_msg *m)
{
	return m->at >> 8;
}

static inline u32 srd_npkts(const struct srd_msg *m)
{
	return m->at & 0xff;
}

/** srd_packets() - packets [@first, @first + @n) of a segment, a bit each. */
static inline u64 srd_packets(u32 first, u32 n)
{
	return (n >= SRD_SEGMENT ? ~0ULL : BIT64(n) - 1) << first;
}

/**
 * struct srd_window - WQE @i of a send queue, while it is under way, has entry @i % SRD_WINDOW.
 * @ready: entries in SRD_READY, a bit each
 */
struct srd_window {
	u64 ready;
	struct srd_msg msg[SRD_WINDOW];
};

enum srd_flow_use {
	FLOW_FREE,
	FLOW_USED,
	FLOW_GONE, /* free, but a search goes on beyond it */
};

/**
 * struct srd_flow_key - a flow: an entry of a hash table with linear probing, so that each change
 * of the table is one store.
 * @src, @dst: QP numbers; @src with the low byte of hca_qp.resets above it
 * @next_psn: of the next packet, at the sender
 * @high: the highest PSN that has arrived + 1, at the receiver
 */
struct srd_flow_key {
	u32 use; /* enum srd_flow_use */
	u32 src_dev;
	u32 src;
	u32 dst_dev;
	u32 dst;
	u32 next_psn;
	u32 high;
	u32 pad;
};

/** struct srd_flow_seen - which of the SRD_PSNS packets below @high have arrived. */
struct srd_flow_seen {
	u64 bits[SRD_PSNS / 64];
};

#endif
