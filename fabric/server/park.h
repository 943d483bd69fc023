/* SPDX-License-Identifier: MIT */
/** DOC: what waits until an account allows more: park.c. */
#ifndef FABRIC_SERVER_PARK_H
#define FABRIC_SERVER_PARK_H

#include "fabric/core/fabric.h"

/** parked_wait() - the loop is to call parked_serve() at @at, real time. */
void parked_wait(struct fabric *f, u64 at);
/**
 * conn_watch() - wait for events on a connection: EPOLL* bits. Messages that have come already are
 * reported at once; where the connection has an account, each message is reported once.
 */
void conn_watch(struct fabric *f, struct conn *c, u32 events);
/** conn_park() - its requests wait: put it at the end of the queue. */
void conn_park(struct fabric *f, struct conn *c);
/** conn_unpark() - take it out of the queue, if it is there. */
void conn_unpark(struct fabric *f, struct conn *c);
/** client_on_kick() - look for its work. The event handler of a client's eventfd. */
void client_on_kick(struct fabric *f, struct watch *w, u32 events);
/** parked_kicks() - watch those of accounts again that rest no more. Return: when to call again. */
u64 parked_kicks(struct fabric *f, u64 now);

#endif
