/* SPDX-License-Identifier: MIT */
/*
 * Registrations of rdma-core newer than the headers of 44, recorded as the calls of 44 that
 * register the same: the trace has one format, and its replay needs no newer library.
 *
 *	ibv_reg_buf_mr(3)			ibv_reg_mr
 *	ibv_reg_mr_ex(3) of an address		ibv_reg_mr, with an iova ibv_reg_mr_iova2
 *	ibv_reg_mr_ex(3) of a dma-buf		ibv_reg_dmabuf_mr
 *
 * Others, as one with a DMA handle, are carried out and noted.
 */
#include "traces/record/call.h"
#include "traces/record/next_symbol.h"
#include "traces/record/ops.h"
#include "traces/record/session.h"
#include "traces/record/start.h"

/** struct reg_attr - struct ibv_mr_init_attr. */
struct reg_attr {
	size_t length;
	int access;
	u64 comp_mask;
	u64 iova;
	void *addr;
	int fd;
	u64 fd_offset;
	void *dmah;
	void *buf;
};

/* enum ibv_mr_init_attr_mask */
enum {
	REG_IOVA = 1 << 0,
	REG_ADDR = 1 << 1,
	REG_FD = 1 << 2,
	REG_FD_OFFSET = 1 << 3,
	REG_BUF = 1 << 5,
};

SHIM_EXPORT struct ibv_mr *wrap_reg_buf_mr(struct ibv_pd *pd, void *buf, void *addr, size_t length,
					   int access) __asm__("ibv_reg_buf_mr");
SHIM_EXPORT struct ibv_mr *wrap_reg_mr_ex(struct ibv_pd *pd,
					  struct reg_attr *attr) __asm__("ibv_reg_mr_ex");

/*
 * Records the result, and leaves the recorder. A failure of a registration that names a buffer is
 * not recorded: without the buffer, the call of 44 may succeed.
 */
static struct ibv_mr *reg_end(struct rec_call *c, struct ibv_mr *mr, bool buf)
{
	if (mr || !buf) {
		rec_call_end(c, (uintptr_t)mr);
		rec_objects_attach(c, (uintptr_t)mr);
	}
	rec_leave();
	return mr;
}

struct ibv_mr *wrap_reg_buf_mr(struct ibv_pd *pd, void *buf, void *addr, size_t length, int access)
{
	const u64 args[VCALL_ARGS] = { (uintptr_t)pd, (uintptr_t)addr, length, (u64)access };
	static void *slot;
	__typeof__(&wrap_reg_buf_mr) lower;
	struct ibv_mr *mr;
	struct rec_call c;

	lower = (__typeof__(lower))rec_next_symbol(&slot, "ibv_reg_buf_mr");
	if (!lower) {
		errno = ENOSYS;
		return NULL;
	}
	if (!rec_enter())
		return lower(pd, buf, addr, length, access);
	rec_call_begin(&c, VCALL_ibv_reg_mr, args);
	mr = lower(pd, buf, addr, length, access);
	return reg_end(&c, mr, true);
}

/* The call of 44 that registers the same; VCALL_COUNT: there is none. */
static enum vcall reg_attr_call(const struct reg_attr *a, u64 *args)
{
	const u64 mask = a->comp_mask & ~(u64)REG_BUF;

	args[2] = a->length;
	switch (mask) {
	case REG_ADDR:
		args[1] = (uintptr_t)a->addr;
		args[3] = (u64)a->access;
		return VCALL_ibv_reg_mr;
	case REG_ADDR | REG_IOVA:
		args[1] = (uintptr_t)a->addr;
		args[3] = a->iova;
		args[4] = (u64)a->access;
		return VCALL_ibv_reg_mr_iova2;
	case REG_FD | REG_FD_OFFSET | REG_IOVA:
		args[1] = a->fd_offset;
		args[3] = a->iova;
		args[4] = (u64)a->fd;
		args[5] = (u64)a->access;
		return VCALL_ibv_reg_dmabuf_mr;
	default:
		return VCALL_COUNT;
	}
}

struct ibv_mr *wrap_reg_mr_ex(struct ibv_pd *pd, struct reg_attr *attr)
{
	u64 args[VCALL_ARGS] = { (uintptr_t)pd };
	static void *slot;
	__typeof__(&wrap_reg_mr_ex) lower;
	struct rec_call c;
	struct ibv_mr *mr;
	enum vcall call;

	lower = (__typeof__(lower))rec_next_symbol(&slot, "ibv_reg_mr_ex");
	if (!lower) {
		errno = ENOSYS;
		return NULL;
	}
	if (!rec_enter())
		return lower(pd, attr);
	call = reg_attr_call(attr, args);
	if (call == VCALL_COUNT) {
		rec_note("ibv_reg_mr_ex with mask 0x%llx is not recorded",
			 (unsigned long long)attr->comp_mask);
		mr = lower(pd, attr);
		rec_leave();
		return mr;
	}
	rec_call_begin(&c, call, args);
	mr = lower(pd, attr);
	return reg_end(&c, mr, attr->comp_mask & REG_BUF);
}
