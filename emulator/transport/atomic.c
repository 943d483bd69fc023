/* SPDX-License-Identifier: MIT */
/**
 * DOC: atomics, executed once: what is kept of each in struct atomic_res tells whether a holder of
 * the token that died has executed it.
 */
#include "emulator/engine.h"
#include "emulator/transport/atomic.h"

/*
 * A holder died between noting what it would write and noting that it had: memory tells. When the
 * word does not change (a compare that fails, an addition of 0) once more does no harm.
 */
static int atomic_find_out(struct engine *e, const struct hca_qp *qp, struct atomic_res *res,
			   u32 nth)
{
	struct atomic_res now = { 0 };
	int ret = e->ops->atomic(e->ctx, res->client, res->addr, WR_ATOMIC_FETCH_AND_ADD, 0, 0,
				 &now, (u64)qp->qpn << 32 | res->psn << 1 | 1);

	if (ret)
		return ret;
	if (now.orig == res->want && res->want != res->orig)
		store_release(&res->nth, nth);
	else
		res->begun = 0;
	return 0;
}

void atomic_recover(struct engine *e, struct hca_qp *qp)
{
	struct atomic_res *res = atomic_next(qp);
	u32 nth = qp->resp.at_head + 1;

	/* Where memory cannot be reached from here now, the request that comes again asks again. */
	if (res->begun == nth && res->nth != nth)
		atomic_find_out(e, qp, res, nth);
}

int atomic_execute(struct engine *e, struct hca_qp *qp, const struct burst *b,
		   const struct hca_mem *word)
{
	struct atomic_res *res = atomic_next(qp);
	u32 nth = qp->resp.at_head + 1;
	int ret = 0;

	if (res->begun == nth && res->nth != nth)
		ret = atomic_find_out(e, qp, res, nth);
	if (ret || res->nth == nth)
		return ret;
	atomic_forget(qp);
	res->psn = b->psn;
	res->addr = word->iov[0].addr;
	res->client = word->client;
	res->turn = nth;
	ret = e->ops->atomic(e->ctx, word->client, res->addr, b->atomic_op, b->compare_add, b->swap,
			     res, (u64)qp->qpn << 32 | b->psn << 1 | 1);
	if (ret == -EFAULT_DST)
		res->begun = 0;
	if (ret)
		return ret;
	store_release(&res->nth, nth);
	return 0;
}
