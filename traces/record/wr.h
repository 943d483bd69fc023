/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of ibv_wr_*(). */
#ifndef TRACES_RECORD_WR_H
#define TRACES_RECORD_WR_H

#include "traces/record/object_table.h"

/** rec_wr_attach() - patch the functions of an extended QP. @ops: its send_ops_flags. */
void rec_wr_attach(struct rec_obj *o, struct ibv_qp_ex *ex, u64 ops);

#endif
