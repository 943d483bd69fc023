/* SPDX-License-Identifier: MIT */
/**
 * DOC: events on real devices: `cm drop` and `cm reject` of rdmaemu-faults(7), and the journal's
 * entries about asynchronous events.
 */
#ifndef LIBTAP_USERS_EVENT_FAULTS_H
#define LIBTAP_USERS_EVENT_FAULTS_H

#include "libtap/tap.h"

/** event_faults_start() - the process begins. */
void event_faults_start(void);
/** event_fault_call_begin() - hook call_begin. */
void event_fault_call_begin(const struct tap_call *c);
/** event_fault_call_returned() - hook call_returned. */
void event_fault_call_returned(struct tap_call *c);
/** event_fault_call_end() - hook call_end. */
void event_fault_call_end(const struct tap_call *c);

#endif
