/* SPDX-License-Identifier: MIT */
/**
 * DOC: queues: what is posted to them, what is polled, and the objects that they belong to.
 */
#ifndef LIBSHIM_VERBS_QUEUES_H
#define LIBSHIM_VERBS_QUEUES_H

#include "libshim/verbs/objects.h"

/* --- poll.c --------------------------------------------------------------------------------- */

int shim_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc);
int shim_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/** shim_cq_peek() - the next entry, or NULL. CQ lock held. */
const struct cqe *shim_cq_peek(const struct shim_cq *cq);
/** shim_cq_consume() - take an entry's effects: data laid into the receive, slots freed. Lock held. */
void shim_cq_consume(struct shim_cq *cq, const struct cqe *e);
/** shim_cq_idle() - nothing was found: see to pending work. Return: whether to look again. */
bool shim_cq_idle(struct shim_cq *cq);
/**
 * shim_cq_forget() - entries of a QP or WQ, by number, that is destroyed or reset are not reported any
 * more; the data of the receives among them is laid out. @qp: NULL for a WQ
 */
void shim_cq_forget(struct shim_cq *cq, u32 qpn, const struct shim_qp *qp);
static inline void shim_cq_forget_qp(struct shim_cq *cq, const struct shim_qp *qp)
{
	shim_cq_forget(cq, qp->qpn, qp);
}
/** shim_cq_place_all() - lay data that waits in unpolled entries, before a region ceases to be valid. */
void shim_cq_place_all(struct shim_cq *cq);

/* --- libshim/client/poll_idle.c ---------------------------------------------------------------------------------- */

/** shim_poll_idle() - nothing was found, again: maybe sleep a little. Return: whether to look again. */
bool shim_poll_idle(struct shim_cq *cq);
/** shim_poll_give_way() - nothing was found: sleep a little if captures are behind. Return: whether to look again. */
bool shim_poll_give_way(void);

/* --- cq.c, cq_ex.c --------------------------------------------------------------------------- */

/** shim_cq_new() - create a CQ. NULL with errno on error. */
struct shim_cq *shim_cq_new(struct ibv_context *ibctx, const struct ibv_cq_init_attr_ex *attr);
struct ibv_cq_ex *shim_create_cq_ex(struct ibv_context *ibctx, struct ibv_cq_init_attr_ex *attr);
/** shim_cqx_set_dead() - in a forked child: polling fails, and no lock is waited for. */
void shim_cqx_set_dead(struct shim_cq *cq);

/* --- cq_moderate.c ---------------------------------------------------------------------------------- */

int shim_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

/* --- srq.c, tag_ops.c ----------------------------------------------------------------------- */

struct ibv_srq *shim_create_srq_ex(struct ibv_context *ibctx, struct ibv_srq_init_attr_ex *attr);
int shim_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
int shim_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int shim_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op);
/** shim_tag_consume() - an entry about a tag list, or a tag's message, was polled. */
void shim_tag_consume(const struct cqe *e);
/** shim_srq_slot_free() - a completion named the slot: it may be posted again. */
void shim_srq_slot_free(struct shim_srq *srq, u32 slot);

/* --- qp.c, post.c, wr.c --------------------------------------------------------------------- */

/** shim_qp_init() - a QP that is known to the HCA, and holds its context, becomes known here. */
void shim_qp_init(struct shim_qp *qp);
struct ibv_qp *shim_create_qp_ex(struct ibv_context *ibctx, struct ibv_qp_init_attr_ex *attr);
int shim_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int shim_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/** shim_rq_fill() - write a receive into a slot that has room for its list. */
void shim_rq_fill(struct rq_wqe *w, const struct ibv_recv_wr *wr);
/**
 * shim_rq_post() - fill the slots of a receive queue from a list, and publish them. Queue's lock held.
 * @reset: the queue's owner is in RESET
 * @posted: out: whether there was any
 * Return: 0 or an errno value as post gives it, with *bad_wr.
 */
int shim_rq_post(struct shim_wq *q, bool reset, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
		 bool *posted);
/** shim_sq_claim() - the next free slot. SQ lock held. Return: 0 or an errno value as post gives it. */
int shim_sq_claim(struct shim_qp *qp, struct sq_wqe **out);
#define OP(x)	   (1u << (x))
#define OPS_SEND   (OP(WR_SEND) | OP(WR_SEND_WITH_IMM) | OP(WR_SEND_WITH_INV))
#define OPS_WRITE  (OP(WR_RDMA_WRITE) | OP(WR_RDMA_WRITE_WITH_IMM))
#define OPS_ATOMIC (OP(WR_ATOMIC_CMP_AND_SWP) | OP(WR_ATOMIC_FETCH_AND_ADD))
#define OPS_RD	   (OPS_ATOMIC | OP(WR_RDMA_READ))
#define OPS_LOCAL  (OP(WR_LOCAL_INV) | OP(WR_BIND_MW))

static inline bool op_is_in(u32 opcode, u32 set)
{
	return opcode < 32 && (set >> opcode & 1);
}

