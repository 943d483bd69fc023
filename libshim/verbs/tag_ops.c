/* SPDX-License-Identifier: MIT */
/**
 * DOC: tag matching, ibv_post_srq_ops(3).
 *
 * Operations are commands that execute when they are posted. Their number is nevertheless limited
 * as on HCAs with a queue for them: an operation's place is free again when its completion, or that
 * of a later one, was polled (struct shim_srq, max_ops).
 */
#include "emulator/ib.h"
#include "emulator/obj.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/srq.h"

_Static_assert((int)WCO_TM_ADD == IBV_WC_TM_ADD && (int)WCO_TM_NO_TAG == IBV_WC_TM_NO_TAG, "wc");
_Static_assert((int)WCS_TM_ERR == IBV_WC_TM_ERR, "status");
_Static_assert((int)WCF_TM_SYNC_REQ == IBV_WC_TM_SYNC_REQ &&
		       (int)WCF_TM_DATA_VALID == IBV_WC_TM_DATA_VALID,
	       "flags");

/* Return: 0 or -errno. SRQ lock held. */
static int tag_op_post(struct shim_context *ctx, struct shim_srq *srq, struct ibv_ops_wr *op)
{
	struct hca_cmd cmd = { .op = CMD_SRQ_OPS, .handle = srq->index };
	struct cmd_srq_op *c = &cmd.tm;
	int ret;

	if (ctx->dead)
		return -EIO;
	if (srq->ops - load_acquire(&srq->ops_done) >= srq->max_ops)
		return -ENOMEM;
	c->wr_id = op->wr_id;
	c->opcode = op->opcode;
	c->flags = (u32)op->flags;
	c->unexpected_cnt = op->tm.unexpected_cnt;
	c->tag_handle = op->tm.handle;
	c->slot = srq->ops;
	if (op->opcode == IBV_WR_TAG_ADD) {
		if (op->tm.add.num_sge < 0)
			return -EINVAL;
		c->num_sge = (u32)op->tm.add.num_sge;
		c->recv_wr_id = op->tm.add.recv_wr_id;
		c->tag = op->tm.add.tag;
		c->mask = op->tm.add.mask;
		if (c->num_sge == 1)
			memcpy(&c->sge, op->tm.add.sg_list, sizeof(c->sge));
	}
	ret = shim_obj_cmd(ctx, &cmd);
	if (ret)
		return ret;
	srq->ops++;
	if (op->opcode == IBV_WR_TAG_ADD)
		op->tm.handle = c->tag_handle;
	return 0;
}

/** shim_post_srq_ops() - ibv_post_srq_ops(3). Return: 0 or errno value, with *bad_op set. */
int shim_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)
{
	struct shim_srq *srq = to_srq(ibsrq);
	struct shim_context *ctx =
		srq && srq->magic == MAGIC_SRQ ? shim_context_of(ibsrq->context) : NULL;
	int ret = 0;

	if (!ctx || srq->type != SRQ_TM) {
		*bad_op = op;
		return EINVAL;
	}
	if (call_fails(CALL_ibv_post_srq_ops)) {
		*bad_op = op;
		return errno;
	}
	shim_lock(&srq->lock);
	for (; op && !ret; op = op->next) {
		ret = tag_op_post(ctx, srq, op);
		if (ret)
			*bad_op = op;
	}
	shim_unlock(&srq->lock);
	return -ret;
}
