/* SPDX-License-Identifier: MIT */
/**
 * DOC: the engine alone: an HCA in anonymous memory, its clients in this process, a clock that is
 * moved by the test, and a wire that loses, duplicates and reorders as its seed says.
 *
 * Theory of operation
 * -------------------
 * All memory (HCA, segments, data) is mapped in this process: "reaching another process" is a
 * memcpy, a client dies when it stops in the middle of a call, and fork() is a copy of the world,
 * in which a test can try what comes of that death (struct emu_deaths).
 *
 * Without faults the wire is the engine's own (none at all). With emu_wire() bursts are cut into
 * pieces, queued with a delivery time, and delivered by emu_run(), which moves the clock from one
 * event to the next: a test of seconds takes microseconds.
 */
#ifndef TESTS_LIB_C_EMU_H
#define TESTS_LIB_C_EMU_H

#include "emulator/verbs/cmd.h"
#include "emulator/engine.h"

#define EMU_CLIENTS 6
#define EMU_AREA    (16u << 20) /* data memory of a client, all of it registered */
#define EMU_EVENTS  (SEG_HEAP_OFF + (16ULL << 20)) /* the events of channels, in a segment */
#define EMU_CHANS   64u /* channels that have a place for them */
#define EMU_SEG	    (EMU_EVENTS + EMU_CHANS * SEG_CHAN_SIZE) /* what of it is really mapped */

struct emu_client {
	u32 id;
	u32 gen;
	struct seg_hdr *seg;
	u64 heap; /* next free offset in the segment */
	u8 *mem;
	u32 key; /* of all of mem, all rights */
	u32 pd;
	u32 notified;
	struct engine e;
};

struct emu_cq {
	u32 client;
	u32 index;
	u64 ring;
	u32 depth;
	u32 cons;
};

struct emu_qp {
	u32 client;
	u32 slot;
	u32 qpn;
	u64 sq, rq;
	u32 sq_depth, rq_depth;
	u32 sq_stride, rq_stride;
	u32 sq_prod, rq_prod;
	bool srq; /* its receives are those of an SRQ, whose ring @rq is */
	u32 srq_index;
	u32 srqn;
	struct emu_cq scq, rcq;
};

/**
 * struct emu_faults - chances in 1/1000 of a piece of a burst, times in ns
 * @split: of a burst to be cut into pieces of a few packets
 * @late: to be held back by up to @jitter on top of @delay, so that others overtake it
 */
struct emu_faults {
	u32 loss;
	u32 dup;
	u32 split;
	u32 late;
	u64 delay;
	u64 jitter;
};

#define EMU_WALL 1700000000000000000ull /* of a clock at 0: engine_ops.wall() */

struct emu_piece;

struct emu {
	struct hca *hca;
	struct emu_client c[EMU_CLIENTS];
	struct engine fabric;
	u64 clock;
	u64 seed;
	bool queued; /* the wire has faults */
	struct emu_faults faults;
	struct emu_piece *wire; /* sorted by time */
	u64 lost, dups, carried;
	u64 lose, twice; /* ordinal of the piece that gets lost, comes twice; the first is 1 */
	u32 lose_rule; /* number of the fault rule that loses pieces, for the journal; 0: nobody is told */
	u32 kicks;
	int copy_error; /* the next copy answers with it, once */
	u32 copy_skip; /* or one that comes so many later */
	struct hca_mem copy_from, copy_to; /* the lists of the last copy */
	u32 hidden; /* client + 1 whose segment cannot be had */
	u32 (*fault)(struct emu *m,
		     struct hca_work *work); /* as engine_ops.fault; NULL: no faults */
	struct engine_ops ops;
};

/** struct emu_conn - attributes of a connection; emu_conn_defaults has the usual ones. */
struct emu_conn {
	u32 psn_a, psn_b;
	u32 mtu; /* enum ibv_mtu */
	u32 timeout, retry_cnt, rnr_retry, min_rnr;
	u32 rd_atomic;
	u32 depth; /* of the queues; a power of two */
	bool srq; /* each QP receives from an SRQ */
	u32 tags; /* and that is one with so many tags */
	const struct emu_qp *share; /* whose SRQ it is; NULL: an own one */
	u32 type; /* enum ib_qp_type; UD: not for emu_pair() */
	u32 source_qpn; /* UD: named in its packets; 0: its own */
	u32 xrcd; /* XRC: handle + 1 of the client's opening of the domain */
	u32 access;
	u32 port_b; /* of the second QP: emu_port_add(); 0: 1, as the first one's */
};

extern const struct emu_conn emu_conn_defaults;

/** emu_port_b() - the port of a connection's second QP. */
static inline u32 emu_port_b(const struct emu_conn *o)
{
	return o->port_b ? o->port_b : 1;
}

/** emu_new() - an HCA with one device and EMU_CLIENTS clients. */
struct emu *emu_new(u64 seed);
void emu_free(struct emu *m);
/** emu_port_add() - the device gets port 2. */
void emu_port_add(struct emu *m);
/** emu_wire() - from now on the wire is like that; NULL: as if there were none. */
void emu_wire(struct emu *m, const struct emu_faults *f);
/** emu_fault() - from now on work requests fail as @fn says; NULL: none does on purpose. */
void emu_fault(struct emu *m, u32 (*fn)(struct emu *m, struct hca_work *work));

/** emu_client_new() - a process for a free client slot, with a fresh (zeroed) segment. */
void emu_client_new(struct emu *m, u32 client);

