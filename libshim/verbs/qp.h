/* SPDX-License-Identifier: MIT */
/**
 * DOC: queue pairs: their objects, attributes and posting.
 */
#ifndef LIBSHIM_VERBS_QP_H
#define LIBSHIM_VERBS_QP_H

#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/write_batch.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/queue.h"

struct shim_pd;
struct shim_xrcd;

/**
 * struct shim_qp - a queue pair.
 * @state: as far as this process knows, enum ib_qp_state
 * @maybe_err: an error was seen, so the QP may be in ERR without a modify call
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
	u32 type; /* enum ib_qp_type */
	u32 ops; /* a bit per opcode that its type allows */
	u32 post_ops; /* those of them that struct ibv_send_wr can express */
	u32 flags_ok; /* the same for send flags */
	struct shim_srq *srq;
	struct shim_xrcd *xrcd;
	struct shim_pd *parent; /* parent domain that it was made in, or NULL */
	struct shim_qp *next_opened; /* list of opened QPs, under objs_lock */
	u32 max_tso_hdr;
	struct ibv_qp_cap cap;
	u32 async_events; /* delivered */
	u32 pins; /* as in struct shim_cq */

	/* ibv_wr_*: between wr_start and wr_complete, under sq.lock */
	struct sq_wqe *cur;
	u32 batch_head;
	int batch_err;

	struct write_batch batch;
	struct shim_wq sq;
	struct shim_wq rq;
};

static inline struct shim_qp *to_qp(struct ibv_qp *qp)
{
	return (struct shim_qp *)qp;
}

/** shim_qp_find() - the live QP with that number, or NULL. */
static inline struct shim_qp *shim_qp_find(u32 qpn)
{
	struct shim_qp *qp = load_acquire(&objs->qp[qpn & (HCA_MAX_QP - 1)]);

	return qp && qp->qpn == qpn ? qp : NULL;
}

/**
 * shim_qp_saw_error() - an error of the QP became known. An isolated client cannot see whether it
 * is in ERR; a doorbell has the receives flushed that it posted in the meantime.
 */
static inline void shim_qp_saw_error(struct shim_qp *qp)
{
	if (load_relaxed(&qp->maybe_err))
		return;
	store_relaxed(&qp->maybe_err, true);
	if (shim.isolated)
		shim_doorbell_ring(qp->slot);
}

static inline void shim_cq_forget_qp(struct shim_cq *cq, const struct shim_qp *qp)
{
	shim_cq_forget(cq, qp->qpn, qp);
}

/** shim_qp_context() - the context of a QP of ours, or NULL. */
static inline struct shim_context *shim_qp_context(struct ibv_qp *ibqp)
{
	return ibqp && to_qp(ibqp)->magic == MAGIC_QP ? shim_context_of(ibqp->context) : NULL;
}

/* Sets of opcodes, a bit each. Which of them a type of QP allows, wqe_type_mask() says. */
#define OP(x)	   (1u << (x))
#define OPS_SEND   (OP(WR_SEND) | OP(WR_SEND_WITH_IMM) | OP(WR_SEND_WITH_INV))
#define OPS_WRITE  (OP(WR_RDMA_WRITE) | OP(WR_RDMA_WRITE_WITH_IMM))
#define OPS_ATOMIC (OP(WR_ATOMIC_CMP_AND_SWP) | OP(WR_ATOMIC_FETCH_AND_ADD))
#define OPS_LOCAL  (OP(WR_LOCAL_INV) | OP(WR_BIND_MW))

static inline bool op_is_in(u32 opcode, u32 set)
{
	return opcode < 32 && (set >> opcode & 1);
}

/* --- qp.c --- */

/**
 * shim_qp_init() - make known in this process a QP that the HCA knows and that holds its context.
 */
void shim_qp_init(struct shim_qp *qp);
/** shim_qp_new() - create a QP. @type: enum ib_qp_type. Return: NULL with errno. */
struct ibv_qp *shim_qp_new(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr, u32 type);
struct ibv_qp *shim_create_qp_ex(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr);

/* --- qp_attr.c --- */

void shim_av_from_ah(struct hca_av *av, const struct ibv_ah_attr *ah);
void shim_ah_from_av(struct ibv_ah_attr *ah, const struct hca_av *av);
/** shim_qp_attr_to_ib() - all attributes but the capabilities, which become 0. */
void shim_qp_attr_to_ib(struct ibv_qp_attr *ib, const struct hca_qp_attr *a);

/* --- ece.c --- */

int shim_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

/* --- post.c --- */

int shim_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int shim_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/** shim_sq_claim() - the next free slot. SQ lock held. Return: 0 or an errno value for the post. */
int shim_sq_claim(struct shim_qp *qp, struct sq_wqe **out);
/** shim_sq_set_sges() - give a claimed slot its scatter list, or its payload if that is small. */
int shim_sq_set_sges(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, size_t n);

/* --- tso.c --- */

/** shim_tso_fill() - header and list of a TSO work request. Return: 0 or an errno value. */
int shim_tso_fill(struct shim_qp *qp, struct sq_wqe *w, const void *hdr, u32 hdr_sz, u32 mss,
		  const struct ibv_sge *sg, u32 n);
/** shim_tso_set_sges() - its list, which follows the header. Return: 0 or an errno value. */
int shim_tso_set_sges(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, size_t n);

/* --- mw_bind.c --- */

/**
 * shim_mw_fill_bind() - the work request that binds type 2 window @mw. Return: 0 or errno value.
 */
int shim_mw_fill_bind(struct sq_wqe *w, struct ibv_mw *mw, u32 rkey,
		      const struct ibv_mw_bind_info *info);
/** shim_mw_fill_bind_any() - the same for a window of either type, which is not checked. */
int shim_mw_fill_bind_any(struct sq_wqe *w, const struct ibv_mw *mw, u32 rkey,
			  const struct ibv_mw_bind_info *info);

/* --- wr.c --- */

/* Of rdma-core 45 and later. */
#define QP_EX_WITH_FLUSH (1ull << 11) /* IBV_QP_EX_WITH_FLUSH */
typedef void (*qp_ex_wr_flush)(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			       size_t len, uint8_t type, uint8_t level);

/** shim_qp_ex_flush() - ibv_qp_ex.wr_flush, the member after wr_atomic_write. */
static inline qp_ex_wr_flush *shim_qp_ex_flush(struct shim_qp *qp)
{
	enum { OFF = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(qp_ex_wr_flush) };

	_Static_assert(OFF + sizeof(qp_ex_wr_flush) <= sizeof(qp->room), "room for newer members");
	return (qp_ex_wr_flush *)(void *)(qp->room + OFF);
}

/** shim_wr_init() - set the ibv_wr_* functions of a QP that was created for them. */
void shim_wr_init(struct shim_qp *qp);
/** shim_wr_set_dead() - in a forked child: every batch fails and waits for no lock. */
void shim_wr_set_dead(struct shim_qp *qp);

#endif
