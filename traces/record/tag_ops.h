/* SPDX-License-Identifier: MIT */
/** DOC: wrapper of ibv_post_srq_ops(). */
#ifndef TRACES_RECORD_TAG_OPS_H
#define TRACES_RECORD_TAG_OPS_H

#include "traces/record/object_table.h"

int rec_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad);

#endif
