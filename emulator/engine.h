/* SPDX-License-Identifier: MIT */
/**
 * DOC: the engine: how a holder of the token works on HCA memory.
 *
 * A process (program or fabric) makes one struct engine over its mapping of HCA memory. Everything
 * the model needs from outside (clock, other clients' segments and memory, the wire, wake-ups)
 * comes through struct engine_ops.
 */
#ifndef EMULATOR_ENGINE_H
#define EMULATOR_ENGINE_H

#include "emulator/burst.h"
#include "emulator/hca.h"

/**
 * struct hca_work - a work request, as engine_ops.fault is asked about it.
 * @client: whose it is; for an SRQ's receive not always the QP's
 * @opcode: enum ib_wr_opcode; of what is sent
 * @len: bytes of the message; of a receive: that it has room for
 * @rule: out: the number of the rule by which it fails
 * @hold_ns: out: it is deferred for this time at most (emulator/transport/wc_fault.h); 0: it is not
 * @hold_posts: out: and until so many more were posted; 0: does not matter
 */
struct hca_work {
	const struct hca_qp *qp;
	u32 client;
	bool recv;
	u32 opcode;
	u64 wr_id;
	u64 len;
	u64 hold_ns;
	u32 hold_posts;
	u32 rule;
};

/**
 * struct engine_ops - what the model is handed from outside. Called with the token held.
 * @now: fabric clock in ns; never 0
 * @wall: the devices' real-time clock, ns since 1970
 * @seg: base address of a live client's segment in this process, of which hca_client.seg_used
 *       bytes are mapped, or NULL when it cannot be had (now): the work is then left to the fabric
 *       process
 * @copy: copy @len bytes from @src at byte @soff to @dst at byte @doff, the last bytes landing
 *        last. 0; -EFAULT_SRC / -EFAULT_DST when memory is not there; -ESRCH when its process has
 *        died (the burst is dropped: dead hosts are silent); -EAGAIN when this holder cannot reach
 *        it (the fabric process then tries) or a helper is at work on it (the owner of the QP is
 *        rung again when it is done). @key identifies the copy across such tries.
 * @copy_line: write @len bytes of this process's memory, which are posted payload, to @addr of
 *        @client's, within one cache line: the common copy, without lists. Return: false: not done;
 *        @copy says why. NULL: never
 * @atomic: 8-byte compare-and-swap (@op WR_ATOMIC_CMP_AND_SWP) or fetch-and-add at @addr in
 *          client's memory. Before it changes memory it calls atomic_begin(@res). Returns as @copy.
 * @notify: an event was queued on the client's channel: make its fd readable
 * @kick: wake the fabric process: a deadline moved earlier, or work is left for it
 * @late: an event is about to be queued on channel @chan of client @owner - 1: returns whether the
 *        callee queues it later, by chan_push(). NULL: never
 * @wire: carry a burst; NULL is a wire without loss or delay, straight into hca_input(), whose
 *        return value it then passes on. A wire that keeps a burst copies it, its lists as well.
 * @link: carry a burst whose path has @via; it comes to hca_input() later. It is copied with its
 *        payload. 0; -EAGAIN: not now, the sending QP is run again when it can go on. NULL: not
 *        from this process
 * @leave: send a burst by a wire of RoCE v2 (emulator/peer.h) from this process, for a queue pair
 *         of its own client, or an answer while engine.receives is set. 0: it has left, or is lost;
 *         -EAGAIN: the fabric process is to send it.
 *         Called only if engine.leaves is set
 * @leave_late: send what @leave has taken and kept while engine.late was set. Without the token
 * @under_way: the ACK timeout of @qp's oldest packet, to another fabric, has expired: whether the
 *         packet may still be on its way there, or its answer on the way back. A link that loses
 *         nothing can tell, and a packet on it is not lost however late its ACK is. Asked again
 *         until it says no. NULL: no packet ever is
 * @fault: whether a work request is to fail on purpose (emulator/transport/wc_fault.h), with which
 *         status: enum ib_wc_status, 0: it is not. NULL where there are no faults: everywhere but
 *         in the fabric process
 */
struct engine_ops {
	u64 (*now)(void *ctx);
	u64 (*wall)(void *ctx);
	void *(*seg)(void *ctx, u32 client);
	int (*copy)(void *ctx, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		    u64 soff, u64 len, u64 key);
	bool (*copy_line)(void *ctx, u32 client, u64 addr, const void *from, u64 len);
	int (*atomic)(void *ctx, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		      struct atomic_res *res, u64 key);
	void (*notify)(void *ctx, u32 client, u32 chan);
	void (*kick)(void *ctx);
	bool (*late)(void *ctx, u32 owner, u32 chan, const struct chan_event *ev);
	int (*wire)(void *ctx, const struct burst *b);
	int (*link)(void *ctx, const struct burst *b);
	int (*leave)(void *ctx, const struct burst *b);
	void (*leave_late)(void *ctx);
	bool (*under_way)(void *ctx, struct hca_qp *qp);
	u32 (*fault)(void *ctx, struct hca_work *work);
};

#define EFAULT_SRC 1001 /* internal: the source of a copy is not mapped */
#define EFAULT_DST 1002

/* One holding of the token does at most this much; the rest stays pending. */
#define BUDGET_BYTES (2u << 20)
#define BUDGET_WRS   256

#define ENGINE_ANSWERED 8u

