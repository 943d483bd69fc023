/* SPDX-License-Identifier: MIT */
/**
 * DOC: signals to eventfds that other processes hold.
 *
 * All holders of an eventfd share one open file description, its O_NONBLOCK flag and its count. A
 * holder can clear the flag and fill the count up at any moment, so neither the flag nor a poll(2)
 * beforehand keeps write(2) from blocking, and the kernel has no write to an eventfd that takes
 * RWF_NOWAIT. The kernel itself signals an eventfd without waiting: a count that is full stays
 * full. Asynchronous I/O (io_submit(2)) signals one when a request completes. The request here is
 * a read of no bytes, which the kernel completes at once with an error; only its signal counts.
 */
#ifndef FABRIC_SERVER_EVENTFD_SIGNAL_H
#define FABRIC_SERVER_EVENTFD_SIGNAL_H

#include "emulator/types.h"

#include <linux/aio_abi.h>

/** struct eventfd_signaller - an asynchronous I/O context, for one thread. */
struct eventfd_signaller {
	aio_context_t ctx; /* 0: there is none */
	int err; /* -errno of the attempt to make one */
};

/**
 * eventfd_signaller_open() - make the context, unless that was attempted before.
 *
 * Return: 0 or -errno: the kernel has no asynchronous I/O, a filter forbids it, or the limit
 * fs.aio-max-nr is reached.
 */
int eventfd_signaller_open(struct eventfd_signaller *s);
/**
 * eventfd_signal() - add one to an eventfd without waiting.
 *
 * Without a context it writes after a poll(2). That may block where a holder fills the eventfd up
 * in between.
 * Return: 0 or -errno; -EINVAL: it is no eventfd.
 */
int eventfd_signal(struct eventfd_signaller *s, int fd);

#endif
