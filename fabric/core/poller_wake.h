/* SPDX-License-Identifier: MIT */
/** DOC: programs that sleep until the fabric process has brought them something: libshim/client/poll_idle.c. */
#ifndef FABRIC_CORE_POLLER_WAKE_H
#define FABRIC_CORE_POLLER_WAKE_H

#include "emulator/types.h"

struct client;
struct fabric;
struct hca_qp;

/** struct poller_wakes - clients to wake, and how often that has happened lately. */
struct poller_wakes {
	struct client *list; /* those whose QPs got something in this holding of the token */
	u64 at; /* real time at which clients were last woken */
	u32 often; /* how often, by then, without a pause */
};

/** poller_wake_add() - a QP, or NULL, has got something over a link, or a completion. Token held. */
void poller_wake_add(struct fabric *f, const struct hca_qp *qp);
/** poller_wake_all() - wake their programs, if they sleep. Before any of them is freed. */
void poller_wake_all(struct fabric *f);

#endif
