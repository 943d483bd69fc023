/* SPDX-License-Identifier: MIT */
/**
 * DOC: event channels of the segment.
 */
#ifndef LIBSHIM_CLIENT_CHAN_H
#define LIBSHIM_CLIENT_CHAN_H

#include "emulator/seg.h"

/* --- chan.c --- */

/**
 * shim_chan_new() - a channel: a ring in the segment and an eventfd (EFD_SEMAPHORE | EFD_CLOEXEC)
 * that the fabric process knows. Return: channel index or -errno; *fd is the program's descriptor.
 */
int shim_chan_new(int *fd);
void shim_chan_free(u32 chan, int fd);
/**
 * shim_chan_get() - wait for the next event and take it; blocks as the descriptor's flags say.
 * Return: 0, or -1 with errno (EAGAIN, EINTR as read(2)).
 */
int shim_chan_get(u32 chan, int fd, struct chan_event *ev);
/**
 * shim_chan_wait() - wait for an event that does not lie in the ring, and take its count.
 * Return: 0, or -1 with errno (as shim_chan_get()).
 */
int shim_chan_wait(int fd);
/** shim_chan_count() - @n more events: make the descriptor readable. */
void shim_chan_count(u32 chan, u64 n);
/** shim_chan_uncount() - @n events were taken away unread: take back their counts, now or later. */
void shim_chan_uncount(u32 chan, u32 n);
/** shim_chan_settle() - a thread that had a count (shim_chan_wait()) has looked for an event. */
void shim_chan_settle(u32 chan, bool found);
/**
 * shim_chan_push() - queue an event that this process itself raises (device fatal) and make the
 * descriptor readable. Taken before those of the engine. Return: 0, -EBADF or -ENOSPC.
 */
int shim_chan_push(u32 chan, const struct chan_event *ev);
/**
 * shim_chan_drop() - forget the unread events of an object that was destroyed, so that poll(2) does
 * not report a descriptor readable that a read would then block on. @kind, @handle and @gen are as
 * in struct chan_event.
 */
void shim_chan_drop(u32 chan, u32 kind, u32 handle, u32 gen);
/** shim_chan_notify() - the engine put an event into one of our rings: make its fd readable. */
void shim_chan_notify(u32 chan);
void shim_chan_forked(void);

#endif
