/* SPDX-License-Identifier: MIT */
/**
 * DOC: posting work requests.
 *
 * Theory of operation
 * -------------------
 * A post writes work requests into ring slots and publishes them with one release store of the
 * producer index. Then it rings the doorbell, which usually runs them at once in this very thread.
 * Requests that would be wrong in any state of the HCA (too many entries, too much inline data,
 * wrong QP state) fail here; the engine checks keys and bounds, and reports errors by completions.
 *
 * Small payloads with valid keys are gathered into the slot, so that the engine need not access
 * this process's memory. A slot is free again when a completion for it, or for a later one, was
 * polled.
 */
#include "emulator/engine.h"
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/ring.h"
#include "emulator/seg.h"
#include "emulator/transport/write_batch.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/write_batch.h"
#include "libshim/memory/shadow.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"
#include "libshim/verbs/queue.h"

_Static_assert((u32)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE |
		     IBV_SEND_IP_CSUM) == (u32)(SEND_FENCE | SEND_SIGNALED | SEND_SOLICITED |
						SEND_INLINE | SEND_IP_CSUM),
	       "flags are posted as they are");

/* shim_sq_claim() of slot @head, the next that is not filled. */
static inline int sq_claim(struct shim_qp *qp, u32 head, struct sq_wqe **out)
{
	struct shim_wq *q = &qp->sq;

	if (unlikely(load_relaxed(&qp->state) < QPS_RTS))
		return EINVAL;
	if (unlikely(load_relaxed(&shim.fatal)))
		return EIO;
	if (unlikely(head - load_acquire(&q->tail) >= q->depth))
		return ENOMEM;
	*out = shim_sq_slot(q, head);
	return 0;
}

int shim_sq_claim(struct shim_qp *qp, struct sq_wqe **out)
{
	return sq_claim(qp, qp->sq.head, out);
}

/* Copy inline data, whose keys are ignored. Return: 0 or EINVAL. */
static int sq_set_inline(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, u32 n)
{
	u8 *to = (u8 *)w->sge;
	u64 total = 0;
	u32 i;

	if (unlikely(!op_is_in(w->opcode, OPS_SEND | OPS_WRITE | OP(WR_ATOMIC_WRITE))))
		return EINVAL;
	for (i = 0; i < n; i++) {
		total += sg[i].length;
		if (unlikely(total > qp->sq.max_inline))
			return EINVAL;
		/* The address of an empty entry may be anything. */
		if (sg[i].length)
			memcpy(to, (void *)(uintptr_t)sg[i].addr, sg[i].length);
		to += sg[i].length;
	}
	w->num_sge = 0;
	w->total_len = (u32)total;
	w->hw = SQ_HW_INLINE;
	return 0;
}

/* Gather a small payload into the slot. Return: false if the HCA might refuse it. */
static bool sq_gather(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, u32 n)
{
	u8 *to = (u8 *)w->sge;
	void *from;
	u32 i;

	for (i = 0; i < n; i++) {
		if (!sg[i].length)
			continue;
		from = shim_mr_shadow_find(sg[i].lkey, qp->pd, 0, sg[i].addr, sg[i].length);
		if (unlikely(!from))
			return false;
		memcpy(to, from, sg[i].length);
		to += sg[i].length;
	}
	return true;
}

/* Whether a payload of that size travels in the slot. @op: OP() of its opcode */
static inline bool is_small_payload(u32 op, u64 total)
{
	return total <= SQ_MIN_DATA && op & (OPS_SEND | OPS_WRITE);
}

/*
 * shim_sq_set_sges() for a small payload in one entry. Return: false: it is none, or the HCA might
 * refuse it; nothing has changed. A function of its own, or its caller runs short of registers.
 */
static __attribute__((noinline)) bool sq_gather_one(struct sq_wqe *w, u32 op, u32 pd,
						    const struct ibv_sge *sg)
{
	u32 len = sg->length;
	const void *from;

	if (unlikely(!len || !is_small_payload(op, len)))
		return false;
	from = mr_shadow_find(sg->lkey, false, pd, 0, sg->addr, len);
	if (unlikely(!from))
		return false;
	copy_small(w->sge, from, len);
	w->total_len = len;
	w->num_sge = 0;
	w->hw = SQ_HW_INLINE;
	return true;
}

int shim_sq_set_sges(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, size_t n)
{
	u64 total = 0;
	u32 i;

	if (unlikely(n > qp->sq.max_sge))
		return EINVAL;
	if (unlikely(w->opcode == WR_TSO))
		return shim_tso_set_sges(qp, w, sg, n);
	if (w->send_flags & SEND_INLINE)
		return sq_set_inline(qp, w, sg, (u32)n);
	for (i = 0; i < n; i++)
		total += sg[i].length;
	if (unlikely(total > LIM_MSG))
		return EINVAL;
	w->total_len = (u32)total;
	if (is_small_payload(OP(w->opcode), total) && sq_gather(qp, w, sg, (u32)n)) {
		w->num_sge = 0;
		w->hw = SQ_HW_INLINE;
		return 0;
	}
	memcpy(w->sge, sg, n * sizeof(*sg));
	w->num_sge = (u16)n;
	w->hw = 0;
	return 0;
}

