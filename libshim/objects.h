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
 * child every context is marked @dead and its operations are replaced, see forkverbs.c.
 */
#ifndef LIBSHIM_OBJECTS_H
#define LIBSHIM_OBJECTS_H

#include <infiniband/verbs.h>
#include <sched.h>

#include "libshim/shim.h"

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
 * struct shim_cq - a completion queue.
 * @cons: entries consumed; published in ctl->cons at the end of each poll
 * @idle: empty polls, to work for others now and then
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
	struct cqe *entries;
	struct cq_ctl *ctl;
	const struct cqe *cur;
	bool in_batch;
	bool wall;
	u64 wall_off;
	pthread_t owner; /* of the batch */
};

/**
 * struct shim_wq - a send or receive queue.
 * @head: slots filled so far, free running
 * @tail: slots that are free again, free running; advanced by pollers
 */
struct shim_srq;

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
 * struct shim_combine - what combine.c knows of a QP; under the send queue's lock.
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

/* --- combine.c ----------------------------------------------------------------------------- */

/**
 * combine_wait() - whether the small WRITEs just posted may wait for more. Under sq.lock.
 * When not, the caller notes that with combine_ring(), under the same lock, rings without it, and
 * calls combine_end().
 */
bool combine_wait(struct shim_qp *qp);
void combine_ring(struct shim_qp *qp);
void combine_end(void);

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

/** objs_init() - make the tables. Idempotent, thread-safe. Return: 0 or -errno. */
int objs_init(void);
/** obj_alloc() - zeroed, cache-line aligned memory for an object, or NULL with errno ENOMEM. */
void *obj_alloc(size_t size);
/** context_of() - the shim's view of a context, or NULL with errno EINVAL when it is not ours. */
struct shim_context *context_of(struct ibv_context *ibctx);
void context_get(struct shim_context *ctx);
/** context_put() - drop a reference; frees the context with the last one. */
void context_put(struct shim_context *ctx);
/** obj_cmd() - execute a command that creates, modifies or queries. Return: 0 or -errno. */
int obj_cmd(struct shim_context *ctx, struct hca_cmd *cmd);
/**
 * obj_destroy_cmd() - destroy the HCA's side of an object. Succeeds when the HCA has gone or the
 * object was inherited by a forked child: there is nothing left to destroy then.
 * Return: 0 or -errno.
 */
int obj_destroy_cmd(struct shim_context *ctx, u32 op, u32 handle);
/** obj_end_cmd() - the same with a command that says more than a handle. */
int obj_end_cmd(struct shim_context *ctx, struct hca_cmd *cmd);
void objs_add_cq(struct shim_cq *cq);
/** objs_del_cq() - take a CQ out of the table and wait until nobody works on it. */
void objs_del_cq(struct shim_cq *cq);
/** objs_each_cq() - call @fn for each CQ, without a lock held. */
void objs_each_cq(void (*fn)(struct shim_cq *cq));
void objs_add_qp(struct shim_qp *qp);
void objs_del_qp(struct shim_qp *qp);
void objs_add_srq(struct shim_srq *srq);
/** objs_del_srq() - take an SRQ out of the table and wait until nobody works on it. */
void objs_del_srq(struct shim_srq *srq);
/** qp_pin() - the QP of an HCA slot, kept from being freed until qp_unpin(); or NULL. */
struct shim_qp *qp_pin(u32 slot);
void qp_unpin(struct shim_qp *qp);

/* --- forkverbs.c ---------------------------------------------------------------------------- */

/** objs_fork_watch() - have contexts marked dead in forked children. Idempotent; objs_lock held. */
int objs_fork_watch(void);

/* --- device.c ------------------------------------------------------------------------------- */

/**
 * device_now() - a device as it is now; as it was when it was listed, where nobody can tell.
 * @buf: may be used for it
 * Return: the HCA's own memory, which goes on changing, or @buf.
 */
const struct hca_dev *device_now(const struct shim_context *ctx, struct hca_dev *buf);
/** device_port() - port @port of a device that device_now() gave, or NULL. */
static inline const struct hca_port *device_port(const struct hca_dev *d, u32 port)
{
	return port && port <= d->n_ports && port <= HCA_MAX_PORTS ? &d->port[port] : NULL;
}
/** device_by_index() - the device with that index in the HCA, or NULL with errno. */
struct shim_device *device_by_index(u32 index);

/** devices_forget() - in a forked child: list them anew at next use. */
void devices_forget(void);

/* --- context.c ------------------------------------------------------------------------------ */

