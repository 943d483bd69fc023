/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of ibv_wr_*(). */
#ifndef LIBTAP_WR_H
#define LIBTAP_WR_H

#include "libtap/object_table.h"

/** tap_wr_attach() - patch the functions of an extended QP. @ops: its send_ops_flags. */
void tap_wr_attach(struct tap_obj *o, struct ibv_qp_ex *ex, u64 ops);

#endif
