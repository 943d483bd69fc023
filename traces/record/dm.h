/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of copies to and from device memory. */
#ifndef TRACES_RECORD_DM_H
#define TRACES_RECORD_DM_H

#include "traces/record/object_table.h"

/** rec_dm_attach() - patch the functions of a DM. */
void rec_dm_attach(struct rec_obj *o, struct ibv_dm *dm);

#endif
