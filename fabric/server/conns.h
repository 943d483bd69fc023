/* SPDX-License-Identifier: MIT */
/**
 * DOC: connections from accept to close, and their requests. See core/conn.h for what other
 * modules use.
 */
#ifndef FABRIC_SERVER_CONNS_H
#define FABRIC_SERVER_CONNS_H

#include "fabric/core/fabric.h"

#define MAX_CONNS (2 * HCA_MAX_CLIENTS)

/* --- conns.c --- */

/** conn_on_message() - serve the requests that have come. The event handler of connections. */
void conn_on_message(struct fabric *f, struct watch *w, u32 events);
/** conns_serve_parked() - go on with requests that had to wait, as far as accounts allow. */
void conns_serve_parked(struct fabric *f);
/** conns_parked_next() - when to do so, real time; NEVER: none waits. */
u64 conns_parked_next(const struct fabric *f);
/** conn_close() - close a connection; its client, if any, is dead. */
void conn_close(struct fabric *f, struct conn *c);
/** conns_reap() - free connections, leases and clients that were closed. */
void conns_reap(struct fabric *f);
/**
 * conn_make_text() - make the text that answers STATUS, LOG, FAULT_LIST or CAPTURE_LIST. Return: a
 * memfd or -errno.
 */
int conn_make_text(struct fabric *f, struct proto_msg *m);
/** conn_pidfd() - a pidfd of a connection's process. Return: descriptor, -ESRCH: it has exited. */
int conn_pidfd(const struct conn *c);

/* --- conn_receive.c --- */

/**
 * conn_receive() - receive one message, and at most one descriptor in *@fd; -1: there is none.
 *
 * Return: its length, which may be more than @size; 0 at the end; -errno; -EAGAIN: there is none.
 */
ssize_t conn_receive(struct fabric *f, struct conn *c, void *buf, size_t size, int *fd);

/* --- admit.c --- */

/** parked_serve() - go on with all that waits for an account. */
void parked_serve(struct fabric *f);
/** parked_next() - when there is more of that, real time; NEVER: nothing waits. */
u64 parked_next(const struct fabric *f);
/** conn_accept() - accept the connections that wait. Also the listening socket's event handler. */
void conn_accept(struct fabric *f, struct watch *w, u32 events);

#endif
