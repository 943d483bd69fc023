/* SPDX-License-Identifier: MIT */
/**
 * DOC: the engine: how a holder of the token works on HCA memory.
 *
 * A process (program or fabric) makes one struct engine over its mapping of HCA memory. Everything
 * the model needs from outside (clock, other clients' segments and memory, the wire, wake-ups)
 * comes through struct hca_host.
 */
#ifndef EMULATOR_ENGINE_H
#define EMULATOR_ENGINE_H

#include "emulator/burst.h"
#include "emulator/hca.h"

/**
 * struct hca_work - a work request, as hca_host.fault is asked about it.
 * @client: whose it is; for an SRQ's receive not always the QP's
 * @opcode: enum ib_wr_opcode; of what is sent
 * @len: bytes of the message; of a receive: that it has room for
 * @rule: out: the number of the rule by which it fails
 */
struct hca_work {
	const struct hca_qp *qp;
	u32 client;
	bool recv;
	u32 opcode;
	u64 wr_id;
	u64 len;
	u32 rule;
};

/**
 * struct hca_host - what the model is handed from outside. Called with the token held.
 * @now: fabric clock in ns; never 0
 * @seg: base address of a live client's segment in this process, or NULL when it cannot be had
 *       (now): the work is then left to the fabric process
 * @copy: copy @len bytes from @src at byte @soff to @dst at byte @doff, the last bytes landing
 *        last. 0; -EFAULT_SRC / -EFAULT_DST when memory is not there; -ESRCH when its process has
 *        died (the burst is dropped: dead hosts are silent); -EAGAIN when this holder
 *        cannot reach it (the fabric process then tries) or a helper is at work on it (the owner of
 *        the QP is rung again when it is done). @key identifies the copy across such tries.
 * @atomic: 8-byte compare-and-swap (@op WR_ATOMIC_CMP_AND_SWP) or fetch-and-add at @addr in
 *          client's memory. Before it changes memory it calls atomic_begin(@res). Returns as @copy.
 * @notify: an event was queued on the client's channel: make its fd readable
 * @kick: wake the fabric process: a deadline moved earlier, or work is left for it
 * @late: an event is about to be queued on channel @chan of client @owner - 1: whether the host does that
 *        later, by chan_push(); NULL: no
 * @wire: carry a burst; NULL is a wire without loss or delay, straight into hca_input(), whose
 *        return value it then passes on. A wire that keeps a burst copies it (and its @mem list).
 * @link: carry a burst whose path has @via; it comes to hca_input() later. It is copied with its
 *        payload. 0; -EAGAIN: not now (who sends is run again when it can go on), or, where this is
 *        NULL, not from this process
 * @fault: whether a work request is to fail on purpose (emulator/transport/wc_fault.h), with which status: enum ib_wc_status,
 *         0: it is not. NULL where there are no faults: everywhere but in the fabric process
 */
struct hca_host {
	u64 (*now)(void *ctx);
	void *(*seg)(void *ctx, u32 client);
	int (*copy)(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		    u64 soff, u64 len, u64 key);
	int (*atomic)(void *ctx, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		      struct atomic_res *res, u64 key);
	void (*notify)(void *ctx, u32 client, u32 chan);
	void (*kick)(void *ctx);
	bool (*late)(void *ctx, u32 owner, u32 chan, const struct chan_event *ev);
	int (*wire)(void *ctx, const struct burst *b);
	int (*link)(void *ctx, const struct burst *b);
	u32 (*fault)(void *ctx, struct hca_work *work);
};

#define EFAULT_SRC 1001 /* internal: the source of a copy is not mapped */
#define EFAULT_DST 1002

/* One holding of the token does at most this much; the rest stays pending. */
#define BUDGET_BYTES (2u << 20)
#define BUDGET_WRS   256

/**
 * struct engine - one process's way into the HCA.
 * @self: client index, or ENGINE_FABRIC
 * @token: the value this process puts into hca->token
 * @near: a bit for each client whose segment is at hand; NULL: all of them
 * @cm_timers: so many of connection management may still fire in this holding
 * @gsi_input: takes the MADs that reach QP 1, returns as hca_input(): cm_input() of emulator/cm; NULL: they
 *	are dropped
 * @due: the deadline of the timer that is being run; 0: none is
 * @left: a doorbell is pending for a client that is not served here
 * @rule: number of the fault rule that is being carried out: what is journalled meanwhile is its doing.
 *	0: none
 */
