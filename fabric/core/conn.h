/* SPDX-License-Identifier: MIT */
/**
 * DOC: connections to the fabric process, for modules that answer requests.
 *
 * server/conns.c accepts, reads and closes connections. A module that answers a request later keeps
 * the pointer until it answers, or until server/conns.c reports the connection's end to its
 * *_conn_closed().
 */
#ifndef FABRIC_CORE_CONN_H
#define FABRIC_CORE_CONN_H

#include "fabric/core/loop.h"
#include "fabric/proto/proto.h"

#include <sys/socket.h>

struct account;
struct client;
struct lease;
struct fabric;
struct nldev;

#define CONN_MAX_FDS 4u /* descriptors in one message, either way */

#define CONN_NO_NODE  (-1)
#define CONN_ANY_NODE (-2)

/** union conn_fds - room for the descriptors of one message. */
union conn_fds {
	struct cmsghdr align;
	char buf[CMSG_SPACE(CONN_MAX_FDS * sizeof(int))];
};

/** struct conn - a connection. */
struct conn {
	struct watch w;
	struct ucred cred;
	struct account *account; /* of its process: server/account.h; NULL: not isolated */
	struct client *client; /* NULL: its process is no client */
	struct follower *follow; /* of the journal: journal/follow.c; NULL: none */
	struct nldev *nldev; /* it is a netlink socket; NULL: it is not */
	struct lease *lease; /* that it took, as long as that lives; NULL: none */
	u64 scenario; /* hash of the scenario that it added for its run; 0: none */
	s32 node; /* that its process belongs to, CONN_NO_NODE or CONN_ANY_NODE: server/control.c */
	bool control; /* it may control the fabric: server/control.c */
	bool hold; /* its lease lasts as long as it is open */
	bool parked; /* in conns.parked */
	bool dead; /* closed; freed when the current batch of events is done */
	struct conn *next, *parked_next;
};

/** struct conns - all connections. */
struct conns {
	struct conn *list;
	struct conn *parked, *parked_last; /* that wait for their accounts: server/park.c */
	u32 n;
	u32 n_followers; /* those that follow the journal */
	u64 follow_at; /* real time at which they are served next */
	bool has_dead; /* some are to be freed; also set for clients and leases */
};

/** conn_send() - send a message with descriptors, without waiting. Return: 0, -EAGAIN or -errno. */
int conn_send(struct conn *c, struct proto_msg *m, const int *fds, u32 n_fds);
/** conn_reply() - answer a request that had to wait. The connection may be closed meanwhile. */
void conn_reply(struct conn *c, struct proto_msg *m);
/**
 * conn_hang_up() - end a connection whose peer reads no messages. The loop sees the end and closes
 * it.
 */
void conn_hang_up(struct conn *c);

#endif
