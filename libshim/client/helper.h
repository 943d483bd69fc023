/* SPDX-License-Identifier: MIT */
/**
 * DOC: the memory helper: copies of this process's memory where the fabric process cannot reach it.
 */
#ifndef LIBSHIM_CLIENT_HELPER_H
#define LIBSHIM_CLIENT_HELPER_H

#include "emulator/types.h"

/* --- helper.c --- */

/**
 * shim_helper_is_needed() - whether the fabric process cannot reach this process's memory, or not
 * at all times: in an isolated fabric, while lent pages are exchanged.
 */
bool shim_helper_is_needed(void);
/** shim_helper_keep() - take over the descriptor of the own segment. */
void shim_helper_keep(int fd);
/** shim_helper_open() - let the fabric process wake the helper. Return: eventfd or -errno. */
int shim_helper_open(void);
/** shim_helper_serve() - the eventfd is readable: do the copy that the fabric process requests. */
void shim_helper_serve(int fd);
/** shim_helper_settle() - wait for the copy that the helper may be making right now. */
void shim_helper_settle(void);
void shim_helper_forked(void);
/**
 * shim_helper_write() - write to memory of this process that it may have no right to write.
 * Return: false: it is not mapped, or shared.
 */
bool shim_helper_write(void *to, const void *from, size_t len);

#endif
