/* SPDX-License-Identifier: MIT */
/**
 * DOC: sharing contexts, PDs and MRs between processes: ibv_import_device(3), ibv_import_pd(3),
 * ibv_import_mr(3). The right to do so comes with the context's descriptor, see context_file.c.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/objects.h"

#include <sys/mman.h>

/** ibv_import_device() - ibv_import_device(3); takes over @cmd_fd. Return: NULL with errno. */
SHIM_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct shim_device *dev;
	u64 id;
	int ret;

	if (call_fails_early(CALL_ibv_import_device))
		return NULL;
	ret = shim_context_fd_read(cmd_fd, &dev, &id);
	return ret ? fail_null(ret) : shim_context_new(dev, cmd_fd, id);
}

/** ibv_import_pd() - ibv_import_pd(3). Return: PD, or NULL with errno (ENOENT: no such handle). */
SHIM_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *ibctx, uint32_t pd_handle)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_cmd cmd = { .op = CMD_IMPORT };
	struct shim_pd *pd;

	if (call_fails(CALL_ibv_import_pd))
		return NULL;
	if (!ctx)
		return NULL;
	cmd.import.kind = IMPORT_PD;
	cmd.import.index = pd_handle;
	cmd.import.ctx = ctx->id;
	pd = shim_obj_new(ctx, sizeof(*pd), &cmd);
	if (!pd)
		return NULL;
	pd->pd.context = ibctx;
	pd->pd.handle = pd_handle;
	pd->imported = true;
	pd->ref = cmd.handle;
	pd->magic = MAGIC_PD;
	return &pd->pd;
}

/** ibv_unimport_pd() - ibv_import_pd(3): the domain itself stays. */
SHIM_EXPORT void ibv_unimport_pd(struct ibv_pd *ibpd)
{
	struct shim_pd *pd = shim_pd_of(ibpd, NULL);
	struct shim_context *ctx = pd ? shim_context_of(ibpd->context) : NULL;

	if (!ctx)
		return;
	/* It fails if a process has destroyed the domain, and with it this reference. */
	if (pd->imported)
		shim_obj_destroy_cmd(ctx, CMD_UNIMPORT, pd->ref);
	shim_obj_free(ctx, pd, &pd->magic);
}

/** ibv_import_mr() - ibv_import_mr(3). Return: MR, or NULL with errno (ENOENT: no such handle). */
SHIM_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *ibpd, uint32_t mr_handle)
{
	struct shim_context *ctx = shim_pd_of(ibpd, NULL) ? shim_context_of(ibpd->context) : NULL;
	struct hca_cmd cmd = { .op = CMD_IMPORT };
	struct shim_mr *mr;

	if (call_fails(CALL_ibv_import_mr))
		return NULL;
	if (!ctx)
		return fail_null(-EINVAL);
	cmd.import.kind = IMPORT_MR;
	cmd.import.index = mr_handle;
	mr = shim_obj_new(ctx, sizeof(*mr), &cmd);
	if (!mr)
		return NULL;
	mr->mr.context = ibpd->context;
	mr->mr.pd = ibpd;
	mr->mr.length = cmd.import.len;
	mr->mr.handle = mr_handle;
	mr->mr.lkey = cmd.import.key;
	mr->mr.rkey = cmd.import.null ? 0 : cmd.import.key;
	mr->type = MRT_IMPORTED;
	mr->magic = MAGIC_MR;
	return &mr->mr;
}

/** ibv_unimport_mr() - ibv_import_mr(3): the region itself stays. */
SHIM_EXPORT void ibv_unimport_mr(struct ibv_mr *ibmr)
{
	struct shim_mr *mr = (struct shim_mr *)ibmr;

	if (mr && mr->magic == MAGIC_MR && shim_context_of(ibmr->context))
		shim_mr_unimport(mr);
}
