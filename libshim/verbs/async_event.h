/* SPDX-License-Identifier: MIT */
/**
 * DOC: asynchronous events, and what happens when the fabric process has ended.
 */
#ifndef LIBSHIM_VERBS_ASYNC_EVENT_H
#define LIBSHIM_VERBS_ASYNC_EVENT_H

#include "libshim/verbs/objects.h"

/* --- async_event.c --- */

/**
 * shim_qp_end_events() - drop the unread events of a destroyed QP; wait for the ACKs of the others.
 */
void shim_qp_end_events(struct shim_context *ctx, struct shim_qp *qp);
/** shim_events_drain() - wait until all @delivered events of an object have been acknowledged. */
void shim_events_drain(pthread_mutex_t *mutex, pthread_cond_t *cond, const u32 *acked,
		       u32 delivered);
/** shim_raise_fatal() - FATAL_VERBS: raise IBV_EVENT_DEVICE_FATAL on every open context. */
void shim_raise_fatal(void);

/* --- flush_local.c --- */

/** shim_flush_local() - FATAL_FLUSH: flush the QPs of this process without an engine. */
void shim_flush_local(void);

#endif
