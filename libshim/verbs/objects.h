/* SPDX-License-Identifier: MIT */
/**
 * DOC: the verbs objects as this process holds them.
 *
 * Theory of operation
 * -------------------
 * Each object starts with the public structure that the application sees and embeds what the shim
 * needs behind it. It names its counterpart in the HCA by index. Structures that newer rdma-core
 * releases have enlarged get room for that, so that one binary serves programs built against any.
 *
 * Who may touch what:
 *
 *  - A queue (struct shim_wq) is filled under its own lock; its @tail is moved by whoever polls
 *    the CQ that the queue completes to, under that CQ's lock.
 *  - The tables from HCA index to object are written under objs_lock. Pollers read the QP table
 *    without it: a QP leaves the table before ibv_destroy_qp() passes through the locks of its two
 *    CQs, and only then it is freed.
 *  - Reference counts are atomic; event counts are under objs_lock (delivered) and under the
 *    object's own mutex (acknowledged).
 *
 * A forked child inherits the objects but not the rings' meaning: they stay the parent's. In the
 * child every context is marked @dead and its operations are replaced, see fork.c.
 */
#ifndef LIBSHIM_VERBS_OBJECTS_H
#define LIBSHIM_VERBS_OBJECTS_H

#include <infiniband/verbs.h>
#include <sched.h>

#include "emulator/yield.h"
#include "libshim/client/shim.h"

/* verbs.h gives these names to macros; the shim defines the functions behind them. */
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
};

/** struct shim_lock - a spin lock that gives the CPU away when it is held for long. */
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
}

static inline void shim_unlock(struct shim_lock *l)
{
	store_release(&l->held, 0);
}

/** struct shim_device - libmlx5 and others look at a word at offset 664, behind struct ibv_device.
 */
struct shim_device {
	union {
		struct ibv_device dev;
		u8 room[1024];
	};
	u32 magic;
	struct hca_dev info; /* as the fabric described it when the list was made */
};

/**
 * struct shim_context - @verbs grows at its front, so that is where the room is.
 * @refs: 1 for the open device, 1 per object
 * @id: by which those who share the context's descriptor know it; see struct hca_pd
 */
struct shim_context {
	u8 room[512];
	struct verbs_context verbs;
	u32 magic;
	bool dead; /* inherited by a forked child */
	bool closed;
	u32 async_chan;
	u32 handle; /* in the HCA, to be told of the ports' events */
	u32 refs;
	u64 id;
	struct shim_device *dev;
	struct shim_context *next; /* list of contexts, under objs_lock */
};

/**
 * struct shim_pd - a protection domain, or a parent domain over one: it has that one's handle.
 * @real: the domain that a parent domain is over; NULL: it is none
 * @ref: imported: handle of the reference in the HCA
 * @users: parent domains over it; of a parent domain also what was made in it
 */
struct shim_pd {
	struct ibv_pd pd;
	u32 magic;
	bool imported;
	u32 ref;
	u32 users;
	struct shim_pd *real;
	struct shim_td *td;
};

struct shim_ah {
	struct ibv_ah ah;
	u32 magic;
};

struct shim_xrcd {
	struct ibv_xrcd xrcd;
	u32 magic;
	u32 handle;
	u32 users; /* SRQs and QPs made in it by this process */
};

enum shim_mr_type {
	MRT_USER,
	MRT_NULL,
	MRT_DM,
	MRT_DMABUF,
	MRT_IMPORTED,
};

/**
 * struct shim_mr - a memory region.
 * @map: DMABUF: where it is mapped, @map_len bytes
 */
struct shim_mr {
	struct ibv_mr mr;
	u32 magic;
	u32 type; /* enum shim_mr_type */
	u32 access;
	u64 iova;
	struct shim_dm *dm; /* DM */
	void *map;
	size_t map_len;
};

struct shim_mw {
	struct ibv_mw mw;
	u32 magic;
};

/**
 * struct shim_dm - device memory.
 * @epoch: of the process that allocated or imported it
 * @users: regions of this process on it
 */
struct shim_dm {
	struct ibv_dm dm;
	u32 magic;
	u32 epoch;
	u32 users;
	u64 len;
	u8 *map;
};

struct shim_channel {
	struct ibv_comp_channel channel; /* refcnt: CQs on it */
	u32 magic;
	u32 index;
};

/**
 * struct nap - of a CQ's poller, see libshim/client/poll_idle.c.
 * @brought: what was read of the segment's word when the wait began, at @began (ns)
 * @since, @looks: looks since then, where naps count as polls
 * @crowd: whether CPUs are busy with others
 * @patient: the wait before was a long one
 */
