/* SPDX-License-Identifier: MIT */
/**
 * DOC: protection domains.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/objects.h"

/** ibv_alloc_pd() - ibv_alloc_pd(3). Return: PD, or NULL with errno. */
SHIM_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *ibctx)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_cmd cmd = { .op = CMD_ALLOC_PD };
	struct shim_pd *pd;

	if (call_fails(CALL_ibv_alloc_pd))
		return NULL;
	if (!ctx)
		return NULL;
	cmd.dev = ctx->dev->info.index;
	cmd.ctx = ctx->id;
	pd = shim_obj_new(ctx, sizeof(*pd), &cmd);
	if (!pd)
		return NULL;
	pd->pd.context = ibctx;
	pd->pd.handle = cmd.handle;
	pd->magic = MAGIC_PD;
	return &pd->pd;
}

/** ibv_dealloc_pd() - ibv_dealloc_pd(3). Return: 0 or errno value; EBUSY while it is used. */
ERRNO_EXPORT(ibv_dealloc_pd, (struct ibv_pd * ibpd), (ibpd))
{
	struct shim_pd *pd = (struct shim_pd *)ibpd;
	struct shim_context *ctx;

	if (call_fails(CALL_ibv_dealloc_pd))
		return errno;
	if (!pd || pd->magic != MAGIC_PD)
		return shim_unknown(ibpd);
	ctx = shim_context_of(ibpd->context);
	if (!ctx)
		return EINVAL;
	if (pd->real)
		return shim_parent_dealloc(pd);
	if (__atomic_load_n(&pd->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	return shim_obj_end(ctx, pd, &pd->magic, CMD_DEALLOC_PD, ibpd->handle);
}
