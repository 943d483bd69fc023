/* SPDX-License-Identifier: MIT */
/**
 * DOC: SRD queue pairs of emulated EFA devices, made by libefa's functions.
 */
#ifndef TESTS_LIB_C_VB_SRD_H
#define TESTS_LIB_C_VB_SRD_H

#include <infiniband/efadv.h>
#include <stdbool.h>

#define VB_SRD_QKEY 0x11223344
/* send_ops_flags of an SRD queue pair: all operations of the type. */
#define VB_SRD_OPS                                                                                 \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |           \
	 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

/** vb_srd_function() - a function of libefa. Return: NULL: there is no libefa, or it has none. */
void *vb_srd_function(const char *name);
/** vb_srd_to_rts() - bring a queue pair to RTS, with three RNR retries. Return: whether it is. */
bool vb_srd_to_rts(struct ibv_qp *qp);
/** vb_srd_ah() - an address handle to a GID. Return: NULL with errno. */
struct ibv_ah *vb_srd_ah(struct ibv_pd *pd, const union ibv_gid *to);

#endif
