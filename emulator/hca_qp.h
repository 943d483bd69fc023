/* SPDX-License-Identifier: MIT */
/**
 * DOC: a queue pair in the HCA's memory.
 *
 * A command sets its identity and its attributes. A step of its requester or responder replaces
 * struct req_state or struct resp_state as a whole: hca.h tells why.
 */
#ifndef EMULATOR_HCA_QP_H
#define EMULATOR_HCA_QP_H

#include "emulator/journal/entry.h"
#include "emulator/node.h"

/** struct hca_qp_attr - ibv_qp_attr(3) in the model's terms. */
struct hca_qp_attr {
	u32 state;
	u32 cur_state;
	u32 path_mtu;
	u32 path_mig_state;
	u32 qkey;
	u32 rq_psn;
	u32 sq_psn;
	u32 dest_qpn;
	u32 access;
	u32 pkey_index;
	u32 max_rd_atomic;
	u32 max_dest_rd_atomic;
	u32 min_rnr_timer;
	u32 port_num;
	u32 timeout;
	u32 retry_cnt;
	u32 rnr_retry;
	u32 sq_draining;
	u32 rate_limit; /* kbit/s; 0: none. With the next: QPA_RATE_LIMIT */
	u32 max_burst; /* bytes that may exceed it; 0: a frame */
	u32 en_sqd_async_notify;
	struct hca_av av;
};

/**
 * struct hca_path - from which QP to which QP a packet goes: what its headers say of that.
 * @dst_type: enum ib_qp_type of the QPs that take it: the transport in the BTH's opcode (IBTA
 *            9.2.1), with the direction in XRC
 * @near: both ends are ports of this fabric with no link between them, and one P_Key does for both
 * @via: a link is on the way that takes time or leads to another fabric: only the fabric process
 *       has it (engine_ops.link). Never with @near.
 *
 * Its fields are a macro since struct burst has them by their own names, too.
 */
#define HCA_PATH_FIELDS                                                                            \
	u32 src_dev, dst_dev;                                                                      \
	u32 src_qpn, dst_qpn;                                                                      \
	u8 src_port, dst_port;                                                                     \
	u16 pkey;                                                                                  \
	u8 dst_type;                                                                               \
	u8 near;                                                                                   \
	u8 via;                                                                                    \
	u8 pad
struct hca_path {
	HCA_PATH_FIELDS;
};

enum req_flags {
	REQ_RNR_WAIT = 1 << 0, /* nothing is sent before the deadline; also: paced, deferred */
	REQ_DRAINED = 1 << 1, /* SQD: the drained event was sent */
	REQ_RESENT = 1 << 2, /* sent again on a NAK, and no progress since */
	REQ_FIN = 1 << 3, /* the end of a rendezvous is being told: emulator/transport/rndv.c */
};

/**
 * struct req_state - the requester's and completer's moving part, replaced as a whole by a commit.
 *
 * WQEs [una, next) were sent, and @next_off bytes of WQE @next. @una is the oldest that is not
 * complete; its first packet has @una_first. SRD: some of [una, next) may be complete, and the PSNs
 * are those of flows: emulator/hca_srd.h.
 */
struct req_state {
	u32 next; /* WQE to send next, free running */
	u32 una; /* oldest incomplete WQE */
	u32 next_psn;
	u32 una_psn; /* oldest unacknowledged packet */
	u32 una_first; /* PSN of the first packet of WQE @una */
	u32 flags; /* enum req_flags */
	union {
		u64 next_off; /* bytes of WQE @next already sent */
		u64 done; /* SRD: WQEs from @una on that are complete, a bit each */
	};
	u32 rd_out; /* READ and atomic requests outstanding */
	u8 retry; /* retransmissions left */
	u8 rnr_retry;
	u8 pad[2];
	u64 tx_pkts; /* counters, retransmissions included */
	u64 tx_bytes;
	u32 sent; /* WQEs before this one were begun: they go on in SQD */
	u32 own; /* tag + 1 whose rendezvous is being read, and no WQE: emulator/transport/rndv.c */
} cacheline_aligned;
_Static_assert(sizeof(struct req_state) == 64, "one line");

