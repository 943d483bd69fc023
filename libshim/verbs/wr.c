/* SPDX-License-Identifier: MIT */
/**
 * DOC: the ibv_wr_* calls, which build work requests in place; see ibv_wr_post(3).
 *
 * The send queue's lock is held from wr_start to wr_complete or wr_abort. The functions in between
 * return nothing: the first error is remembered, makes wr_complete fail and undoes the whole batch.
 */
#include "emulator/ib.h"
#include "emulator/seg.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/command.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

static struct shim_qp *to_qp_of_ex(struct ibv_qp_ex *ex)
{
	return (struct shim_qp *)ex;
}

static void wr_fail(struct shim_qp *qp, int err)
{
	if (!qp->batch_err)
		qp->batch_err = err;
	qp->cur = NULL;
}

/* Begin a work request. Return: its slot, or NULL when the batch has failed. */
static struct sq_wqe *wr_new(struct ibv_qp_ex *ex, u32 opcode)
{
	struct shim_qp *qp = to_qp_of_ex(ex);
	struct sq_wqe *w = NULL;
	int ret;

	if (unlikely(qp->batch_err))
		return NULL;
	ret = shim_sq_claim(qp, &w);
	if (!ret && ((ex->wr_flags & ~qp->flags_ok) || !op_is_in(opcode, qp->ops)))
		ret = EINVAL;
	if (unlikely(ret)) {
		wr_fail(qp, ret);
		return NULL;
	}
	w->wr_id = ex->wr_id;
	w->opcode = (u8)opcode;
	/* Here the setters decide about inline data; the flag is allowed and ignored. */
	w->send_flags = (u8)(ex->wr_flags & ~(u32)IBV_SEND_INLINE);
	if (qp->sig_all)
		w->send_flags |= SEND_SIGNALED;
	w->rkey = 0;
	w->imm = 0;
	w->num_sge = 0;
	w->total_len = 0;
	w->hw = 0;
	qp->sq.head++;
	qp->cur = w;
	return w;
}

static void wrx_start(struct ibv_qp_ex *ex)
{
	struct shim_qp *qp = to_qp_of_ex(ex);

	shim_lock(&qp->sq.lock);
	qp->batch_head = qp->sq.head;
	qp->batch_err = 0;
	qp->cur = NULL;
}

static void wrx_abort(struct ibv_qp_ex *ex)
{
	struct shim_qp *qp = to_qp_of_ex(ex);

	qp->sq.head = qp->batch_head;
	qp->cur = NULL;
	shim_unlock(&qp->sq.lock);
}

static int wrx_complete(struct ibv_qp_ex *ex)
{
	struct shim_qp *qp = to_qp_of_ex(ex);
	int err = qp->batch_err;
	bool posted;

	if (!err && call_fails(CALL_ibv_wr_complete))
		err = errno;
	if (unlikely(err)) {
		wrx_abort(ex);
		return err;
	}
	posted = qp->sq.head != qp->batch_head;
	if (posted)
		store_release(&qp->sq.ctl->prod, qp->sq.head);
	qp->cur = NULL;
	shim_unlock(&qp->sq.lock);
	if (posted)
		shim_doorbell_ring(qp->slot);
	return 0;
}

static void wrx_send(struct ibv_qp_ex *ex)
{
	wr_new(ex, WR_SEND);
}

static void wrx_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct sq_wqe *w = wr_new(ex, WR_SEND_WITH_IMM);

	if (w)
		w->imm = imm_data;
}

static void wrx_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct sq_wqe *w = wr_new(ex, WR_SEND_WITH_INV);

	if (w)
		w->rkey = invalidate_rkey;
}

static struct sq_wqe *wr_new_rdma(struct ibv_qp_ex *ex, u32 opcode, u32 rkey, u64 remote_addr)
{
	struct sq_wqe *w = wr_new(ex, opcode);

	if (w) {
		w->rkey = rkey;
		w->remote_addr = remote_addr;
	}
	return w;
}

static void wrx_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_new_rdma(ex, WR_RDMA_READ, rkey, remote_addr);
}

static void wrx_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_new_rdma(ex, WR_RDMA_WRITE, rkey, remote_addr);
}

static void wrx_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			       __be32 imm_data)
{
	struct sq_wqe *w = wr_new_rdma(ex, WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);

	if (w)
		w->imm = imm_data;
}

static void wrx_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			       uint64_t compare, uint64_t swap)
{
	struct sq_wqe *w = wr_new_rdma(ex, WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	if (w) {
		w->compare_add = compare;
		w->swap = swap;
	}
}

static void wrx_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				 uint64_t add)
{
	struct sq_wqe *w = wr_new_rdma(ex, WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr);

	if (w) {
		w->compare_add = add;
		w->swap = 0;
	}
}

static void wrx_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct shim_qp *qp = to_qp_of_ex(ex);
	int ret;

	if (unlikely(!qp->cur))
		return;
	ret = shim_sq_set_sges(qp, qp->cur, sg_list, num_sge);
	if (unlikely(ret))
		wr_fail(qp, ret);
}

static void wrx_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wrx_set_sge_list(ex, 1, &sge);
}

