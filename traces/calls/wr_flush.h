/* SPDX-License-Identifier: MIT */
/**
 * DOC: ibv_wr_flush(3), of rdma-core 45 and later, for sources that are built with older headers
 * too.
 */
#ifndef TRACES_CALLS_WR_FLUSH_H
#define TRACES_CALLS_WR_FLUSH_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <string.h>

/* IBV_WR_FLUSH */
#define VCALL_WR_FLUSH 14u

/* IBV_QP_EX_WITH_FLUSH: a QP that was created with it has the function. */
#define VCALL_QP_EX_WITH_FLUSH (1ull << 11)

/** vcall_wr_flush - ibv_qp_ex.wr_flush. */
typedef void (*vcall_wr_flush)(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len,
			       uint8_t type, uint8_t level);

/* The member after wr_atomic_write. */
static inline unsigned char *vcall_wr_flush_slot(struct ibv_qp_ex *ex)
{
	return (unsigned char *)&ex->wr_atomic_write + sizeof(ex->wr_atomic_write);
}

/** vcall_wr_flush_get() - the function of a QP that was created with VCALL_QP_EX_WITH_FLUSH. */
static inline vcall_wr_flush vcall_wr_flush_get(struct ibv_qp_ex *ex)
{
	vcall_wr_flush fn;

	memcpy(&fn, vcall_wr_flush_slot(ex), sizeof(fn));
	return fn;
}

/** vcall_wr_flush_set() - replace it. */
static inline void vcall_wr_flush_set(struct ibv_qp_ex *ex, vcall_wr_flush fn)
{
	memcpy(vcall_wr_flush_slot(ex), &fn, sizeof(fn));
}

#endif
