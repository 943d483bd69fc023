/* SPDX-License-Identifier: MIT */
/**
 * DOC: events of identifiers.
 */
#ifndef LIBSHIM_CM_EVENT_H
#define LIBSHIM_CM_EVENT_H

#include "libshim/cm/cm.h"

/* Events of rdma_resolve_addrinfo(3), of newer headers than those we build with. */
#define UCMA_EVENT_ADDRINFO_RESOLVED ((enum rdma_cm_event_type)16)
#define UCMA_EVENT_ADDRINFO_ERROR    ((enum rdma_cm_event_type)17)

/* --- event.c --- */

/**
 * ucma_complete() - a synchronous identifier: wait for the event of the call, keep it as id->event,
 * and turn its status into an error. Other identifiers: nothing. Return: 0, or -1 with errno.
 */
int ucma_complete(struct ucma_id *id);

/* --- user_event.c --- */

/** ucma_user_event_put() - queue an event of the program's own. Return: 0, or -1 with errno. */
int ucma_user_event_put(struct ucma_id *c, enum rdma_cm_event_type event, int status, u64 arg);
/**
 * ucma_user_event_take() - the oldest event of rdma_write_cm_event(3). Return: whether one exists.
 */
bool ucma_user_event_take(struct ucma_chan *ch, struct ucma_event *ev);
/** ucma_user_event_move() - move unread such events of @id to channel @to; NULL: free them. */
void ucma_user_event_move(struct ucma_id *id, struct ucma_chan *to);

#endif
