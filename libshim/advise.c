/* SPDX-License-Identifier: MIT */
/**
 * DOC: prefetching on-demand regions, ibv_advise_mr(3).
 */
#include "libshim/objects.h"

static int prefetch(struct ibv_pd *pd, const struct ibv_sge *sg, bool write)
{
	void *addr =
		mr_shadow_find(sg->lkey, pd->handle, IBV_ACCESS_ON_DEMAND, sg->addr, sg->length);

	if (!addr)
		return EFAULT;
	if (write &&
	    !mr_shadow_find(sg->lkey, pd->handle, IBV_ACCESS_LOCAL_WRITE, sg->addr, sg->length))
		return EPERM;
	return sg->length ? -mem_prefault(addr, sg->length, write) : 0;
}

int shim_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *sg, uint32_t n)
{
	int ret = 0;
	u32 i;

	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return ENOTSUP;
	if (((struct shim_pd *)pd)->magic != MAGIC_PD || (flags & ~IBV_ADVISE_MR_FLAG_FLUSH) || !n)
		return EINVAL;
	/* What is present needs no preparation, so there is nothing to do without faulting. */
	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return 0;
	for (i = 0; i < n && !ret; i++)
		ret = prefetch(pd, &sg[i], advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
	return ret;
}
