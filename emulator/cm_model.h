/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files of connection management share. All of it runs with the token held.
 *
 * Two layers: identifiers, addresses, ports and events (cm_id.c, cm_chan.c, cm_addr.c, cm_mcast.c),
 * and the connection protocol (cm_mad.c, cm_conn.c, cm_input.c, cm_timer.c, cm_sidr.c).
 */
#ifndef EMULATOR_CM_MODEL_H
#define EMULATOR_CM_MODEL_H

#include "emulator/model.h"

static inline u32 cmid_slot(const struct hca *hca, const struct hca_cmid *id)
{
	return (u32)(id - hca->cmid);
}

/* --- cm_id.c: identifiers --- */

/** cm_own() - the client's identifier of that handle; NULL when it is not his or was destroyed. */
struct hca_cmid *cm_own(struct hca *hca, u32 client, u32 handle);
/**
 * cm_child() - a new identifier for a request that has come to @listener: on its channel, with its
 * port space, QP type, options and client, in its backlog, owned but still CM_IDLE.
 * Return: NULL when the backlog is full or there is no slot.
 */
struct hca_cmid *cm_child(struct engine *e, struct hca_cmid *listener);
/** cm_release() - the protocol has no more need of it: frees it, when its program has destroyed it. */
void cm_release(struct engine *e, struct hca_cmid *id);

/* --- cm_chan.c: events --- */

/**
 * cm_event() - queue an event for the identifier's program, and make @state and @proto the
 * identifier's: both or, should the holder die, neither. One that nobody can get (destroyed) only
 * changes the identifier.
 * @param, @av: or NULL. @ev's id, listen_id, uid are filled in here; of a CONNECT_REQUEST (@id is
 *	the new one) from its listener.
 */
void cm_event(struct engine *e, struct hca_cmid *id, u32 state, u32 proto, struct cm_event *ev);
/** cm_event_simple() - an event of which there is no more to tell than its status. */
void cm_event_simple(struct engine *e, struct hca_cmid *id, u32 state, u32 proto, u32 type,
		     s32 status);

/* --- cm_addr.c: addresses and ports --- */

/**
 * cm_listener() - who listens at this address of a port of a device, or NULL. The identifier bound
 * to the address comes before one with the wildcard.
 * @ps: enum cm_port_space
 */
struct hca_cmid *cm_listener(struct hca *hca, u32 dev, u32 ps, const struct cm_addr *dst);
/** cm_bind_device() - bind to the device and port that have an address: from @id->src. 0 or -errno. */
int cm_bind_device(struct hca *hca, struct hca_cmid *id);
/** cm_port_put() - give the identifier's port number back. */
void cm_port_put(struct hca *hca, struct hca_cmid *id);

/* --- cm_conn.c, cm_input.c, cm_timer.c, cm_sidr.c: the protocol --- */

/** cm_input() - a MAD that has come to QP 1. Return: as hca_input(). */
int cm_input(struct engine *e, const struct burst *b);
/**
 * cm_end() - the identifier is being destroyed: tell the peer what it has to know (REJ, DREQ, DREP).
 * Return: true when the protocol has no more need of it; else it calls cm_release() later.
 */
bool cm_end(struct engine *e, struct hca_cmid *id);
/** cm_timers() - run what is due. Return: the next deadline, ~0 when there is none. */
u64 cm_timers(struct engine *e, u64 now);
/** cm_recover() - after a holder's death: put tables, queues and timers right. */
void cm_recover(struct engine *e);

/* --- commands, as struct cmd_cm tells --- */

int cmd_cm_open_chan(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_close_chan(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_get_event(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_create_id(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_destroy_id(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_migrate_id(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_bind(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_resolve_addr(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_resolve_route(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_query(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_set_option(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_listen(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_connect(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_accept(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_reject(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_disconnect(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_notify(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_init_qp_attr(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_join(struct engine *e, u32 client, struct hca_cmd *cmd);
int cmd_cm_leave(struct engine *e, u32 client, struct hca_cmd *cmd);

#endif
