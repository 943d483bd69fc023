/* SPDX-License-Identifier: MIT */
/**
 * DOC: system calls of egress/, raw.
 *
 * In a program, libc's names may be those of another library that takes all sockets for the
 * program's (librspreload), and they are cancellation points: a thread that ends there would keep
 * the token. Each function returns the kernel's result, an error as -errno, and leaves errno
 * alone.
 */
#ifndef FABRIC_EGRESS_CALLS_H
#define FABRIC_EGRESS_CALLS_H

#include <sys/socket.h>

int egress_call_socket(int domain, int type, int protocol);
int egress_call_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int egress_call_bind(int fd, const struct sockaddr *sa, socklen_t len);
int egress_call_sendmmsg(int fd, struct mmsghdr *m, unsigned int n);
int egress_call_recvmmsg(int fd, struct mmsghdr *m, unsigned int n); /* without waiting */
int egress_call_close(int fd);

#endif
