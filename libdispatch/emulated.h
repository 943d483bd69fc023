/* SPDX-License-Identifier: MIT */
/** DOC: the emulator's library as one of two, and the devices that are its own. */
#ifndef LIBDISPATCH_EMULATED_H
#define LIBDISPATCH_EMULATED_H

#include "emulator/types.h"

#include <infiniband/verbs.h>

/* --- emulated.c --- */

/**
 * emulated_symbol() - a function of the emulator's library, which is loaded at first use.
 * @slot: caches it. Return: NULL: the library could not be loaded, or does not have it.
 */
void *emulated_symbol(void **slot, const char *name);
/** real_symbol_next() - a function of the library that the program would use by itself. */
void *real_symbol_next(void **slot, const char *name);
/** emulated_devices_add() - remember the devices of a list of the emulator's, up to NULL. */
void emulated_devices_add(struct ibv_device *const *list);
/** is_real_library() - whether an address of code is in the real libibverbs or librdmacm. */
bool is_real_library(const void *code);
/** is_emulated_device() - whether a device is the emulator's. NULL is not. */
bool is_emulated_device(const struct ibv_device *device);

#endif
