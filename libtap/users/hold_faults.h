/* SPDX-License-Identifier: MIT */
/**
 * DOC: completions on real devices that arrive between the last poll and the arming of their CQ:
 * `cq hold` of rdmaemu-faults(7). See hold_faults.c.
 */
#ifndef LIBTAP_USERS_HOLD_FAULTS_H
#define LIBTAP_USERS_HOLD_FAULTS_H

#include "libtap/tap.h"
#include "libtap/users/fabric.h"

/** hold_fault_object_new() - hook object_new. */
void hold_fault_object_new(struct tap_obj *o);
/** hold_fault_object_gone() - hook object_gone. */
void hold_fault_object_gone(struct tap_obj *o);

/** hold_fault_withholds() - while tap_fabric_has_hold(): whether a poll has to find nothing. */
bool hold_fault_withholds(struct tap_obj *cq);
/** hold_fault_drained() - likewise: a poll has found less than it had room for. */
void hold_fault_drained(struct tap_obj *cq);
/** hold_fault_arm() - the CQ is about to be armed: wait, if it is held. */
void hold_fault_arm(const struct ibv_cq *cq);
/** hold_fault_event() - the program gets an event of the CQ. */
void hold_fault_event(const struct ibv_cq *cq);

#endif