/* The number of buffers is unlimited: only the sum of their lengths is bounded. */
static void wrx_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				     const struct ibv_data_buf *buf)
{
	struct shim_qp *qp = to_qp_of_ex(ex);
	struct sq_wqe *w = qp->cur;
	size_t total = 0, i;

	if (unlikely(!w))
		return;
	if (unlikely(op_is_in(w->opcode, OPS_ATOMIC | OP(WR_RDMA_READ) | OP(WR_TSO)))) {
		wr_fail(qp, EINVAL);
		return;
	}
	for (i = 0; i < num_buf; i++) {
		if (unlikely(buf[i].length > qp->sq.max_inline - total)) {
			wr_fail(qp, EINVAL);
			return;
		}
		if (buf[i].length)
			memcpy((u8 *)w->sge + total, buf[i].addr, buf[i].length);
		total += buf[i].length;
	}
	w->send_flags |= SEND_INLINE;
	w->num_sge = 0;
	w->total_len = (u32)total;
	w->hw = SQ_HW_INLINE;
}

static void wrx_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wrx_set_inline_data_list(ex, 1, &buf);
}

static void wrx_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
			const struct ibv_mw_bind_info *info)
{
	struct sq_wqe *w = wr_new(ex, WR_BIND_MW);
	int ret = w ? shim_mw_fill_bind(w, mw, rkey, info) : 0;

	if (unlikely(ret))
		wr_fail(to_qp_of_ex(ex), ret);
}

static void wrx_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct sq_wqe *w = wr_new(ex, WR_LOCAL_INV);

	if (w)
		w->rkey = invalidate_rkey;
}

/* Copy the header now; the setter that follows has the payload's list. */
static void wrx_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	struct sq_wqe *w = wr_new(ex, WR_TSO);
	int ret = w ? shim_tso_fill(to_qp_of_ex(ex), w, hdr, hdr_sz, mss, NULL, 0) : 0;

	if (unlikely(ret))
		wr_fail(to_qp_of_ex(ex), ret);
}

static void wrx_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			     const void *data)
{
	struct sq_wqe *w = wr_new_rdma(ex, WR_ATOMIC_WRITE, rkey, remote_addr);

	if (!w)
		return;
	memcpy(w->sge, data, sizeof(u64));
	w->total_len = sizeof(u64);
	w->hw = SQ_HW_INLINE;
}

/* ibv_wr_post(3): the request has no data. */
static void wrx_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len,
		      uint8_t type, uint8_t level)
{
	const u64 feth = type | (u64)level << FLUSH_LEVEL_SHIFT;
	struct sq_wqe *w = wr_new_rdma(ex, WR_FLUSH, rkey, remote_addr);

	if (!w)
		return;
	if (unlikely((type & ~(u32)FLUSH_TYPES) || (feth & ~(u64)FLUSH_KNOWN))) {
		wr_fail(to_qp_of_ex(ex), EINVAL);
		return;
	}
	w->compare_add = len;
	w->swap = feth;
}

static void wrx_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ibah, uint32_t remote_qpn,
			    uint32_t remote_qkey)
{
	const struct shim_ah *ah = (const struct shim_ah *)ibah;
	struct shim_qp *qp = to_qp_of_ex(ex);

	if (unlikely(!qp->cur))
		return;
	if (unlikely(!qpt_is_datagram(qp->type) || !ah || ah->magic != MAGIC_AH)) {
		wr_fail(qp, EINVAL);
		return;
	}
	qp->cur->ah = ah->ah.handle;
	qp->cur->remote_qpn = remote_qpn;
	qp->cur->remote_qkey = remote_qkey;
}

static void wrx_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct shim_qp *qp = to_qp_of_ex(ex);

	if (unlikely(!qp->cur))
		return;
	if (unlikely(qp->qp.qp_type != IBV_QPT_XRC_SEND))
		wr_fail(qp, EINVAL);
	else if (!op_is_in(qp->cur->opcode, OPS_LOCAL)) /* local ones have no target */
		qp->cur->remote_qpn = remote_srqn;
}

void shim_wr_init(struct shim_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->ex;

	ex->wr_start = wrx_start;
	ex->wr_complete = wrx_complete;
	ex->wr_abort = wrx_abort;
	ex->wr_send = wrx_send;
	ex->wr_send_imm = wrx_send_imm;
	ex->wr_send_inv = wrx_send_inv;
	ex->wr_send_tso = wrx_send_tso;
	ex->wr_rdma_read = wrx_rdma_read;
	ex->wr_rdma_write = wrx_rdma_write;
	ex->wr_rdma_write_imm = wrx_rdma_write_imm;
	ex->wr_atomic_cmp_swp = wrx_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wrx_atomic_fetch_add;
	ex->wr_atomic_write = wrx_atomic_write;
	*shim_qp_ex_flush(qp) = wrx_flush;
	ex->wr_bind_mw = wrx_bind_mw;
	ex->wr_local_inv = wrx_local_inv;
	ex->wr_set_sge = wrx_set_sge;
	ex->wr_set_sge_list = wrx_set_sge_list;
	ex->wr_set_inline_data = wrx_set_inline_data;
	ex->wr_set_inline_data_list = wrx_set_inline_data_list;
	ex->wr_set_ud_addr = wrx_set_ud_addr;
	ex->wr_set_xrc_srqn = wrx_set_xrc_srqn;
}

/* Takes no lock: the thread that held it when the process forked does not exist in the child. */
static void dead_wr_start(struct ibv_qp_ex *ex)
{
	struct shim_qp *qp = to_qp_of_ex(ex);

	qp->batch_head = qp->sq.head;
	qp->batch_err = EIO;
	qp->cur = NULL;
}

void shim_wr_set_dead(struct shim_qp *qp)
{
	qp->ex.wr_start = dead_wr_start;
}

/** ibv_qp_to_qp_ex() - NULL unless the QP was created with send_ops_flags. */
SHIM_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibqp)
{
	struct shim_qp *qp = to_qp(ibqp);

	return qp && qp->magic == MAGIC_QP && qp->extended ? &qp->ex : NULL;
}
