/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of polls and of arming CQs. */
#ifndef LIBTAP_POLL_H
#define LIBTAP_POLL_H

#include "libtap/object_table.h"

int tap_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int tap_req_notify_cq(struct ibv_cq *cq, int solicited_only);

#endif
