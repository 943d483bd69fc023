/* SPDX-License-Identifier: MIT */
/* The table of kinds, and those with little state of their own. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <errno.h>
#include <stdlib.h>

/* --- PD */

static void pd_create(struct vobj *o)
{
	struct ibv_pd *pd;

	errno = 0;
	pd = ibv_alloc_pd(ctx);
	if (expect_ptr("ibv_alloc_pd", pd, 0))
		vborn(o, pd);
}

static int pd_destroy(struct vobj *o)
{
	return ibv_dealloc_pd(o->ptr);
}

/* --- MR */

static unsigned int some_access(void)
{
	static const unsigned int sets[] = {
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | VB_ACCESS_GLOBAL |
			VB_ACCESS_PERSISTENT,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING,
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE,
		IBV_ACCESS_REMOTE_READ | VB_ACCESS_GLOBAL,
		0,
	};

	return sets[vchance(2) ? 0 : vpick(sizeof(sets) / sizeof(*sets))];
}

static void some_range(int actor, uint64_t *addr, uint64_t *len)
{
	uint64_t off = vchance(3) ? vpick(AREA - 1) : 0;

	*addr = (uintptr_t)wd->area[actor] + off;
	*len = vchance(3) ? 1 + vpick((uint32_t)(AREA - off)) : AREA - off;
}

static void mr_create(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD);
	unsigned int access = some_access();
	uint64_t addr, len, iova;
	bool own_iova = vchance(5);
	struct ibv_mr *mr;
	int want = 0;

	if (!pd)
		return;
	some_range(me, &addr, &len);
	iova = own_iova ? ((uint64_t)vpick(1 << 20) << 12) + (addr & 4095) : addr;
	if (vchance(6)) {
		want = EINVAL;
		switch (vpick(3)) {
		case 0:
			access = IBV_ACCESS_REMOTE_WRITE;
			break;
		case 1:
			access = IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ;
			break;
		default:
			access |= 1u << 15;
		}
	}
	errno = 0;
	mr = own_iova ? ibv_reg_mr_iova(pd->ptr, (void *)(uintptr_t)addr, len, iova, (int)access)
		      : ibv_reg_mr(pd->ptr, (void *)(uintptr_t)addr, len, (int)access);
	o->uses[U_PD] = pd;
	if (!expect_ptr("ibv_reg_mr", mr, want))
		return;
	if ((uintptr_t)mr->addr != addr || mr->length != len || mr->pd != pd->ptr)
		vfail("ibv_reg_mr fills in %p, %zu, %p", mr->addr, mr->length, (void *)mr->pd);
	o->mr.addr = addr;
	o->mr.len = len;
	o->mr.iova = iova;
	o->mr.access = access;
	o->mr.key = mr->lkey;
	vborn(o, mr);
}

static int mr_destroy(struct vobj *o)
{
	return ibv_dereg_mr(o->ptr);
}

static void mr_use(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD);
	unsigned int access = some_access();
	int flags = 1 + (int)vpick(7), ret;
	struct ibv_mr *mr = o->ptr;
	uint64_t addr, len;

	if (o->busy || !vchance(3))
		return;
	some_range(me, &addr, &len);
	if (vchance(4)) {
		flags = vchance(2) ? 0 : 64;
		ret = ibv_rereg_mr(mr, flags, pd->ptr, (void *)(uintptr_t)addr, len,
				   flags ? (int)access : 0);
		expect_ret("ibv_rereg_mr", ret,
			   flags ? IBV_REREG_MR_ERR_INPUT : IBV_REREG_MR_ERR_CMD);
		return;
	}
	ret = ibv_rereg_mr(mr, flags, flags & IBV_REREG_MR_CHANGE_PD ? pd->ptr : NULL,
			   flags & IBV_REREG_MR_CHANGE_TRANSLATION ? (void *)(uintptr_t)addr : NULL,
			   flags & IBV_REREG_MR_CHANGE_TRANSLATION ? len : 0,
			   flags & IBV_REREG_MR_CHANGE_ACCESS ? (int)access : 0);
	/* Windows were bound to what it is now. */
	expect_ret("ibv_rereg_mr", ret, o->refs ? IBV_REREG_MR_ERR_CMD : 0);
	if (ret)
		return;
	if (mr->lkey != o->mr.key || mr->rkey != o->mr.key)
		vfail("ibv_rereg_mr changes the keys to %#x, %#x", mr->lkey, mr->rkey);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		o->mr.addr = o->mr.iova = addr;
		o->mr.len = len;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		o->mr.access = access;
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		o->uses[U_PD]->refs--;
		pd->refs++;
		o->uses[U_PD] = pd;
	}
}

const struct vkind_ops vkinds[V_KINDS] = {
	[V_PD] = { "ibv_dealloc_pd", 1, pd_create, pd_destroy, NULL },
	[V_CQ] = { "ibv_destroy_cq", 3, vcq_create, vcq_destroy, vcq_use },
	[V_MR] = { "ibv_dereg_mr", 4, mr_create, mr_destroy, mr_use },
	[V_AH] = { "ibv_destroy_ah", 2, vah_create, vah_destroy, NULL },
	[V_MW] = { "ibv_dealloc_mw", 2, vmw_create, vmw_destroy, vmw_use },
	[V_XRCD] = { "ibv_close_xrcd", 1, vxrcd_create, vxrcd_destroy, NULL },
	[V_DM] = { "ibv_free_dm", 1, vdm_create, vdm_destroy, vdm_use },
	[V_SRQ] = { "ibv_destroy_srq", 3, vsrq_create, vsrq_destroy, vsrq_use },
	[V_QP] = { "ibv_destroy_qp", 6, vqp_create, vqp_destroy, vqp_use },
	[V_FLOW] = { "ibv_destroy_flow", 2, vflow_create, vflow_destroy, NULL },
};
