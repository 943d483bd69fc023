/* SPDX-License-Identifier: MIT */
/** DOC: scatter/gather entries in records. */
#ifndef TRACES_RECORD_POST_H
#define TRACES_RECORD_POST_H

#include "traces/record/object.h"

/** rec_sge_fill() - fill in a scatter/gather entry of a record. Return: its MR, or NULL. */
struct rec_obj *rec_sge_fill(struct vt_sge *to, const struct ibv_sge *sge,
			     const struct tap_obj *ctx, bool without_key);

#endif
