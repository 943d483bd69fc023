/* SPDX-License-Identifier: MIT */
/**
 * DOC: the QP of an identifier. The functions that move it do nothing, and return 0, without a QP.
 */
#ifndef LIBSHIM_CM_QP_H
#define LIBSHIM_CM_QP_H

#include "libshim/cm/cm.h"

/* --- qp.c --- */

/**
 * ucma_qp_rtr() - to INIT and RTR, with the attributes of CMD_CM_INIT_QP_ATTR.
 * @resp_res: max_dest_rd_atomic, unless RDMA_MAX_RESP_RES. Return: 0, or -1 with errno.
 */
int ucma_qp_rtr(struct ucma_id *id, u8 resp_res);
/** ucma_qp_rts() - to RTS. @init_depth: max_rd_atomic, unless RDMA_MAX_INIT_DEPTH. */
int ucma_qp_rts(struct ucma_id *id, u8 init_depth);
/** ucma_qp_err() - to ERR. */
int ucma_qp_err(struct ucma_id *id);
/**
 * ucma_establish() - the peer has accepted: make the QP, if it exists, ready and tell the peer.
 * Return: 0, or -1 with errno; the QP is in ERR then.
 */
int ucma_establish(struct ucma_id *id);
/**
 * ucma_cqs_create() - CQs of the identifier with channels. Size 0: no such CQ. 0, -1 with errno.
 */
int ucma_cqs_create(struct rdma_cm_id *id, u32 send_size, u32 recv_size);
/** ucma_cqs_destroy() - destroy them; those of an XRC SRQ only after the SRQ. */
void ucma_cqs_destroy(struct rdma_cm_id *id);

/* --- ece.c --- */

/** ucma_reject() - rdma_reject(3), with a reason (enum cm_reject). Return: 0, or -1 with errno. */
int ucma_reject(struct ucma_id *id, u32 reason, const void *data, u8 len);

#endif