/**
 * context_new() - a context of @dev; takes over the descriptor @cmd_fd of context number @id.
 * Return: NULL with errno, the descriptor then closed.
 */
struct ibv_context *context_new(struct shim_device *dev, int cmd_fd, u64 id);
/** context_set_dead() - replace the operations by ones that fail without touching anything. */
void context_set_dead(struct shim_context *ctx);

/* --- qpattr.c, ah.c -------------------------------------------------------------------------- */

void av_from_ah(struct hca_av *av, const struct ibv_ah_attr *ah);

/* --- query.c -------------------------------------------------------------------------------- */

int shim_query_port(struct ibv_context *ibctx, uint8_t port, struct ibv_port_attr *attr,
		    size_t len);
int shim_query_device_ex(struct ibv_context *ibctx, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size);
int shim_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values);

/* --- mem.c ---------------------------------------------------------------------------------- */

/** mr_shadow_set() - record a region for small copies by this process. Return: 0 or -ENOMEM. */
int mr_shadow_set(u32 key, u32 pd, u32 access, u64 addr, u64 iova, u64 len);
void mr_shadow_clear(u32 key);

/* In place of access rights: the index is a window's. */
#define SHADOW_WINDOW (1u << 31)

/** struct mr_known - what is known of a key's index. */
struct mr_known {
	u32 key;
	u32 pd;
	u32 access;
	u64 addr;
	u64 iova;
	u64 len;
};

/** mr_shadow_get() - what this process knows of the index of @key. Return: false for nothing. */
bool mr_shadow_get(u32 key, struct mr_known *known);
/**
 * mr_shadow_find() - where [addr, addr+len) as a request names it lies in this process.
 * @pd: HCA index of the protection domain that must match, or ~0 for any
 * @access: rights that are needed (0: local read)
 * Return: address, or NULL when the HCA would refuse it. Takes no lock.
 */
void *mr_shadow_find(u32 lkey, u32 pd, u32 access, u64 addr, u64 len);
/** mr_shadow_forget() - in a forked child. */
void mr_shadow_forget(void);

/* --- prefault.c ----------------------------------------------------------------------------- */

/**
 * mem_prefault() - check that memory is there, as pinning would, and fault it in.
 * Return: 0, -EFAULT (unmapped, or @write and read-only) or -ENOMEM.
 */
int mem_prefault(const void *addr, size_t len, bool write);

/* --- advise.c ------------------------------------------------------------------------------- */

int shim_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *sg, uint32_t n);

/* --- poll.c --------------------------------------------------------------------------------- */

int shim_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc);
int shim_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/** cq_peek() - the next entry, or NULL. CQ lock held. */
const struct cqe *cq_peek(const struct shim_cq *cq);
/** cq_consume() - take an entry's effects: data laid into the receive, slots freed. Lock held. */
void cq_consume(struct shim_cq *cq, const struct cqe *e);
/** cq_idle() - nothing was found: see to pending work. Return: whether to look again. */
bool cq_idle(struct shim_cq *cq);
/**
 * cq_forget() - entries of a QP or WQ, by number, that is destroyed or reset are not reported any
 * more; the data of the receives among them is laid out. @qp: NULL for a WQ
 */
void cq_forget(struct shim_cq *cq, u32 qpn, const struct shim_qp *qp);
static inline void cq_forget_qp(struct shim_cq *cq, const struct shim_qp *qp)
{
	cq_forget(cq, qp->qpn, qp);
}
/** cq_lay_all() - lay data that waits in unpolled entries, before a region ceases to be valid. */
void cq_lay_all(struct shim_cq *cq);

/* --- cq.c, cqex.c --------------------------------------------------------------------------- */

/** cq_new() - create a CQ. NULL with errno on error. */
struct shim_cq *cq_new(struct ibv_context *ibctx, const struct ibv_cq_init_attr_ex *attr);
struct ibv_cq_ex *shim_create_cq_ex(struct ibv_context *ibctx, struct ibv_cq_init_attr_ex *attr);
/** cqx_set_dead() - in a forked child: polling fails, and no lock is waited for. */
void cqx_set_dead(struct shim_cq *cq);

/* --- pd.c ----------------------------------------------------------------------------------- */

/** pd_of() - the shim's view of a PD, or NULL when it is not one of this context. */
struct shim_pd *pd_of(struct ibv_pd *pd, const struct ibv_context *ibctx);

/* --- mr.c ----------------------------------------------------------------------------------- */

/**
 * mr_new() - register what *cmd says, and name it @addr and @len.
 * Return: NULL with errno.
 */
struct shim_mr *mr_new(struct ibv_pd *pd, enum shim_mr_type type, struct hca_cmd *cmd, void *addr,
		       size_t len);
