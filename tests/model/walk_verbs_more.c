/* SPDX-License-Identifier: MIT */
/* Kinds that little is done with but by others: AHs, windows, DM, flow rules. See
 * tests/model/walk_verbs.h.
 */
#include "tests/model/walk_verbs.h"

#include <errno.h>
#include <string.h>

/* --- address handles */

void vah_create(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_ah *ah;
	int want = 0;

	if (!pd)
		return;
	o->uses[U_PD] = pd;
	attr.grh.dgid = wd->gid;
	attr.grh.sgid_index = (uint8_t)wd->gid_index;
	if (vchance(4)) {
		want = EINVAL;
		if (vchance(2))
			attr.port_num = 77;
		else
			attr.is_global = 0;
	}
	errno = 0;
	ah = ibv_create_ah(pd->ptr, &attr);
	if (expect_ptr("ibv_create_ah", ah, want))
		vborn(o, ah);
}

int vah_destroy(struct vobj *o)
{
	return ibv_destroy_ah(o->ptr);
}

/* --- windows */

void vmw_create(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD);
	enum ibv_mw_type type = vchance(2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
	struct ibv_mw *mw;
	int want = 0;

	if (!pd)
		return;
	o->uses[U_PD] = pd;
	if (vchance(8)) {
		type = (enum ibv_mw_type)(3 + vpick(100));
		want = EINVAL;
	}
	errno = 0;
	mw = ibv_alloc_mw(pd->ptr, type);
	if (!expect_ptr("ibv_alloc_mw", mw, want))
		return;
	o->mw = (struct vmw){ .type = type, .rkey = mw->rkey };
	vborn(o, mw);
}

int vmw_destroy(struct vobj *o)
{
	int ret = ibv_dealloc_mw(o->ptr);

	if (!ret)
		vmodel_unbind(o);
	return ret;
}

/* A QP that may bind; sometimes one that may not. */
static struct vobj *binder(const struct vobj *mw)
{
	for (int n = 0; n < 4; n++) {
		struct vobj *qp = vany(me, V_QP);

		if (qp && (qp->uses[U_PD] == mw->uses[U_PD] || vchance(50)))
			return qp;
	}
	return NULL;
}

/* ibv_bind_mw(3): of type 1 windows; it posts to the QP's send queue. */
void vmw_use(struct vobj *o)
{
	struct vobj *qp = binder(o);
	struct ibv_mw *mw = o->ptr;
	struct ibv_mw_bind bind;
	struct vqueue *q;
	struct vwr w;
	int want = 0;

	if (!qp || !make_bind(qp, &w, o->mw.type) || w.mw != o)
		return;
	w.flags = IBV_SEND_SIGNALED;
	q = &qp->qp.sq;
	bind = (struct ibv_mw_bind){
		.wr_id = w.id,
		.send_flags = w.flags,
		.bind_info = { w.mr->ptr, w.addr, w.bind_len, w.bind_access },
	};
	if (o->mw.type != IBV_MW_TYPE_1)
		/* NOLINTNEXTLINE(bugprone-branch-clone): in the order of the engine's checks */
		want = EINVAL;
	else if (w.mr->uses[U_PD] != o->uses[U_PD])
		want = EPERM;
	else if ((qp->qp.type != IBV_QPT_RC && qp->qp.type != IBV_QPT_UC &&
		  qp->qp.type != IBV_QPT_XRC_SEND) ||
		 qp->qp.state < IBV_QPS_RTS)
		want = EINVAL;
	else if (q->posted - q->freed >= q->depth)
		want = ENOMEM;
	if (!want && vchance(20)) {
		bind.send_flags |= vchance(2) ? IBV_SEND_INLINE : IBV_SEND_SOLICITED;
		want = EINVAL;
	}
	expect_ret("ibv_bind_mw", ibv_bind_mw(qp->ptr, mw, &bind), want);
	if (want)
		return;
	if (mw->rkey != w.rkey)
		vfail("ibv_bind_mw gives the key %#x instead of %#x", mw->rkey, w.rkey);
	o->mw.rkey = w.rkey;
	vaccept(qp, q, &w);
}

/* --- device memory */

void vdm_create(struct vobj *o)
{
	struct ibv_alloc_dm_attr attr = { .length = 8 + vpick(10000) };
	struct ibv_dm *dm;
	int want = 0;

	if (vchance(4)) {
		attr.length = 0;
		want = EINVAL;
	}
	errno = 0;
	dm = ibv_alloc_dm(ctx, &attr);
	if (expect_ptr("ibv_alloc_dm", dm, want))
		vborn(o, dm);
}

int vdm_destroy(struct vobj *o)
{
	return ibv_free_dm(o->ptr);
}

void vdm_use(struct vobj *o)
{
	uint64_t out = rnd(&wd->rnd), in = 0;

	expect_ret("ibv_memcpy_to_dm", ibv_memcpy_to_dm(o->ptr, 0, &out, 8), 0);
	expect_ret("ibv_memcpy_from_dm", ibv_memcpy_from_dm(&in, o->ptr, 0, 8), 0);
	if (in != out)
		vfail("device memory gives %#lx back for %#lx", (unsigned long)in,
		      (unsigned long)out);
}

/* --- flow rules: frames to one of the world's addresses */

void vflow_create(struct vobj *o)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = sizeof(rule),
			  .num_of_specs = 1,
			  .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};
	uint32_t mac = vpick(VMACS);
	struct ibv_flow *flow;
	struct vobj *qp = NULL;
	int want = 0;

	for (int n = 0; n < 8 && (!qp || qp->qp.type != IBV_QPT_RAW_PACKET); n++)
		qp = vany(me, V_QP);
	if (!qp || (qp->qp.type != IBV_QPT_RAW_PACKET && qp->qp.type != IBV_QPT_RC))
		return;
	memcpy(rule.eth.val.dst_mac, wd->area[me] + (uint64_t)mac * MAC_ROOM, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	o->uses[U_PD] = qp;
	if (qp->qp.type != IBV_QPT_RAW_PACKET) {
		want = EINVAL;
	} else if (vchance(6)) {
		want = EINVAL;
		if (vchance(2))
			rule.attr.port = (uint8_t)(2 + vpick(200));
		else
			rule.eth.size = 3;
	}
	errno = 0;
	flow = ibv_create_flow(qp->ptr, &rule.attr);
	if (!expect_ptr("ibv_create_flow", flow, want))
		return;
	o->flow.mac = mac;
	vborn(o, flow);
}

int vflow_destroy(struct vobj *o)
{
	return ibv_destroy_flow(o->ptr);
}
