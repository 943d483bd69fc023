/* SPDX-License-Identifier: MIT */
/**
 * DOC: what this program receives by itself from hosts outside of the fabric. See wire_receive.c.
 */
#ifndef LIBSHIM_CLIENT_WIRE_RECEIVE_H
#define LIBSHIM_CLIENT_WIRE_RECEIVE_H

#include "emulator/types.h"

#define WIRE_BULK 16384u /* bytes at once: a stream of large messages */

/** enum wire_look - what a look at the wires has found. */
enum wire_look {
	WIRE_OFF, /* this program does not read them, at least now */
	WIRE_NOTHING,
	WIRE_FOUND, /* something was delivered, maybe to others */
};

/**
 * shim_wire_look() - a poller has found nothing: deliver what has arrived at the fabric's wires.
 * @paths: of shim_own_paths(), at @now
 */
enum wire_look shim_wire_look(u32 paths, u64 now);
/** shim_wire_note_bulk() - this program has sent WIRE_BULK bytes or more at once. Token held. */
void shim_wire_note_bulk(u64 now);
/**
 * shim_wire_look_end() - this program is about to sleep: the fabric process is to read the wires.
 */
void shim_wire_look_end(void);
/** shim_wire_datagrams() - the datagrams that are being delivered: the memory of HCA_ROCE. */
void *shim_wire_datagrams(void);
/** shim_wire_unreceive() - close the sockets for good: the fabric process has ended. */
void shim_wire_unreceive(void);
/** shim_wire_receive_forked() - in a child of fork(): close the sockets, which are its parent's. */
void shim_wire_receive_forked(void);

#endif
