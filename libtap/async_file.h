/* SPDX-License-Identifier: MIT */
/**
 * DOC: a descriptor of the tap that stands for the one of a context's asynchronous events.
 *
 * Theory of operation
 * -------------------
 * A program waits for asynchronous events with poll(2) on ibv_context.async_fd, whose file is the
 * kernel's: only a device makes it readable. To show an event of its own, a user of the tap puts
 * the number of an epoll instance there, before the program has seen the context. The instance is
 * readable when the kernel's file is, and when the user has rung the bell, an eventfd.
 *
 * The library below reads the member in three cases, and there must use the kernel's file. It has
 * no other thread, and the program may read the member at any time, so the member stays, and these
 * calls to libc get the other number:
 *  - read(2), of an event
 *  - ioctl(2), which creates a CQ, QP, SRQ or WQ and says where its events go
 *  - close(2), at the end of the context, if the tap has not seen the call
 *
 * The kernel's file is non-blocking meanwhile. A user waits instead, as the flags of the shown
 * descriptor say, and then asks the library below.
 */
#ifndef LIBTAP_ASYNC_FILE_H
#define LIBTAP_ASYNC_FILE_H

#include "emulator/types.h"

#include <infiniband/verbs.h>

/** tap_async_files - how many descriptors stand for others. */
extern u32 tap_async_files;

/**
 * tap_async_make() - let a descriptor stand for @ctx->async_fd. Return: 0, or -errno: the context
 * is as it was; -ENOSPC: too many contexts.
 */
int tap_async_make(struct ibv_context *ctx);
/**
 * tap_async_restore() - undo that, before the library below closes the context. If nothing stands
 * for its descriptor, @ctx is not accessed.
 */
void tap_async_restore(struct ibv_context *ctx);
/** tap_async_forked() - in a child of fork(): the descriptors are its own now. */
void tap_async_forked(void);
/** tap_async_is_made() - whether a descriptor stands for that of @ctx. */
bool tap_async_is_made(const struct ibv_context *ctx);
/** tap_async_ring() - make it readable, or no longer, as far as the user is concerned. */
void tap_async_ring(const struct ibv_context *ctx, bool on);
/**
 * tap_async_wait() - wait until the kernel's file is readable, or the bell was rung; does not block
 * if the program has made its descriptor non-blocking.
 * Return: 0, or -1 with errno (EAGAIN, EINTR)
 */
int tap_async_wait(const struct ibv_context *ctx);

/** tap_async_find() - the descriptor for which @fd stands. Return: @fd, if it is none such. */
int tap_async_find(int fd);
/** tap_async_file() - the same, for calls of any descriptor. */
static inline int tap_async_file(int fd)
{
	return likely(!load_relaxed(&tap_async_files)) ? fd : tap_async_find(fd);
}

#endif
