/* SPDX-License-Identifier: MIT */
/**
 * DOC: the HCA's memory: every object of the model, in one memfd shared by all who run the engine.
 *
 * Theory of operation
 * -------------------
 * References are indices or offsets, never pointers. All fields behind the token are touched by its
 * holder only, so there are no locks. The holder can be killed between any two instructions; three
 * rules keep the memory usable:
 *
 *  1. The changes of a requester's or responder's step are collected in a struct hca_commit and
 *     published by one store of @valid; then they are applied. The process that takes the token
 *     from a dead holder applies a valid commit again (it holds absolute values, so that is
 *     harmless).
 *  2. Everything else is either owned by the client whose command it was (and is torn down with it)
 *     or can be found again by a scan: doorbells, timers, unflushed queues.
 *  3. A step that was not committed looks like a lost packet, and the protocol repairs that.
 */
#ifndef EMULATOR_HCA_H
#define EMULATOR_HCA_H

#include "emulator/clock.h"
#include "emulator/hca_qp.h"
#include "emulator/hca_srd.h"
#include "emulator/journal/entry.h"
#include "emulator/node.h"
#include "emulator/peer.h"

#define HCA_MAGIC   0x41434852u /* "RHCA" */
#define HCA_VERSION 28u

/** An iovec in a client's memory, or an offset in a client's segment, or IOV_NULL. */
struct hca_iov {
	u64 addr;
	u64 len;
};

/* A null MR: reads as zeros, discards writes. No program has this address. */
#define IOV_NULL BIT64(63)

/** iov_at() - the address of byte @off of an entry. */
static inline u64 iov_at(const struct hca_iov *v, u64 off)
{
	return v->addr == IOV_NULL ? IOV_NULL : v->addr + off;
}

enum hca_mem_kind {
	MEM_NONE,
	MEM_VM, /* virtual addresses of the client's process */
	MEM_SEG, /* offsets in the client's segment */
};

/* As the client of a MEM_SEG: offsets in the HCA's own memory. */
#define HCA_SELF 0xfffffffeu
/* As the client of a MEM_VM: the fabric process, which holds the payload of links. */
#define HCA_PROC 0xfffffffcu

/** struct hca_mem - a scattered piece of memory, by reference. */
struct hca_mem {
	u32 client;
	u16 kind; /* enum hca_mem_kind */
	u16 n;
	struct hca_iov iov[LIM_SGE];
};

enum hca_client_state {
	CLIENT_FREE,
	CLIENT_LIVE,
	CLIENT_DYING, /* its process has gone, teardown under way */
};

/** struct hca_client - a process. Filled by the fabric process. */
struct hca_client {
	u32 state;
	u32 gen; /* counts the slot's users; never 0 for a live one */
	u32 node;
	s32 pid; /* as the client itself sees it */
	s32 fabric_pid; /* as the fabric process sees it; 0: not visible */
	u32 fabric_reach; /* the fabric process can read and write its memory */
	u64 pidns; /* inode of its PID namespace */
	u64 cookie_addr; /* a word in its memory ... */
	u64 cookie; /* ... and its content, to prove that a pid is the right one */
	u64 seg_used; /* bytes of its segment that a process needs to map; never shrinks */
	u32 n[TAB_COUNT]; /* objects it has */
	u32 serve_from; /* its QP slot that has the next turn; 0: any */
	u32 pad;
	char name[JOURNAL_NAME]; /* program name for status */
	u32 run; /* the `rdmaemu run` that it was started by; 0: not told */
	u32 pad2;
};

#define COMMIT_REQ  1u
#define COMMIT_RESP 2u
#define COMMIT_WQ   3u
#define COMMIT_SRD  0x80000000u /* in @tag: flow + 1, of which a packet has arrived */

/** struct hca_commit - what the current step publishes. See the theory of operation. */
struct hca_commit {
	u32 valid; /* COMMIT_*; 0: nothing pending */
	union {
		u32 qp; /* slot */
		u32 wq; /* COMMIT_WQ: the WQ, its state and consumer index; no QP then */
	};
	union {
		u32 qp_state; /* new state of the QP */
		u32 wq_state;
	};
	u32 cq; /* CQ that gains an entry + 1; 0: none. Kept after the commit. */
	u32 cq_prod; /* its producer index after it */
	u32 event_cq; /* CQ whose completion event is being sent + 1; 0: none */
	u32 event_prod; /* producer index of its channel before that */
	u32 srq; /* SRQ that this step takes from + 1; 0: none */
	union {
		u32 srq_cons; /* its consumer index after it */
		u32 wq_cons;
	};
	u32 srq_unexpected; /* and what was unexpected so far */
	u32 tag; /* tag that this step changes + 1; 0: none. Set before the commit. Or COMMIT_SRD. */
	u32 tag_state; /* enum hca_tag_state after it; COMMIT_SRD: the packet's PSN */
	u32 wake; /* client + 1 whose channel gets an event; 0: none */
	u32 wake_chan;
	union {
		struct req_state req;
		struct resp_state resp;
	};
} cacheline_aligned;

