/* SPDX-License-Identifier: MIT */
/** DOC: why a program cannot use the fabric, in one line. */
#ifndef LIBSHIM_CLIENT_CONNECT_ERROR_H
#define LIBSHIM_CLIENT_CONNECT_ERROR_H

#include "emulator/types.h"

/**
 * shim_connect_explain() - print why the program finds no device, once in a process.
 * @path: of the fabric's socket
 * @sock: connected to it, or -1
 * @err: -errno; nothing is printed if the fabric does not run
 */
void shim_connect_explain(const char *path, int sock, int err);
/**
 * shim_grow_explain() - print why no more queues can be had, once in a process.
 * @size: bytes of the segment that were to be mapped
 * @err: -errno
 */
void shim_grow_explain(u64 size, int err);

#endif
