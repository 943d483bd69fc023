/* SPDX-License-Identifier: MIT */
/* Shared receive queues and XRC domains. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* --- SRQ */

static int spoil(struct ibv_srq_init_attr_ex *init)
{
	struct ibv_device_attr dev;

	if (ibv_query_device(ctx, &dev))
		vfail("ibv_query_device");
	switch (vpick(init->srq_type == IBV_SRQT_XRC ? 4 : 2)) {
	case 0:
		init->attr.max_wr = (uint32_t)dev.max_srq_wr + 1 + vpick(1000);
		break;
	case 1:
		init->attr.max_sge = (uint32_t)dev.max_srq_sge + 1 + vpick(1000);
		break;
	case 2:
		init->comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_XRCD;
		break;
	default:
		init->comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_CQ;
	}
	return EINVAL;
}

/* One of an XRC domain, if there is what it takes. */
static void make_xrc(struct vobj *o, struct ibv_srq_init_attr_ex *init)
{
	struct vobj *cq = vany(me, V_CQ), *xrcd = vany(me, V_XRCD);

	if (!cq || !xrcd)
		return;
	o->uses[U_CQ] = cq;
	o->uses[U_XRCD] = xrcd;
	init->srq_type = IBV_SRQT_XRC;
	init->cq = cq->ptr;
	init->xrcd = xrcd->ptr;
	init->comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD;
}

void vsrq_create(struct vobj *o)
{
	struct vobj *pd = vany(me, V_PD);
	struct ibv_srq_init_attr_ex init = {
		.attr = { 1 + vpick(VDEPTH), 1 + vpick(VSGE), 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
	};
	struct ibv_srq_attr asked = init.attr;
	struct ibv_srq *srq;
	int want = 0;

	if (!pd)
		return;
	o->uses[U_PD] = pd;
	init.pd = pd->ptr;
	if (vchance(2))
		make_xrc(o, &init);
	if (vchance(8))
		want = spoil(&init);
	errno = 0;
	srq = ibv_create_srq_ex(ctx, &init);
	if (!expect_ptr("ibv_create_srq_ex", srq, want))
		return;
	if (init.attr.max_wr < asked.max_wr || init.attr.max_sge < asked.max_sge ||
	    init.attr.max_wr > VDEPTH)
		vfail("ibv_create_srq_ex grants %u, %u", init.attr.max_wr, init.attr.max_sge);
	memset(&o->srq, 0, sizeof(o->srq));
	o->srq.q.depth = init.attr.max_wr;
	o->srq.q.max_sge = init.attr.max_sge;
	o->srq.xrc = o->uses[U_XRCD];
	expect_ret("ibv_get_srq_num", ibv_get_srq_num(srq, &o->srq.srqn), o->srq.xrc ? 0 : EINVAL);
	vborn(o, srq);
}

int vsrq_destroy(struct vobj *o)
{
	int ret = ibv_destroy_srq(o->ptr);

	if (!ret)
		vmodel_drop(o, &o->srq.q);
	return ret;
}

void vsrq_use(struct vobj *o)
{
	struct ibv_srq_attr attr = { .srq_limit = o->srq.q.depth + 1 + vpick(1000) };

	if (vchance(8)) {
		expect_ret("ibv_modify_srq", ibv_modify_srq(o->ptr, &attr, IBV_SRQ_LIMIT), EINVAL);
		return;
	}
	if (vchance(8)) {
		expect_ret("ibv_query_srq", ibv_query_srq(o->ptr, &attr), 0);
		if (attr.max_wr != o->srq.q.depth || attr.srq_limit)
			vfail("ibv_query_srq: %u, limit %u instead of %u", attr.max_wr,
			      attr.srq_limit, o->srq.q.depth);
		return;
	}
	vpost_recv(o);
}

/* --- XRC domains: of a file, which several have open, or private */

bool same_domain(const struct vobj *a, const struct vobj *b)
{
	return a == b || (a->xrcd.file && a->xrcd.file == b->xrcd.file);
}

static bool is_open(int file)
{
	for (int c = wd->first; c < wd->first + wd->actors; c++)
		for (int i = 0; i < VMAX; i++)
			if (wd->obj[c][V_XRCD][i].live && wd->obj[c][V_XRCD][i].xrcd.file == file)
				return true;
	return false;
}

void vxrcd_create(struct vobj *o)
{
	int file = vchance(4) ? 0 : 1 + (int)vpick(VFILES);
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = file ? wd->file[file] : -1,
		.oflags = O_CREAT,
	};
	bool open = file && is_open(file);
	struct ibv_xrcd *xrcd;
	int want = 0;

	switch (vpick(6)) {
	case 0:
		init.oflags = 0;
		want = !file ? EINVAL : open ? 0 : EAGAIN;
		break;
	case 1:
		init.oflags |= O_EXCL;
		want = open ? EINVAL : 0;
		break;
	case 2:
		init.oflags |= O_TRUNC;
		want = EINVAL;
		break;
	default:
		break;
	}
	errno = 0;
	xrcd = ibv_open_xrcd(ctx, &init);
	if (!expect_ptr("ibv_open_xrcd", xrcd, want))
		return;
	o->xrcd.file = file;
	vborn(o, xrcd);
}

int vxrcd_destroy(struct vobj *o)
{
	return ibv_close_xrcd(o->ptr);
}
