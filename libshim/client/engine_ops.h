/* SPDX-License-Identifier: MIT */
/**
 * DOC: the engine's view of this process.
 */
#ifndef LIBSHIM_CLIENT_ENGINE_OPS_H
#define LIBSHIM_CLIENT_ENGINE_OPS_H

#include "emulator/engine.h"

/* --- engine_ops.c --- */

extern const struct engine_ops shim_ops;

/**
 * shim_ops_grow() - have at least @used bytes of the own segment mapped; shim.map.base is the
 * mapping. The heap's lock is held. Return: 0 or -ENOMEM.
 */
int shim_ops_grow(u64 used);
/** shim_ops_near() - struct engine.near of a new client: itself only. */
const u64 *shim_ops_near(void);
void shim_ops_forked(void);

#endif