enum resp_flags {
	RESP_NAK_SENT = 1 << 0, /* a PSN sequence NAK is out: silent until recovered */
	RESP_IN_MSG = 1 << 1,
	RESP_COMM_EST = 1 << 2,
	RESP_LAST_WQE = 1 << 3, /* on an SRQ: the event that no more is taken was raised */
	RESP_SKIP = 1 << 4, /* UC: the rest of this message is dropped */
	RESP_UNEXPECTED = 1 << 5, /* tag matching: the message has no match */
};

#define HELD_TAG 0x80000000u

/** struct resp_state - the responder's moving part. */
struct resp_state {
	u32 epsn;
	u32 msn;
	u32 rq_cons; /* receive WQEs taken, free running */
	u32 flags; /* enum resp_flags */
	u32 op; /* enum burst_op of the message in progress */
	u32 rkey;
	u32 off; /* bytes of the message already placed */
	u32 len; /* RDMA WRITE: its length */
	u64 va; /* RDMA WRITE: address of the message's first byte */
	u32 at_head; /* atomic results kept, free running */
	u32 held; /* slot + 1 of the SRQ's receive that the message has, or HELD_TAG | tag */
	u64 rx_pkts;
	u64 rx_bytes;
} cacheline_aligned;
_Static_assert(sizeof(struct resp_state) == 64, "one line");

/**
 * struct atomic_res - an atomic's result, kept for duplicates (IBTA 9.4.5).
 * @nth: ordinal + 1 among the QP's atomics, stored when it was executed; 0: nothing kept
 * @begun: ordinal + 1, stored when @orig and @want are known, before memory is changed
 * @addr: the word, in the process of @client
 */
struct atomic_res {
	u32 psn;
	u32 nth;
	u32 begun;
	u32 turn; /* what @begun becomes */
	u64 orig;
	u64 want;
	u64 addr;
	u32 client;
	u32 pad;
};

/** atomic_begin() - note what is about to be written: who holds the token may die in between. */
static inline void atomic_begin(struct atomic_res *res, u64 orig, u64 want)
{
	res->orig = orig;
	res->want = want;
	store_between(&res->begun, res->turn);
}

/** atomic_result() - what the word becomes that holds @old. */
static inline u64 atomic_result(u32 op, u64 old, u64 compare_add, u64 swap)
{
	if (op == WR_ATOMIC_FETCH_AND_ADD)
		return old + compare_add;
	return old == compare_add ? swap : old;
}

/**
 * struct hca_qp_fault - what rules have said of a QP's work requests:
 * emulator/transport/wc_fault.h.
 * @wqe: WQE + 1 that was asked about last; 0: none
 * @status: that it ends with; 0: it is not to fail
 * @nak: it is sent, and its responder refuses it so: enum ib_aeth
 * @late: it is sent, and its response not taken
 * @held_until: it does not begin before; 0: it is not deferred. Nor before so many WQEs were posted
 *	after it, if that is sooner: @held_posts; 0: does not matter
 * @recv_psn, @recv_from: of the message whose receive was asked about last, when @recv_asked
 */
struct hca_qp_fault {
	u64 held_until;
	u32 held_posts;
	u32 wqe;
	u32 rule;
	u8 status;
	u8 nak;
	u8 late;
	u8 recv_status;
	u32 recv_rule;
	u32 recv_psn;
	u32 recv_from;
	u32 recv_asked;
};

/**
 * struct hca_qp_probe - what a QP has asked another fabric about its oldest packet, when the ACK
 * timeout of that had expired: engine_ops.under_way. All 0: nothing.
 * @on: it has asked, about packet @una, in session @session of its peer's fabric
 * @asked: number of the question that has no answer yet; 0: there is none
 * @gone: the answer was that nothing of the QP waits there
 * @since: real time from which that fabric has not answered
 */
struct hca_qp_probe {
	u32 una;
	u32 asked;
	u64 session;
	u64 since;
	u8 on;
	u8 gone;
	u8 pad[6];
};

/**
 * enum qp_leaving - a packet of a queue pair that its program sends after it has given the token
 * back. Nothing of the queue pair may be sent meanwhile.
 * @LEAVING: there is one; @LEAVING_MISSED: and more waits: whoever sends it rings the queue pair
 */
enum qp_leaving {
	LEAVING_NOTHING,
	LEAVING,
	LEAVING_MISSED,
};

