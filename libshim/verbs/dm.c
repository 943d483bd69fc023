/* SPDX-License-Identifier: MIT */
/**
 * DOC: device memory, ibv_alloc_dm(3).
 *
 * The HCA keeps account; the bytes lie in the file of the context's descriptor (context_file.c).
 * The handle of each piece determines its place in the file, so that processes which share the
 * context by its descriptor find it, and others cannot.
 *
 * As with a real device, a forked child may allocate on an inherited context: neither the file nor
 * the account depends on the parent's rings.
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/interpose/export.h"
#include "libshim/interpose/syscall.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/errno_verb.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DM_GRAIN     (64u << 10) /* a multiple of any page size */
#define DM_LOG_ALIGN 16
#define DM_ACCESS                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE)

static struct shim_dm *dm_of(struct ibv_dm *ibdm)
{
	struct shim_dm *dm = (struct shim_dm *)ibdm;

	return dm && dm->magic == MAGIC_DM ? dm : NULL;
}

static int dm_cmd(const struct shim_context *ctx, struct hca_cmd *cmd)
{
	int ret = ctx->dead ? shim_client_connect() : 0;

	return ret ? ret : shim_cmd_exec(cmd);
}

/* The offset of a piece in the file, whose first grain is its head. */
static u64 dm_file_offset(const struct shim_context *ctx, u32 handle)
{
	return DM_GRAIN + handle * ALIGN_UP(ctx->dev->info.lim.max_dm, DM_GRAIN);
}

/* Make the file long enough. It can only grow, also if other processes do the same now. */
static int dm_file_grow(int fd, u64 size)
{
	struct rlimit limit;
	struct stat st;

	for (;;) {
		if (fstat(fd, &st))
			return -errno;
		if ((u64)st.st_size >= size)
			return 0;
		/* Beyond that limit, the kernel would send a signal. */
		if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < size)
			return -ENOMEM;
		if (!ftruncate(fd, (off_t)size))
			return 0;
		if (errno != EPERM)
			return -errno;
	}
}

static int dm_map(const struct shim_context *ctx, struct shim_dm *dm)
{
	u64 place = dm_file_offset(ctx, dm->dm.handle);
	int ret = dm_file_grow(ctx->verbs.context.cmd_fd, place + dm->len);
	void *map;

	if (ret)
		return ret;
	map = mmap(NULL, dm->len, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->verbs.context.cmd_fd,
		   (off_t)place);
	if (map == MAP_FAILED)
		return -errno;
	dm->map = map;
	return 0;
}

static int dm_check_range(const struct shim_dm *dm, u64 off, const void *host, size_t len)
{
	if (dm->magic != MAGIC_DM)
		return EINVAL;
	if (off > dm->len || len > dm->len - off)
		return EFAULT;
	if ((off | len) & 3)
		return EINVAL;
	return len && !host ? EFAULT : 0;
}

static int dm_write(struct ibv_dm *ibdm, uint64_t off, const void *host, size_t len)
{
	struct shim_dm *dm = (struct shim_dm *)ibdm;
	int ret = dm_check_range(dm, off, host, len);

	if (call_fails(CALL_ibv_memcpy_to_dm))
		return errno;
	if (!ret && len)
		memcpy(dm->map + off, host, len);
	return ret;
}

static int dm_read(void *host, struct ibv_dm *ibdm, uint64_t off, size_t len)
{
	struct shim_dm *dm = (struct shim_dm *)ibdm;
	int ret = dm_check_range(dm, off, host, len);

	if (call_fails(CALL_ibv_memcpy_from_dm))
		return errno;
	if (!ret && len)
		memcpy(host, dm->map + off, len);
	return ret;
}

/* Make an object of the HCA's device memory @handle. Return: NULL with errno. */
static struct ibv_dm *dm_new(struct shim_context *ctx, u32 handle, u64 len)
{
	struct shim_dm *dm = shim_obj_alloc(sizeof(*dm));
	int ret;

	if (!dm)
		return NULL;
	dm->dm.context = &ctx->verbs.context;
	dm->dm.memcpy_to_dm = dm_write;
	dm->dm.memcpy_from_dm = dm_read;
	dm->dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->dm.handle = handle;
	dm->len = len;
	dm->epoch = shim.epoch;
	ret = dm_map(ctx, dm);
	if (ret) {
		free(dm);
		return fail_null(ret);
	}
	dm->magic = MAGIC_DM;
	shim_context_get(ctx);
	return &dm->dm;
}

static int dm_end(const struct shim_context *ctx, u32 handle)
{
	struct hca_cmd cmd = { .op = CMD_FREE_DM, .handle = handle, .dm.ctx = ctx->id };

	return dm_cmd(ctx, &cmd);
}

