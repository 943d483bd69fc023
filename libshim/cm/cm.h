/* SPDX-License-Identifier: MIT */
/**
 * DOC: the rdma_cm's objects as this process holds them.
 *
 * Theory of operation
 * -------------------
 * The engine does what the kernel does (emulator/cm/cm.h); this folder does what librdmacm does. It
 * holds identifiers with the public part that the program sees, translates and counts events, makes
 * calls synchronous, and moves the QP of an identifier through its states as its connection is
 * made. As in librdmacm, the prefix of its functions is ucma_.
 *
 *  - An identifier's uid is its own address. An event of a client's own channel names the
 *    identifier by it. An identifier lives as long as events of it can be read: rdma_destroy_id(3)
 *    takes the unread ones away before it frees it, and waits until those that were read are
 *    acknowledged.
 *  - A channel's descriptor is that of an event channel of the segment (client/chan.c); it has one
 *    count for each event, and CMD_CM_GET_EVENT takes the event itself.
 *  - Devices are opened at first need and shared by all identifiers, with a protection domain of
 *    their own (id->pd).
 *
 * The files form layers; each uses only those below it:
 *
 *	endpoint.c srq.c option.c	the API on top of the others
 *	conn.c resolve.c mcast_join.c	calls that end with an event
 *	event.c				events become what the program sees
 *	id.c				identifiers
 *	chan.c addr.c qp.c mcast.c	channels, addresses, QPs, groups of identifiers
 *	user_event.c			events that the program itself queues
 *	devices.c addrinfo.c ece.c
 *	registry.c			lists of channels and identifiers, counts of events
 *
 * The real librdmacm's rsockets run on these identifiers. Its rsocket.c reads the words that follow
 * the public part, so their offsets are librdmacm's.
 */
#ifndef LIBSHIM_CM_CM_H
#define LIBSHIM_CM_CM_H

#include <rdma/rdma_cma.h>
#include <stddef.h>

#include "emulator/cm/cm.h"
#include "libshim/verbs/objects.h"

#define MAGIC_UCMA_ID	0x64696353 /* "Scid" */
#define MAGIC_UCMA_CHAN 0x68636353

/**
 * struct ucma_dev - a device of the rdma_cm, opened at first need. Lives as long as the process.
 * @verbs: stays open
 * @pd, @xrcd: exist while identifiers are bound to it; under the lock of devices.c
 * @refs: identifiers bound to it
 */
struct ucma_dev {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	u32 refs;
	u32 max_qpsize;
	u8 max_initiator_depth;
	u8 max_responder_resources;
};

/**
 * struct ucma_chan - an event channel.
 * @chan: event channel of the segment
 * @handle: in the HCA
 * @epoch: as in struct shim_client: of the process that made it
 * @taking: held while events are taken, by a reader or by a call that takes them away. A reader has
 *	one of the descriptor's counts before it gets here. Events and their counts are taken away
 *	in one step for it; otherwise the count of an event that comes in between would be taken,
 *	and no reader woken for that event
 * @next: list of channels, under objs_lock
 * @user: events of rdma_write_cm_event(3), oldest first; under objs_lock
 */
struct ucma_chan {
	struct rdma_event_channel ch;
	u32 magic;
	u32 chan;
	u32 handle;
	u32 epoch;
	pthread_mutex_t taking;
	struct ucma_chan *next;
	struct ucma_event *user;
};

struct ucma_mcast;

/**
 * struct ucma_id - an identifier.
 * @real_dev .. @sync: at librdmacm's offsets: its rsocket.c reads them. @real_dev is always NULL
 * @connect, @connect_len: private data of rdma_create_ep(3)'s address; owned
 * @events_completed: acknowledged events, under @mut
 * @sync: the channel is its own; calls wait for their event
 * @mc: multicast groups that it has joined, under @mut
 * @qp_init_attr: rdma_create_ep(3): for the QPs of requests; owned
 * @resolving: from rdma_resolve_addrinfo(3) until its result is taken or its error read; under @mut
 * @resolved: its result; owned; under @mut
 * @initiator_depth, @responder_resources: as given to rdma_connect() or by the request's peer
 * @prev_next, @next: list of identifiers, under objs_lock
 * @removed: the loss of its device was reported; under objs_lock
 * @gone: its channel was destroyed, and with it all but this structure
 * @delivered: events that the program got, of which @user are rdma_write_cm_event(3)'s; under @mut
 */
struct ucma_id {
	struct rdma_cm_id id;
	void *real_dev;
	void *connect;
	size_t connect_len;
	int events_completed;
	int connect_error;
	int sync;