struct hca_qp {
	/* identity: set at creation */
	u32 client;
	u32 dev;
	u32 qpn; /* slot | generation << 16 */
	u32 type; /* enum ib_qp_type */
	u32 pd; /* 0: none (XRC target) */
	u32 scq; /* 0: none */
	u32 rcq; /* 0: none */
	u32 srq; /* index + 1; 0: none */
	u32 xrcd; /* XRC target: index + 1 */
	u32 xref; /* XRC target: the REF_XRCD that its owner made or opened it through + 1 */
	u32 ind; /* indirection table + 1 */
	u32 create_flags; /* enum ibv_qp_create_flags */
	u32 source_qpn; /* IBV_QP_CREATE_SOURCE_QPN: named in its packets */
	u32 ports; /* path_ports() of @path */
	u64 sq_ring; /* segment offset of struct wq_ctl; slots at +64 */
	u64 rq_ring;
	u32 sq_depth; /* powers of two; 0: none */
	u32 rq_depth;
	u32 sq_stride;
	u32 rq_stride;
	u32 max_sge;
	u32 max_rsge;
	u32 max_inline;
	u32 sig_all;
	u32 cap_send_wr; /* as granted, for query */
	u32 cap_recv_wr;
	u32 async_chan;
	u32 gen;
	u32 n_mw; /* type 2 windows bound through it */
	u32 resets; /* transitions to RESET: its requests are counted anew */
	u32 max_tso_hdr;
	u32 wr_mask; /* opcodes of its work requests, a bit each */
	u32 max_msg; /* bytes */
	u32 srd; /* SRD: its window + 1 */
	u32 rss_fields; /* enum ibv_rx_hash_fields */
	u8 rss_key[40]; /* Toeplitz */

	/* attributes: modify */
	u32 state; /* enum ib_qp_state */
	u32 mtu; /* bytes */
	u32 chunk; /* its bursts are up to so many bytes, where links are slow; 0: REQ_CHUNK */
	u32 chunk_rest; /* but a message's last burst takes the rest, if that is no more */
	u32 read_chunk; /* what one READ request asks for; 0: as @chunk */
	u32 ack_span; /* its bursts ask for an ACK after so many bytes of a message; 0: each does */
	struct hca_path path; /* of what it sends; datagrams get their destination each */
	struct hca_path back; /* of what its peer sends, as a rule: P_Keys may differ, and match */
	struct hca_qp_attr attr;

	/* transport: replaced by commits */
	struct req_state req;
	struct resp_state resp;

	/* found again by a scan when a holder dies */
	u64 deadline cacheline_aligned; /* fabric clock, ns; 0: no timer armed */
	u32 stalled; /* waits for the fabric process or a helper */
	u32 n_retry; /* retransmissions after timeouts and sequence NAKs */
	u32 n_rnr; /* RNR NAKs received */
	u32 n_fabric; /* times the fabric process ran it */
	u32 mcast_next; /* member that its datagram goes to next, when one was out of reach */
	u32 held_srq; /* SRQ + 1 that @resp.held is of */
	u32 held_gen; /* and that SRQ's generation: it may go before the QP does */
	u32 rndv; /* tags of its rendezvous that are to be read */
	u32 conn; /* ordinal of its connection, its peer's as well; 0: it has had none */
	u32 ack_una; /* oldest packet that @ack_due is about */
	u64 left_at; /* when its latest packet leaves the port: paths with @via only */
	u32 leaving; /* enum qp_leaving; without the token */
	u32 part_psn; /* of the burst from there on, its program has sent @part_sent packets: */
	u32 part_sent; /* the fabric process sends the rest. 0: no part */
	u64 pace_at; /* when its rate has let pass what was sent: emulator/transport/pace.h */
	u64 ack_due; /* when that is overdue, should the QP be waiting for a link; 0: not set */
	u8 fin[16]; /* the message that ends the one that was read */
	struct hca_qp_probe probe;
	struct hca_qp_fault fault;

	/* of requests to it: the lines above are in the cache of the CPU that sends */
	u32 rq_seen; /* receives posted, as last read: rq_is_posted() */
	u32 pad;

	struct hca_trouble trouble;

	struct atomic_res at[LIM_RD_ATOM];
} cacheline_aligned;

#endif
