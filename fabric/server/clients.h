/* SPDX-License-Identifier: MIT */
/** DOC: clients from PROTO_HELLO to their end. See core/client.h for what others use. */
#ifndef FABRIC_SERVER_CLIENTS_H
#define FABRIC_SERVER_CLIENTS_H

#include "fabric/core/fabric.h"

/** client_hello() - PROTO_HELLO. @m becomes the answer; @fds receives @n_fds descriptors for it. */
int client_hello(struct fabric *f, struct conn *c, struct proto_msg *m, int *fds, u32 *n_fds);
/** client_die() - its process has ended or it hung up: it is to be reaped. */
void client_die(struct fabric *f, struct client *cl);
/** client_is_image_gone() - whether none of its threads can still be at work in the engine. */
bool client_is_image_gone(struct fabric *f, struct client *cl);
/** client_free() - forget a client that was reaped. */
void client_free(struct fabric *f, struct client *cl);
/**
 * client_extend_segment() - make its segment's file at least @size bytes long, before it is mapped.
 * Return: 0 or -errno: -EFBIG: beyond RLIMIT_FSIZE; -EINVAL: beyond SEG_SIZE.
 */
int client_extend_segment(struct client *cl, u64 size);
/**
 * client_seg() - its segment, mapped as far as the client uses it. With the token, or for a glance
 * at what a client has written there. Return: NULL: it cannot be mapped now.
 */
void *client_seg(struct fabric *f, struct client *cl);
/** clients_fatal() - tell all clients through shared memory that the fabric has gone. */
void clients_fatal(struct fabric *f);

#endif
