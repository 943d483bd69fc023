/* SPDX-License-Identifier: MIT */
/**
 * DOC: entries and events of completion queues. See cq.c.
 */
#ifndef EMULATOR_QUEUE_CQ_H
#define EMULATOR_QUEUE_CQ_H

#include "emulator/engine.h"
#include "emulator/ring.h"

/* --- cq.c --- */

/** cq_timestamp_read() - the timestamp of an entry that is made now, in a format but TS_NONE. */
u64 cq_timestamp_read(struct engine *e, const struct hca_cq *cq);

/** cq_timestamp() - the timestamp of an entry that is made now; 0 if the CQ's entries have none. */
static inline __attribute__((always_inline)) u64 cq_timestamp(struct engine *e,
							      const struct hca_cq *cq)
{
	return likely(cq->ts_format == TS_NONE) ? 0 : cq_timestamp_read(e, cq);
}

/** cq_make_room() - read the client's consumer index. Return: false: the CQ has overrun. */
bool cq_make_room(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);

/**
 * cq_reserve() - the slot of the CQ's next entry; the caller fills it in, a commit publishes it.
 * Return: NULL when the CQ has overrun (the event is raised, the caller goes on without an entry).
 */
static inline struct cqe *cq_reserve(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as in commit_fill() */
	struct cqe *ring = seg_ptr(seg, cq->ring + CQ_HDR);

	if (unlikely(cq->overrun ||
		     (cq->prod - cq->cons >= cq->depth && !cq_make_room(e, seg, cq))))
		return NULL;
	return &ring[cq->prod & (cq->depth - 1)];
}

/** cq_has_room() - whether cq_reserve() would find a slot, no event raised when not. */
bool cq_has_room(struct seg_hdr *seg, const struct hca_cq *cq);
/** cq_notify() - after an entry was published: send the event the client armed for, if it did. */
void cq_notify(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq, bool solicited);
/**
 * cq_event_pending() - the client has armed the CQ: if an entry waits that no event has announced,
 * send the event at once, one for each such entry.
 *
 * As mlx5, whose arming names the consumer's index (mlx5_arm_cq() of rdma-core). No public source
 * says how the device notes what it has announced; here it is the index of the last such entry, and
 * an entry beyond both has the event.
 */
void cq_event_pending(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);
/** cq_event_redo() - finish the sending of an event in which a holder died. */
void cq_event_redo(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);
/** cq_event_fire() - send the event that the client has armed for, if it still waits for one. */
void cq_event_fire(struct engine *e, struct seg_hdr *seg, struct hca_cq *cq);
/**
 * cq_entry_lost() - a completion of the QP finds no room in @cq. Called before the commit of the
 * QP's new state.
 */
void cq_entry_lost(struct engine *e, struct hca_qp *qp, const struct hca_cq *cq);
/**
 * cq_mod_count_entry() - count an entry that the client waits for. Return: whether to send the
 * event now.
 */
bool cq_mod_count_entry(struct engine *e, struct hca_cq *cq);
/** cq_mod_timer_arm() - the event of the entries counted so far has a deadline. */
void cq_mod_timer_arm(struct engine *e, struct hca_cq *cq);
/**
 * cq_mod_timers() - send the events whose moderation period has passed. Return: the next deadline,
 * or ~0.
 */
u64 cq_mod_timers(struct engine *e, u64 now);

#endif
