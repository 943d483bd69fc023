/* SPDX-License-Identifier: MIT */
/**
 * DOC: address handle numbers (AHN) of EFA devices. See ahn.c.
 */
#ifndef LIBSHIM_VERBS_AHN_H
#define LIBSHIM_VERBS_AHN_H

#include "libshim/verbs/device.h"

#define AHN_UNKNOWN 0xffffu

/* --- ahn.c --- */

/**
 * shim_ahn_get() - the number of a GID, to which an address handle was made.
 * Return: AHN_UNKNOWN: out of memory, or no number is left.
 */
u16 shim_ahn_get(struct shim_context *ctx, const u8 gid[16]);
/** shim_ahn_put() - an address handle of that number is destroyed. */
void shim_ahn_put(struct shim_context *ctx, u16 ahn);
/** shim_ahn_find() - the number of a GID; AHN_UNKNOWN: no address handle leads to it. */
u16 shim_ahn_find(const struct shim_context *ctx, const u8 gid[16]);
/** shim_ahn_free() - the context goes. */
void shim_ahn_free(struct shim_context *ctx);

#endif
