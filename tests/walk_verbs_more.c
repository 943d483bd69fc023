/* SPDX-License-Identifier: MIT */
/* SRQs, and kinds that only come and go: AHs, windows, XRC domains, DM. See tests/walk_verbs.h. */
#include "tests/walk_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* --- SRQ */

void vsrq_create(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD);
	struct ibv_srq_init_attr init = { .attr = { 1 + vpick(VDEPTH), 1 + vpick(VSGE), 0 } };
	struct ibv_srq_attr asked = init.attr;
	struct ibv_device_attr dev;
	struct ibv_srq *srq;
	int want = 0;

	if (!pd)
		return;
	o->uses[0] = pd;
	if (vchance(8)) {
		if (ibv_query_device(ctx, &dev))
			vfail("ibv_query_device");
		want = EINVAL;
		if (vchance(2))
			init.attr.max_wr = (uint32_t)dev.max_srq_wr + 1 + vpick(1000);
		else
			init.attr.max_sge = (uint32_t)dev.max_srq_sge + 1 + vpick(1000);
	}
	errno = 0;
	srq = ibv_create_srq(pd->ptr, &init);
	if (!expect_ptr("ibv_create_srq", srq, want))
		return;
	if (init.attr.max_wr < asked.max_wr || init.attr.max_sge < asked.max_sge ||
	    init.attr.max_wr > VDEPTH)
		vfail("ibv_create_srq grants %u, %u", init.attr.max_wr, init.attr.max_sge);
	memset(&o->srq, 0, sizeof(o->srq));
	o->srq.depth = init.attr.max_wr;
	o->srq.max_sge = init.attr.max_sge;
	vborn(o, srq);
}

int vsrq_destroy(struct vobj *o)
{
	int ret = ibv_destroy_srq(o->ptr);

	if (!ret)
		vmodel_drop(o, &o->srq);
	return ret;
}

void vsrq_use(struct vobj *o)
{
	struct ibv_srq_attr attr = { .srq_limit = o->srq.depth + 1 + vpick(1000) };

	if (vchance(8)) {
		expect_ret("ibv_modify_srq", ibv_modify_srq(o->ptr, &attr, IBV_SRQ_LIMIT), EINVAL);
		return;
	}
	if (vchance(8)) {
		expect_ret("ibv_query_srq", ibv_query_srq(o->ptr, &attr), 0);
		if (attr.max_wr != o->srq.depth || attr.srq_limit)
			vfail("ibv_query_srq: %u, limit %u instead of %u", attr.max_wr,
			      attr.srq_limit, o->srq.depth);
		return;
	}
	vpost_recv(o);
}

/* --- address handles */

void vah_create(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_ah *ah;
	int want = 0;

	if (!pd)
		return;
	o->uses[0] = pd;
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

/* --- windows, unbound */

void vmw_create(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD);
	struct ibv_mw *mw;

	if (!pd)
		return;
	o->uses[0] = pd;
	errno = 0;
	mw = ibv_alloc_mw(pd->ptr, vchance(2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	if (expect_ptr("ibv_alloc_mw", mw, 0))
		vborn(o, mw);
}

int vmw_destroy(struct vobj *o)
{
	return ibv_dealloc_mw(o->ptr);
}

/* --- XRC domains of no file */

void vxrcd_create(struct vobj *o)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;
	int want = 0;

	if (vchance(4)) {
		init.oflags = 0;
		want = EINVAL;
	}
	errno = 0;
	xrcd = ibv_open_xrcd(ctx, &init);
	if (expect_ptr("ibv_open_xrcd", xrcd, want))
		vborn(o, xrcd);
}

int vxrcd_destroy(struct vobj *o)
{
	return ibv_close_xrcd(o->ptr);
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
