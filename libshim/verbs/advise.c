/* SPDX-License-Identifier: MIT */
/**
 * DOC: prefetching on-demand regions, ibv_advise_mr(3).
 */
#include "libshim/client/call_fault.h"
#include "libshim/memory/pages.h"
#include "libshim/memory/shadow.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/memory.h"

/* Find the range that an entry names, with the errors of the man page. Return: 0 or errno value. */
static int advise_find_range(const struct ibv_pd *pd, const struct ibv_sge *sg, bool write,
			     void **addr)
{
	struct mr_known mr;

	if (!shim_mr_shadow_get(sg->lkey, &mr))
		return EFAULT;
	if (mr.access & SHADOW_WINDOW)
		return EINVAL;
	if (mr.key != sg->lkey)
		return EFAULT;
	if (mr.pd != pd->handle)
		return EPERM;
	if (!(mr.access & IBV_ACCESS_ON_DEMAND))
		return ENOENT;
	if (write && !(mr.access & IBV_ACCESS_LOCAL_WRITE))
		return EPERM;
	if (sg->addr - mr.iova > mr.len || sg->length > mr.len - (sg->addr - mr.iova))
		return EFAULT;
	*addr = (void *)(uintptr_t)(mr.addr + (sg->addr - mr.iova));
	return 0;
}

ERRNO_VERB(shim_advise_mr,
	   (struct ibv_pd * pd, enum ibv_advise_mr_advice advice, uint32_t flags,
	    struct ibv_sge *sg, uint32_t n),
	   (pd, advice, flags, sg, n))
{
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	void *addr;
	int ret = 0;
	u32 i;

	if (call_fails(CALL_ibv_advise_mr))
		return errno;
	if (!shim_pd_of(pd, NULL))
		return shim_unknown(pd);
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH && !write &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return ENOTSUP;
	if ((flags & ~IBV_ADVISE_MR_FLAG_FLUSH) || !sg || !n)
		return EINVAL;
	for (i = 0; i < n && !ret; i++) {
		ret = advise_find_range(pd, &sg[i], write, &addr);
		/* NO_FAULT prepares present pages only, and those need no preparation. */
		if (!ret && sg[i].length && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
			ret = -shim_mem_prefault(addr, sg[i].length, write);
	}
	return ret;
}
