/* SPDX-License-Identifier: MIT */
/** DOC: clients as the fabric process sees them; struct hca_client is their public part. */
#ifndef FABRIC_CORE_CLIENT_H
#define FABRIC_CORE_CLIENT_H

#include "emulator/seg.h"
#include "fabric/core/loop.h"
#include "fabric/proto/lent_map.h"
#include "fabric/proto/seg_map.h"

struct account;
struct conn;
struct fabric;
struct xfer;

#define CLIENT_EVENTS 16u

/** struct client - a client. */
struct client {
	u32 id, gen; /* in the HCA's table */
	struct watch exit; /* pidfd; fd -1: there is none, only the connection's end tells */
	bool exited; /* its process has ended */
	bool dead; /* it has exited or hung up, and waits to be reaped */
	bool freed; /* reaped; its memory is freed when the current batch of events is done */
	struct conn *conn;
	struct account *account; /* of its process: server/account.h; NULL: not isolated */
	/*
	 * The eventfd that it writes to when there is work. Edge-triggered and never read: a client
	 * could empty it before the read, which would then block. No other client has it.
	 */
	struct watch kick;
	bool parked; /* its kicks are not watched: its account rests */
	int seg_fd;
	int helper_fd;
	int lent_fd; /* its memory file, -1: it has handed none over */
	struct lent_map lent; /* as much of it as was used here */
	int *chan_fd; /* [SEG_MAX_CHANS], -1: there is none */
	struct seg_hdr *seg; /* the first mapping: the header; client_seg() for all of it */
	struct seg_map map;
	u64 seg_size; /* of its file */
	struct xfer *xfer; /* the transfer that its helper works for, or NULL */
	bool wake; /* it is in the list of struct poller_wakes */
	struct client *wake_next;
	int events_fd; /* an eventfd for events that rules raise on real devices, -1: none */
	u32 n_events; /* entries of @events: ids of rules that have not been handed over yet */
	u32 events[CLIENT_EVENTS];
	u32 paused_by; /* id of the fault rule that has paused its process; 0: none */
	struct client *next;
};

/** struct clients - all clients. */
struct clients {
	struct client *list;
	struct client *by_id[HCA_MAX_CLIENTS];
	u32 n, n_dead;
};

/** client_find() - the live client @id of generation @gen, or NULL. */
struct client *client_find(struct fabric *f, u32 id, u32 gen);

#endif
