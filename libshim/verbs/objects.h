/* SPDX-License-Identifier: MIT */
/**
 * DOC: the verbs objects as this process holds them.
 *
 * Theory of operation
 * -------------------
 * Each object starts with the public structure that the application sees and embeds what the shim
 * needs after it. It refers to its counterpart in the HCA by index. Structures that newer rdma-core
 * releases have enlarged have room for that, so that one binary serves programs built against any.
 *
 * Locking:
 *
 *  - A queue (struct shim_wq) is filled under its own lock. Its @tail is advanced by the thread
 *    that polls the CQ of the queue's completions, under that CQ's lock.
 *  - The tables from HCA index to object are written under objs_lock. Pollers read the QP table
 *    without it: a QP leaves the table before ibv_destroy_qp() passes through the locks of its two
 *    CQs, and is freed only then.
 *  - Reference counts are atomic. Counts of delivered events are under objs_lock, counts of
 *    acknowledged events under the object's own mutex.
 *
 * A forked child inherits the objects, but the rings stay the parent's. In the child every context
 * is marked @dead and its operations are replaced, see init.c.
 *
 * The objects are declared by device.h (contexts), domain.h (PDs, XRC domains, AHs), memory.h,
 * cq.h, qp.h, srq.h, wq.h and flow.h.
 */
#ifndef LIBSHIM_VERBS_OBJECTS_H
#define LIBSHIM_VERBS_OBJECTS_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>

#include "emulator/hca.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/valgrind.h"
#include "libshim/interpose/export.h"

/* verbs.h defines these names as macros; the shim defines the functions of these names. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

enum shim_magic {
	MAGIC_DEVICE = 0x76656453, /* "Sdev" */
	MAGIC_CONTEXT = 0x78746353, /* "Sctx" */
	MAGIC_PD = 0x20647053,
	MAGIC_MR = 0x20726d53,
	MAGIC_CHANNEL = 0x6e686353,
	MAGIC_CQ = 0x20716353,
	MAGIC_QP = 0x20707153,
	MAGIC_SRQ = 0x71727353,
	MAGIC_AH = 0x20686153,
	MAGIC_XRCD = 0x64637853,
	MAGIC_MW = 0x20776d53,
	MAGIC_DM = 0x206d6453,
	MAGIC_WQ = 0x20717753,
	MAGIC_IND = 0x646e6953,
	MAGIC_FLOW = 0x776f6c53,
	MAGIC_CTR = 0x72746353,
	MAGIC_TD = 0x20647453,
	MAGIC_BUF = 0x66756253,
};

/** struct shim_lock - a spin lock whose waiters yield the CPU if it is held for long. */
struct shim_lock {
	u32 held;
};

static inline void shim_lock(struct shim_lock *l)
{
	u32 spins = 0;

	while (unlikely(__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE))) {
		while (load_relaxed(&l->held)) {
			if (++spins % 64 == 0)
				sched_yield();
		}
	}
	if (unlikely(shim_on_thread_checker))
		shim_valgrind_acquire();
}

static inline void shim_unlock(struct shim_lock *l)
{
	if (unlikely(shim_on_thread_checker))
		shim_valgrind_release();
	store_release(&l->held, 0);
}

struct shim_context;
struct shim_cq;
struct shim_qp;
struct shim_rwq;
struct shim_srq;

/**
 * struct shim_objs - from HCA index to this process's object. Sparse, mapped at first use.
 * @cq_used: a bit per CQ index in use, in the first @cq_words words; deregistration reads them
 * @opened: QPs of ibv_open_qp(): the number may be in @qp too, if this process made the QP
 */
struct shim_objs {
	struct shim_qp *qp[HCA_MAX_QP];
	struct shim_cq *cq[HCA_MAX_CQ];
	struct shim_srq *srq[HCA_MAX_SRQ];
	struct shim_rwq *wq[HCA_MAX_WQ];
	u64 cq_used[HCA_MAX_CQ / 64];
	u32 cq_words;
	struct shim_qp *opened;
};

/* --- objects.c --- */

extern struct shim_objs *objs SHIM_HIDDEN;
extern pthread_mutex_t objs_lock;
extern struct shim_context *contexts; /* open, or closed with objects left */