/* Set the destination of a datagram. Return: 0 or EINVAL. */
static int sq_put_ud(struct sq_wqe *w, const struct ibv_send_wr *wr)
{
	const struct shim_ah *ah = (const struct shim_ah *)wr->wr.ud.ah;

	if (!ah || ah->magic != MAGIC_AH)
		return EINVAL;
	w->ah = ah->ah.handle;
	w->remote_qpn = wr->wr.ud.remote_qpn;
	w->remote_qkey = wr->wr.ud.remote_qkey;
	return 0;
}

/* Set the fields of a work request that depend on its opcode, OP() @op, or the QP's type. */
static inline int sq_put_op(const struct shim_qp *qp, struct sq_wqe *w, u32 op,
			    const struct ibv_send_wr *wr)
{
	w->rkey = 0;
	w->imm = wr->imm_data;
	if (unlikely(qp->qp.qp_type == IBV_QPT_XRC_SEND))
		w->remote_qpn = wr->qp_type.xrc.remote_srqn;
	if (op & (OPS_WRITE | OP(WR_RDMA_READ) | OP(WR_ATOMIC_WRITE))) {
		w->remote_addr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	} else if (unlikely(op & OPS_ATOMIC)) {
		w->remote_addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare_add = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
	} else if (unlikely(op & OP(WR_SEND_WITH_INV))) {
		w->rkey = wr->invalidate_rkey;
		w->imm = 0;
	}
	return unlikely(qpt_is_datagram(qp->type)) ? sq_put_ud(w, wr) : 0;
}

/* Set the fields of binds, invalidations and TSO. Return: 0 or errno value. */
static int sq_put_other(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_send_wr *wr)
{
	if (wr->num_sge < 0)
		return EINVAL;
	w->rkey = 0;
	w->imm = 0;
	w->num_sge = 0;
	w->total_len = 0;
	w->hw = 0;
	if (wr->opcode == IBV_WR_BIND_MW)
		return shim_mw_fill_bind(w, wr->bind_mw.mw, wr->bind_mw.rkey,
					 &wr->bind_mw.bind_info);
	if (wr->opcode == IBV_WR_TSO)
		return shim_tso_fill(qp, w, wr->tso.hdr, wr->tso.hdr_sz, wr->tso.mss, wr->sg_list,
				     (u32)wr->num_sge);
	w->rkey = wr->invalidate_rkey;
	return 0;
}

/* Fill slot @head, the next. *out is set to it, *ops gains its opcode. Return: 0 or errno value. */
static inline int sq_put_wr(struct shim_qp *qp, u32 head, const struct ibv_send_wr *wr,
			    struct sq_wqe **out, u32 *ops)
{
	u32 opcode = wr->opcode, op = OP(opcode & 31), flags = wr->send_flags;
	struct sq_wqe *w;
	int ret;

	keep_pointer(qp);
	ret = sq_claim(qp, head, &w);
	if (unlikely(ret))
		return ret;
	if (unlikely(opcode > 31 || !(op & qp->post_ops) || (flags & ~qp->flags_ok)))
		return EINVAL;
	if (qp->sig_all)
		flags |= SEND_SIGNALED;
	*out = w;
	*ops |= op;
	w->wr_id = wr->wr_id;
	w->opcode = (u8)opcode;
	w->send_flags = (u8)flags;
	if (unlikely(op & (OPS_LOCAL | OP(WR_TSO))))
		return sq_put_other(qp, w, wr);
	ret = sq_put_op(qp, w, op, wr);
	if (unlikely(ret))
		return ret;
	if (likely(wr->num_sge == 1 && !(flags & SEND_INLINE) && qp->sq.max_sge) &&
	    likely(sq_gather_one(w, op, qp->pd, wr->sg_list)))
		return 0;
	/* A negative number is too large as well. */
	return shim_sq_set_sges(qp, w, wr->sg_list, (size_t)wr->num_sge);
}

/* Whether the engine can execute a WRITE in a batch with others. */
static inline bool is_batch_piece(const struct sq_wqe *w)
{
	return w->hw == SQ_HW_INLINE && w->total_len <= WRITE_BATCH_PIECE;
}

