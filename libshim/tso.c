/* SPDX-License-Identifier: MIT */
/**
 * DOC: TSO work requests.
 */
#include "libshim/objects.h"

int tso_fill(struct shim_qp *qp, struct sq_wqe *w, const void *hdr, u32 hdr_sz, u32 mss,
	     const struct ibv_sge *sg, u32 n)
{
	(void)qp;
	(void)w;
	(void)hdr;
	(void)hdr_sz;
	(void)mss;
	(void)sg;
	(void)n;
	return EOPNOTSUPP;
}