/** mr_check_access() - ibv_reg_mr(3), what it says of access flags. Return: 0 or -EINVAL. */
int mr_check_access(u32 access);
/** mr_unimport() - forget a region without touching what there is in the HCA. */
void mr_unimport(struct shim_mr *mr);

/* --- srq.c, tmops.c ----------------------------------------------------------------------- */

struct ibv_srq *shim_create_srq_ex(struct ibv_context *ibctx, struct ibv_srq_init_attr_ex *attr);
int shim_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
int shim_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int shim_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op);
/** tm_consume() - an entry about a tag list, or a tag's message, was polled. */
void tm_consume(const struct cqe *e);
/** srq_slot_free() - a completion named the slot: it may be posted again. */
void srq_slot_free(struct shim_srq *srq, u32 slot);

/* --- xrcd.c --------------------------------------------------------------------------------- */

struct ibv_xrcd *shim_open_xrcd(struct ibv_context *ibctx, struct ibv_xrcd_init_attr *attr);
int shim_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *shim_open_qp(struct ibv_context *ibctx, struct ibv_qp_open_attr *attr);

/* --- mw.c, dm.c, dmabuf.c, import.c --------------------------------------------------------- */

struct ibv_mw *shim_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int shim_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int shim_dealloc_mw(struct ibv_mw *mw);
/** mw_fill_bind() - the work request that binds @mw. Return: 0 or an errno value. */
int mw_fill_bind(struct shim_qp *qp, struct sq_wqe *w, struct ibv_mw *mw, u32 rkey,
		 const struct ibv_mw_bind_info *info);
struct ibv_mr *shim_alloc_null_mr(struct ibv_pd *pd);
/** cmd_fd_make() - the descriptor of a new context of device @dev, whose number goes to *id. */
int cmd_fd_make(u32 dev, u64 *id);
struct ibv_dm *shim_alloc_dm(struct ibv_context *ibctx, struct ibv_alloc_dm_attr *attr);
int shim_free_dm(struct ibv_dm *dm);
struct ibv_mr *shim_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			      unsigned int access);

/* --- wq.c, flow.c, counters.c, tso.c -------------------------------------------------------- */

struct ibv_wq *shim_create_wq(struct ibv_context *ibctx, struct ibv_wq_init_attr *attr);
int shim_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int shim_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *shim_create_rwq_ind_table(struct ibv_context *ibctx,
						    struct ibv_rwq_ind_table_init_attr *attr);
int shim_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
/** wq_recv() - the receive of a WQ that an entry completes, or NULL. CQ lock held. */
const struct rq_wqe *wq_recv(const struct cqe *e, u32 *max_sge);
/** wq_consume() - a completion of a WQ's receive was polled: its slot is free. CQ lock held. */
void wq_consume(const struct cqe *e);
/** rss_fill() - the indirection table and hash of a QP into its create command. 0 or -errno. */
int rss_fill(const struct ibv_qp_init_attr_ex *attr, struct cmd_qp *c);
struct ibv_flow *shim_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int shim_destroy_flow(struct ibv_flow *flow);
struct ibv_counters *shim_create_counters(struct ibv_context *ibctx,
					  struct ibv_counters_init_attr *attr);
int shim_destroy_counters(struct ibv_counters *counters);
int shim_attach_counters_point_flow(struct ibv_counters *counters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int shim_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);
/** tso_fill() - header and list of a TSO work request. Return: 0 or an errno value. */
int tso_fill(struct shim_qp *qp, struct sq_wqe *w, const void *hdr, u32 hdr_sz, u32 mss,
	     const struct ibv_sge *sg, u32 n);
/** tso_set_sges() - its list, behind the header. Return: 0 or an errno value. */
int tso_set_sges(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, size_t n);

/* --- domain.c, cqmod.c ---------------------------------------------------------------------- */

struct ibv_td *shim_alloc_td(struct ibv_context *ibctx, struct ibv_td_init_attr *attr);
int shim_dealloc_td(struct ibv_td *td);
struct ibv_pd *shim_alloc_parent_domain(struct ibv_context *ibctx,
					struct ibv_parent_domain_init_attr *attr);
/** parent_dealloc() - ibv_dealloc_pd(3) of a parent domain. Return: 0 or EBUSY. */
int parent_dealloc(struct shim_pd *pd);
/** parent_get() - an object is made in @pd. Return: the parent domain that it is, now held, or NULL. */
struct shim_pd *parent_get(struct ibv_pd *pd);
/** parent_put() - the object is gone. @parent: as parent_get() returned it */
void parent_put(struct shim_pd *parent);

