/* SPDX-License-Identifier: MIT */
/** DOC: why a program cannot use the fabric, in one line. */
#ifndef LIBSHIM_CLIENT_CONNECT_ERROR_H
#define LIBSHIM_CLIENT_CONNECT_ERROR_H

/**
 * shim_connect_explain() - print why the program finds no device, once in a process.
 * @path: of the fabric's socket
 * @sock: connected to it, or -1
 * @err: -errno; nothing is printed if the fabric does not run
 */
void shim_connect_explain(const char *path, int sock, int err);

#endif
