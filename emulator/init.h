/* SPDX-License-Identifier: MIT */
/**
 * DOC: fresh HCA memory, client segments and clients; and whether a mapping is understood.
 */
#ifndef EMULATOR_INIT_H
#define EMULATOR_INIT_H

#include "emulator/hca.h"

/* --- init.c --- */

/** hca_format() - lay out fresh HCA memory (zeroed, sizeof(struct hca) bytes). */
void hca_format(struct hca *hca, u64 seed, bool isolated, const char *name);
/** hca_default_limits() - what a device without a profile has. */
void hca_default_limits(struct hca_limits *l);
/** hca_check() - 0 when @hca is a mapping that this build understands, else -EPROTO. */
int hca_check(const struct hca *hca, u64 size);
/** hca_add_client() - a free client slot, marked live; index or -EUSERS. Fabric process only. */
int hca_add_client(struct hca *hca);
/** seg_format() - lay out a fresh client segment. */
void seg_format(struct seg_hdr *seg, u32 client, u32 gen);
/** seg_check() - 0 when @seg is the segment of @client/@gen, else -EPROTO. */
int seg_check(const struct seg_hdr *seg, u32 client, u32 gen);

#endif