/** enum domain_resource - what custom allocators are asked for, with RDMA_DRIVER_UNKNOWN above. */
enum domain_resource {
	DOMAIN_SRQ_SLOTS = 1,
};

/** domain_alloc() - memory from @parent's allocator (*custom), or malloc()'s. NULL: none left. */
void *domain_alloc(struct shim_pd *parent, size_t size, enum domain_resource what, bool *custom);
void domain_free(struct shim_pd *parent, void *ptr, enum domain_resource what, bool custom);
int shim_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

/* --- ece.c ---------------------------------------------------------------------------------- */

int shim_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

/* --- qp.c, post.c, wr.c --------------------------------------------------------------------- */

/** qp_init() - a QP that is known to the HCA becomes known here. */
void qp_init(struct shim_context *ctx, struct shim_qp *qp);
struct ibv_qp *shim_create_qp_ex(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr);
int shim_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int shim_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/** rq_fill() - write a receive into a slot that has room for its list. */
void rq_fill(struct rq_wqe *w, const struct ibv_recv_wr *wr);
/** sq_claim() - the next free slot. SQ lock held. Return: 0 or an errno value as post gives it. */
int sq_claim(struct shim_qp *qp, struct sq_wqe **out);
#define OP(x)	   (1u << (x))
#define OPS_SEND   (OP(WR_SEND) | OP(WR_SEND_WITH_IMM) | OP(WR_SEND_WITH_INV))
#define OPS_WRITE  (OP(WR_RDMA_WRITE) | OP(WR_RDMA_WRITE_WITH_IMM))
#define OPS_ATOMIC (OP(WR_ATOMIC_CMP_AND_SWP) | OP(WR_ATOMIC_FETCH_AND_ADD))
#define OPS_RD	   (OPS_ATOMIC | OP(WR_RDMA_READ))
#define OPS_LOCAL  (OP(WR_LOCAL_INV) | OP(WR_BIND_MW))

static inline bool op_in(u32 opcode, u32 set)
{
	return opcode < 32 && (set >> opcode & 1);
}

/** qp_type_ops() - a bit per opcode that QPs of the type have: ibv_post_send(3). */
u32 qp_type_ops(u32 type);
/** sq_set_sges() - give a claimed slot its scatter list; small payloads are gathered at once. */
int sq_set_sges(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, size_t n);
/** wr_init() - set the ibv_wr_* functions of a QP that was created for them. */
void wr_init(struct shim_qp *qp);
/** wr_set_dead() - in a forked child: every batch fails, and no lock is waited for. */
void wr_set_dead(struct shim_qp *qp);

/* --- events.c ------------------------------------------------------------------------------- */

/** qp_end_events() - drop the unread events of a QP that is gone; wait until the others were acked. */
void qp_end_events(struct shim_context *ctx, struct shim_qp *qp);
/** events_drained() - wait until all @delivered events of an object were acknowledged. */
void events_drained(pthread_mutex_t *mutex, pthread_cond_t *cond, const u32 *acked, u32 delivered);

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

/** qp_find() - the live QP with that number, or NULL. */
static inline struct shim_qp *qp_find(u32 qpn)
{
	struct shim_qp *qp = load_acquire(&objs->qp[qpn & (HCA_MAX_QP - 1)]);

	return qp && qp->qpn == qpn ? qp : NULL;
}

/**
 * qp_saw_error() - an error of the QP became known. An isolated client cannot see whether it is in
 * ERR; receives that it posted in the meantime are flushed on a doorbell.
 */
static inline void qp_saw_error(struct shim_qp *qp)
{
	if (load_relaxed(&qp->maybe_err))
		return;
	store_relaxed(&qp->maybe_err, true);
	if (shim.isolated)
		shim_doorbell(qp->slot);
}

static inline struct sq_wqe *sq_slot(const struct shim_wq *q, u32 index)
{
	return (struct sq_wqe *)(q->slots + (size_t)(index & (q->depth - 1)) * q->stride);
}

static inline struct rq_wqe *srq_wqe(const struct shim_srq *srq, u32 slot)
{
	return (struct rq_wqe *)(srq->slots + (size_t)(slot & (srq->depth - 1)) * srq->stride);
}

static inline struct rq_wqe *rq_slot(const struct shim_wq *q, u32 index)
{
	return (struct rq_wqe *)(q->slots + (size_t)(index & (q->depth - 1)) * q->stride);
}

/** shim_pow2() - the smallest power of two that is at least @n; @n is at least 1 and below 2^31. */
static inline u32 shim_pow2(u32 n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
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
