/* SPDX-License-Identifier: MIT */
/**
 * DOC: the engine's view of this process.
 */
#ifndef LIBSHIM_CLIENT_HOST_H
#define LIBSHIM_CLIENT_HOST_H

#include "emulator/engine.h"

/* --- host.c --- */

extern const struct hca_host shim_host;

/**
 * shim_host_grow() - have at least @used bytes of the own segment mapped; shim.map.base is the
 * mapping. The heap's lock is held. Return: 0 or -ENOMEM.
 */
int shim_host_grow(u64 used);
/** shim_host_near() - struct engine.near of a new client: itself only. */
const u64 *shim_host_near(void);
void shim_host_forked(void);

#endif
