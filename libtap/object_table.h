/* SPDX-License-Identifier: MIT */
/** DOC: the registry of objects. */
#ifndef LIBTAP_OBJECT_TABLE_H
#define LIBTAP_OBJECT_TABLE_H

#include "emulator/types.h"
#include "traces/calls/calls.h"

#define TAP_MAX_OBJ (1u << 20) /* ordinals of a kind */

/**
 * enum tap_slot - the users of the tap, outermost first: the first sees an operation first, and its
 * result last.
 */
enum tap_slot {
	TAP_RECORD,
	TAP_CHECK,
	TAP_FAULTS,
	TAP_MASK,
	TAP_USERS,
};

struct tap_wr; /* wr.c */

/**
 * struct tap_ctx - the tables of a context before they were patched.
 */
struct tap_ctx {
	struct ibv_context_ops ops;
	struct verbs_context vx;
};

/**
 * struct tap_obj - an object of the program.
 * @key: its address
 * @ord: its ordinal among the objects of its kind, from 1 on; 0: an object of the parent process
 * @passing: created in passing by a call of librdmacm
 * @ctx_obj: its context; NULL: none, unknown, or closed
 * @n_objects: context: registered objects that have it as their @ctx_obj
 * @alias: its second key in the registry (lkey, QP number), 0: none
 * @user: what each user keeps of it, by enum tap_slot; NULL at first
 * @next_fresh: next object that the current call has created
 * @replaced: earlier object at this address, which the tap has not seen freed
 */
struct tap_obj {
	u64 key;
	u32 ord;
	u8 kind; /* enum vobj */
	bool passing;
	bool datagrams; /* QP: a GRH precedes the payload */
	struct tap_obj *ctx_obj;
	u32 n_objects;
	u64 alias;
	const void *srq; /* QP: address of its SRQ */
	/* Functions before they were patched. */
	union {
		struct tap_ctx *ctx; /* context: NULL: not patched */
		struct tap_wr *wr; /* QP: NULL: not extended */
		struct ibv_cq_ex *cq_ex; /* CQ: NULL: not extended */
		void *low[2]; /* WQ, DM */
	};
	void *user[TAP_USERS];
	struct tap_obj *next_fresh;
	struct tap_obj *replaced;
};

/** tap_obj_find() - find an object by its address. Return: NULL: no known object of this kind. */
struct tap_obj *tap_obj_find(enum vobj kind, const void *obj);
/** tap_obj_find_mr(), tap_obj_find_qpn() - find the MR of an lkey, the QP of a number. */
struct tap_obj *tap_obj_find_mr(const struct tap_obj *ctx, u32 lkey);
struct tap_obj *tap_obj_find_qpn(const struct tap_obj *ctx, u32 qpn);
/** tap_obj_set_alias() - register an MR's lkey or a QP's number. */
void tap_obj_set_alias(struct tap_obj *o, u32 number);
/** tap_obj_context() - the context of an object. Return: NULL: an object of the rdma_cm. */
const struct ibv_context *tap_obj_context(enum vobj kind, const void *obj);
/** tap_ctx_find() - the original tables of a context. Return: NULL: unknown. */
struct tap_ctx *tap_ctx_find(const struct ibv_context *ctx);
/**
 * tap_obj_name() - struct vcall_env.name: the ordinal of an object. Objects that the call has
 * created are registered, and added to tap_thread.fresh. Other unknown objects may have been
 * destroyed (an rdma_cm_id may point to a destroyed QP), and are not accessed.
 */
u32 tap_obj_name(void *arg, enum vobj kind, const void *obj, bool fresh);
/**
 * tap_obj_remove() - unregister a destroyed object. @ord: its ordinal before the call
 * Return: the object, or NULL: there is another one at this address now.
 */
struct tap_obj *tap_obj_remove(enum vobj kind, const void *obj, u32 ord);
/** tap_obj_leave() - @o is about to be freed: it leaves its context, or its objects leave it. */
void tap_obj_leave(struct tap_obj *o);
/** tap_obj_for_each() - call @fn for each object of a kind. */
void tap_obj_for_each(enum vobj kind, void (*fn)(struct tap_obj *));
/** tap_obj_forget_all() - in a child of fork(): no object of the parent has an ordinal. */
void tap_obj_forget_all(void);

/**
 * tap_ctx_of() - the original tables of @context. @o: an object that it probably has, which saves a
 * lookup; or NULL
 */
static inline struct tap_ctx *tap_ctx_of(const struct tap_obj *o, const struct ibv_context *context)
{
	const struct tap_obj *ctx = o ? o->ctx_obj : NULL;

	return likely(ctx && ctx->key == (uintptr_t)context) ? ctx->ctx : tap_ctx_find(context);
}

/** tap_obj_ord() - the ordinal of an object, or 0. */
static inline u32 tap_obj_ord(enum vobj kind, const void *obj)
{
	const struct tap_obj *o = obj ? tap_obj_find(kind, obj) : NULL;

	return o ? o->ord : 0;
}

#endif
