/* SPDX-License-Identifier: MIT */
/**
 * DOC: buffers that libibverbs allocates, ibv_alloc_buf(3), and registration by a structure of
 * attributes, ibv_reg_mr_ex(3). Both are newer than rdma-core 44.
 *
 * The functions have names of their own in C, because installed headers may or may not declare
 * them. The answers are those of libibverbs' defaults, which every provider without operations of
 * its own has: a buffer is ordinary memory, it is no dma-buf, and there are no DMA handles.
 */
#include "libshim/interpose/export.h"
#include "libshim/interpose/mr_init_attr.h"
#include "libshim/verbs/domain.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>
#include <unistd.h>

/** struct shim_buf - what programs see as the opaque struct ibv_buf. */
struct shim_buf {
	u32 magic;
	struct ibv_pd *pd;
	void *addr;
	size_t size;
};

SHIM_EXPORT void *buf_alloc(struct ibv_pd *pd, size_t size,
			    struct shim_buf **out) __asm__("ibv_alloc_buf");
SHIM_EXPORT void buf_free(struct shim_buf *buf) __asm__("ibv_free_buf");
SHIM_EXPORT int buf_export_fd(struct shim_buf *buf) __asm__("ibv_export_buf_dmabuf_fd");
SHIM_EXPORT struct ibv_mr *mr_reg_by_attr(struct ibv_pd *pd,
					  const struct mr_init_attr *attr) __asm__("ibv_reg_mr_ex");
SHIM_EXPORT struct ibv_mr *mr_reg_buf(struct ibv_pd *pd, struct shim_buf *buf, void *addr,
				      size_t length, int access) __asm__("ibv_reg_buf_mr");

static bool buf_is_valid(const struct shim_buf *buf)
{
	return buf && buf->magic == MAGIC_BUF;
}

/** buf_alloc() - ibv_alloc_buf(3). Return: page-aligned memory, or NULL with errno. */
void *buf_alloc(struct ibv_pd *pd, size_t size, struct shim_buf **out)
{
	struct shim_buf *buf;
	int ret;

	if (!shim_pd_of(pd, NULL))
		return fail_null(-EINVAL);
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return NULL;
	ret = posix_memalign(&buf->addr, (size_t)sysconf(_SC_PAGESIZE), size);
	if (ret) {
		free(buf);
		return fail_null(-ret);
	}
	buf->magic = MAGIC_BUF;
	buf->pd = pd;
	buf->size = size;
	*out = buf;
	return buf->addr;
}

/** buf_free() - ibv_free_buf(3). */
void buf_free(struct shim_buf *buf)
{
	if (!buf_is_valid(buf))
		return;
	buf->magic = 0;
	free(buf->addr);
	free(buf);
}

/** buf_export_fd() - ibv_export_buf_dmabuf_fd(3). Return: -1 with ENODATA: there is no dma-buf. */
int buf_export_fd(struct shim_buf *buf)
{
	return fail_minus(buf_is_valid(buf) ? -ENODATA : -EINVAL);
}

/* Whether the attributes name a part of a buffer that was allocated with this PD. */
static bool mr_attr_is_in_buf(const struct ibv_pd *pd, const struct mr_init_attr *a)
{
	const struct shim_buf *buf = a->buf;
	uintptr_t off;

	if (!buf_is_valid(buf) || buf->pd != pd || !(a->comp_mask & MR_INIT_ADDR) ||
	    (a->comp_mask & (MR_INIT_FD | MR_INIT_FD_OFFSET)) || a->addr < buf->addr)
		return false;
	off = (uintptr_t)a->addr - (uintptr_t)buf->addr;
	return off <= buf->size && a->length <= buf->size - off;
}

static struct ibv_mr *mr_reg_fd(struct ibv_pd *pd, const struct mr_init_attr *a)
{
	const u64 need = MR_INIT_FD | MR_INIT_FD_OFFSET | MR_INIT_IOVA;

	if ((a->comp_mask & MR_INIT_ADDR) || (a->comp_mask & need) != need)
		return fail_null(-EINVAL);
	return ibv_reg_dmabuf_mr(pd, a->fd_offset, a->length, a->iova, a->fd, a->access);
}

/** mr_reg_by_attr() - ibv_reg_mr_ex(3). Return: MR, or NULL with errno. */
struct ibv_mr *mr_reg_by_attr(struct ibv_pd *pd, const struct mr_init_attr *a)
{
	const u64 known =
		MR_INIT_IOVA | MR_INIT_ADDR | MR_INIT_FD | MR_INIT_FD_OFFSET | MR_INIT_BUF;
	u64 iova;

	if ((a->comp_mask & MR_INIT_BUF) && !mr_attr_is_in_buf(pd, a))
		return fail_null(-EINVAL);
	if (a->comp_mask & ~known)
		return fail_null(-EOPNOTSUPP);
	if (a->comp_mask & MR_INIT_FD)
		return mr_reg_fd(pd, a);
	if (!(a->comp_mask & MR_INIT_ADDR) || (a->comp_mask & MR_INIT_FD_OFFSET))
		return fail_null(-EINVAL);
	iova = a->comp_mask & MR_INIT_IOVA ? a->iova : (uintptr_t)a->addr;
	return ibv_reg_mr_iova2(pd, a->addr, a->length, iova, (unsigned int)a->access);
}

/** mr_reg_buf() - ibv_reg_buf_mr(3). Return: MR, or NULL with errno. */
struct ibv_mr *mr_reg_buf(struct ibv_pd *pd, struct shim_buf *buf, void *addr, size_t length,
			  int access)
{
	const struct mr_init_attr attr = {
		.length = length,
		.access = access,
		.comp_mask = MR_INIT_BUF | MR_INIT_ADDR,
		.addr = addr,
		.buf = buf,
	};

	return mr_reg_by_attr(pd, &attr);
}
