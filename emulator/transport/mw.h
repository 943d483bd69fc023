/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory windows: binding and invalidating them by work requests. See mw.c.
 */
#ifndef EMULATOR_TRANSPORT_MW_H
#define EMULATOR_TRANSPORT_MW_H

#include "emulator/hca.h"

/**
 * mw_turn() - a number of the QP's request that changes a window: 24 bits of its place, and 7 of
 * the QP's resets, after which places are used again.
 */
static inline u32 mw_turn(const struct hca_qp *qp, u32 place)
{
	return (place & 0xffffff) | (qp->resets & 0x7f) << 24;
}

/** mw_turn_sq() - of the work request that the requester is at, which changes a window. */
static inline u32 mw_turn_sq(const struct hca_qp *qp)
{
	return mw_turn(qp, qp->req.next);
}

/** mw_turn_rq() - of the SEND_WITH_INV that the responder is at. */
static inline u32 mw_turn_rq(const struct hca_qp *qp)
{
	return mw_turn(qp, qp->resp.epsn) | 1u << 31;
}

/* --- mw.c --- */

/** mw_find() - the window in slot @index of the table of regions, or NULL. */
struct hca_mr *mw_find(struct hca *hca, u32 index);
/** mw_unbind() - the window's key is refused from now on, if it has one. */
void mw_unbind(struct hca *hca, struct hca_mr *mw);
/**
 * mw_invalidate() - SEND_WITH_INV and LOCAL_INV: the type 2 window's key is refused from now on.
 * @turn: which request of @qp asks: mw_turn_sq() or mw_turn_rq()
 * @go: do it; false: only say whether it can be done
 * Return: 0 or -EACCES.
 */
int mw_invalidate(struct hca *hca, const struct hca_qp *qp, u32 pd, u32 rkey, u32 turn, bool go);
/**
 * mw_bind() - execute a BIND_MW work request.
 * Return: WC status with the key in *info, or WCS_SUCCESS.
 */
u32 mw_bind(struct hca *hca, struct hca_qp *qp, const struct sq_wqe *w, u32 *info);

#endif
