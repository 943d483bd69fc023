/* SPDX-License-Identifier: MIT */
/**
 * DOC: the tables of objects: slots, their owners, and counts.
 */
#ifndef EMULATOR_TAB_H
#define EMULATOR_TAB_H

#include "emulator/hca.h"

#define FIRST_QP 17u /* 0 and 1 are special (IBTA 3.5.10), a few more are kept back as HCAs do */

/* --- tab.c --- */

/** tab_init() - fresh tables. */
void tab_init(struct hca *hca);
/** tab_at() - entry @i, which must be below tab_max(). */
struct hca_obj *tab_at(struct hca *hca, enum hca_table t, u32 i);
u32 tab_max(enum hca_table t);
/**
 * tab_find() - a free slot for an object of @dev, of which there may be @limit.
 * Return: index, -EINVAL (no such device), -EOPNOTSUPP (a limit of 0) or -ENOMEM. The slot is free
 * until tab_own().
 */
int tab_find(struct hca *hca, enum hca_table t, u32 dev, u32 limit);
/**
 * tab_has_share() - whether a client may have one object more. In an isolated fabric it has no more
 * than are left for all others: one client alone has half of a table, and each further client that
 * takes all it can leaves a smaller part, but never none.
 */
bool tab_has_share(const struct hca *hca, enum hca_table t, u32 client);
/** tab_want() - as tab_find(), of slot @i. Return: @i, or also -EBUSY: it is in use. */
int tab_want(struct hca *hca, enum hca_table t, u32 dev, u32 limit, u32 i);
/** tab_own() - the slot is filled in and belongs to the client from now on. */
void tab_own(struct hca *hca, enum hca_table t, u32 i, u32 client, u32 dev);
/** tab_hand_over() - the slot, which a client has, belongs to @client from now on. */
void tab_hand_over(struct hca *hca, enum hca_table t, u32 i, u32 client);
/** tab_free() - give a slot back. */
void tab_free(struct hca *hca, enum hca_table t, u32 i);
/** tab_owned() - entry @i (any number) if the client owns it, else NULL. */
void *tab_owned(struct hca *hca, enum hca_table t, u32 client, u32 i);
/** tab_recount() - set all counts from what is there. */
void tab_recount(struct hca *hca, enum hca_table t);

#endif
