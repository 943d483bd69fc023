/* SPDX-License-Identifier: MIT */
/** DOC: the objects that the program has on real devices: fabric/proto/real_objects.h. */
#ifndef LIBTAP_USERS_OBJECT_COUNTS_H
#define LIBTAP_USERS_OBJECT_COUNTS_H

#include "libtap/tap.h"

/** object_counts_start() - the process begins. */
void object_counts_start(void);
/** object_counts_new() - hook object_new. */
void object_counts_new(struct tap_obj *o);
/** object_counts_gone() - hook object_gone. */
void object_counts_gone(struct tap_obj *o);
/** object_counts_call_end() - hook call_end: queue pairs may have another state. */
void object_counts_call_end(const struct tap_call *c);
/** object_counts_qp_changed() - the state of a queue pair may have changed. */
void object_counts_qp_changed(const struct tap_obj *qp);
/** object_counts_qp_peer() - the number of its peer; 0: the program has not given it. */
u32 object_counts_qp_peer(const struct tap_obj *qp);
/** object_counts_qp_failed() - the device has completed a request of a queue pair with an error. */
void object_counts_qp_failed(const struct tap_obj *qp);
/** object_counts_direct() - hook direct: its data path is not seen. */
void object_counts_direct(const struct tap_obj *qp);

#endif
