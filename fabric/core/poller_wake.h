/* SPDX-License-Identifier: MIT */
/**
 * DOC: wake-ups of programs that sleep until the fabric process delivers:
 * libshim/client/poll_idle.c.
 */
#ifndef FABRIC_CORE_POLLER_WAKE_H
#define FABRIC_CORE_POLLER_WAKE_H

#include "emulator/types.h"

struct client;
struct fabric;
struct hca_qp;

/** struct poller_wakes - clients to wake, and how often clients were woken lately. */
struct poller_wakes {
	struct client *list; /* clients whose QPs have received in this holding of the token */
	u64 at; /* real time at which clients were last woken */
	u32 often; /* how often in a row, without a pause */
};

/** poller_wake_add() - a QP, or NULL, has received over a link, or has a completion. Token held. */
void poller_wake_add(struct fabric *f, const struct hca_qp *qp);
/** poller_wake_all() - wake the programs that sleep. To be called before a client is freed. */
void poller_wake_all(struct fabric *f);

#endif
