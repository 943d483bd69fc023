/* SPDX-License-Identifier: MIT */
/**
 * DOC: extended completion queues: polling in batches, field by field, and timestamps.
 *
 * Between start_poll and end_poll the CQ's lock is held. The current entry stays in the ring until
 * the next one becomes current or the batch ends.
 */
#include "emulator/ib.h"
#include "emulator/seg.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/engine_ops.h"
#include "libshim/interpose/syscall.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/objects.h"

static struct shim_cq *to_cq_of_ex(struct ibv_cq_ex *ex)
{
	return (struct shim_cq *)ex;
}

/* Make the next reportable entry current. Return: 0 or ENOENT. */
static int batch_advance(struct shim_cq *cq)
{
	const struct cqe *e;

	while ((e = shim_cq_peek(cq))) {
		shim_cqe_consume(e);
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
static void batch_retire(struct shim_cq *cq)
{
	if (cq->cur)
		cq->cons++;
	cq->cur = NULL;
	shim_cq_publish(cq, cq->cons);
}

/*
 * The distance of wall clock time from the fabric's clock, to a microsecond unless the thread is
 * interrupted four times in a row.
 */
static u64 wall_clock_offset(void)
{
	u64 before, after, wall;
	u32 tries = 4;

	do {
		before = shim_ops.now(shim.engine.ctx);
		wall = sys_wall();
		after = shim_ops.now(shim.engine.ctx);
	} while (after - before > 1000 && --tries);
	return wall - before - (after - before) / 2;
}

static int cqx_found_nothing(struct shim_cq *cq)
{
	if (call_holds())
		cq_hold_drained(&cq->hold);
	return ENOENT;
}

static int cqx_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct shim_cq *cq = to_cq_of_ex(ex);
	int ret;

	if (attr && attr->comp_mask)
		return EINVAL;
	if (call_fails(CALL_ibv_start_poll))
		return errno;
	if (call_holds() && shim_cq_withholds(cq))
		return ENOENT;
	shim_lock(&cq->lock);
	ret = batch_advance(cq);
	if (unlikely(ret)) {
		batch_retire(cq);
		shim_unlock(&cq->lock);
		if (!shim_cq_idle(cq))
			return cqx_found_nothing(cq);
		shim_lock(&cq->lock);
		ret = batch_advance(cq);
		if (ret) {
			batch_retire(cq);
			shim_unlock(&cq->lock);
			return cqx_found_nothing(cq);
		}
	}
	if (cq->wall)
		cq->wall_off = wall_clock_offset();
	cq->owner = pthread_self();
	store_release(&cq->in_batch, true);
	return 0;
}

static int cqx_next_poll(struct ibv_cq_ex *ex)
{
	struct shim_cq *cq = to_cq_of_ex(ex);

	if (call_fails(CALL_ibv_next_poll))
		return errno;
	batch_retire(cq);
	return batch_advance(cq) ? cqx_found_nothing(cq) : 0;
}

static void cqx_end_poll(struct ibv_cq_ex *ex)
{
	struct shim_cq *cq = to_cq_of_ex(ex);

	batch_retire(cq);
	store_release(&cq->in_batch, false);
	shim_unlock(&cq->lock);
}

static enum ibv_wc_opcode cqx_read_opcode(struct ibv_cq_ex *ex)
{
	return to_cq_of_ex(ex)->cur->opcode;
}

static uint32_t cqx_read_vendor_err(struct ibv_cq_ex *ex)
{
	const struct shim_cq *cq = to_cq_of_ex(ex);

	return cq->cur->status == WCS_SUCCESS ? 0 : shim_vendor_err(cq, cq->cur);
}

static uint32_t cqx_read_byte_len(struct ibv_cq_ex *ex)
{
	return to_cq_of_ex(ex)->cur->byte_len;
}

static __be32 cqx_read_imm_data(struct ibv_cq_ex *ex)
{
	return to_cq_of_ex(ex)->cur->imm;
}

static uint32_t cqx_read_qp_num(struct ibv_cq_ex *ex)
{
	return to_cq_of_ex(ex)->cur->qpn & IB_QPN_MASK;
}

static uint32_t cqx_read_src_qp(struct ibv_cq_ex *ex)
{
	return to_cq_of_ex(ex)->cur->src_qp;
}

static unsigned int cqx_read_wc_flags(struct ibv_cq_ex *ex)
{
	return to_cq_of_ex(ex)->cur->wc_flags;
}

/* The entry's third cache line, which only some entries have; others read as zero. */
static const struct cqe *cqe_extension(struct ibv_cq_ex *ex)
{
	static const struct cqe none;
	const struct cqe *e = to_cq_of_ex(ex)->cur;

	return e->flags & CQE_EXT ? e : &none;
}

static uint32_t cqx_read_slid(struct ibv_cq_ex *ex)
{
	return shim_cqe_slid(to_cq_of_ex(ex), cqe_extension(ex));
}

static uint8_t cqx_read_sl(struct ibv_cq_ex *ex)
{
	return cqe_extension(ex)->sl;
}

static uint8_t cqx_read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return cqe_extension(ex)->dlid_path_bits;
}