struct engine {
	struct hca *hca;
	const struct hca_host *host;
	void *ctx;
	u32 self;
	u64 token;
	s64 budget_bytes;
	s32 budget_wrs;
	bool kick; /* tell the fabric process before leaving */
	bool left;
	u64 due;
	u32 cm_timers;
	u32 rule;
	const u64 *near;
	int (*gsi_input)(struct engine *e, const struct burst *b);
};

#define ENGINE_FABRIC (~0u)

/* Small WRITEs up to this size, a cache line, are carried together (emulator/transport/write_batch.c). */
#define TRAIN_PIECE 64u

/* --- token.c ------------------------------------------------------------------------------- */

/** engine_try() - take the token if it is free. */
bool engine_try(struct engine *e);
/**
 * engine_enter() - take the token, waiting for it (spin, then sleep in small steps).
 * Return: 0, or -EIO when the fabric process has gone.
 */
int engine_enter(struct engine *e);
/** engine_leave() - serve pending doorbells within the budget, give the token back. */
void engine_leave(struct engine *e);
/**
 * engine_doorbell() - the poster's one call: run QP @slot now, or leave its doorbell pending. One that
 * only the fabric process can send for is left to that.
 * @seg: the caller's own segment.
 */
void engine_doorbell(struct engine *e, struct seg_hdr *seg, u32 slot);
/**
 * engine_defer() - leave QP @slot's doorbell pending though the token may be free: more is to come.
 * The caller goes on with it from its next post or poll; the fabric process sees to it otherwise.
 */
void engine_defer(struct engine *e, struct seg_hdr *seg, u32 slot);
/**
 * engine_poke() - work off pending doorbells if there are any and the token is free. For pollers
 * that found nothing. Return: true when it did something.
 */
bool engine_poke(struct engine *e);
/** client_set_pending() - a doorbell of the client is set: whoever holds the token is to serve it. */
void client_set_pending(struct hca *hca, u32 client);
/** seg_ring() - set the doorbell of QP @slot in a segment. */
void seg_ring(struct seg_hdr *seg, u32 slot);
/** engine_ring() - set the doorbell of QP @slot of client @client, from inside or outside. */
void engine_ring(struct engine *e, u32 client, u32 slot);

/* --- emulator/transport/write_batch.c ------------------------------------------------------------------------------- */

#define TRAIN_MAX LIM_SGE /* pieces of one copy */

/** struct train_piece - a small RDMA WRITE: where it goes, and its payload in struct train.src. */
struct train_piece {
	u64 va;
	u32 rkey;
	u32 len;
};

/**
 * struct train - WRITEs of one packet each that have arrived together.
 * @first: the first of them, checked; the others differ in PSN, one more each, and in @piece only
 * @src: their payload, an entry each
 */
struct train {
	struct burst first;
	u32 n;
	struct train_piece piece[TRAIN_MAX];
	struct hca_mem src;
};

/**
 * write_batch_input() - they arrive. Token held.
 * Return: whether they have been executed; if not nothing has changed, and they are to be given to
 * hca_input() one by one.
 */
bool write_batch_input(struct engine *e, const struct train *t);

/* --- emulator/transport/wire.c --------------------------------------------------------------------------------- */

/** req_run_qp() - run the QP's send side as far as it goes now. Token held. */
void req_run_qp(struct engine *e, u32 slot);
/**
 * hca_input() - a burst arrives at the device it is addressed to. Token held.
 * Return: 0 when it is done with (also when it was dropped), -EAGAIN when memory cannot be reached
 * by this holder now: nothing has changed, and it may be offered again.
 */
int hca_input(struct engine *e, const struct burst *b);
/**
 * engine_timers() - run what is due. Token held.
 * Return: the next deadline, ~0 when there is none.
 */
u64 engine_timers(struct engine *e);

/* --- init.c, recover.c ---------------------------------------------------------------------- */

/** hca_format() - lay out fresh HCA memory (zeroed, sizeof(struct hca) bytes). */
void hca_format(struct hca *hca, u64 seed, bool isolated, const char *name);
/** hca_default_limits() - what a device without a profile has. */
void hca_default_limits(struct hca_limits *l);
/** hca_check() - 0 when @hca is a mapping that this build understands, else -EPROTO. */
int hca_check(const struct hca *hca, u64 size);
/** hca_add_client() - a free client slot, marked live; index or -EUSERS. Fabric process only. */
int hca_add_client(struct hca *hca);
/** seg_format() - lay out a fresh client segment. */
void seg_format(struct seg_hdr *seg, u32 client, u32 gen);
/** seg_check() - 0 when @seg is the segment of @client/@gen, else -EPROTO. */
int seg_check(const struct seg_hdr *seg, u32 client, u32 gen);
/**
 * engine_steal() - take the token from a holder known to be dead and repair what it left.
 * @dead: the token's value that it held. Return: true when the token is now ours.
 */
