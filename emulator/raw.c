/* SPDX-License-Identifier: MIT */
/**
 * DOC: raw Ethernet frames.
 */
#include "emulator/model.h"

int raw_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
	     const struct sq_wqe *w, u64 *at)
{
	(void)e;
	(void)qp;
	(void)seg;
	(void)slot;
	(void)w;
	(void)at;
	return -WCS_LOC_QP_OP_ERR;
}
