/* SPDX-License-Identifier: MIT */
/** DOC: how many objects there are, and how many refer to each. See recount.c. */
#ifndef EMULATOR_ENGINE_RECOUNT_H
#define EMULATOR_ENGINE_RECOUNT_H

#include "emulator/hca.h"

/** obj_refs_add() - count what an object refers to, @d 1, or uncount it, @d -1. */
void obj_refs_add(struct hca *hca, enum hca_table t, u32 i, int d);
/** hca_recount() - set all counts but those of connections from the objects. Token held. */
void hca_recount(struct hca *hca);

#endif
