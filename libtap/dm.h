/* SPDX-License-Identifier: MIT */
/** DOC: wrappers of copies to and from device memory. */
#ifndef LIBTAP_DM_H
#define LIBTAP_DM_H

#include "libtap/object_table.h"

/** tap_dm_attach() - patch the functions of a DM. */
void tap_dm_attach(struct tap_obj *o, struct ibv_dm *dm);

#endif
