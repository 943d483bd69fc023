/* SPDX-License-Identifier: MIT */
/**
 * DOC: extended completion queues: polling in batches, field by field, and timestamps.
 *
 * Between start_poll and end_poll the CQ's lock is held. An entry stays in the ring while it is
 * current; it is given back when the next one becomes current or the batch ends.
 */
#include "libshim/objects.h"

#include <time.h>

#define WC_TS                                                                                      \
	((u64)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define WC_SUPPORTED ((u64)IBV_WC_STANDARD_FLAGS | WC_TS)

static struct shim_cq *cqx(struct ibv_cq_ex *ex)
{
	return (struct shim_cq *)ex;
}

/* Make the next reportable entry current. Return: 0 or ENOENT. */
static int advance(struct shim_cq *cq)
{
	const struct cqe *e;

	while ((e = cq_peek(cq))) {
		cq_consume(cq, e);
		if (!(e->flags & CQE_SKIP)) {
			cq->cur = e;
			cq->ex.wr_id = e->wr_id;
			cq->ex.status = e->status;
			return 0;
		}
		cq->cons++;
	}
	cq->cur = NULL;
	return ENOENT;
}

/* Give the current entry, if any, back to the engine. */
static void retire(struct shim_cq *cq)
{
	if (cq->cur)
		cq->cons++;
	cq->cur = NULL;
	store_release(&cq->ctl->cons, cq->cons);
}

static int cqx_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct shim_cq *cq = cqx(ex);
	int ret;

	if (attr && attr->comp_mask)
		return EINVAL;
	shim_lock(&cq->lock);
	ret = advance(cq);
	if (unlikely(ret)) {
		retire(cq);
		shim_unlock(&cq->lock);
		if (!cq_idle(cq))
			return ret;
		shim_lock(&cq->lock);
		ret = advance(cq);
		if (ret) {
			retire(cq);
			shim_unlock(&cq->lock);
			return ret;
		}
	}
	cq->owner = pthread_self();
	store_release(&cq->in_batch, true);
	return 0;
}

static int cqx_next_poll(struct ibv_cq_ex *ex)
{
	struct shim_cq *cq = cqx(ex);

	retire(cq);
	return advance(cq);
}

static void cqx_end_poll(struct ibv_cq_ex *ex)
{
	struct shim_cq *cq = cqx(ex);

	retire(cq);
	store_release(&cq->in_batch, false);
	shim_unlock(&cq->lock);
}

static enum ibv_wc_opcode cqx_read_opcode(struct ibv_cq_ex *ex)
{
	return cqx(ex)->cur->opcode;
}

static uint32_t cqx_read_vendor_err(struct ibv_cq_ex *ex)
{
	return cqx(ex)->cur->vendor_err;
}

static uint32_t cqx_read_byte_len(struct ibv_cq_ex *ex)
{
	return cqx(ex)->cur->byte_len;
}

static __be32 cqx_read_imm_data(struct ibv_cq_ex *ex)
{
	return cqx(ex)->cur->imm;
}

static uint32_t cqx_read_qp_num(struct ibv_cq_ex *ex)
{
	return cqx(ex)->cur->qpn & IB_QPN_MASK;
}

static uint32_t cqx_read_src_qp(struct ibv_cq_ex *ex)
{
	return cqx(ex)->cur->src_qp;
}

static unsigned int cqx_read_wc_flags(struct ibv_cq_ex *ex)
{
	return cqx(ex)->cur->wc_flags;
}

static uint32_t cqx_read_zero32(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t cqx_read_zero8(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint64_t cqx_read_completion_ts(struct ibv_cq_ex *ex)
{
	return cqx(ex)->cur->ts;
}

/* The age of the entry by the fabric's clock, counted back from now. */
static uint64_t cqx_read_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec -
	       (shim_host.now(shim.engine.ctx) - cqx(ex)->cur->ts);
}

static void cqx_init(struct ibv_cq_ex *ex)
{
	ex->start_poll = cqx_start_poll;
	ex->next_poll = cqx_next_poll;
	ex->end_poll = cqx_end_poll;
	ex->read_opcode = cqx_read_opcode;
	ex->read_vendor_err = cqx_read_vendor_err;
	ex->read_byte_len = cqx_read_byte_len;
	ex->read_imm_data = cqx_read_imm_data;
	ex->read_qp_num = cqx_read_qp_num;
	ex->read_src_qp = cqx_read_src_qp;
	ex->read_wc_flags = cqx_read_wc_flags;
	ex->read_slid = cqx_read_zero32;
	ex->read_sl = cqx_read_zero8;
	ex->read_dlid_path_bits = cqx_read_zero8;
	ex->read_completion_ts = cqx_read_completion_ts;
	ex->read_completion_wallclock_ns = cqx_read_wallclock_ns;
}

static int dead_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	(void)ex;
	(void)attr;
	return EIO;
}

void cqx_set_dead(struct shim_cq *cq)
{
	cq->ex.start_poll = dead_start_poll;
}

struct ibv_cq_ex *shim_create_cq_ex(struct ibv_context *ibctx, struct ibv_cq_init_attr_ex *attr)
{
	u32 mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	struct shim_cq *cq;

	if (attr->wc_flags & ~WC_SUPPORTED)
		return fail_null(-EOPNOTSUPP);
	if (attr->comp_mask & ~mask)
		return fail_null(-EOPNOTSUPP);
	/* Overrun is an error here, always; a single-threaded CQ just finds its lock free. */
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & ~(u32)IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return fail_null(-EOPNOTSUPP);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) && attr->parent_domain)
		return fail_null(-EOPNOTSUPP);
	cq = cq_new(ibctx, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector,
		    attr->wc_flags & WC_TS);
	if (!cq)
		return NULL;
	cqx_init(&cq->ex);
	return &cq->ex;
}
