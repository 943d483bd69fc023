/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files of connection management share. All of it runs with the token held.
 *
 * Two layers: identifiers, addresses, ports and events (id.c, chan.c, addr.c, addr_class.c, port.c,
 * listen.c, route.c, option.c, mcast.c, mcast_gid.c, recover.c), and the connection protocol
 * (conn.c, req.c, input.c, send.c, lookup.c, qp_attr.c, timer.c, sidr.c, raise.c).
 */
#ifndef EMULATOR_CM_MODEL_H
#define EMULATOR_CM_MODEL_H

#include "emulator/cm/cmd.h"
#include "emulator/engine.h"

static inline u32 cmid_slot(const struct hca *hca, const struct hca_cmid *id)
{
	return (u32)(id - hca->cmid);
}

/* Whether @o, found in a hash chain, has this very number. */
static inline bool cmid_has_port(const struct hca_cmid *o, u32 node, u32 port)
{
	return o->node == node && o->src.port == port;
}

/** cm_is_ib() - whether the identifier is bound to an InfiniBand device. */
static inline bool cm_is_ib(const struct hca *hca, const struct hca_cmid *id)
{
	return hca->dev[id->bound - 1].link_layer == LINK_INFINIBAND;
}

/** cmid_set_states() - set both states of an identifier in one store. */
static inline void cmid_set_states(struct hca_cmid *id, u32 state, u32 proto)
{
	const u32 pair[2] = { state, proto };
	u64 both;

	memcpy(&both, pair, sizeof(both));
	store_release(&id->states, both);
}

/* --- lookup.c --- */

/**
 * own_cmid() - the client's identifier of that handle; NULL when the client does not own it or has
 * destroyed it.
 */
struct hca_cmid *own_cmid(struct hca *hca, u32 client, u32 handle);
/** cm_peers_rebuild() - after the death of a holder: rebuild the tables of peers' ids and QPs. */
void cm_peers_rebuild(struct hca *hca);

/* --- id.c: identifiers --- */

/**
 * cmid_child_new() - a new identifier for a request that has come to @listener: on its channel,
 * with its port space, QP type, options and client, in its backlog, owned but still CM_IDLE.
 * Return: NULL when the backlog is full or there is no slot.
 */
struct hca_cmid *cmid_child_new(struct engine *e, struct hca_cmid *listener);
/**
 * cmid_child_drop() - free a child whose event was not queued. The protocol does not use it any
 * more.
 */
void cmid_child_drop(struct hca *hca, struct hca_cmid *id);
/** cmid_release() - the protocol is done with it: free it if its program has destroyed it. */
void cmid_release(struct engine *e, struct hca_cmid *id);
/**
 * cmid_retire() - an identifier loses its program: cm_proto_end(), and free its slot if nothing is
 * left to do.
 */
void cmid_retire(struct engine *e, struct hca_cmid *id);
/** cmid_reap() - end the identifiers of a dead client: each is freed or passed to HCA_ESTATE. */
void cmid_reap(struct engine *e, u32 client);

/* --- chan.c: events --- */

/*
 * Maximum number of queued events per client. Further ones are lost, as in a kernel without memory.
 */
#define CM_CLIENT_EVENTS (HCA_MAX_CMEV / 2)

/**
 * cm_event_raise() - queue an event for the identifier's program and set the identifier's states to
 * @state and @proto: both happen or, if the holder dies, neither. An event without a reader
 * (identifier destroyed, or not accepted yet) only changes the states.
 * @ev: its id, listen_id and uid are filled in here; those of a CONNECT_REQUEST (@id is the new
 *	one) from its listener.
 */
void cm_event_raise(struct engine *e, struct hca_cmid *id, u32 state, u32 proto,
		    struct cm_event *ev);
/** cm_event_raise_status() - raise an event that carries nothing but its status. */
void cm_event_raise_status(struct engine *e, struct hca_cmid *id, u32 state, u32 proto, u32 type,
			   s32 status);
/** cm_event_raise_mcast() - cm_event_raise() about a membership. */
void cm_event_raise_mcast(struct engine *e, struct hca_cmid *id, struct hca_cmmc *mc,
			  struct cm_event *ev);
/** cm_event_has_room() - whether one more event can be queued for a client. */
bool cm_event_has_room(const struct hca *hca, u32 client);
/**
 * cm_events_drop() - remove the queued events of an identifier's program; requests among them end.
 * @mc: only those about this membership; NULL: all. Return: how many.
 */
u32 cm_events_drop(struct engine *e, struct hca_cmid *id, const struct hca_cmmc *mc);
/** cm_events_move() - move them to another channel, in their order. Return: how many. */
u32 cm_events_move(struct engine *e, struct hca_cmid *id, u32 ch);
/**
 * cm_event_counted_by() - slot of the identifier that counts an event: the one whose program reads
 * it.
 */
static inline u32 cm_event_counted_by(const struct hca_cmev *ev)
{
	return ev->ev.type == CM_EV_CONNECT_REQUEST ? ev->ev.listen_id : ev->ev.id;
}
/** cm_event_link() - append an event to its channel's list. */
void cm_event_link(struct hca *hca, struct hca_cmev *ev);
/**
 * cm_event_apply() - carry out the effects of an event that is in its list: new states and a
 * wake-up.
 */
void cm_event_apply(struct engine *e, struct hca_cmev *ev);
/**
 * cm_event_timers() - wake the readers of events that are due (chaos). Return: the next deadline,
 * ~0: none.
 */
u64 cm_event_timers(struct engine *e, u64 now);

/** cm_event_set_data() - copy a message's private data, from byte @skip on, to an event. */
void cm_event_set_data(struct cm_param *p, const u8 mad[MAD_SIZE], u32 skip);

