/* SPDX-License-Identifier: MIT */
/**
 * DOC: internals of librdmaemu-ctl. A handle is a connection to the fabric process, and a line that
 * says what failed last.
 *
 * The library only uses sockets: programs get neither the engine nor other libraries. Requests go
 * over the fabric's socket (fabric/proto/proto.h). If a connection fails, the next request opens
 * another one.
 */
#ifndef LIBCTL_CTL_H
#define LIBCTL_CTL_H

#include "fabric/proto/control_call.h"
#include "include/rdmaemu.h"

#include <sys/un.h>

/**
 * struct rdmaemu - a handle.
 * @sock: -1: not connected
 * @pid: process that has connected
 * @path: the fabric's socket
 * @error: the text of rdmaemu_error()
 */
struct rdmaemu {
	int sock;
	int pid;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char error[640];
};

/** ctl_fail() - set the error text, and errno to @err, which is positive. Return: -1. */
int ctl_fail(struct rdmaemu *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/**
 * ctl_handle_ask() - send a request to the fabric process, and receive the response.
 * @fd: set to the descriptor in the response; may be NULL
 * Return: 0: m->ret has the result; -1 after ctl_fail(): no response.
 */
int ctl_handle_ask(struct rdmaemu *r, struct proto_msg *m, int *fd);
/** ctl_refused() - fail with the text of an error without a specific message. Return: -1. */
int ctl_refused(struct rdmaemu *r, const char *what, int ret);

#endif