/** shim_objs_init() - make the tables. Idempotent, thread-safe. Return: 0 or -errno. */
int shim_objs_init(void);
/**
 * shim_obj_alloc() - zeroed, cache-line aligned memory for an object, or NULL with errno ENOMEM.
 */
void *shim_obj_alloc(size_t size);
/**
 * shim_context_of() - the shim's view of a context, or NULL with errno: EINVAL if it is not ours,
 * EBADF if it was closed, as its descriptor was.
 */
struct shim_context *shim_context_of(struct ibv_context *ibctx);
void shim_context_get(struct shim_context *ctx);
/** shim_context_put() - drop a reference; the last one frees the context. */
void shim_context_put(struct shim_context *ctx);
/** shim_obj_cmd() - execute a command that creates, modifies or queries. Return: 0 or -errno. */
int shim_obj_cmd(struct shim_context *ctx, struct hca_cmd *cmd);
/**
 * shim_obj_destroy_cmd() - destroy an object in the HCA. Succeeds if the fabric process has ended
 * or the object was inherited by a forked child: then there is nothing left to destroy.
 * Return: 0 or -errno.
 */
int shim_obj_destroy_cmd(struct shim_context *ctx, u32 op, u32 handle);
/** shim_obj_end_cmd() - the same with a command that has more arguments than a handle. */
int shim_obj_end_cmd(struct shim_context *ctx, struct hca_cmd *cmd);
/**
 * shim_obj_new() - an object of @size bytes and, by *cmd, its counterpart in the HCA.
 * Return: the object, zeroed, which holds a reference to its context; NULL with errno.
 */
void *shim_obj_new(struct shim_context *ctx, size_t size, struct hca_cmd *cmd);
/**
 * shim_obj_retire() - the program has destroyed an object; @magic: the object's. Its memory is
 * freed only after some more objects have been destroyed: until then a call on it finds no magic,
 * and fails (shim_unknown()).
 */
void shim_obj_retire(void *obj, u32 *magic);
/** shim_obj_free() - retire an object that shim_obj_new() or the like made, and its @magic. */
void shim_obj_free(struct shim_context *ctx, void *obj, u32 *magic);
/**
 * shim_obj_end() - destroy an object in the HCA and free it. Return: 0, or an errno value: it
 * stays.
 */
int shim_obj_end(struct shim_context *ctx, void *obj, u32 *magic, u32 op, u32 handle);
void shim_objs_add_cq(struct shim_cq *cq);
/** shim_objs_del_cq() - take a CQ out of the table and wait until no thread uses it. */
void shim_objs_del_cq(struct shim_cq *cq);
/** shim_objs_each_cq() - call @fn for each CQ, without a lock held. */
void shim_objs_each_cq(void (*fn)(struct shim_cq *cq));
void shim_objs_add_qp(struct shim_qp *qp);
/** shim_objs_del_qp() - take a QP out of the table and wait until no thread uses it. */
void shim_objs_del_qp(struct shim_qp *qp);
void shim_objs_add_srq(struct shim_srq *srq);
/** shim_objs_del_srq() - take an SRQ out of the table and wait until no thread uses it. */
void shim_objs_del_srq(struct shim_srq *srq);
/** shim_qp_pin() - the QP of an HCA slot, kept from being freed until shim_qp_unpin(); or NULL. */
struct shim_qp *shim_qp_pin(u32 slot);
void shim_qp_unpin(struct shim_qp *qp);

/* --- init.c --- */

/**
 * shim_verbs_init() - make the tables, and prepare the verbs for forks and for the end of the
 * fabric process. Idempotent, thread-safe. Return: 0 or -errno.
 */
int shim_verbs_init(void);

/* --- small helpers --- */

/** fail_null() - set errno from a negative errno value, for verbs that return a pointer. */
static inline void *fail_null(int ret)
{
	errno = -ret;
	return NULL;
}

/** fail_minus() - the same for verbs that return -1. */
static inline int fail_minus(int ret)
{
	errno = -ret;
	return -1;
}

/**
 * shim_unknown() - the answer of a verb to @obj, which has been destroyed or belongs to another
 * context: the kernel finds no object of that handle. Return: ENOENT; EINVAL for a null pointer.
 */
static inline int shim_unknown(const void *obj)
{
	return obj ? ENOENT : EINVAL;
}

/** shim_pow2() - the smallest power of two that is at least @n; 1 <= @n < 2^31. */
static inline u32 shim_pow2(u32 n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

#endif
