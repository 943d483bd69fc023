/* SPDX-License-Identifier: MIT */
/**
 * DOC: lookup of connections: by their own communication id, which contains their slot, and by the
 * peer's names for them: its CA's GUID with its communication id or its QP's number.
 *
 * A connection is in both tables of peers as long as its state says so.
 */
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/tab.h"

static u32 cm_peer_hash(u64 guid, u32 key)
{
	return (u32)(mix64(guid ^ (u64)key << 32 ^ key) % HCA_MAX_CMID);
}

void cm_conn_begin(struct hca *hca, struct hca_cmid *id)
{
	id->local_id = cmid_slot(hca, id) | ++id->gen << 16;
	id->remote_id = 0;
	id->remote_qpn = 0;
	id->remote_guid = 0;
	id->remote_psn = 0;
	id->linked = 0;
	id->tid = ++hca->cm_tid;
	id->psn = (u32)mix64(hca->seed + hca->cm_tid) & IB_PSN_MASK;
}

struct hca_cmid *cmid_by_local_id(struct hca *hca, u32 local_id, u32 remote_id)
{
	struct hca_cmid *id = &hca->cmid[local_id & 0xffff];

	_Static_assert(HCA_MAX_CMID == 65536, "a slot takes 16 bits");
	if (!id->client || !id->proto || id->local_id != local_id || id->remote_id != remote_id)
		return NULL;
	return id;
}

struct hca_cmid *cmid_by_remote_id(struct hca *hca, u64 guid, u32 remote_id)
{
	u32 i = hca->cm_remote[cm_peer_hash(guid, remote_id)];

	while (i &&
	       (hca->cmid[i - 1].remote_guid != guid || hca->cmid[i - 1].remote_id != remote_id))
		i = hca->cmid[i - 1].next_remote;
	return i ? &hca->cmid[i - 1] : NULL;
}

struct hca_cmid *cmid_by_remote_qpn(struct hca *hca, u64 guid, u32 qpn)
{
	u32 i = hca->cm_qpn[cm_peer_hash(guid, qpn)];

	while (i && (hca->cmid[i - 1].remote_guid != guid || hca->cmid[i - 1].remote_qpn != qpn))
		i = hca->cmid[i - 1].next_qpn;
	return i ? &hca->cmid[i - 1] : NULL;
}

void cm_peer_link(struct hca *hca, struct hca_cmid *id, u32 how)
{
	u32 slot = cmid_slot(hca, id) + 1;
	u32 *head;

	if (how & CM_BY_ID) {
		head = &hca->cm_remote[cm_peer_hash(id->remote_guid, id->remote_id)];
		id->next_remote = *head;
		*head = slot;
	}
	if (how & CM_BY_QPN) {
		head = &hca->cm_qpn[cm_peer_hash(id->remote_guid, id->remote_qpn)];
		id->next_qpn = *head;
		*head = slot;
	}
	id->linked = (u8)how;
}

void cm_peer_unlink(struct hca *hca, struct hca_cmid *id)
{
	u32 slot = cmid_slot(hca, id) + 1;
	u32 *at;

	if (id->linked & CM_BY_ID) {
		at = &hca->cm_remote[cm_peer_hash(id->remote_guid, id->remote_id)];
		while (*at && *at != slot)
			at = &hca->cmid[*at - 1].next_remote;
		if (*at)
			*at = id->next_remote;
	}
	if (id->linked & CM_BY_QPN) {
		at = &hca->cm_qpn[cm_peer_hash(id->remote_guid, id->remote_qpn)];
		while (*at && *at != slot)
			at = &hca->cmid[*at - 1].next_qpn;
		if (*at)
			*at = id->next_qpn;
	}
	id->linked = 0;
}

/* The tables that a connection in this state is in. */
static u32 cm_proto_links(u32 proto)
{
	switch (proto) {
	case CMP_REQ_RCVD:
	case CMP_MRA_REQ_SENT:
	case CMP_REP_SENT:
	case CMP_MRA_REP_RCVD:
	case CMP_REP_RCVD:
	case CMP_MRA_REP_SENT:
	case CMP_ESTABLISHED:
	case CMP_DREQ_SENT:
	case CMP_DREQ_RCVD:
		return CM_BY_ID | CM_BY_QPN;
	case CMP_SIDR_REQ_RCVD:
		return CM_BY_ID;
	default:
		return 0;
	}
}

void cm_peers_rebuild(struct hca *hca)
{
	u32 i;

	memset(hca->cm_remote, 0, sizeof(hca->cm_remote));
	memset(hca->cm_qpn, 0, sizeof(hca->cm_qpn));
	for (i = 0; i < hca->tab[TAB_CMID].high; i++)
		if (hca->cmid[i].client)
			cm_peer_link(hca, &hca->cmid[i], cm_proto_links(hca->cmid[i].proto));
}

struct hca_cmid *own_cmid(struct hca *hca, u32 client, u32 handle)
{
	struct hca_cmid *id = tab_owned(hca, TAB_CMID, client, handle);

	return id && id->state != CM_DESTROYING && !id->listener ? id : NULL;
}

int cm_gid_index(const struct hca_port *port, const u8 gid[16])
{
	u32 i;

	for (i = 0; i < HCA_GIDS; i++)
		if (port->gid[i].valid && !memcmp(port->gid[i].raw, gid, 16))
			return (int)i;
	return -1;
}