/* --- addr_class.c --- */

/** cm_addr_is_any() - the wildcard, or a loopback address, which the rdma_cm treats alike. */
bool cm_addr_is_any(const struct cm_addr *a);
/** cm_addr_is_linklocal() - fe80::/10. */
bool cm_addr_is_linklocal(const struct cm_addr *a);
/** cm_addr_is_mcast() - the address of a multicast group. */
bool cm_addr_is_mcast(const struct cm_addr *a);
/** cm_addr_is_same() - the same address, regardless of the port. */
bool cm_addr_is_same(const struct cm_addr *a, const struct cm_addr *b);

/* --- addr.c: addresses --- */

/**
 * struct cm_place - an address of a port of a device.
 * @index: in the port's GID table
 * @ip: entry of hca_port.ip + 1; 0: the GID is the address
 */
struct cm_place {
	u32 dev;
	u8 port;
	u8 index;
	u8 ip;
};

/** cm_place_gid() - the GID of a place. */
const u8 *cm_place_gid(const struct hca *hca, const struct cm_place *at);
/** cm_place_find() - the port that has an address, on any node. */
bool cm_place_find(const struct hca *hca, const struct cm_addr *a, struct cm_place *at);
/** cm_bind_to() - bind an identifier to a port of a device. */
void cm_bind_to(struct hca_cmid *id, const struct cm_place *at);
/**
 * cm_bind_device() - bind to the device and port that have the address @id->src; a loopback address
 * or the wildcard is on the node's first active port.
 * Return: 0, -EADDRNOTAVAIL (no port has it), -ENODEV (no device could have it).
 */
int cm_bind_device(struct hca *hca, struct hca_cmid *id);
/** cm_bind_addr() - rdma_bind_addr(3). @dst: the intended destination; NULL: unknown. */
int cm_bind_addr(struct hca *hca, struct hca_cmid *id, const struct cm_addr *src,
		 const struct cm_addr *dst);

/* --- port.c --- */

/**
 * cm_port_slot() - hash of a node's port number in its port space's table. Other numbers may share
 * the slot; the same number of different nodes does not.
 */
static inline u32 cm_port_slot(u32 node, u32 port)
{
	return (port + node * 40503u) % 65536u;
}
/**
 * cm_port_space_index() - index of a port space (enum cm_port_space), CM_PORT_SPACES if it is
 * unknown.
 */
u32 cm_port_space_index(u32 ps);
/**
 * cm_port_reserve() - reserve the number @id->src.port, or a free one when it is 0. Return: 0 or
 * -errno.
 */
int cm_port_reserve(struct hca *hca, struct hca_cmid *id);
/** cm_port_release() - release the identifier's port number. */
void cm_port_release(struct hca *hca, struct hca_cmid *id);
/** cm_ports_rebuild() - rebuild the table of port numbers from the identifiers. */
void cm_ports_rebuild(struct hca *hca);

/**
 * cm_port_check_share() - whether the identifier may share @port with those that have it. @reuse:
 * with RDMA_OPTION_ID_REUSEADDR. Return: 0, -EADDRINUSE or -EADDRNOTAVAIL.
 */
int cm_port_check_share(struct hca *hca, const struct hca_cmid *id, u32 port, bool reuse);

/* --- listen.c --- */

/**
 * cm_port_has_listener() - whether any identifier listens on this port number of a device, at any
 * address.
 */
bool cm_port_has_listener(const struct hca *hca, u32 dev, u32 ps, u16 port);
/**
 * cm_listener_find() - the identifier that listens at this address of a port of a device, or NULL.
 * One that is bound to the address comes before one with the wildcard.
 * @ps: enum cm_port_space
 */
struct hca_cmid *cm_listener_find(struct hca *hca, u32 dev, u32 ps, const struct cm_addr *dst);

/* --- route.c --- */

/** cm_path_get() - the path of an identifier that is bound to a device. */
void cm_path_get(const struct hca *hca, const struct hca_cmid *id, struct cm_route *r);
/** cm_path_set() - RDMA_OPTION_IB_PATH. Return: 0 or -errno. */
int cm_path_set(struct engine *e, struct hca_cmid *id, const u8 *data, u32 len);

/* --- mcast_gid.c --- */

/** cm_mcast_gid() - the GID of the group that an address stands for. */
void cm_mcast_gid(const struct hca *hca, const struct hca_cmid *id, const struct cm_addr *a,
		  u8 mgid[16]);

/* --- mcast.c --- */

/** cm_mcast_leave_all() - leave all groups. */
void cm_mcast_leave_all(struct hca *hca, struct hca_cmid *id);
/** cm_mcast_rebuild() - rebuild the identifiers' lists of groups from the memberships. */
void cm_mcast_rebuild(struct hca *hca);

/* --- recover.c --- */

/** cm_recover() - repair tables, queues and timers after the death of a holder. */
void cm_recover(struct engine *e);

/* --- conn.c --- */

/**
 * cm_proto_end() - the identifier is being destroyed: send the peer what it has to know (REJ, DREQ,
 * DREP).
 * Return: true when the protocol is done with it; else cmid_release() is called later.
 */
bool cm_proto_end(struct engine *e, struct hca_cmid *id);

/* --- timer.c --- */

/**
 * cm_timers() - run due timers, within a budget. Return: the next deadline, ~0 when there is none;
 * a deadline in the past when the budget was used up.
 */
u64 cm_timers(struct engine *e, u64 now);

/* --- send.c --- */

/**
 * cm_send_deferred() - the fabric process: send the MADs that could not leave when they were made.
 * Return: when to retry, ~0: none is left.
 */
u64 cm_send_deferred(struct engine *e);

#endif
