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
	u64 at; /* real time of the latest holding in which QPs have received */
	u32 often; /* how many of them in a row, without a pause */
	bool received; /* a QP has received in this holding */
};

/** poller_wake_add() - a QP, or NULL, has received over a link, or has a completion. Token held. */
void poller_wake_add(struct fabric *f, const struct hca_qp *qp);
/**
 * poller_wake_later() - a QP has received over a link, but its program will find nothing: the
 * message goes on. Token held.
 */
void poller_wake_later(struct fabric *f);
/** poller_wake_all() - wake the programs that sleep. To be called before a client is freed. */
void poller_wake_all(struct fabric *f);

#endif
