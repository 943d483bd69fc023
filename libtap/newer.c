/* SPDX-License-Identifier: MIT */
/*
 * Registrations of rdma-core newer than the headers of 44, shown to users as the calls of 44
 * that register the same: a trace has one format, and its replay needs no newer library.
 *
 *	ibv_reg_buf_mr(3)			ibv_reg_mr
 *	ibv_reg_mr_ex(3) of an address		ibv_reg_mr, with an iova ibv_reg_mr_iova2
 *	ibv_reg_mr_ex(3) of a dma-buf		ibv_reg_dmabuf_mr
 *
 * Others, as one with a DMA handle, are carried out and noted.
 */
#include "libshim/interpose/mr_init_attr.h"
#include "libtap/call.h"
#include "libtap/next_symbol.h"
#include "libtap/ops.h"

SHIM_EXPORT struct ibv_mr *wrap_reg_buf_mr(struct ibv_pd *pd, void *buf, void *addr, size_t length,
					   int access) __asm__("ibv_reg_buf_mr");
SHIM_EXPORT struct ibv_mr *wrap_reg_mr_ex(struct ibv_pd *pd,
					  struct mr_init_attr *attr) __asm__("ibv_reg_mr_ex");

/*
 * Shows the result, and leaves the tap. @buf: the registration names a buffer: if it fails, the
 * call of 44, without the buffer, may succeed.
 */
static struct ibv_mr *reg_end(struct tap_call *c, bool buf)
{
	c->inexact = buf;
	tap_call_end(c);
	tap_objects_attach(c);
	tap_leave();
	return (struct ibv_mr *)(uintptr_t)c->ret;
}

struct ibv_mr *wrap_reg_buf_mr(struct ibv_pd *pd, void *buf, void *addr, size_t length, int access)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)pd, (uintptr_t)addr, length, (u64)access };
	static void *slot;
	__typeof__(&wrap_reg_buf_mr) lower;
	struct tap_call c;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "ibv_reg_buf_mr");
	if (!lower) {
		errno = ENOSYS;
		return NULL;
	}
	if (!tap_enter())
		return lower(pd, buf, addr, length, access);
	if (tap_call_begin(&c, VCALL_ibv_reg_mr, args))
		c.ret = (uintptr_t)lower(pd, buf, addr, length, access);
	return reg_end(&c, true);
}

/* The call of 44 that registers the same; VCALL_COUNT: there is none. */
static enum vcall reg_attr_call(const struct mr_init_attr *a, u64 *args)
{
	const u64 mask = a->comp_mask & ~(u64)MR_INIT_BUF;

	args[2] = a->length;
	switch (mask) {
	case MR_INIT_ADDR:
		args[1] = (uintptr_t)a->addr;
		args[3] = (u64)a->access;
		return VCALL_ibv_reg_mr;
	case MR_INIT_ADDR | MR_INIT_IOVA:
		args[1] = (uintptr_t)a->addr;
		args[3] = a->iova;
		args[4] = (u64)a->access;
		return VCALL_ibv_reg_mr_iova2;
	case MR_INIT_FD | MR_INIT_FD_OFFSET | MR_INIT_IOVA:
		args[1] = a->fd_offset;
		args[3] = a->iova;
		args[4] = (u64)a->fd;
		args[5] = (u64)a->access;
		return VCALL_ibv_reg_dmabuf_mr;
	default:
		return VCALL_COUNT;
	}
}

struct ibv_mr *wrap_reg_mr_ex(struct ibv_pd *pd, struct mr_init_attr *attr)
{
	u64 args[VCALL_ARGS] = { (uintptr_t)pd };
	static void *slot;
	__typeof__(&wrap_reg_mr_ex) lower;
	struct tap_call c;
	struct ibv_mr *mr;
	enum vcall call;

	lower = (__typeof__(lower))tap_next_symbol(&slot, "ibv_reg_mr_ex");
	if (!lower) {
		errno = ENOSYS;
		return NULL;
	}
	if (!tap_enter())
		return lower(pd, attr);
	call = reg_attr_call(attr, args);
	if (call == VCALL_COUNT) {
		tap_note("ibv_reg_mr_ex with mask 0x%llx is not recorded",
			 (unsigned long long)attr->comp_mask);
		mr = lower(pd, attr);
		tap_leave();
		return mr;
	}
	if (tap_call_begin(&c, call, args))
		c.ret = (uintptr_t)lower(pd, attr);
	return reg_end(&c, attr->comp_mask & MR_INIT_BUF);
}