bool engine_steal(struct engine *e, u64 dead);
/** engine_reap() - destroy all objects of a dead client and free its slot. Token held. */
void engine_reap(struct engine *e, u32 client);
/** engine_flush_client() - move every QP of @client to ERR and flush it. Token held. */
void engine_flush_client(struct engine *e, u32 client);

/* --- emulator/verbs/port.c: for the fabric process, token held ---------------------------------------------- */

/** port_event() - raise an event of a port on every open context of its device. */
void port_event(struct engine *e, u32 dev, u32 port, u32 event);
/** port_set_state() - enum hca_port_state. While it is not active, its packets are dropped. */
void port_set_state(struct engine *e, u32 dev, u32 port, u32 state);
void port_set_pkey(struct engine *e, u32 dev, u32 port, u32 index, u16 pkey);
void port_set_lid(struct engine *e, u32 dev, u32 port, u32 lid);
/**
 * hca_port_set_gid() - change entry @index of a port's GIDs, or of its IP addresses (@ip), with the token.
 * Return: whether it was another one.
 */
bool hca_port_set_gid(struct hca *hca, u32 dev, u32 port, bool ip, u32 index,
		      const struct hca_gid *gid);

/* --- emulator/transport/relay.c ------------------------------------------------------------------------------- */

/** relay_ring() - QP @slot, whose path has @via, has work for the fabric process. No token needed. */
void relay_ring(struct engine *e, u32 slot);
/**
 * relay_serve() - run those that were rung, within the budget. For the fabric process, token held.
 * Who uses up the budget has its next turn last.
 */
void relay_serve(struct engine *e);

/**
 * mcast_deliver() - a datagram to a group arrives at the members on port b->dst_port of b->dst_dev, or,
 * where that is ~0, at all.
 * @next: how far it has got, 0 at first
 * Return: as hca_input(); with -EAGAIN *next has moved on, for the next try.
 */
int mcast_deliver(struct engine *e, const struct burst *b, u32 *next);
/**
 * raw_input() - an Ethernet frame arrives at port b->dst_port of b->dst_dev, over links. Token held.
 * @frame: its bytes, which @b refers to, its check sequence behind them
 * @next: which flow rule is next, 0 at first
 * Return: as hca_input(); with -EAGAIN *next has moved on, for the next try.
 */
int raw_input(struct engine *e, const struct burst *b, u8 *frame, u32 *next);
/**
 * mcast_next_port() - a port on which there is a member that gets the datagram. Ports come several
 * times.
 * @i: 0 at first. Return: false: that was the last.
 */
bool mcast_next_port(struct hca *hca, const struct burst *b, u32 *i, u32 *dev, u8 *port);
/** burst_is_mcast() - whether it goes to a group. */
bool burst_is_mcast(const struct burst *b);
/**
 * relay_hold() - the link has no room for what the running QP sends: it goes on at @at, when there may
 * be. Without one nothing happens.
 */
void relay_hold(struct engine *e, u64 at);
/**
 * relay_left() - the last packet of @b leaves its port at @at: from then on the requester counts the
 * time to its acknowledge.
 */
void relay_left(struct engine *e, const struct burst *b, u64 at);
/**
 * relay_expect() - what QP @qpn of @dev, if it is ours, waits for leaves the other port at @at: as in
 * relay_left(), the time before that does not count.
 */
void relay_expect(struct engine *e, u32 dev, u32 qpn, u64 at);
/** relay_port() - whether what passes the port's link takes the fabric process: time, or another fabric. */
bool relay_port(const struct hca_dev *dev, u32 port);
/** relay_is_needed() - whether packets between two ports, other than one and the same, do. */
bool relay_is_needed(const struct hca *hca, u32 src_dev, u32 src_port, u32 dst_dev, u32 dst_port);
/** relay_update_paths() - ports came or went, or links have changed: all paths are looked up again. */
void relay_update_paths(struct hca *hca);
/** hca_port_set_link() - the port's link becomes *link. For the fabric process, token held. */
void hca_port_set_link(struct engine *e, u32 dev, u32 port, const struct hca_uplink *link);

