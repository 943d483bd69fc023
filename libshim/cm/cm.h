/* SPDX-License-Identifier: MIT */
/**
 * DOC: the rdma_cm's objects as this process holds them.
 *
 * Theory of operation
 * -------------------
 * The engine does what the kernel does (emulator/cm/cm.h); here is what librdmacm does: identifiers
 * with the public part that the program sees, events translated and counted, synchronous calls, and
 * the QP of an identifier moved through its states as its connection is made.
 *
 *  - An identifier's uid is its own address. An event of a client's own channel names it by that,
 *    and it exists as long as events of it can be read: rdma_destroy_id(3) takes the unread ones
 *    away before it frees it, and waits until those that were read have been acknowledged.
 *  - A channel's descriptor is that of an event channel of the segment (libshim/client/chan.c); it has one count
 *    for each event, and CMD_CM_GET_EVENT takes the event itself.
 *  - Devices are opened once, when they are first needed, and shared by all identifiers, with a
 *    protection domain of their own (id->pd).
 *
 * The real librdmacm's rsockets run on these identifiers. They look at the words right behind the
 * public part, which therefore lie as they have always done there.
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
 * @pd, @xrcd: while identifiers are bound to it; under the lock of devices.c
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
 * @taking: events are taken, by reading them or by what ends them. A reader has one of the descriptor's
 *	counts before it gets here; taking events away and their counts with them is one step for it, or
 *	else the count of an event that comes in between would go instead, and nobody be woken for that
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
 * @real_dev .. @sync: where librdmacm has them: its libshim/interpose/rsocket.c reads them. @real_dev is NULL always
 * @connect, @connect_len: private data of rdma_create_ep(3)'s address, which is owned
 * @events_completed: acknowledged, under @mut
 * @sync: the channel is its own; calls wait for what comes of them
 * @mc: multicast groups joined, under @mut
 * @qp_init_attr: rdma_create_ep(3): of the QPs of requests; owned
 * @resolved: rdma_resolve_addrinfo(3): the latest result; owned
 * @initiator_depth, @responder_resources: as asked for by rdma_connect() or the request's peer
 * @prev_next, @next: list of identifiers, under objs_lock
 * @removed: the end of its device was reported; under objs_lock
 * @gone: its channel was destroyed, and with it all but this
 * @delivered: events that the program was given, @user of them those of rdma_write_cm_event(3);
 *	under @mut
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
	struct ucma_dev *dev; /* that it is bound to, or NULL */
	pthread_mutex_t mut;
	pthread_cond_t cond;
	struct ucma_mcast *mc;
	struct ibv_qp_init_attr *qp_init_attr;
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
	       "as the real libshim/interpose/rsocket.c has it");

/**
 * struct ucma_mcast - a multicast group that an identifier has joined. Its address is the context
 * that CMD_CM_JOIN is given and its events bring back (struct cm_event).
 * @context: the program's: param.ud.private_data of its events
 * @delivered, @events_completed: events that the program was given, and that it acknowledged; under
 *	the identifier's @mut, and @cond tells of the latter
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
 * @mc: or the group that does
 */
struct ucma_event {
	struct rdma_cm_event event;
	u8 data[CM_MAX_DATA];
	struct ucma_id *id;
	struct ucma_mcast *mc;
	struct ucma_event *next;
};

/* --- chan.c --- */

/** ucma_chan_of() - NULL with errno EINVAL when it is none, or was inherited by a forked child. */
struct ucma_chan *ucma_chan_of(struct rdma_event_channel *ch);
/**
 * ucma_chan_drop_cmd() - execute a command on the identifier that takes away unread events of its channel,
 * and take back their counts. @mc: of one group only: events of rdma_write_cm_event(3) stay. @to: these
 * go there; NULL: away. Return: as shim_cmd_exec().
 */
int ucma_chan_drop_cmd(struct ucma_id *id, struct hca_cmd *cmd, bool mc, struct ucma_chan *to);
/** ucma_chans_forked() - in a forked child: there are none. */
void ucma_chans_forked(void);
/** ucma_raise_fatal() - the fabric has gone: wake who waits for events. In shim_raise_fatal(). */
void ucma_raise_fatal(void);

/* --- id.c --- */

static inline struct ucma_id *to_ucma_id(struct rdma_cm_id *id)
{
	return (struct ucma_id *)id;
}

/** ucma_id_of() - NULL with errno EINVAL when it is none of ours. */
struct ucma_id *ucma_id_of(struct rdma_cm_id *id);
/**
 * ucma_id_create() - rdma_create_id(3) with a QP type, for rdma_create_ep(3).
 * Return: 0, or -1 with errno.
 */
int ucma_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps, enum ibv_qp_type qp_type);
/**
 * ucma_id_alloc() - an identifier that the HCA does not know yet. @channel: NULL: a synchronous one
 * with a channel of its own. Return: NULL with errno.
 */
struct ucma_id *ucma_id_alloc(struct rdma_event_channel *channel, void *context,
			      enum rdma_port_space ps, enum ibv_qp_type qp_type);
void ucma_id_free(struct ucma_id *id);
/** ucma_id_known() - the HCA knows it by that handle now. */
void ucma_id_known(struct ucma_id *id, u32 handle);
/** ucma_ids_end() - the channel is being destroyed: so are its identifiers, as far as the HCA goes. */
void ucma_ids_end(struct ucma_chan *ch);
/** ucma_id_by_handle() - an identifier of this channel, or NULL. */
struct ucma_id *ucma_id_by_handle(const struct ucma_chan *ch, u32 handle);
/** ucma_id_next_removed() - one of the channel's whose device has gone, not yet told of that; or NULL. */
struct ucma_id *ucma_id_next_removed(const struct ucma_chan *ch);
/** ucma_ids_forked() - in a forked child: there are none. */
void ucma_ids_forked(void);
/** ucma_id_check() - 0; -EIO: it was inherited by a forked child; -EBADF: its channel was destroyed. */
int ucma_id_check(const struct ucma_id *id);
/**
 * ucma_id_cmd() - execute a CMD_CM_* command on the identifier (cmd->handle is set here).
 * Return: 0, or -1 with errno: EIO when it was inherited by a forked child, or the fabric has gone.
 */