/** shim_qp_type_ops() - a bit per opcode that QPs of the type have: ibv_post_send(3). */
u32 shim_qp_type_ops(u32 type);
/** shim_sq_set_sges() - give a claimed slot its scatter list; small payloads are gathered at once. */
int shim_sq_set_sges(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, size_t n);
/** shim_wr_init() - set the ibv_wr_* functions of a QP that was created for them. */
void shim_wr_init(struct shim_qp *qp);
/** shim_wr_set_dead() - in a forked child: every batch fails, and no lock is waited for. */
void shim_wr_set_dead(struct shim_qp *qp);

/* --- tso.c ------------------------------------------------------------------------------------ */

/** shim_tso_fill() - header and list of a TSO work request. Return: 0 or an errno value. */
int shim_tso_fill(struct shim_qp *qp, struct sq_wqe *w, const void *hdr, u32 hdr_sz, u32 mss,
		  const struct ibv_sge *sg, u32 n);
/** shim_tso_set_sges() - its list, behind the header. Return: 0 or an errno value. */
int shim_tso_set_sges(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, size_t n);

/* --- libshim/client/write_batch.c ----------------------------------------------------------------------------- */

/**
 * shim_write_batch_wait() - whether the small WRITEs just posted may wait for more. Under sq.lock.
 * When not, the caller notes that with shim_write_batch_rung(), under the same lock, rings without it, and
 * calls shim_write_batch_end().
 */
bool shim_write_batch_wait(struct shim_qp *qp);
void shim_write_batch_rung(struct shim_qp *qp);
void shim_write_batch_end(void);

/* --- wq.c ------------------------------------------------------------------------------------- */

struct ibv_wq *shim_create_wq(struct ibv_context *ibctx, struct ibv_wq_init_attr *attr);
int shim_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int shim_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *shim_create_rwq_ind_table(struct ibv_context *ibctx,
						    struct ibv_rwq_ind_table_init_attr *attr);
int shim_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
/** shim_wq_recv() - the receive of a WQ that an entry completes, or NULL. CQ lock held. */
const struct rq_wqe *shim_wq_recv(const struct cqe *e, u32 *max_sge);
/** shim_wq_event() - translate an event of a WQ. Return: false when there is no such one now. objs_lock held. */
bool shim_wq_event(const struct ibv_context *ibctx, const struct chan_event *ev,
		   struct ibv_async_event *out);
/** shim_wq_consume() - a completion of a WQ's receive was polled: its slot is free. CQ lock held. */
void shim_wq_consume(const struct cqe *e);
/** shim_rss_fill() - the indirection table and hash of a QP into its create command. 0 or -errno. */
int shim_rss_fill(const struct ibv_qp_init_attr_ex *attr, struct cmd_qp *c);

/* --- ece.c ---------------------------------------------------------------------------------- */

int shim_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

/* --- async_event.c ------------------------------------------------------------------------------- */

/** shim_qp_end_events() - drop the unread events of a QP that is gone; wait until the others were acked. */
void shim_qp_end_events(struct shim_context *ctx, struct shim_qp *qp);
/** shim_events_drain() - wait until all @delivered events of an object were acknowledged. */
void shim_events_drain(pthread_mutex_t *mutex, pthread_cond_t *cond, const u32 *acked,
		       u32 delivered);

/* --- what they hold --------------------------------------------------------------------------- */

/** shim_qp_find() - the live QP with that number, or NULL. */
static inline struct shim_qp *shim_qp_find(u32 qpn)
{
	struct shim_qp *qp = load_acquire(&objs->qp[qpn & (HCA_MAX_QP - 1)]);

	return qp && qp->qpn == qpn ? qp : NULL;
}

/**
 * shim_qp_saw_error() - an error of the QP became known. An isolated client cannot see whether it is in
 * ERR; receives that it posted in the meantime are flushed on a doorbell.
 */
static inline void shim_qp_saw_error(struct shim_qp *qp)
{
	if (load_relaxed(&qp->maybe_err))
		return;
	store_relaxed(&qp->maybe_err, true);
	if (shim.isolated)
		shim_doorbell_ring(qp->slot);
}

static inline struct sq_wqe *shim_sq_slot(const struct shim_wq *q, u32 index)
{
	return (struct sq_wqe *)(q->slots + (size_t)(index & (q->depth - 1)) * q->stride);
}

static inline struct rq_wqe *shim_srq_slot(const struct shim_srq *srq, u32 slot)
{
	return (struct rq_wqe *)(srq->slots + (size_t)(slot & (srq->depth - 1)) * srq->stride);
}

static inline struct rq_wqe *shim_rq_slot(const struct shim_wq *q, u32 index)
{
	return (struct rq_wqe *)(q->slots + (size_t)(index & (q->depth - 1)) * q->stride);
}

/** shim_pow2() - the smallest power of two that is at least @n; @n is at least 1 and below 2^31. */
static inline u32 shim_pow2(u32 n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

#endif
