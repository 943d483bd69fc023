/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of polls and of arming CQs. */
#ifndef TRACES_RECORD_POLL_H
#define TRACES_RECORD_POLL_H

#include "traces/record/object_table.h"

int rec_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int rec_req_notify_cq(struct ibv_cq *cq, int solicited_only);

#endif