/** shim_post_send() - ibv_post_send(3). Return: 0 or errno value. */
int shim_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct shim_qp *qp = to_qp(ibqp);
	u32 first, head, slot, in_flight, ops = 0;
	struct sq_wqe *last = NULL;
	bool stream;
	int ret = 0;

	if (unlikely(qp->magic != MAGIC_QP)) {
		*bad_wr = wr;
		return EINVAL;
	}
	if (call_fails(CALL_ibv_post_send)) {
		*bad_wr = wr;
		return errno;
	}
	/* It arrives while the slots are filled. */
	if (likely(shim.engine.hca))
		prefetch_write(&shim.hca->token);
	shim_lock(&qp->sq.lock);
	head = first = qp->sq.head;
	for (; wr; wr = wr->next) {
		ret = sq_put_wr(qp, head, wr, &last, &ops);
		if (unlikely(ret)) {
			*bad_wr = wr;
			ops = 0;
			break;
		}
		head++;
	}
	if (unlikely(head == first)) {
		shim_unlock(&qp->sq.lock);
		return ret;
	}
	qp->sq.head = head;
	store_release(&qp->sq.ctl->prod, head);
	slot = qp->slot;
	in_flight = head - load_relaxed(&qp->sq.tail);
	stream = unlikely(ops == OP(WR_RDMA_WRITE) && in_flight + 1 >= WRITE_BATCH_FROM) &&
		 is_batch_piece(last);
	if (stream && shim_write_batch_wait(&qp->batch, slot, head, in_flight)) {
		shim_unlock(&qp->sq.lock);
		engine_defer(&shim.engine, shim.seg, slot);
		return ret;
	}
	shim_write_batch_rung(&qp->batch, head);
	shim_unlock(&qp->sq.lock);
	shim_doorbell_ring(slot);
	if (unlikely(stream))
		shim_write_batch_end();
	return ret;
}

void shim_rq_fill(struct rq_wqe *w, const struct ibv_recv_wr *wr)
{
	u32 i, n = (u32)wr->num_sge;
	u64 total = 0;

	w->wr_id = wr->wr_id;
	for (i = 0; i < n; i++) {
		w->sge[i].addr = wr->sg_list[i].addr;
		w->sge[i].len = wr->sg_list[i].length;
		w->sge[i].lkey = wr->sg_list[i].lkey;
		total += wr->sg_list[i].length;
	}
	w->num_sge = (u16)n;
	w->total_len = (u32)min_u64(total, UINT32_MAX);
}

static int rq_put_wr(struct shim_wq *q, bool reset, const struct ibv_recv_wr *wr)
{
	/* As u32, a negative number is too large as well. */
	if (unlikely(reset || (u32)wr->num_sge > q->max_sge))
		return EINVAL;
	if (unlikely(load_relaxed(&shim.fatal)))
		return EIO;
	if (unlikely(q->head - load_acquire(&q->tail) >= q->depth))
		return ENOMEM;
	shim_rq_fill(shim_rq_slot(q, q->head), wr);
	q->head++;
	return 0;
}

int shim_rq_post(struct shim_wq *q, bool reset, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
		 bool *posted)
{
	u32 head = q->head;
	int ret = 0;

	for (; wr; wr = wr->next) {
		ret = rq_put_wr(q, reset, wr);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}
	*posted = q->head != head;
	if (likely(*posted))
		store_release(&q->ctl->prod, q->head);
	return ret;
}

/*
 * Receives need no doorbell, except in ERR, where they are flushed. The engine publishes the state
 * before it flushes, and reads the producer index after that.
 */
static bool needs_recv_doorbell(struct shim_qp *qp)
{
	const struct shim_context *ctx;
	const struct chan_ring *ev;

	if (shim.isolated) {
		/* The state is invisible here: ring if the QP may be in ERR. */
		ctx = container_of(qp->qp.context, struct shim_context, verbs.context);
		ev = &shim.seg->chan[ctx->async_chan];
		return load_relaxed(&qp->maybe_err) || load_relaxed(&qp->state) == QPS_ERR ||
		       load_acquire(&ev->prod) != load_relaxed(&ev->cons);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return load_relaxed(&shim.hca->qp[qp->slot].state) == QPS_ERR;
}

/** shim_post_recv() - ibv_post_recv(3). Return: 0 or errno value. */
int shim_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct shim_qp *qp = to_qp(ibqp);
	bool posted, ring;
	int ret;

	if (unlikely(qp->magic != MAGIC_QP || qp->srq)) {
		*bad_wr = wr;
		return EINVAL;
	}
	if (call_fails(CALL_ibv_post_recv)) {
		*bad_wr = wr;
		return errno;
	}
	shim_lock(&qp->rq.lock);
	ret = shim_rq_post(&qp->rq, load_relaxed(&qp->state) == QPS_RESET, wr, bad_wr, &posted);
	shim_unlock(&qp->rq.lock);
	ring = posted && needs_recv_doorbell(qp);
	if (unlikely(ring))
		shim_doorbell_ring(qp->slot);
	return ret;
}
