/* SPDX-License-Identifier: MIT */
/**
 * DOC: XRC domains, and target QPs that other processes have made in them.
 */
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

#include <fcntl.h>
#include <sys/stat.h>

/** shim_open_xrcd() - ibv_open_xrcd(3): named by a file's inode, or private with fd -1. */
struct ibv_xrcd *shim_open_xrcd(struct ibv_context *ibctx, struct ibv_xrcd_init_attr *attr)
{
	u32 need = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_cmd cmd = { .op = CMD_OPEN_XRCD };
	struct shim_xrcd *xrcd;
	struct stat st;

	if (call_fails(CALL_ibv_open_xrcd))
		return NULL;
	if (!ctx)
		return NULL;
	if (attr->comp_mask & ~(need))
		return fail_null(-EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_XRCD_INIT_ATTR_FD) ||
	    !(attr->comp_mask & IBV_XRCD_INIT_ATTR_OFLAGS))
		return fail_null(-EINVAL);
	if (attr->oflags & ~(O_CREAT | O_EXCL))
		return fail_null(-EINVAL);
	if (attr->fd != -1) {
		if (fstat(attr->fd, &st))
			return NULL;
		cmd.xrcd.st_dev = st.st_dev;
		cmd.xrcd.st_ino = st.st_ino;
	}
	cmd.xrcd.dev = ctx->dev->info.index;
	cmd.xrcd.oflags =
		(attr->oflags & O_CREAT ? XRCD_CREAT : 0) | (attr->oflags & O_EXCL ? XRCD_EXCL : 0);
	xrcd = shim_obj_new(ctx, sizeof(*xrcd), &cmd);
	if (!xrcd)
		return NULL;
	xrcd->xrcd.context = ibctx;
	xrcd->handle = cmd.handle;
	xrcd->magic = MAGIC_XRCD;
	return &xrcd->xrcd;
}

/** shim_close_xrcd() - ibv_open_xrcd(3). Return: 0 or errno value; EBUSY while it is used. */
ERRNO_VERB(shim_close_xrcd, (struct ibv_xrcd * ibxrcd), (ibxrcd))
{
	struct shim_xrcd *xrcd = (struct shim_xrcd *)ibxrcd;
	struct shim_context *ctx;

	if (call_fails(CALL_ibv_close_xrcd))
		return errno;
	if (!xrcd || xrcd->magic != MAGIC_XRCD)
		return shim_unknown(ibxrcd);
	ctx = shim_context_of(ibxrcd->context);
	if (!ctx)
		return EINVAL;
	if (__atomic_load_n(&xrcd->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	return shim_obj_end(ctx, xrcd, &xrcd->magic, CMD_CLOSE_XRCD, xrcd->handle);
}

/** shim_open_qp() - ibv_open_qp(3). Return: QP, or NULL with errno. */
struct ibv_qp *shim_open_qp(struct ibv_context *ibctx, struct ibv_qp_open_attr *attr)
{
	u32 known = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_CONTEXT |
		    IBV_QP_OPEN_ATTR_TYPE;
	u32 need = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_cmd cmd = { .op = CMD_OPEN_QP };
	struct shim_xrcd *xrcd;
	struct shim_qp *qp;

	if (call_fails(CALL_ibv_open_qp))
		return NULL;
	if (!ctx)
		return NULL;
	if ((attr->comp_mask & ~known) || (attr->comp_mask & need) != need ||
	    attr->qp_type != IBV_QPT_XRC_RECV)
		return fail_null(-EINVAL);
	xrcd = shim_xrcd_of(attr->xrcd, ibctx);
	/* Not ENOENT: this command of the kernel alone answers so. */
	if (!xrcd)
		return fail_null(-EINVAL);
	cmd.qp.type = QPT_XRC_RECV;
	cmd.qp.xrcd = xrcd->handle + 1;
	cmd.qp.qpn = attr->qp_num;
	cmd.qp.async_chan = ctx->async_chan;
	qp = shim_obj_new(ctx, sizeof(*qp), &cmd);
	if (!qp)
		return NULL;
	qp->qp.context = ibctx;
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		qp->qp.qp_context = attr->qp_context;
	qp->qp.qp_num = attr->qp_num;
	qp->qp.qp_type = IBV_QPT_XRC_RECV;
	qp->qp.handle = cmd.handle;
	qp->qpn = attr->qp_num;
	qp->slot = attr->qp_num & (HCA_MAX_QP - 1);
	qp->opened = true;
	qp->xrcd = xrcd;
	shim_qp_init(qp);
	return &qp->qp;
}