/**
 * struct engine - one process's way into the HCA.
 * @self: client index, or ENGINE_FABRIC
 * @token: the value this process puts into hca->token
 * @near: a bit for each client whose segment is at hand; NULL: all of them
 * @cm_timers: timers of connection management that may still fire in this holding
 * @gsi_input: takes the MADs that reach QP 1, returns as hca_input(): cm_input() of emulator/cm;
 *         NULL: they are dropped
 * @leaves: engine_ops.leave may be asked: this process is where the wires are
 * @late: engine_ops.leave_late will be called
 * @held: @leave has set it: the queue pair's window is full, and the ACK that makes room rings it
 * @receives: this program delivers what has arrived at a wire
 * @answered, @n_answered: meanwhile: queue pairs of its own that an answer has rung
 * @relays: and one was rung that waits in the fabric process
 * @due: the deadline of the timer that is being run; 0: none is
 * @left: a doorbell is pending for a client that is not served here
 * @rule: number of the fault rule that is being applied: journal entries name it as their cause. 0:
 *         none
 */
struct engine {
	struct hca *hca;
	const struct engine_ops *ops;
	void *ctx;
	u32 self;
	u64 token;
	s64 budget_bytes;
	s32 budget_wrs;
	bool kick; /* tell the fabric process before leaving */
	bool left;
	bool leaves;
	bool late;
	bool held;
	bool receives;
	bool relays;
	u64 due;
	u32 cm_timers;
	u32 rule;
	const u64 *near;
	int (*gsi_input)(struct engine *e, const struct burst *b);
	u32 n_answered;
	u32 answered[ENGINE_ANSWERED];
};

#define ENGINE_FABRIC (~0u)

/** budget_reset() - let this holding of the token do as much as a new one. */
static inline void budget_reset(struct engine *e)
{
	e->budget_bytes = BUDGET_BYTES;
	e->budget_wrs = BUDGET_WRS;
}

/** budget_left() - whether this holding of the token may do more. */
static inline bool budget_left(const struct engine *e)
{
	return e->budget_bytes > 0 && e->budget_wrs > 0;
}

/* --- engine/token.c --- */

/** engine_try() - take the token if it is free. */
bool engine_try(struct engine *e);
/**
 * engine_enter() - take the token, waiting for it: spin, then queue for it and sleep in small
 * steps.
 * Return: 0, or -EIO when the fabric process has gone.
 */
int engine_enter(struct engine *e);
/**
 * engine_serve_client() - serve the doorbells of one client, within the budget; what is left stays
 * rung. Token held.
 */
void engine_serve_client(struct engine *e, u32 client);
/** engine_leave() - serve pending doorbells within the budget, give the token back. */
void engine_leave(struct engine *e);
/**
 * engine_doorbell() - the poster's one call: run QP @slot now, or leave its doorbell pending. QPs
 * whose packets are relayed are left to the fabric process, unless relay_may_leave() says
 * otherwise.
 * @seg: the caller's own segment.
 */
void engine_doorbell(struct engine *e, struct seg_hdr *seg, u32 slot);
/**
 * engine_defer() - leave QP @slot's doorbell pending though the token may be free: more work is to
 * follow. The caller serves it with its next post or poll, otherwise the fabric process does.
 */
void engine_defer(struct engine *e, struct seg_hdr *seg, u32 slot);
/**
 * engine_poke() - serve pending doorbells if there are any and the token is free. For pollers that
 * found nothing. Return: whether it served.
 */
bool engine_poke(struct engine *e);

/**
 * engine_run_answered() - run the queue pairs of engine.answered. Token held, and engine.receives
 * is not set any more.
 */
void engine_run_answered(struct engine *e);

/* --- engine/token_queue.c --- */

/* Holdings of others that may pass the head of the queue before the token is reserved for it. */
#define TOKEN_PASSES 16u
/* Calls of token_queue_try() in which the head of the queue does not move before it is skipped. */
#define TOKEN_LAPSE_LOOKS 1000u

/**
 * struct token_wait - a place in the queue for the token. All 0 at first.
 * @drawn: @ticket is valid
 * @head: the head of the queue at the last call, and @looks, calls since it moved
 */
struct token_wait {
	u32 ticket;
	u32 head;
	u32 looks;
	bool drawn;
};

/**
 * token_queue_try() - queue for the token unless queued already, and take it if it is this
 * waiter's turn. Return: whether it was taken; @w is out of the queue then.
 */
bool token_queue_try(struct engine *e, struct token_wait *w);
/**
 * token_queue_next() - what the token becomes when its holder leaves: free, or reserved for the
 * head of the queue. For engine_leave().
 */
u64 token_queue_next(struct hca *hca);

/* --- engine/timers.c --- */

/**
 * engine_timers() - run the timers that are due. Token held.
 * Return: the next deadline, ~0 when there is none.
 */
u64 engine_timers(struct engine *e);

/* --- engine/recover.c --- */

/**
 * engine_steal() - take the token from a holder known to be dead and repair what it left.
 * @dead: the token's value that it held. Return: true when the token is now ours.
 */
bool engine_steal(struct engine *e, u64 dead);
/** engine_reap() - destroy all objects of a dead client and free its slot. Token held. */
void engine_reap(struct engine *e, u32 client);
/** engine_flush_client() - move every QP of @client to ERR and flush it. Token held. */
void engine_flush_client(struct engine *e, u32 client);

/* --- engine/redo.c --- */

/** commit_redo() - apply again what a dead holder had committed. */
void commit_redo(struct engine *e);

/* --- engine/relay_serve.c --- */

/**
 * relay_serve() - run the QPs that were rung, within a budget of their own. For the fabric process,
 * token held. A QP that uses up the budget has its next turn last.
 */
void relay_serve(struct engine *e);

/* --- engine/cmd.c --- */

struct hca_cmd;
/**
 * hca_cmd_exec() - execute one command for @client. Token held.
 * Return: 0 or -errno, also in cmd->ret.
 */
int hca_cmd_exec(struct engine *e, u32 client, struct hca_cmd *cmd);

#endif