int ucma_id_cmd(struct ucma_id *id, u32 op, struct hca_cmd *cmd);

/* --- event.c --- */

/**
 * ucma_event_count() - the program is being given an event, or one that it does not see is taken.
 * @mc: it is that group's, too, or NULL
 */
void ucma_event_count(struct ucma_id *id, struct ucma_mcast *mc);
/** ucma_event_ack() - an event that was given out is acknowledged, and freed. */
void ucma_event_ack(struct rdma_cm_event *event);
/** ucma_event_done() - it is acknowledged. */
void ucma_event_done(struct ucma_id *id, struct ucma_mcast *mc);

/**
 * ucma_complete() - a synchronous identifier: wait for what comes of the call, keep the event as
 * id->event, make an error of it. Else nothing. Return: 0, or -1 with errno.
 */
int ucma_complete(struct ucma_id *id);

/* --- user_event.c --- */

/** ucma_user_event_put() - queue an event of the program's own. Return: 0, or -1 with errno. */
int ucma_user_event_put(struct ucma_id *c, enum rdma_cm_event_type event, int status, u64 arg);
/** ucma_user_event_take() - the oldest event of rdma_write_cm_event(3). Return: whether there is one. */
bool ucma_user_event_take(struct ucma_chan *ch, struct ucma_event *ev);
/** ucma_user_event_move() - unread events of rdma_write_cm_event(3) of @id: to channel @to; NULL: away. */
void ucma_user_event_move(struct ucma_id *id, struct ucma_chan *to);

/* --- addr.c --- */

/** ucma_addr_len() - of the address as its family has it; 0: none, or of an unknown family. */
socklen_t ucma_addr_len(const struct sockaddr *sa);
/** ucma_addr_from_sa() - from a sockaddr of AF_INET or AF_INET6; otherwise @a becomes none. */
void ucma_addr_from_sa(struct cm_addr *a, const struct sockaddr *sa);
/** ucma_addr_to_sa() - to a struct sockaddr_storage, sockaddr_in6 at least; none: left as it is. */
void ucma_addr_to_sa(struct sockaddr_storage *sa, const struct cm_addr *a);
/** ucma_query_addr() - fill in the public addresses, GIDs, verbs, pd, port. 0, or -1 with errno. */
int ucma_query_addr(struct ucma_id *id);
/** ucma_query_route() - the same and the path records. Return: 0, or -1 with errno. */
int ucma_query_route(struct ucma_id *id);

/* --- conn.c --- */

/**
 * ucma_establish() - the peer has accepted: make the QP, if there is one, ready and tell the peer.
 * Return: 0, or -1 with errno, the QP then in ERR.
 */
int ucma_establish(struct ucma_id *id);

/* --- devices.c --- */

/** ucma_init() - as ucma_init(): is there a fabric with devices? 0, or -1 with errno. */
int ucma_init(void);
/** ucma_dev_get() - the device with that index in the HCA, with its PD. NULL with errno. */
struct ucma_dev *ucma_dev_get(u32 index);
void ucma_dev_put(struct ucma_dev *dev);
/** ucma_dev_xrcd() - the XRC domain of rdma_create_srq_ex(3), rdma_create_qp(3). NULL with errno. */
struct ibv_xrcd *ucma_dev_xrcd(struct ucma_dev *dev);
/** ucma_forked() - in a forked child: no device is open, no identifier lives. */
void ucma_forked(void);

/* --- qp.c: the QP of an identifier; 0 at once when it has none --- */

/**
 * ucma_qp_rtr() - to INIT and RTR, with the attributes of CMD_CM_INIT_QP_ATTR.
 * @resp_res: max_dest_rd_atomic, unless RDMA_MAX_RESP_RES. Return: 0, or -1 with errno.
 */
int ucma_qp_rtr(struct ucma_id *id, u8 resp_res);
/** ucma_qp_rts() - to RTS. @init_depth: max_rd_atomic, unless RDMA_MAX_INIT_DEPTH. */
int ucma_qp_rts(struct ucma_id *id, u8 init_depth);
/** ucma_qp_err() - to ERR. */
int ucma_qp_err(struct ucma_id *id);
/** ucma_cqs_create() - the identifier's own, with channels. 0: no such CQ. 0, or -1 with errno. */
int ucma_cqs_create(struct rdma_cm_id *id, u32 send_size, u32 recv_size);
/** ucma_cqs_destroy() - those that there are; an XRC SRQ's only after the SRQ. */
void ucma_cqs_destroy(struct rdma_cm_id *id);

/* --- ece.c --- */

/** ucma_reject() - rdma_reject(3), with a reason (enum cm_reject). Return: 0, or -1 with errno. */
int ucma_reject(struct ucma_id *id, u32 reason, const void *data, u8 len);

/* --- mcast.c --- */

/**
 * ucma_mcast_joined() - CM_EV_MULTICAST_JOIN: note group address and LID, attach the QP if there is one.
 * @ev: event.param.ud is filled in but for the private data. Return: 0, or -1 with errno.
 */
int ucma_mcast_joined(struct ucma_mcast *mc, struct ucma_event *ev);
/** ucma_mcast_free_all() - the identifier is being destroyed. */
void ucma_mcast_free_all(struct ucma_id *id);

#endif
