/* SPDX-License-Identifier: MIT */
/**
 * DOC: completion channels and completion queues.
 */
#ifndef LIBSHIM_VERBS_CQ_H
#define LIBSHIM_VERBS_CQ_H

#include "emulator/seg.h"
#include "fabric/proto/cq_hold.h"
#include "libshim/client/poll_idle.h"
#include "libshim/verbs/efadv_cq.h"
#include "libshim/verbs/objects.h"

struct shim_pd;

struct shim_channel {
	struct ibv_comp_channel channel; /* refcnt: CQs on it */
	u32 magic;
	u32 index;
};

/**
 * struct shim_cq - a completion queue.
 * @cons: entries consumed; published in ctl->cons at the end of each poll
 * @look: where a poll looks first, without the lock: @cons as published, and the place of the next
 *        entry; see shim_cq_publish()
 * @idle_tick: grows with each poll that found nothing; the one at which it is 0 does pending work
 * @empty_polls: polls that found nothing, counted at those
 * @idle: how its poller waits for the fabric process; @shared: for a peer that has no CPU
 * @ts_format: of the entries
 * @wall: cq_ex: entries show wall clock time; @wall_off: its distance from the fabric's clock
 * @cur: cq_ex: the entry that start_poll or next_poll reached; @in_batch: between start_poll and
 *       end_poll, @lock is held by thread @owner
 * @hold: completions that a rule withholds
 * @arm_lock: orders arming and the change of rings by a resize
 */
struct shim_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
		u8 room[512];
	};
	u32 magic;
	u32 gen;
	u64 ring;
	u64 ring_size;
	u32 comp_events; /* delivered */
	u32 async_events;
	u32 pins; /* threads that found it in the table and use it; under objs_lock */
	u32 users; /* queues that complete to it; the HCA's own count is lost with the HCA */
	struct shim_pd *parent; /* parent domain that it was made in, or NULL */
	struct shim_lock arm_lock;
	enum ts_format ts_format;
	struct cq_hold hold;
	bool arm_pending; /* arming raises the event of entries that are there */
	bool is_efa; /* of efadv_create_cq() */
	struct efadv_cq efa;

	struct shim_lock lock cacheline_aligned;
	u32 cons;
	u64 look;
	u32 mask;
	u32 idle_tick;
	u32 empty_polls;
	struct poll_idle idle;
	struct poll_shared shared;
	struct cqe *entries;
	struct cq_ctl *ctl;
	const struct cqe *cur;
	bool in_batch;
	bool wall;
	u64 wall_off;
	pthread_t owner; /* of the batch */
};

static inline struct shim_cq *to_cq(struct ibv_cq *cq)
{
	return (struct shim_cq *)cq;
}

/** shim_cq_check() - Return: 0, or a negative errno value for a CQ that is none of @ibctx. */
static inline int shim_cq_check(struct ibv_cq *cq, const struct ibv_context *ibctx)
{
	return cq && to_cq(cq)->magic == MAGIC_CQ && cq->context == ibctx ? 0 : -shim_unknown(cq);
}

/* In @look: an offset in the segment, in cache lines, above the number of the entry there. */
#define CQ_LOOK(line, seq) ((u64)(line) << 32 | (u32)(seq))
_Static_assert(SEG_SIZE / 64 <= 1ULL << 32, "an offset in cache lines has 32 bits");

/**
 * shim_cq_publish() - the entries before @cons are consumed: they are the engine's again, and polls
 * look at the next one. CQ lock held.
 */
static inline void shim_cq_publish(struct shim_cq *cq, u32 cons)
{
	u64 line = (cq->ring + CQ_HDR) / 64 + (u64)(cons & cq->mask) * (sizeof(struct cqe) / 64);

	cq->cons = cons;
	store_release(&cq->look, CQ_LOOK(line, cons + 1));
	store_release(&cq->ctl->cons, cons);
}

/**
 * shim_cq_look_locked() - until the next shim_cq_publish() every poll takes the lock: what it looks
 * at is the ring's header, which has a 0 where entries have their number, as expected.
 */
static inline void shim_cq_look_locked(struct shim_cq *cq)
{
	store_release(&cq->look, CQ_LOOK(cq->ring / 64, 0));
}

/* --- cq.c --- */

/** shim_cq_new() - create a CQ. Return: NULL with errno. */
struct shim_cq *shim_cq_new(struct ibv_context *ibctx, const struct ibv_cq_init_attr_ex *attr);
int shim_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

/* --- cq_ex.c --- */

struct ibv_cq_ex *shim_create_cq_ex(struct ibv_context *ibctx, struct ibv_cq_init_attr_ex *attr);
/** shim_cqx_set_dead() - in a forked child: polling fails and waits for no lock. */
void shim_cqx_set_dead(struct shim_cq *cq);

/* --- vendor_wc.c --- */

/** shim_vendor_err() - ibv_wc.vendor_err of the failed completion @e. */
u32 shim_vendor_err(const struct shim_cq *cq, const struct cqe *e);

/**
 * shim_cqe_slid() - ibv_wc.slid of an entry with CQE_EXT. On an EFA device it is the number of the
 * address handle that leads to the sender.
 */
u16 shim_cqe_slid(const struct shim_cq *cq, const struct cqe *e);

/* --- cq_hold.c --- */

/**
 * shim_cq_withholds() - while call_holds(): whether a poll has to find nothing. Then pending work
 * has been done, as in a poll that finds nothing.
 */
bool shim_cq_withholds(struct shim_cq *cq);
/**
 * shim_cq_hold_arm() - the CQ is about to be armed. A rule may have this wait for a completion
 * before, which the arming then does not see.
 */
void shim_cq_hold_arm(struct shim_cq *cq);

/* --- poll.c --- */

int shim_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc);
int shim_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/** shim_cq_peek() - the next entry, or NULL. CQ lock held. */
const struct cqe *shim_cq_peek(const struct shim_cq *cq);
/** shim_cq_has_entry() - whether an entry is there that was not polled. Takes arm_lock. */
bool shim_cq_has_entry(struct shim_cq *cq);
/** shim_cqe_consume() - place an entry's data in the receive, free slots. CQ lock held. */
void shim_cqe_consume(const struct cqe *e);
/** shim_cq_idle() - nothing was found: do pending work or wait. Return: whether to look again. */
bool shim_cq_idle(struct shim_cq *cq);
/**
 * shim_cq_forget() - a QP or WQ is destroyed or reset: stop reporting its entries, and place the
 * data of the receives among them. @qpn: its number; @qp: NULL for a WQ
 */
void shim_cq_forget(struct shim_cq *cq, u32 qpn, const struct shim_qp *qp);
/** shim_cq_place_all() - place the data of unpolled entries before a region becomes invalid. */
void shim_cq_place_all(struct shim_cq *cq);

#endif