struct nap {
	u64 began;
	u64 since;
	struct crowd crowd;
	u32 brought;
	u32 looks;
	bool patient;
};

/**
 * struct shim_cq - a completion queue.
 * @cons: entries consumed; published in ctl->cons at the end of each poll
 * @idle: empty polls, to work for others now and then
 * @nap: what libshim/client/poll_idle.c knows of who polls it
 * @wall: cq_ex: entries are to tell wall clock time; @wall_off: what it is ahead of the fabric's clock
 * @cur: cq_ex: the entry that start_poll or next_poll came to; @in_batch: between start_poll and
 *       end_poll, @lock is held by thread @owner
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
	u32 pins; /* threads that found it in the table and work on it; under objs_lock */
	u32 users; /* queues that complete to it; the HCA's own count goes with the HCA */
	struct shim_pd *parent; /* parent domain it was made in, or NULL */
	struct shim_lock arm_lock;

	struct shim_lock lock cacheline_aligned;
	u32 cons;
	u32 mask;
	u32 idle;
	struct nap nap;
	struct cqe *entries;
	struct cq_ctl *ctl;
	const struct cqe *cur;
	bool in_batch;
	bool wall;
	u64 wall_off;
	pthread_t owner; /* of the batch */
};

struct shim_srq;

/**
 * struct shim_wq - a send or receive queue.
 * @head: slots filled so far, free running
 * @tail: slots that are free again, free running; advanced by pollers
 */
struct shim_wq {
	struct shim_lock lock;
	u32 head;
	u32 depth; /* power of two, 0: no such queue */
	u32 stride;
	u8 *slots;
	struct wq_ctl *ctl;
	u32 max_sge;
	u32 max_inline;
	u64 ring;
	u64 ring_size;
	u32 tail cacheline_aligned;
} cacheline_aligned;

/**
 * struct shim_combine - what libshim/client/write_batch.c knows of a QP; under the send queue's lock.
 * @rung: send queue index up to which the doorbell was rung
 * @fabric_runs: the fabric process's runs of this QP that were seen
 * @rest: posts to come that are not to wait
 * @penalty: how many that will be the next time
 */
struct shim_combine {
	u32 rung;
	u32 fabric_runs;
	u32 rest;
	u32 penalty;
};

/**
 * struct shim_qp - a queue pair.
 * @state: as far as this process knows, enum ib_qp_state
 * @maybe_err: an error was seen, so the QP may be in ERR though nobody here put it there
 */
struct shim_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
		u8 room[512];
	};
	u32 magic;
	u32 slot;
	u32 qpn;
	u32 pd;
	u32 state;
	bool maybe_err;
	bool sig_all;
	bool extended; /* created for the ibv_wr_* calls */
	bool opened; /* by ibv_open_qp(): the handle is a reference */
	u32 ops; /* a bit per opcode that its type has */
	u32 flags_ok; /* send flags likewise */
	struct shim_srq *srq;
	struct shim_xrcd *xrcd;
	struct shim_pd *parent; /* parent domain it was made in, or NULL */
	struct shim_qp *next_opened; /* list of those opened, under objs_lock */
	u32 max_tso_hdr;
	struct ibv_qp_cap cap;
	u32 async_events; /* delivered */
	u32 pins; /* as in struct shim_cq */

	/* ibv_wr_*: between wr_start and wr_complete, under sq.lock */
	struct sq_wqe *cur;
	u32 batch_head;
	int batch_err;

	struct shim_combine combine;
	struct shim_wq sq;
	struct shim_wq rq;
};

/**
 * struct shim_srq - a shared receive queue; see struct hca_srq for how its slots are named.
 * @free: stack of the slots that are free, @n_free of them; @free_custom: from @parent's allocator
 */
struct shim_srq {
	union {
		struct ibv_srq srq;
		u8 room[256];
	};
	u32 magic;
	u32 index;
	u32 gen;
	u32 srqn;
	u32 type; /* enum hca_srq_type */
	u32 max_wr;
	u32 max_sge;
	u32 async_events; /* delivered */
	u32 pins; /* as in struct shim_cq */
	u32 users; /* QPs */
	struct ibv_cq *cq; /* XRC, TM */
	struct shim_xrcd *xrcd;
	struct shim_pd *parent; /* parent domain it was made in, or NULL */
	bool free_custom;
	u32 max_ops; /* TM: operations under way at most; under @lock */
	u32 ops; /* of them, begun so far, free running */
	u32 ops_done; /* and those whose completions, or later ones', were polled */
	u64 ring;
	u64 ring_size;