static uint16_t cqx_read_cvlan(struct ibv_cq_ex *ex)
{
	return cqe_extension(ex)->cvlan;
}

static uint32_t cqx_read_flow_tag(struct ibv_cq_ex *ex)
{
	return cqe_extension(ex)->flow_tag;
}

static void cqx_read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	const struct cqe *e = cqe_extension(ex);

	info->tag = e->tm_tag;
	info->priv = e->tm_priv;
}

static uint64_t cqx_read_completion_ts(struct ibv_cq_ex *ex)
{
	return to_cq_of_ex(ex)->cur->ts;
}

/* The offset is the same for the whole batch, so that entries keep their distances. */
static uint64_t cqx_read_wallclock_ns(struct ibv_cq_ex *ex)
{
	return to_cq_of_ex(ex)->cur->ts + to_cq_of_ex(ex)->wall_off;
}

/* Fields that the program did not request have no function (ibv_create_cq_ex(3)). */
static void cqx_init(struct ibv_cq_ex *ex, u64 wc, enum ts_format ts_format)
{
	ex->start_poll = cqx_start_poll;
	ex->next_poll = cqx_next_poll;
	ex->end_poll = cqx_end_poll;
	ex->read_opcode = cqx_read_opcode;
	ex->read_vendor_err = cqx_read_vendor_err;
	ex->read_wc_flags = cqx_read_wc_flags;
#define FIELD(flag, name)                                                                          \
	do {                                                                                       \
		if (wc & (flag))                                                                   \
			ex->read_##name = cqx_read_##name;                                         \
	} while (0)
	FIELD(IBV_WC_EX_WITH_BYTE_LEN, byte_len);
	FIELD(IBV_WC_EX_WITH_IMM, imm_data); /* ibv_wc_read_invalidated_rkey() as well */
	FIELD(IBV_WC_EX_WITH_QP_NUM, qp_num);
	FIELD(IBV_WC_EX_WITH_SRC_QP, src_qp);
	FIELD(IBV_WC_EX_WITH_SLID, slid);
	FIELD(IBV_WC_EX_WITH_SL, sl);
	FIELD(IBV_WC_EX_WITH_DLID_PATH_BITS, dlid_path_bits);
	FIELD(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, completion_ts);
	FIELD(IBV_WC_EX_WITH_CVLAN, cvlan);
	FIELD(IBV_WC_EX_WITH_FLOW_TAG, flow_tag);
	FIELD(IBV_WC_EX_WITH_TM_INFO, tm_info);
	/* libmlx5 hands out the device's own stamp there, seconds apart from nanoseconds, too. */
	if (wc & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns =
			ts_format == TS_REAL_TIME ? cqx_read_completion_ts : cqx_read_wallclock_ns;
#undef FIELD
}

static int dead_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	(void)ex;
	(void)attr;
	return EIO;
}

void shim_cqx_set_dead(struct shim_cq *cq)
{
	cq->ex.start_poll = dead_start_poll;
}

static int cqx_check_attr(struct ibv_context *ibctx, const struct ibv_cq_init_attr_ex *attr)
{
	u32 mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	u32 flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	const struct shim_pd *pd;

	if (attr->comp_mask & ~mask)
		return -EINVAL;
	/* A single-threaded CQ has a lock like others and always finds it free. */
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) && (attr->flags & ~flags))
		return -EINVAL;
	if (attr->wc_flags & ~(u64)IBV_CREATE_CQ_SUP_WC_FLAGS)
		return -EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		pd = shim_pd_of(attr->parent_domain, ibctx);
		if (!pd || !pd->real)
			return -EINVAL;
	}
	return 0;
}

struct ibv_cq_ex *shim_create_cq_ex(struct ibv_context *ibctx, struct ibv_cq_init_attr_ex *attr)
{
	int ret = cqx_check_attr(ibctx, attr);
	struct shim_cq *cq;

	if (call_fails(CALL_ibv_create_cq_ex))
		return NULL;
	if (ret)
		return fail_null(ret);
	cq = shim_cq_new(ibctx, attr);
	if (!cq)
		return NULL;
	cq->wall = (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) &&
		   cq->ts_format == TS_FREE_RUNNING;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		cq->parent = shim_parent_get(attr->parent_domain);
	cqx_init(&cq->ex, attr->wc_flags, cq->ts_format);
	return &cq->ex;
}
