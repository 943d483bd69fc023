/* SPDX-License-Identifier: MIT */
/** DOC: requests to the fabric process over its socket: proto.h. */
#ifndef FABRIC_PROTO_CONTROL_CALL_H
#define FABRIC_PROTO_CONTROL_CALL_H

#include "fabric/proto/proto.h"

/* How long a command waits for an answer before it reports that the fabric process is stuck. */
#define CTL_TIMEOUT_S 60

/** ctl_connect() - connect to a fabric's socket. Return: descriptor (close-on-exec) or -errno. */
int ctl_connect(const char *path);
/**
 * ctl_ask() - send @m and receive the answer into it.
 * @give: a descriptor to send with the request, or -1; the caller keeps it
 * @fd: receives the descriptor that came with the answer, or -1; may be NULL
 * Return: 0: there is an answer, maybe a refusal; -EPIPE: the fabric process hung up; -ETIMEDOUT;
 * -EPROTO: the answer is malformed; -EPROTONOSUPPORT: the fabric is of another version:
 * ctl_version_text(); -errno.
 */
int ctl_ask(int sock, struct proto_msg *m, int give, int *fd);
/**
 * ctl_call() - send @m and receive the answer into it.
 * @fd: receives the descriptor that came with it, or -1; may be NULL
 * Return: ret of the answer; -EPIPE: the fabric process hung up; -ETIMEDOUT; -errno.
 */
int ctl_call(int sock, struct proto_msg *m, int *fd);
/**
 * ctl_version_text() - which version the fabric has whose last answer to this thread was
 * -EPROTONOSUPPORT, which this process has, and what to do.
 */
void ctl_version_text(char *buf, size_t size);
/** ctl_call_fd() - the same, with descriptor @give; the caller keeps it. */
int ctl_call_fd(int sock, struct proto_msg *m, int give);
/** ctl_receive() - receive one more answer, for followers of the log. Return: as ctl_ask(). */
int ctl_receive(int sock, struct proto_msg *m, int *fd);

#endif