/* Of tables that find something by name or address. */
#define HCA_NAME_HASH 2048u
#define HCA_ADDR_HASH 16384u
#define HCA_LIDS      0xc000u

/* As a client: whose connections wait for their end after their program's. It is never live. */
#define HCA_ESTATE HCA_MAX_CLIENTS

#define TOKEN_FREE   0ULL
#define TOKEN_FABRIC 0xffffffffULL

/* The low half of the token's value while it is reserved; the high half is the ticket. */
#define TOKEN_RESERVED 0xfffffffeULL
#define TOKEN_WAITERS  1024u

/**
 * struct hca_token_queue - the queue of those that wait for the token: engine/token_queue.c.
 * @tail: tickets drawn so far
 * @head: the ticket whose turn it is; the holder of the token changes it
 * @passed: holdings of others that have ended since it was its turn
 * @who: the token value of the process that drew a ticket, by ticket; 0: unknown
 */
struct hca_token_queue {
	u32 tail;
	u32 head;
	u32 passed;
	u32 pad;
	u64 who[TOKEN_WAITERS];
};

/** token_of() - the token's value while client @client of generation @gen has it. */
static inline u64 token_of(u32 client, u32 gen)
{
	return (u64)gen << 32 | (client + 1);
}

/** enum pkt_move - what a port does with packets. */
enum pkt_move { MOVE_SENT, MOVE_RECEIVED };

/**
 * struct hca_fresh - what two ports counted last, not yet in their counters: they would be more
 * cache lines that every message takes from one CPU to another, while this is the token's.
 * @ports: port_key() of the first, and of the second << 16. They may be one port; the second may be
 *         FRESH_NOBODY, for packets of which only one port is this fabric's, or is counted now
 * @n: packets' entries; what is here goes to the ports when they are FRESH_MAX, or @sends or @recvs
 *     are many, or other ports count
 * @sends, @recvs: of each port
 * @pkts, @bytes: from the first to the second, and from the second to the first
 */
struct hca_fresh {
	u32 ports;
	u16 n;
	u16 sends[2], recvs[2];
	u16 pkts[2];
	u32 bytes[2];
};

#define FRESH_MAX    64u
#define FRESH_BYTES  (1u << 20) /* of one entry; what is more goes to the ports at once */
#define FRESH_SOME   0x8000u /* of @sends, and of @recvs */
#define FRESH_NOBODY 0xffffu

#define CAPTURES 8u /* that run at a time */
#define CAP_RING (16u << 20)

/**
 * struct hca_capture - what captures are told: see capture_ring.h. Offsets are free running.
 * @on: those that run, a bit each; @lossless: those for which senders wait
 * @snap: bytes of a frame that somebody wants; @keep: so many of its payload do for that
 * @far: some program's memory is out of the fabric process's reach: packets take the links' queue,
 *         where all of their payload is, fetched once
 * @rung: the fabric process knows that the ring fills up
 * @write: behind the last record; @head: behind the last that counts
 * @nth: packets recorded so far
 * @lost: packets for which there was no room, of each capture
 * @tail: the first that was not read
 */
struct hca_capture {
	u32 on;
	u32 lossless;
	u32 snap;
	u32 keep;
	u32 far;
	u32 pad;
	u64 write;
	u64 nth;
	u64 lost[CAPTURES];
	u64 head cacheline_aligned;
	u64 tail cacheline_aligned;
	u32 rung;
	u8 ring[CAP_RING] cacheline_aligned;
};

struct hca {
	u32 magic;
	u32 version;
	u64 size;
	u64 seed;
	u32 isolated;
	u32 fabric_pid;
	u32 fatal; /* the fabric process has gone */
	u32 watched; /* ports are down, or captures run: the ports of each packet are checked */
	u32 n_via; /* ports whose link delays or inspects packets, and those of other fabrics */
	u32 n_conns; /* connections that QPs have had: hca_qp.conn */
	struct hca_clock clock; /* @own in the first line, which is read all the time */
	u64 chaos_seed;
	u32 chaos; /* fabric/link/chaos.c: all packets pass through the fabric process */
	u32 ports_down; /* of all devices */
	char name[64];

	/* The token's line: what every holder touches. Pollers read @pending, in another one. */
	u64 token cacheline_aligned;
	u32 cur_qp; /* slot + 1 of the QP whose requester runs */
	u32 serve_from; /* client that has the next turn, where a budget was used up */
	u64 served; /* rounds in which holders served all pending doorbells */
	struct hca_fresh fresh;
	u32 waiting; /* @queue may not be empty */

	struct hca_commit commit;
	struct hca_token_queue queue cacheline_aligned;

	u64 pending cacheline_aligned; /* bit g: pending_clients[g] is not empty */
	u64 pending_clients[HCA_MAX_CLIENTS / 64];

	u64 via_any cacheline_aligned; /* doorbells of QPs that only the fabric process sends for */
	u32 via_asleep; /* it looks at them when it is kicked, not before */
	u32 via_from; /* slot that has the next turn; 0: any */
	u64 via_sum[HCA_MAX_QP / 64 / 64];
	u64 via_bits[HCA_MAX_QP / 64];

