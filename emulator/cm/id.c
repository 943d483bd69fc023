/* SPDX-License-Identifier: MIT */
/**
 * DOC: identifiers of connection management: creation, query and destruction.
 *
 * An identifier has two users: its program, by the handle, and the connection protocol, which may
 * have to end an exchange with the peer. The last of them to let go frees it. Until then,
 * HCA_ESTATE, a client that is never live, owns those of dead programs.
 *
 * Tables count by device, but an identifier may belong to no device or change it: all are counted
 * with the first one.
 */
#include "emulator/cm/model.h"
#include "emulator/engine.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define CM_DEV 0u

/*
 * Return: as tab_find(). The new identifier is a copy of @like, except for what its slot decides.
 */
static int cmid_new(struct hca *hca, u32 client, const struct hca_cmid *like)
{
	struct hca_cmid *id;
	u32 gen;
	int i;

	i = tab_find(hca, TAB_CMID, CM_DEV, HCA_MAX_CMID);
	if (i < 0)
		return i;
	id = &hca->cmid[i];
	gen = id->gen + 1;
	*id = *like;
	id->gen = gen;
	id->local_id = (u32)i | gen << 16;
	id->node = hca->client[client].node;
	hca->cmch[id->ch].refs++;
	tab_own(hca, TAB_CMID, (u32)i, client, CM_DEV);
	return i;
}

static void cmid_free_slot(struct hca *hca, struct hca_cmid *id)
{
	id->deadline = 0;
	tab_free(hca, TAB_CMID, cmid_slot(hca, id));
}

/* Return: enum ib_qp_type, or 0. */
static u32 cm_qp_type(u32 ps, u32 wanted)
{
	switch (ps) {
	case CM_PS_TCP:
		return QPT_RC;
	case CM_PS_UDP:
	case CM_PS_IPOIB:
		return QPT_UD;
	case CM_PS_IB:
		return wanted == QPT_RC || wanted == QPT_UC || wanted == QPT_UD ||
				       wanted == QPT_XRC_SEND || wanted == QPT_XRC_RECV
			       ? wanted
			       : 0;
	}
	return 0;
}

int cmd_cm_create_id(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid new = { .uid = cmd->cm.uid, .ch = cmd->cm.ch, .ps = cmd->cm.ps };
	int i;

	new.qp_type = cm_qp_type(cmd->cm.ps, cmd->cm.qp_type);
	if (!new.qp_type || !tab_owned(e->hca, TAB_CMCH, client, new.ch))
		return -EINVAL;
	i = cmid_new(e->hca, client, &new);
	if (i < 0)
		return i;
	cmd->handle = (u32)i;
	return 0;
}

struct hca_cmid *cmid_child_new(struct engine *e, struct hca_cmid *listener)
{
	struct hca *hca = e->hca;
	struct hca_cmid new = {
		.ch = listener->ch,
		.ps = listener->ps,
		.qp_type = listener->qp_type,
		.opt = listener->opt,
		.tos = listener->tos,
		.ack_timeout = listener->ack_timeout,
		.listener = cmid_slot(hca, listener) + 1,
		.passive = 1,
	};
	int i;

	if (listener->pending >= listener->backlog || !cm_event_has_room(hca, listener->client - 1))
		return NULL;
	i = cmid_new(hca, listener->client - 1, &new);
	if (i < 0)
		return NULL;
	listener->pending++;
	return &hca->cmid[i];
}

/* Remove it from the backlog, its channel and the table of ports. */
static void cmid_detach(struct hca *hca, struct hca_cmid *id)
{
	if (id->listener)
		hca->cmid[id->listener - 1].pending--;
	id->listener = 0;
	hca->cmch[id->ch].refs--;
	cm_port_release(hca, id);
	cmid_set_states(id, CM_DESTROYING, id->proto);
}

void cmid_child_drop(struct hca *hca, struct hca_cmid *id)
{
	cmid_detach(hca, id);
	cmid_free_slot(hca, id);
}

void cmid_release(struct engine *e, struct hca_cmid *id)
{
	if (id->client && id->state == CM_DESTROYING)
		cmid_free_slot(e->hca, id);
}

void cmid_retire(struct engine *e, struct hca_cmid *id)
{
	cmid_detach(e->hca, id);
	if (cm_proto_end(e, id))
		cmid_release(e, id);
}

int cmd_cm_destroy_id(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);

	if (!id)
		return -EINVAL;
	cmd->cm.dropped = cm_events_drop(e, id, NULL);
	cmd->cm.reported = id->reported;
	cm_mcast_leave_all(e->hca, id);
	cmid_retire(e, id);
	return 0;
}

int cmd_cm_migrate_id(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_cmid *id = own_cmid(hca, client, cmd->handle);
	u32 to = cmd->cm.ch;

	if (!id || !tab_owned(hca, TAB_CMCH, client, to))
		return -EINVAL;
	cmd->cm.reported = id->reported;
	cmd->cm.dropped = 0;
	if (to != id->ch)
		cmd->cm.dropped = cm_events_move(e, id, to);
	return 0;
}

int cmd_cm_query(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);
	struct cmd_cm *c = &cmd->cm;

	if (!id)
		return -EINVAL;
	c->src = id->src;
	c->dst = id->dst;
	c->dev = id->bound;
	c->port = id->port;
	c->n_paths = id->bound && id->mtu;
	memset(&c->route, 0, sizeof(c->route));
	if (id->bound)
		cm_path_get(e->hca, id, &c->route);
	return 0;
}

/* All events are dropped first; then the exchange of each identifier ends. */
void cmid_reap(struct engine *e, u32 client)
{
	struct hca *hca = e->hca;
	u32 owner = client + 1, i;
	struct hca_cmid *id;

	if (!hca->client[client].n[TAB_CMID])
		return;
	for (i = 0; i < hca->tab[TAB_CMEV].high; i++)
		if (hca->cmev[i].client == owner)
			tab_free(hca, TAB_CMEV, i);
	for (i = 0; i < hca->tab[TAB_CMID].high; i++) {
		id = &hca->cmid[i];
		if (id->client != owner || id->state == CM_DESTROYING)
			continue;
		id->waiting = id->first = id->last = 0;
		cm_mcast_leave_all(hca, id);
		cmid_detach(hca, id);
	}
	for (i = 0; i < hca->tab[TAB_CMID].high; i++) {
		id = &hca->cmid[i];
		if (id->client != owner)
			continue;
		if (cm_proto_end(e, id))
			cmid_release(e, id);
		else
			tab_hand_over(hca, TAB_CMID, i, HCA_ESTATE);
	}
}