/* --- emulator/engine/cmd.c --------------------------------------------------------------------------------- */

struct hca_cmd;
/**
 * hca_cmd_exec() - execute one command for @client. Token held.
 * Return: 0 or -errno, also in cmd->ret.
 */
int hca_cmd_exec(struct engine *e, u32 client, struct hca_cmd *cmd);

/* --- lookups ------------------------------------------------------------------------------- */

/** hca_find_gid() - the device with a port that has a GID, and the port; or -1. */
int hca_find_gid(const struct hca *hca, const u8 gid[16], u8 *port);
/**
 * hca_dev_snapshot() - a device as it is now, with all that its ports have counted. Without the token: a
 * count may be seen before or after it went to its port, once in a while by both or neither.
 */
void hca_dev_snapshot(const struct hca *hca, u32 dev, struct hca_dev *out);
/** hca_update_watched() - ports or captures have changed: update hca.watched. */
void hca_update_watched(struct hca *hca);
/** hca_count_ports_down() - devices were added, or a port has changed its state. */
void hca_count_ports_down(struct hca *hca);
/** hca_find_lid() - the device with a port that has a LID, and the port; or -1. */
int hca_find_lid(const struct hca *hca, u32 lid, u8 *port);
/** qp_slot() - a QP's slot: the low bits of its number. */
static inline u32 qp_slot(const struct hca_qp *qp)
{
	return qp->qpn & (HCA_MAX_QP - 1);
}

/** hca_qp_by_num() - the live QP with that number, or NULL. */
static inline struct hca_qp *hca_qp_by_num(struct hca *hca, u32 qpn)
{
	struct hca_qp *qp = &hca->qp[qpn & (HCA_MAX_QP - 1)];

	return qp->client && qp->qpn == qpn ? qp : NULL;
}

/** hca_mr_by_key() - the live MR with that key, or NULL. */
struct hca_mr *hca_mr_by_key(struct hca *hca, u32 key);

/* --- emulator/journal/writer.c ----------------------------------------------------------------------------- */

/** journal_add() - put *j into its ring; @ts, @seq and @nth are filled in here. Token held. */
__cold void journal_add(struct engine *e, const struct journal_entry *j);
/**
 * journal_drop() - a burst does not arrive. Token held.
 * @cause: enum journal_cause; @info: what that says, of CAUSE_FAULT the number of the rule
 */
__cold void journal_drop(struct engine *e, const struct burst *b, u32 cause, u32 info);
/** journal_cm_refused() - a message of connection management, @mad, is answered by fault rule @rule. Token held. */
__cold void journal_cm_refused(struct engine *e, const struct burst *b, const u8 *mad, u32 rule);

/** journal_is_error() - whether an entry is an error, or a notice: some events tell of no error. */
bool journal_is_error(const struct journal_entry *j);

/* --- emulator/journal/names.c, emulator/journal/text.c --------------------------------------------------------- */

/** journal_status_name() - in a word: the completion's status, the event, ... */
const char *journal_status_name(const struct journal_entry *j);
/** journal_kind_name() - "completion", "event", "cm", "drop", ... */
const char *journal_kind_name(const struct journal_entry *j);
/** journal_cause_name(), journal_why_name() - enum journal_cause and journal_why, for machines. */
const char *journal_cause_name(u32 cause);
const char *journal_why_name(u32 why);
/**
 * journal_who_text() - one side as "program[pid]@node RC qp 0x000011"; "" when nothing is known of it.
 * @qp_type: enum ib_qp_type, 0: none
 */
void journal_who_text(const struct hca *hca, const struct journal_who *w, u32 qp_type, char *buf,
		      size_t size);
/** journal_op_text() - the work request's or packet's opcode, "" when there is none. */
void journal_op_text(const struct journal_entry *j, char *buf, size_t size);
/**
 * journal_why_text() - the cause in words.
 * @epoch: the fabric clock when the fabric started: times are told from there
 * @rule: what names @j->rule: its text and where it stands
 */
void journal_why_text(const struct hca *hca, const struct journal_entry *j, u64 epoch,
		      const char *rule, char *buf, size_t size);
/** journal_entry_text() - all of it as a line without newline and time. Arguments as of journal_why_text(). */
void journal_entry_text(const struct hca *hca, const struct journal_entry *j, u64 epoch,
			const char *rule, char *buf, size_t size);

#endif
