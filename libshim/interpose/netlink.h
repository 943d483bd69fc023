/* SPDX-License-Identifier: MIT */
/** DOC: netlink sockets of the family NETLINK_RDMA, for the wrappers of bind() and connect(). */
#ifndef LIBSHIM_INTERPOSE_NETLINK_H
#define LIBSHIM_INTERPOSE_NETLINK_H

#include "emulator/types.h"

#include <sys/socket.h>

/* --- netlink.c --- */

/** netlink_is_ours() - whether @fd is one that the fabric process answers. */
bool netlink_is_ours(int fd);
/* As bind(2) and connect(2), for one of those. */
int netlink_bind(int fd, const struct sockaddr *addr, socklen_t len);
int netlink_connect(const struct sockaddr *addr, socklen_t len);

#endif