struct ibv_dm *shim_alloc_dm(struct ibv_context *ibctx, struct ibv_alloc_dm_attr *attr)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_cmd cmd = { .op = CMD_ALLOC_DM };
	struct ibv_dm *dm;
	int ret;

	if (call_fails(CALL_ibv_alloc_dm))
		return NULL;
	if (!ctx)
		return NULL;
	if (attr->comp_mask || attr->log_align_req > DM_LOG_ALIGN)
		return fail_null(-EINVAL);
	cmd.dm.len = attr->length;
	cmd.dm.dev = ctx->dev->info.index;
	cmd.dm.ctx = ctx->id;
	ret = dm_cmd(ctx, &cmd);
	if (ret)
		return fail_null(ret);
	dm = dm_new(ctx, cmd.handle, attr->length);
	if (!dm) {
		ret = -errno;
		dm_end(ctx, cmd.handle);
		return fail_null(ret);
	}
	return dm;
}

/* Free the object. Regions on it that still exist may need the mapping. */
static void dm_drop(struct shim_dm *dm, bool wipe)
{
	struct shim_context *ctx = shim_context_of(dm->dm.context);

	if (wipe)
		sys_madvise(dm->map, dm->len, MADV_REMOVE);
	if (!__atomic_load_n(&dm->users, __ATOMIC_ACQUIRE))
		munmap(dm->map, dm->len);
	shim_obj_free(ctx, dm, &dm->magic);
}

/** shim_free_dm() - ibv_free_dm(3). Return: 0 or errno value; EBUSY while regions are on it. */
ERRNO_VERB(shim_free_dm, (struct ibv_dm * ibdm), (ibdm))
{
	struct shim_dm *dm = dm_of(ibdm);
	struct shim_context *ctx = dm ? shim_context_of(ibdm->context) : NULL;
	bool mine;
	int ret;

	if (call_fails(CALL_ibv_free_dm))
		return errno;
	if (!ctx)
		return shim_unknown(ibdm);
	mine = dm->epoch == shim.epoch;
	ret = mine ? dm_end(ctx, ibdm->handle) : 0;
	if (ret && ret != -EIO && ret != -EDEADLK)
		return -ret;
	dm_drop(dm, mine);
	return 0;
}

struct ibv_mr *shim_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t offset,
			      size_t length, unsigned int access)
{
	struct shim_dm *dm = dm_of(ibdm);
	struct hca_cmd cmd = { .op = CMD_REG_MR };
	struct shim_mr *mr;

	if (call_fails(CALL_ibv_reg_dm_mr))
		return NULL;
	if (!(access & IBV_ACCESS_ZERO_BASED) || (access & ~(u32)DM_ACCESS) ||
	    shim_mr_check_access(access))
		return fail_null(-EINVAL);
	if (!shim_pd_of(pd, NULL))
		return fail_null(-shim_unknown(pd));
	if (!dm || ibdm->context != pd->context)
		return fail_null(-shim_unknown(ibdm));
	if (offset > dm->len || length > dm->len - offset)
		return fail_null(-EINVAL);
	cmd.mr.addr = (uintptr_t)dm->map + offset;
	cmd.mr.len = length;
	cmd.mr.pd = pd->handle;
	cmd.mr.access = access;
	cmd.mr.dm = ibdm->handle + 1;
	cmd.mr.ctx = shim_context_of(ibdm->context)->id;
	mr = shim_mr_new(pd, MRT_DM, &cmd, NULL, length);
	if (!mr)
		return NULL;
	mr->dm = dm;
	__atomic_fetch_add(&dm->users, 1, __ATOMIC_ACQ_REL);
	return &mr->mr;
}

/** ibv_import_dm() - ibv_import_dm(3). Return: DM, or NULL with errno. */
SHIM_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *ibctx, uint32_t dm_handle)
{
	struct shim_context *ctx = shim_context_of(ibctx);
	struct hca_cmd cmd = { .op = CMD_IMPORT };
	int ret;

	if (call_fails(CALL_ibv_import_dm))
		return NULL;
	if (!ctx)
		return NULL;
	cmd.import.kind = IMPORT_DM;
	cmd.import.index = dm_handle;
	cmd.import.ctx = ctx->id;
	ret = shim_obj_cmd(ctx, &cmd);
	return ret ? fail_null(ret) : dm_new(ctx, dm_handle, cmd.import.len);
}

/** ibv_unimport_dm() - ibv_import_dm(3): the device memory itself stays. */
SHIM_EXPORT void ibv_unimport_dm(struct ibv_dm *ibdm)
{
	struct shim_dm *dm = dm_of(ibdm);

	if (dm && shim_context_of(ibdm->context))
		dm_drop(dm, false);
}
