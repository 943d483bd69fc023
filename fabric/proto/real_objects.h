/* SPDX-License-Identifier: MIT */
/**
 * DOC: the objects of a program on real devices, for `rdmaemu status`.
 *
 * Such a program has no rings. Its segment has this struct instead: the process of the program
 * counts there what the tap sees it create and destroy (libtap/users/object_counts.c), and the
 * fabric process reads it when it makes a status (fabric/server/status_real.c). So a count costs
 * no message, and a status needs no answer of the program. The reader trusts nothing in it.
 */
#ifndef FABRIC_PROTO_REAL_OBJECTS_H
#define FABRIC_PROTO_REAL_OBJECTS_H

#include "emulator/seg.h"

/* Where it is in the segment: at a page, of the largest size that machines have. */
#define REAL_OBJECTS_OFF ALIGN_UP((u64)SEG_HEAP_OFF, 65536u)

#define REAL_DEVICES	 16u /* of a program; the objects of others count without a name */
#define REAL_DEVICE_NAME 64u
#define REAL_QPS	 2048u /* that are listed; others only count */

/** struct real_device - a device. @contexts: open ones; 0: it is not in use */
struct real_device {
	u32 contexts;
	char name[REAL_DEVICE_NAME];
};

/**
 * struct real_qp - a queue pair.
 * @used: the entry is one
 * @device: its device's place, plus one; 0: none
 * @type, @state: enum ib_qp_type, ib_qp_state
 * @peer: the number of the queue pair that it is connected to, if the program has given it; 0: none
 * @unseen: the program posts to it, or polls, past verbs
 */
struct real_qp {
	u32 used;
	u32 qpn;
	u32 device;
	u32 type;
	u32 state;
	u32 peer;
	u32 unseen;
};

/** struct real_objects - what a program has. @objects: of all kinds, without contexts */
struct real_objects {
	u64 mr_bytes;
	u32 pds;
	u32 mrs; /* and memory windows */
	u32 cqs;
	u32 qps;
	u32 objects;
	struct real_device device[REAL_DEVICES];
	struct real_qp qp[REAL_QPS];
};

_Static_assert(REAL_OBJECTS_OFF + sizeof(struct real_objects) <= SEG_FIRST,
	       "it is mapped at first");

#endif
