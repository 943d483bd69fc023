/* SPDX-License-Identifier: MIT */
/**
 * DOC: limits of real devices that rules lower. See limit_faults.c.
 */
#ifndef LIBTAP_USERS_LIMIT_FAULTS_H
#define LIBTAP_USERS_LIMIT_FAULTS_H

#include "libtap/tap.h"

/** limit_faults_start() - the process begins: it has no objects. */
void limit_faults_start(void);
/** limit_fault_object_new() - hook object_new. */
void limit_fault_object_new(struct tap_obj *o);
/** limit_fault_object_gone() - hook object_gone. */
void limit_fault_object_gone(struct tap_obj *o);
/**
 * limit_fault_error() - in hook call_begin: the error with which a call fails that asks for more
 * than rules allow; 0: it does not. Every call that is carried out must pass here.
 */
int limit_fault_error(struct tap_call *c);
/** limit_fault_call_returned() - hook call_returned: queries show the limits. */
void limit_fault_call_returned(struct tap_call *c);
/** limit_fault_call_end() - hook call_end. */
void limit_fault_call_end(struct tap_call *c);

#endif
