/* SPDX-License-Identifier: MIT */
/*
 * What vendors make of a completion. The error code of a failed one: devices with Mellanox' vendor
 * ID have those of mlx5 that are publicly known, EFA devices those of the engine, all others 0
 * (docs/reference/profiles.md names the sources). The sender of a message: EFA devices number it.
 */
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "libshim/verbs/ahn.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/device.h"

#define VENDOR_MELLANOX 0x02c9

#define N_STATUS (WCS_RNR_RETRY_EXC_ERR + 1)

/* By status, of send requests. */
static const u8 mlx5_send[N_STATUS] = {
	[WCS_LOC_PROT_ERR] = 0x52,	[WCS_WR_FLUSH_ERR] = 0xf9, [WCS_REM_INV_REQ_ERR] = 0x8a,
	[WCS_REM_ACCESS_ERR] = 0x88,	[WCS_REM_OP_ERR] = 0x89,   [WCS_RETRY_EXC_ERR] = 0x81,
	[WCS_RNR_RETRY_EXC_ERR] = 0x87,
};

/* By status, of receive requests. */
static const u8 mlx5_recv[N_STATUS] = {
	[WCS_LOC_PROT_ERR] = 0x32,
	[WCS_WR_FLUSH_ERR] = 0xf9,
};

u32 shim_vendor_err(const struct shim_cq *cq, const struct cqe *e)
{
	const struct shim_context *ctx = shim_context_of(cq->cq.context);

	if (!ctx || ctx->dev->info.lim.vendor_id != VENDOR_MELLANOX)
		return e->vendor_err;
	if (e->status >= N_STATUS)
		return 0;
	return e->flags & (CQE_RECV | CQE_SRQ) ? mlx5_recv[e->status] : mlx5_send[e->status];
}

u16 shim_cqe_slid(const struct shim_cq *cq, const struct cqe *e)
{
	const struct shim_context *ctx;

	if (likely(e->slid != CQE_BY_GID))
		return e->slid;
	ctx = shim_context_of(cq->cq.context);
	return ctx ? shim_ahn_find(ctx, e->grh + CQE_SGID) : AHN_UNKNOWN;
}
