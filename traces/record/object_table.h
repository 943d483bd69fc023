/* SPDX-License-Identifier: MIT */
/** DOC: the registry of objects. */
#ifndef TRACES_RECORD_OBJECT_TABLE_H
#define TRACES_RECORD_OBJECT_TABLE_H

#include "traces/record/session.h"

struct rec_cqex; /* poll_record.c */
struct rec_wr; /* wr.c */
struct rec_recvs; /* received.c */

/**
 * struct rec_ctx - the tables of a context before they were patched.
 */
struct rec_ctx {
	struct ibv_context_ops ops;
	struct verbs_context vx;
};

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
 * struct rec_obj - an object of the program.
 * @key: its address
 * @passing: created in passing by a call of librdmacm
 * @alias: its second key in the registry (lkey, QP number), 0: none
 * @empty: CQ: polls that found nothing
 * @next_fresh: next object that the current call has created
 * @replaced: earlier object at this address, which the recorder has not seen freed
 */
struct rec_obj {
	u64 key;
	u32 ord;
	u8 kind; /* enum vobj */
	bool passing;
	struct rec_obj *ctx_obj;
	u64 alias;
	union {
		struct rec_mr mr;
		u64 empty;
		struct rec_wr *wr;
		struct rec_ctx *ctx; /* context: NULL: not patched */
	};
	struct rec_cqex *ex;
	struct rec_recvs *recvs; /* QP, SRQ: posted receives */
	const void *srq; /* QP: address of its SRQ */
	bool datagrams; /* QP: a GRH precedes the payload */
	void *low[2]; /* functions of a WQ or DM before they were patched */
	struct rec_obj *next_fresh;
	struct rec_obj *replaced;
};

/** rec_obj_find() - find an object by its address. Return: NULL: no known object of this kind. */
struct rec_obj *rec_obj_find(enum vobj kind, const void *obj);
/** rec_obj_find_mr(), rec_obj_find_qpn() - find the MR of an lkey, the QP of a number. */
struct rec_obj *rec_obj_find_mr(const struct rec_obj *ctx, u32 lkey);
struct rec_obj *rec_obj_find_qpn(const struct rec_obj *ctx, u32 qpn);
/** rec_obj_set_alias() - register an MR's lkey or a QP's number. */
void rec_obj_set_alias(struct rec_obj *o, u32 number);
/** rec_obj_context() - the context of an object. Return: NULL: an object of the rdma_cm. */
const struct ibv_context *rec_obj_context(enum vobj kind, const void *obj);
/** rec_ctx_find() - the original tables of a context. Return: NULL: unknown. */
struct rec_ctx *rec_ctx_find(const struct ibv_context *ctx);
/**
 * rec_obj_name() - struct vcall_env.name: the ordinal of an object. Objects that the call has
 * created are registered, and added to rec_thread.fresh. Other unknown objects may have been
 * destroyed (an rdma_cm_id may point to a destroyed QP), and are not accessed.
 */
u32 rec_obj_name(void *arg, enum vobj kind, const void *obj, bool fresh);
/**
 * rec_obj_remove() - unregister a destroyed object. @ord: its ordinal before the call
 * Return: the object, or NULL: there is another one at this address now.
 */
struct rec_obj *rec_obj_remove(enum vobj kind, const void *obj, u32 ord);
/** rec_obj_for_each() - call @fn for each object of a kind. */
void rec_obj_for_each(enum vobj kind, void (*fn)(struct rec_obj *));
/** rec_obj_forget_all() - in a child of fork(): no object of the parent has an ordinal. */
void rec_obj_forget_all(void);

/** rec_obj_ord() - the ordinal of an object, or 0. */
static inline u32 rec_obj_ord(enum vobj kind, const void *obj)
{
	const struct rec_obj *o = obj ? rec_obj_find(kind, obj) : NULL;

	return o ? o->ord : 0;
}

#endif
