/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of polls of extended CQs. */
#ifndef TRACES_RECORD_CQ_EX_H
#define TRACES_RECORD_CQ_EX_H

#include "traces/record/object_table.h"

/** rec_cqex_attach() - patch the functions of an extended CQ. */
void rec_cqex_attach(struct rec_obj *o, struct ibv_cq_ex *ex);

#endif