int emu_cmd(struct emu *m, u32 client, struct hca_cmd *cmd);
struct emu_cq emu_cq_new(struct emu *m, u32 client, u32 depth);
/** emu_qp_new() - a QP as @o has it, with lists of up to @sge entries. */
struct emu_qp emu_qp_new(struct emu *m, u32 client, const struct emu_conn *o, u32 sge);
/** emu_xrcd_open() - open the XRC domain of a file, or make it. Return: the handle. */
u32 emu_xrcd_open(struct emu *m, u32 client, u64 ino);
/**
 * emu_xrc_srq() - an SRQ in the domain @o->xrcd: for emu_recv(), emu_poll() of @rcq,
 * emu_srq_free().
 */
struct emu_qp emu_xrc_srq(struct emu *m, u32 client, const struct emu_conn *o);
void emu_srq_free(struct emu *m, struct emu_qp *q);
int emu_modify(struct emu *m, const struct emu_qp *q, const struct hca_qp_attr *attr, u32 mask);
/** emu_pair() - bring two QPs to RTS, connected with each other. */
void emu_pair(struct emu *m, const struct emu_qp *qa, const struct emu_qp *qb,
	      const struct emu_conn *o);
/** emu_connect() - a pair of QPs in RTS. */
void emu_connect(struct emu *m, u32 a, u32 b, const struct emu_conn *o, struct emu_qp *qa,
		 struct emu_qp *qb);
/** emu_reconnect() - reset @q, but not its peer, and connect it again: it sends from @psn on. */
void emu_reconnect(struct emu *m, struct emu_qp *q, const struct emu_qp *peer, u32 psn,
		   const struct emu_conn *o);
/** emu_start_datagrams() - bring a QP of UD or SRD to RTS. */
void emu_start_datagrams(struct emu *m, const struct emu_qp *q, u32 port, u32 qkey);
/** emu_address() - an address handle of a client, from @port to @gid. Return: its index. */
u32 emu_address(struct emu *m, u32 client, u32 port, const u8 gid[16]);
void emu_destroy(struct emu *m, struct emu_qp *q);

/** emu_post() - put a request into the ring without ringing: the caller fills the WQE. */
struct sq_wqe *emu_post(struct emu *m, struct emu_qp *q, u32 opcode, u64 wr_id, void *addr,
			u32 len);
/** emu_remote() - where the request goes: in client @to's memory. */
void emu_remote(struct emu *m, struct sq_wqe *w, u32 to, void *addr);
/** emu_ring() - publish what was posted and ring, as the shim does. */
void emu_ring(struct emu *m, struct emu_qp *q);
/** emu_publish() - publish only, and leave a doorbell pending. */
void emu_publish(struct emu *m, struct emu_qp *q);
void emu_recv(struct emu *m, struct emu_qp *q, u64 wr_id, void *addr, u32 len);
/** emu_poll() - the next entry, a receive's data laid out. Return: whether there was one. */
bool emu_poll(struct emu *m, struct emu_cq *cq, struct cqe *out, void *data);

/**
 * emu_run() - carry on until nothing is left to do, or until @until on the clock.
 * Return: whether nothing is left.
 */
bool emu_run(struct emu *m, u64 until);
/** emu_state() - state of a QP. */
u32 emu_state(struct emu *m, const struct emu_qp *q);
/** emu_event() - the next async event of a client, or -1. */
int emu_event(struct emu *m, u32 client);

/** EMU_VERDICTS - emu_deaths.after returns less. */
#define EMU_VERDICTS 8

/**
 * struct emu_deaths - deaths of client 0 in one call, and what is checked after each
 *
 * The call runs once. After instruction @first of it and after every @step more, a child process
 * has memory as that death leaves it: it recovers and checks there. A last one has the end of the
 * call. tests/lib/engine/deaths.h runs @after with assertions of CUnit.
 */
struct emu_deaths {
	void (*call)(struct emu *m, void *arg);
	/* Return: a verdict, which is counted. @died: false at the end of the call. */
	int (*after)(struct emu *m, void *arg, bool died);
	void *arg; /* of both */
	long first; /* 0: 1 */
	long step; /* as emu_death_step() returns it */
	int enough; /* the least verdict with which no later death matters; 0: none */
	/* runs @after in the child. Return: its verdict, or EMU_VERDICTS if a check failed */
	int (*check)(struct emu *m, const struct emu_deaths *d, bool died);
	/* Results: */
	long n; /* instructions before the last death, or before the end */
	u32 died; /* deaths */
	u32 seen[EMU_VERDICTS]; /* verdicts */
	u32 failed; /* deaths after which a check failed: a few end the run */
};

/**
 * emu_death_step() - how far deaths are apart, in instructions: @usual, or what DEATH_STEP in the
 * environment says: 1 tries every single one; builds whose instructions are many want more.
 */
long emu_death_step(long usual);
/** emu_die_each() - see struct emu_deaths. @m itself has the end of the call afterwards. */
void emu_die_each(struct emu *m, struct emu_deaths *d);
/** emu_die_ring() - as emu_deaths.call: ring the doorbell of @q, a struct emu_qp. */
void emu_die_ring(struct emu *m, void *q);
/**
 * emu_die_in() - @fn works as client 0, which dies after @n instructions. Return: whether it died;
 * false when it came to its end before.
 */
bool emu_die_in(struct emu *m, void (*fn)(struct emu *m, void *arg), void *arg, long n);
/** emu_step() - before each access to memory, on machines without a trap flag. See emu_step.c. */
void emu_step(void);
/**
 * emu_reap() - client 0 has died: take the token back and clear away, as the fabric process does.
 */
void emu_reap(struct emu *m);

/**
 * emu_walk_steps() - steps of a random walk: @usual, or with WALK_SHARE=N in the environment one of
 * N, where each takes long.
 */
u32 emu_walk_steps(u32 usual);

u64 emu_rnd(u64 *state);
void emu_fill(void *buf, size_t len, u64 seed);
bool emu_filled(const void *buf, size_t len, u64 seed);

#endif
