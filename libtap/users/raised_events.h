/* SPDX-License-Identifier: MIT */
/** DOC: asynchronous events on real devices that rules raise: `event` of rdmaemu-faults(7). */
#ifndef LIBTAP_USERS_RAISED_EVENTS_H
#define LIBTAP_USERS_RAISED_EVENTS_H

#include "libtap/tap.h"

/** raised_events_start() - the process begins. */
void raised_events_start(void);
/** raised_events_open() - the program gets a context: events can be raised on it from now on. */
void raised_events_open(struct ibv_context *ctx);
/** raised_event_call_begin() - hook call_begin. */
enum tap_verdict raised_event_call_begin(struct tap_call *c);
/** raised_event_call_end() - hook call_end. */
void raised_event_call_end(const struct tap_call *c);
/** raised_events_object_gone() - hook object_gone. */
void raised_events_object_gone(const struct tap_obj *o);
/** raised_event_is_ours() - whether a rule has raised the event that the call has returned. */
bool raised_event_is_ours(const struct tap_call *c);

#endif
