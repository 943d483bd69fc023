/* SPDX-License-Identifier: MIT */
/** DOC: what the recorder keeps of objects: of MRs, CQs, QPs and SRQs. */
#ifndef TRACES_RECORD_OBJECT_H
#define TRACES_RECORD_OBJECT_H

#include "traces/record/session.h"

struct rec_batch; /* batch.c */
struct rec_cqex; /* poll_record.c */
struct rec_recvs; /* received.c */

/**
 * struct rec_mr - an MR.
 * @addr, @len: the program's memory; @len is 0 if there is none, such as for device memory
 * @iova: address of @addr in work requests
 * @shadow: what the trace says about the contents; NULL: no room for it
 * @rkey: by which peers access it
 * @on_demand: untouched memory must stay untouched
 * @exposed: peers can read it, or atomics return it
 * @twin: it shares memory with another MR: their shadows are updated together
 */
struct rec_mr {
	u64 addr;
	u64 len;
	u64 iova;
	u8 *shadow;
	u32 rkey;
	bool on_demand;
	bool exposed;
	bool twin;
	bool landed; /* received messages differed from the shadow */
	struct rec_obj *next; /* exposed MR */
	struct rec_obj *next_shadow; /* MR with a shadow */
};

/**
 * struct rec_obj - an MR, CQ, QP or SRQ.
 * @tap: the tap's entry of it
 * @empty: CQ: polls that found nothing
 * @batch: QP: the batch of ibv_wr_*(); NULL: not extended
 * @ex: CQ: its current poll; NULL: not extended
 * @recvs: QP, SRQ: posted receives
 */
struct rec_obj {
	const struct tap_obj *tap;
	union {
		struct rec_mr mr;
		u64 empty;
		struct rec_batch *batch;
	};
	struct rec_cqex *ex;
	struct rec_recvs *recvs;
};

/** rec_obj_of() - what the recorder keeps of an object. Return: NULL: nothing. */
static inline struct rec_obj *rec_obj_of(const struct tap_obj *o)
{
	return o ? o->user[TAP_RECORD] : NULL;
}

/** rec_obj_find() - find an object by its address. Return: NULL: no known object of this kind. */
static inline struct rec_obj *rec_obj_find(enum vobj kind, const void *obj)
{
	return rec_obj_of(tap_obj_find(kind, obj));
}

/** rec_obj_find_mr() - find the MR of an lkey. */
static inline struct rec_obj *rec_obj_find_mr(const struct tap_obj *ctx, u32 lkey)
{
	return rec_obj_of(tap_obj_find_mr(ctx, lkey));
}

#endif
