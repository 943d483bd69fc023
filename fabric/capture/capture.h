/* SPDX-License-Identifier: MIT */
/**
 * DOC: captures of the wire, as other modules use them: `rdmaemu capture`, `rdmaemu run --capture`.
 *
 * control.h describes how they work.
 */
#ifndef FABRIC_CAPTURE_CAPTURE_H
#define FABRIC_CAPTURE_CAPTURE_H

#include "fabric/core/fabric.h"

/* --- control.c --- */

/** fabric_capture_init() - no captures. Return: 0 or -ENOMEM. */
int fabric_capture_init(struct fabric *f);
/**
 * fabric_capture_request() - PROTO_CAPTURE_START, _STOP.
 * @fd: descriptor of the request; set to -1 if it is kept
 * Return: 0, -EINPROGRESS: answered later; -errno, with the reason in capture.text if it needs one.
 */
int fabric_capture_request(struct fabric *f, struct conn *c, struct proto_msg *m, int *fd);
/** fabric_capture_conn_closed() - a connection is closed. */
void fabric_capture_conn_closed(struct fabric *f, const struct conn *c);
/** fabric_capture_due() - whether there is work that needs the token. */
bool fabric_capture_due(const struct fabric *f);
/** fabric_capture_work() - do that work. Token held. */
void fabric_capture_work(struct fabric *f);
/**
 * fabric_capture_tick() - check the captures that are ending.
 * Return: when to come back (real time), or NEVER.
 */
u64 fabric_capture_tick(struct fabric *f);
/** fabric_capture_wake_writers() - wake threads that sleep while the ring fills up. */
void fabric_capture_wake_writers(struct fabric *f);
/** fabric_capture_shutdown() - the fabric ends: write the rest of the ring to the files. */
void fabric_capture_shutdown(struct fabric *f);

/* --- ports.c --- */

/** fabric_capture_node_added() - a node was made: mark its ports. No token needed. */
void fabric_capture_node_added(struct fabric *f);
/** fabric_capture_client_added() - a client has connected. No token needed. */
void fabric_capture_client_added(struct fabric *f);

/* --- list.c --- */

/** fabric_capture_list() - PROTO_CAPTURE_LIST. Return: a memfd or -errno. */
int fabric_capture_list(struct fabric *f, u32 flags);
/**
 * fabric_capture_written() - how far the capture that a connection owns has got.
 * @upto: a position in the ring; 0: becomes the current one
 * @packets: receives the number of packets written
 * Return: 0: all before @upto is written, or about to be; -EAGAIN; -ENOENT: there is no capture.
 */
int fabric_capture_written(struct fabric *f, const struct conn *owner, u64 *upto, u64 *packets);

#endif
