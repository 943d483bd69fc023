/* SPDX-License-Identifier: MIT */
/**
 * DOC: regions over dma-bufs, ibv_reg_dmabuf_mr(3).
 *
 * The engine reaches memory by addresses in its owner's process, so the buffer is mapped here. If
 * its exporter does not let programs map it, registering fails with the error of mmap().
 */
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/device.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/memory.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DMA_BUF_FS 0x444d4142 /* DMA_BUF_MAGIC of linux/magic.h, "DMAB" */
#define DMABUF_ACCESS                                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING)

/* Check that @fd is a dma-buf that contains the range. Return: 0, -EBADF or -EINVAL. */
static int dmabuf_check_fd(int fd, u64 offset, u64 length)
{
	struct statfs fs;
	off_t size;

	if (fstatfs(fd, &fs))
		return -errno;
	if (fs.f_type != DMA_BUF_FS || !length)
		return -EINVAL;
	size = lseek(fd, 0, SEEK_END);
	if (size < 0)
		return -errno;
	return offset + length > (u64)size ? -EINVAL : 0;
}

static int dmabuf_map(int fd, u64 offset, u64 length, u32 access, struct shim_mr *where)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	int prot = PROT_READ | (access & IBV_ACCESS_LOCAL_WRITE ? PROT_WRITE : 0);

	where->map_len = length + offset % page;
	where->map =
		mmap(NULL, where->map_len, prot, MAP_SHARED, fd, (off_t)(offset / page * page));
	return where->map == MAP_FAILED ? -errno : 0;
}

/**
 * ibv_reg_dmabuf_mr() - ibv_reg_dmabuf_mr(3).
 * Return: MR, or NULL with errno. EOPNOTSUPP: the device has no such regions.
 */
SHIM_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					     uint64_t iova, int fd, int access)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct hca_cmd cmd = { .op = CMD_REG_MR };
	const struct shim_context *ctx;
	struct shim_mr where, *mr;
	int ret;

	if (call_fails(CALL_ibv_reg_dmabuf_mr))
		return NULL;
	if (!shim_pd_of(pd, NULL))
		return fail_null(-shim_unknown(pd));
	ctx = shim_context_of(pd->context);
	if (!ctx)
		return NULL;
	if (!ctx->dev->info.lim.dmabuf)
		return fail_null(-EOPNOTSUPP);
	if (((u32)access & ~(u32)DMABUF_ACCESS) || shim_mr_check_access((u32)access) ||
	    (offset ^ iova) % page || offset + length < offset || iova + length < iova)
		return fail_null(-EINVAL);
	ret = dmabuf_check_fd(fd, offset, length);
	if (!ret)
		ret = dmabuf_map(fd, offset, length, (u32)access, &where);
	if (ret)
		return fail_null(ret);
	cmd.mr.addr = (uintptr_t)where.map + offset % page;
	cmd.mr.len = length;
	cmd.mr.iova = iova;
	cmd.mr.pd = pd->handle;
	cmd.mr.access = (u32)access;
	mr = shim_mr_new(pd, MRT_DMABUF, &cmd, (void *)(uintptr_t)offset, length);
	if (!mr) {
		ret = -errno;
		munmap(where.map, where.map_len);
		return fail_null(ret);
	}
	mr->map = where.map;
	mr->map_len = where.map_len;
	return &mr->mr;
}
