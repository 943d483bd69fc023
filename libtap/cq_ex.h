/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of polls of extended CQs. */
#ifndef LIBTAP_CQ_EX_H
#define LIBTAP_CQ_EX_H

#include "libtap/object_table.h"

/** tap_cqex_attach() - patch the functions of an extended CQ. */
void tap_cqex_attach(struct tap_obj *o, struct ibv_cq_ex *ex);

#endif
