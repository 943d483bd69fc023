/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of posts of work requests. */
#ifndef TRACES_RECORD_POST_H
#define TRACES_RECORD_POST_H

#include "traces/record/object_table.h"

int rec_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int rec_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int rec_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int rec_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/** rec_sge_fill() - fill in a scatter/gather entry of a record. Return: its MR, or NULL. */
struct rec_obj *rec_sge_fill(struct vt_sge *to, const struct ibv_sge *sge,
			     const struct rec_obj *ctx, bool without_key);

#endif