	u64 next_deadline cacheline_aligned; /* earliest armed deadline or ~0 */
	u32 watching; /* the fabric process will look at pending doorbells soon, unasked */
	u32 pad;
	u64 steals; /* tokens taken back from the dead */
	u64 timer_bits[HCA_MAX_QP / 64];
	u64 timer_sum[HCA_MAX_QP / 64 / 64];

	u32 n_clients;
	u32 n_devs;
	struct hca_tab tab[TAB_COUNT];
	u8 tm_hdr[32]; /* header of the tag-matching message in progress */
	u32 flow_seq;
	u32 mcast_moves; /* ports given to queue pairs of datagrams, which may be in groups */
	u64 mod_bits[HCA_MAX_CQ / 64]; /* CQs whose moderated event has a deadline */
	u64 mod_sum[HCA_MAX_CQ / 64 / 64];

	u32 mcast_seen[2 * HCA_MAX_MCAST]; /* groups that are being counted: a membership + 1 */

	/* The journal: entries so far, of both rings and of each; written by journal_add() only. */
	u64 journal_nth;
	struct journal_key key_fault; /* the last key that was refused: mem.c */
	u64 error_seq;
	u64 notice_seq;
	u64 flood_seq; /* entries that were counted in another: journal/alike.c */
	struct journal_entry error[JOURNAL_ERRORS];
	struct journal_entry notice[JOURNAL_NOTICES];

	struct hca_client client[HCA_MAX_CLIENTS + 1]; /* and HCA_ESTATE */
	struct hca_dev dev[HCA_MAX_DEVS];
	struct hca_pd pd[HCA_MAX_PD];
	struct hca_cq cq[HCA_MAX_CQ];
	struct hca_mr mr[HCA_MAX_MR];
	struct hca_qp qp[HCA_MAX_QP];
	struct hca_srq srq[HCA_MAX_SRQ];
	struct hca_ah ah[HCA_MAX_AH];
	struct hca_xrcd xrcd[HCA_MAX_XRCD];
	struct hca_ref ref[HCA_MAX_REF];
	struct hca_mcast mcast[HCA_MAX_MCAST];
	struct hca_wq wq[HCA_MAX_WQ];
	struct hca_ind ind[HCA_MAX_IND];
	struct hca_flow flow[HCA_MAX_FLOW];
	struct hca_ctr ctr[HCA_MAX_CTR];
	struct hca_tag tag[HCA_MAX_TAG];
	struct hca_dm dm[HCA_MAX_DM];
	struct hca_cmch cmch[HCA_MAX_CMCH];
	struct hca_cmid cmid[HCA_MAX_CMID];
	struct hca_cmev cmev[HCA_MAX_CMEV];
	struct hca_cmmc cmmc[HCA_MAX_CMMC];

	u64 cm_seq; /* events of connection management so far */
	u64 cm_tid; /* transaction ids given out */
	u32 cm_ephemeral[CM_PORT_SPACES]; /* next port number for a program that wants any */
	u64 cm_bits[HCA_MAX_CMID / 64]; /* identifiers with a deadline */
	u64 cm_sum[HCA_MAX_CMID / 64 / 64];
	u64 cmev_bits[HCA_MAX_CMEV / 64]; /* events that are not due */
	u64 cmev_sum[HCA_MAX_CMEV / 64 / 64];
	u32 cm_port[CM_PORT_SPACES][65536]; /* ports, hashed: first identifier + 1 */
	u32 cm_remote[HCA_MAX_CMID]; /* peers' ids, hashed: first identifier + 1 */
	u32 cm_qpn[HCA_MAX_CMID]; /* peers' QPs, hashed: first identifier + 1 */
	u64 cm_sent; /* MADs so far */
	u64 cm_left; /* those of them before this one do not wait */
	struct hca_cmmad cm_mad[HCA_CM_MADS]; /* the latest of them */
	u8 cm_in[MAD_SIZE]; /* one that is fetched from a program */

	u32 n_nodes;
	u32 pad4;
	struct hca_node node[HCA_MAX_NODES];
	u32 node_name[HCA_NAME_HASH]; /* names, hashed: first node + 1 */
	u32 addr_hash[HCA_ADDR_HASH]; /* ports' addresses, hashed: number of the first entry + 1 */
	u32 addr_next[HCA_MAX_DEVS * ADDRS_PER_DEV]; /* of the same hash: entry's number + 1 */
	u32 lid[HCA_LIDS]; /* device << 8 | port; 0: nobody's */
	struct hca_capture capture;
	struct hca_wires wires;

	u32 srd_high; /* flows from here on were never used */
	u32 pad5;
	struct srd_flow_key srd_key[HCA_MAX_SRD_FLOW];
	struct srd_flow_seen srd_seen[HCA_MAX_SRD_FLOW];
	u32 srd_qp[HCA_MAX_SRD]; /* slot + 1 of the QP that has the window; 0: none */
	struct srd_window srd[HCA_MAX_SRD];
};

_Static_assert(HCA_MAX_QP <= 64 * 64 * 64, "via_any has a bit for each of via_sum");
_Static_assert(sizeof(struct hca) < SEG_SIZE, "offsets of HCA_SELF");

#endif
