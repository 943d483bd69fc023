/* SPDX-License-Identifier: MIT */
/**
 * DOC: TSO work requests: the slot has a copy of the header, followed by the payload's list.
 *
 * The engine parses the header when it cuts the payload into segments.
 */
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/seg.h"
#include "libshim/verbs/qp.h"

#define MIN_HEADER 14u /* an Ethernet header */

int shim_tso_set_sges(struct shim_qp *qp, struct sq_wqe *w, const struct ibv_sge *sg, size_t n)
{
	u8 *list = (u8 *)w->sge + ALIGN_UP(w->ah, sizeof(struct wq_sge));
	u64 total = 0;
	size_t i;

	/* Only the HCA reads the payload. */
	if ((w->send_flags & SEND_INLINE) || n > qp->sq.max_sge)
		return EINVAL;
	for (i = 0; i < n; i++)
		total += sg[i].length;
	if (total > LIM_MSG)
		return EINVAL;
	w->total_len = (u32)total;
	if (n)
		memcpy(list, sg, n * sizeof(*sg));
	w->num_sge = (u16)n;
	return 0;
}

int shim_tso_fill(struct shim_qp *qp, struct sq_wqe *w, const void *hdr, u32 hdr_sz, u32 mss,
		  const struct ibv_sge *sg, u32 n)
{
	if (hdr_sz < MIN_HEADER || hdr_sz > qp->max_tso_hdr || !mss)
		return EINVAL;
	memcpy(w->sge, hdr, hdr_sz);
	w->ah = hdr_sz;
	w->remote_qkey = mss;
	return shim_tso_set_sges(qp, w, sg, n);
}
