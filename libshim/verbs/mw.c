/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory windows.
 */
#include "emulator/ib.h"
#include "emulator/obj.h"
#include "emulator/seg.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/command.h"
#include "libshim/client/write_batch.h"
#include "libshim/memory/shadow.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

/* The key of the shadow's entry that tells advise.c that the index belongs to a window. */
static u32 mw_shadow_key(u32 handle)
{
	return handle << 8;
}

/** shim_alloc_mw() - ibv_alloc_mw(3). Return: window, or NULL with errno. */
struct ibv_mw *shim_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct shim_context *ctx = shim_pd_of(pd, NULL) ? shim_context_of(pd->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_ALLOC_MW, .mr.key = shim_mr_wanted_key() };
	struct shim_mw *mw;
	int ret;

	if (call_fails(CALL_ibv_alloc_mw))
		return NULL;
	if (!ctx)
		return fail_null(-shim_unknown(pd));
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return fail_null(-EINVAL);
	cmd.mr.pd = pd->handle;
	cmd.mr.kind = type == IBV_MW_TYPE_1 ? MW_1 : MW_2;
	mw = shim_obj_new(ctx, sizeof(*mw), &cmd);
	if (!mw)
		return NULL;
	ret = shim_mr_shadow_set(mw_shadow_key(cmd.handle), pd->handle, SHADOW_WINDOW, 0, 0, 0);
	if (ret) {
		shim_obj_destroy_cmd(ctx, CMD_DEALLOC_MW, cmd.handle);
		shim_obj_free(ctx, mw, &mw->magic);
		return fail_null(ret);
	}
	mw->mw.context = pd->context;
	mw->mw.pd = pd;
	mw->mw.rkey = cmd.mr.key;
	mw->mw.handle = cmd.handle;
	mw->mw.type = type;
	mw->magic = MAGIC_MW;
	return &mw->mw;
}

/** shim_dealloc_mw() - ibv_alloc_mw(3). Bound ones are unbound. Return: 0 or errno value. */
ERRNO_VERB(shim_dealloc_mw, (struct ibv_mw * ibmw), (ibmw))
{
	struct shim_mw *mw = shim_mw_of(ibmw);
	struct shim_context *ctx = mw ? shim_context_of(ibmw->context) : NULL;
	int ret;

	if (call_fails(CALL_ibv_dealloc_mw))
		return errno;
	if (!ctx)
		return shim_unknown(ibmw);
	ret = shim_obj_destroy_cmd(ctx, CMD_DEALLOC_MW, ibmw->handle);
	if (ret)
		return -ret;
	if (!ctx->dead)
		shim_mr_shadow_clear(mw_shadow_key(ibmw->handle));
	shim_obj_free(ctx, mw, &mw->magic);
	return 0;
}

/** shim_bind_mw() - ibv_bind_mw(3), of type 1. Return: 0 or errno value. */
ERRNO_VERB(shim_bind_mw, (struct ibv_qp * ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind),
	   (ibqp, mw, bind))
{
	struct shim_qp *qp = to_qp(ibqp);
	struct sq_wqe *w;
	u32 rkey;
	int ret;

	if (call_fails(CALL_ibv_bind_mw))
		return errno;
	if (qp->magic != MAGIC_QP || !shim_mw_of(mw) || !op_is_in(WR_BIND_MW, qp->ops) ||
	    (bind->send_flags & ~(u32)(IBV_SEND_FENCE | IBV_SEND_SIGNALED)))
		return EINVAL;
	shim_lock(&qp->sq.lock);
	ret = shim_sq_claim(qp, &w);
	if (!ret) {
		memset(w, 0, sizeof(*w));
		w->wr_id = bind->wr_id;
		w->opcode = WR_BIND_MW;
		w->send_flags = (u8)bind->send_flags;
		if (qp->sig_all)
			w->send_flags |= SEND_SIGNALED;
		rkey = ibv_inc_rkey(mw->rkey);
		ret = shim_mw_fill_bind_any(w, mw, rkey, &bind->bind_info);
	}
	if (!ret) {
		mw->rkey = rkey;
		qp->sq.head++;
		store_release(&qp->sq.ctl->prod, qp->sq.head);
		shim_write_batch_rung(&qp->batch, qp->sq.head);
	}
	shim_unlock(&qp->sq.lock);
	if (!ret)
		shim_doorbell_ring(qp->slot);
	return ret;
}