	struct shim_lock lock cacheline_aligned;
	u32 head; /* receives posted, free running */
	u32 depth;
	u32 stride;
	u32 n_free;
	u32 *free;
	u32 *order;
	u8 *slots;
	struct wq_ctl *ctl;
};

/**
 * struct shim_objs - from HCA index to this process's object. Sparse, mapped at first use.
 * @cq_used: a bit per CQ index in use
 * @opened: QPs of ibv_open_qp(): the number may be in @qp too, when it was made here
 */
struct shim_objs {
	struct shim_qp *qp[HCA_MAX_QP];
	struct shim_cq *cq[HCA_MAX_CQ];
	struct shim_srq *srq[HCA_MAX_SRQ];
	struct shim_rwq *wq[HCA_MAX_WQ];
	u64 cq_used[HCA_MAX_CQ / 64];
	struct shim_qp *opened;
};

extern struct shim_objs *objs;
extern pthread_mutex_t objs_lock;
extern struct shim_context *contexts; /* open, or closed with objects left */

/* --- objects.c ------------------------------------------------------------------------------ */

/** shim_objs_init() - make the tables. Idempotent, thread-safe. Return: 0 or -errno. */
int shim_objs_init(void);
/** shim_obj_alloc() - zeroed, cache-line aligned memory for an object, or NULL with errno ENOMEM. */
void *shim_obj_alloc(size_t size);
/** shim_context_of() - the shim's view of a context, or NULL with errno EINVAL when it is not ours. */
struct shim_context *shim_context_of(struct ibv_context *ibctx);
void shim_context_get(struct shim_context *ctx);
/** shim_context_put() - drop a reference; frees the context with the last one. */
void shim_context_put(struct shim_context *ctx);
/** shim_obj_cmd() - execute a command that creates, modifies or queries. Return: 0 or -errno. */
int shim_obj_cmd(struct shim_context *ctx, struct hca_cmd *cmd);
/**
 * shim_obj_destroy_cmd() - destroy the HCA's side of an object. Succeeds when the HCA has gone or the
 * object was inherited by a forked child: there is nothing left to destroy then.
 * Return: 0 or -errno.
 */
int shim_obj_destroy_cmd(struct shim_context *ctx, u32 op, u32 handle);
/** shim_obj_end_cmd() - the same with a command that says more than a handle. */
int shim_obj_end_cmd(struct shim_context *ctx, struct hca_cmd *cmd);
/**
 * shim_obj_new() - an object of @size and, by *cmd, its counterpart in the HCA.
 * Return: it, zeroed, with a reference to its context; NULL with errno.
 */
void *shim_obj_new(struct shim_context *ctx, size_t size, struct hca_cmd *cmd);
/** shim_obj_free() - the end of an object that shim_obj_new() made, or likewise; @magic: the object's. */
void shim_obj_free(struct shim_context *ctx, void *obj, u32 *magic);
/** shim_obj_end() - shim_obj_destroy_cmd(), then shim_obj_free(). Return: 0 or errno's value, the object then kept. */
int shim_obj_end(struct shim_context *ctx, void *obj, u32 *magic, u32 op, u32 handle);
void shim_objs_add_cq(struct shim_cq *cq);
/** shim_objs_del_cq() - take a CQ out of the table and wait until nobody works on it. */
void shim_objs_del_cq(struct shim_cq *cq);
/** shim_objs_each_cq() - call @fn for each CQ, without a lock held. */
void shim_objs_each_cq(void (*fn)(struct shim_cq *cq));
void shim_objs_add_qp(struct shim_qp *qp);
void shim_objs_del_qp(struct shim_qp *qp);
void shim_objs_add_srq(struct shim_srq *srq);
/** shim_objs_del_srq() - take an SRQ out of the table and wait until nobody works on it. */
void shim_objs_del_srq(struct shim_srq *srq);
/** shim_qp_pin() - the QP of an HCA slot, kept from being freed until shim_qp_unpin(); or NULL. */
struct shim_qp *shim_qp_pin(u32 slot);
void shim_qp_unpin(struct shim_qp *qp);

/* --- fork.c ---------------------------------------------------------------------------- */

/** shim_verbs_init() - have contexts marked dead in forked children. Idempotent; objs_lock held. */
int shim_verbs_init(void);

/* --- casts and errors ------------------------------------------------------------------------- */

static inline struct shim_cq *to_cq(struct ibv_cq *cq)
{
	return (struct shim_cq *)cq;
}

static inline struct shim_srq *to_srq(struct ibv_srq *srq)
{
	return (struct shim_srq *)srq;
}

static inline struct shim_qp *to_qp(struct ibv_qp *qp)
{
	return (struct shim_qp *)qp;
}

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

#endif
