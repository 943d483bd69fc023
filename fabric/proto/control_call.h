/* SPDX-License-Identifier: MIT */
/**
 * DOC: questions to a fabric process over its socket: proto.h.
 */
#ifndef FABRIC_PROTO_CONTROL_CALL_H
#define FABRIC_PROTO_CONTROL_CALL_H

#include "fabric/proto/proto.h"

/* How long a command waits for an answer before it says that the fabric process is stuck. */
#define CTL_TIMEOUT_S 60

/** ctl_connect() - connect to a fabric's socket. Return: descriptor (close-on-exec) or -errno. */
int ctl_connect(const char *path);
/**
 * ctl_ask() - send @m and receive the answer into it.
 * @give: a descriptor that goes with the question, or -1; it stays the caller's
 * @fd: receives the descriptor that came with the answer, or -1; may be NULL
 * Return: 0: there is an answer, which may be a refusal; -EPIPE when the fabric hung up; -ETIMEDOUT;
 * -EPROTO: it speaks something else; -errno.
 */
int ctl_ask(int sock, struct proto_msg *m, int give, int *fd);
/**
 * ctl_call() - send @m and receive the answer into it.
 * @fd: receives the descriptor that came with it, or -1; may be NULL
 * Return: the answer's ret; -EPIPE when the fabric hung up; -ETIMEDOUT; -errno.
 */
int ctl_call(int sock, struct proto_msg *m, int *fd);
/** ctl_call_fd() - likewise, descriptor @give goes with the question; it stays the caller's. */
int ctl_call_fd(int sock, struct proto_msg *m, int give);
/** ctl_receive() - receive one more answer, as one who follows the log does. Return: as ctl_ask(). */
int ctl_receive(int sock, struct proto_msg *m, int *fd);

#endif