	u32 magic;
	u32 epoch;
	u32 handle; /* in the HCA */
	struct ucma_dev *dev; /* the device that it is bound to, or NULL */
	pthread_mutex_t mut;
	pthread_cond_t cond;
	struct ucma_mcast *mc;
	struct ibv_qp_init_attr *qp_init_attr;
	bool resolving;
	struct rdma_addrinfo *resolved;
	u8 initiator_depth;
	u8 responder_resources;
	struct ibv_ece local_ece;
	struct ibv_ece remote_ece;
	struct ucma_id **prev_next;
	struct ucma_id *next;
	bool removed;
	bool gone;
	int delivered;
	int user;
};
_Static_assert(sizeof(struct rdma_cm_id) == 416 && offsetof(struct ucma_id, sync) == 448,
	       "as the real rsocket.c has it");

/**
 * struct ucma_mcast - a multicast group that an identifier has joined. Its address is the context
 * in CMD_CM_JOIN and in the group's events (struct cm_event).
 * @context: the program's: param.ud.private_data of its events
 * @delivered, @events_completed: events that the program got, and that it acknowledged; under the
 *	identifier's @mut; @cond signals the latter
 */
struct ucma_mcast {
	struct ucma_mcast *next;
	struct ucma_id *id;
	void *context;
	int delivered;
	int events_completed;
	pthread_cond_t cond;
	u32 join_flags;
	union ibv_gid mgid;
	u16 mlid;
	bool attached; /* its QP is */
	struct sockaddr_storage addr;
};

/**
 * struct ucma_event - an event that the program has not yet acknowledged.
 * @id: the identifier that counts it
 * @mc: the group that counts it as well, or NULL
 */
struct ucma_event {
	struct rdma_cm_event event;
	u8 data[CM_MAX_DATA];
	struct ucma_id *id;
	struct ucma_mcast *mc;
	struct ucma_event *next;
};

static inline struct ucma_id *to_ucma_id(struct rdma_cm_id *id)
{
	return (struct ucma_id *)id;
}

/* --- registry.c --- */

/**
 * ucma_chan_of() - the shim's view of a channel. Return: NULL with errno: EINVAL: a null pointer,
 * EBADF: it was destroyed, as its descriptor was, EIO: inherited by a forked child.
 */
struct ucma_chan *ucma_chan_of(struct rdma_event_channel *ch);
void ucma_chan_link(struct ucma_chan *c);
/** ucma_chan_unlink() - the channel is destroyed; its unread events of the program are freed. */
void ucma_chan_unlink(struct ucma_chan *c);
/** ucma_raise_fatal() - FATAL_CM: wake the readers of all channels. */
void ucma_raise_fatal(void);
/** ucma_forget_all() - in a forked child: it has no channels and no identifiers. */
void ucma_forget_all(void);

/** ucma_id_of() - NULL with errno: ENOENT: it was destroyed, EINVAL: a null pointer. */
struct ucma_id *ucma_id_of(struct rdma_cm_id *id);
/** ucma_id_check() - 0; -EIO: inherited by a forked child; -EBADF: its channel was destroyed. */
int ucma_id_check(const struct ucma_id *id);
/**
 * ucma_id_cmd() - execute a CMD_CM_* command on the identifier, whose handle is set here.
 * Return: 0, or -1 with errno (EIO: inherited by a forked child, or the fabric process has ended).
 */
int ucma_id_cmd(struct ucma_id *id, u32 op, struct hca_cmd *cmd);
/** ucma_id_known() - from now on the HCA knows the identifier by that handle. */
void ucma_id_known(struct ucma_id *id, u32 handle);
void ucma_id_unlink(struct ucma_id *id);
/** ucma_id_by_handle() - an identifier of this channel, or NULL. */
struct ucma_id *ucma_id_by_handle(const struct ucma_chan *ch, u32 handle);
/** ucma_id_next_removed() - an identifier whose lost device is not reported yet, or NULL. */
struct ucma_id *ucma_id_next_removed(const struct ucma_chan *ch);
/** ucma_ids_end() - a channel is being destroyed: so are its identifiers in the HCA. */
void ucma_ids_end(struct ucma_chan *ch);

/**
 * ucma_event_count() - the program gets an event, or the shim takes one that it does not show.
 * @mc: the group that counts it as well, or NULL
 */
void ucma_event_count(struct ucma_id *id, struct ucma_mcast *mc);
/** ucma_event_done() - such an event is acknowledged. */
void ucma_event_done(struct ucma_id *id, struct ucma_mcast *mc);
/** ucma_event_ack() - acknowledge and free an event that was handed out. */
void ucma_event_ack(struct rdma_cm_event *event);

#endif
