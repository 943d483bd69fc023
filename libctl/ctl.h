/* SPDX-License-Identifier: MIT */
/**
 * DOC: librdmaemu-ctl, inside: a handle is a connection to the fabric process and a line of trouble.
 *
 * Only sockets: neither the engine nor other libraries come into the program. What is asked goes over the
 * fabric's socket (fabric/proto/proto.h). A connection that fails is made anew by the next question.
 */
#ifndef LIBCTL_CTL_H
#define LIBCTL_CTL_H

#include "fabric/proto/control_call.h"
#include "include/rdmaemu.h"

#include <sys/un.h>

/**
 * struct rdmaemu - a handle.
 * @sock: -1: to be connected
 * @pid: of the process that has connected
 */
struct rdmaemu {
	int sock;
	int pid;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char error[640];
};

/** ctl_fail() - keep a line and set errno to @err, which is positive. Return: -1. */
int ctl_fail(struct rdmaemu *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/**
 * ctl_handle_ask() - ask the fabric process.
 * @fd: receives the descriptor that came with the answer; may be NULL
 * Return: 0: there is an answer, m->ret; -1 after ctl_fail(): there is none.
 */
int ctl_handle_ask(struct rdmaemu *r, struct proto_msg *m, int *fd);
/** ctl_refused() - the answer was a refusal that nobody has better words for. Return: -1. */
int ctl_refused(struct rdmaemu *r, const char *what, int ret);

#endif
