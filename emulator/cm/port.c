/* SPDX-License-Identifier: MIT */
/**
 * DOC: port numbers of connection management: reservation, and lookup of listeners.
 *
 * Each port space of each node has its own numbers. The rules and errors are the kernel's, which
 * differ from those of sockets: a number that a wildcard holds is EADDRNOTAVAIL, one at the same
 * address EADDRINUSE. Every program may take numbers below 1024: on a host that is a matter of
 * privileges, and the emulation uses nothing of the host.
 */
#include "emulator/cm/model.h"

/* The kernel's net.ipv4.ip_local_port_range. */
#define EPHEMERAL_FIRST 32768u
#define EPHEMERAL_COUNT (60999u - EPHEMERAL_FIRST + 1)
static const u32 spaces[CM_PORT_SPACES] = { CM_PS_IPOIB, CM_PS_TCP, CM_PS_UDP, CM_PS_IB };

u32 cm_port_space_index(u32 ps)
{
	u32 i;

	for (i = 0; i < CM_PORT_SPACES && spaces[i] != ps; i++)
		;
	return i;
}

static u32 *cm_port_chain(struct hca *hca, const struct hca_cmid *id, u32 port)
{
	return &hca->cm_port[cm_port_space_index(id->ps)][cm_port_slot(id->node, port)];
}

static void cm_port_insert(struct hca *hca, struct hca_cmid *id)
{
	u32 *head = cm_port_chain(hca, id, id->src.port);

	id->next = *head;
	*head = cmid_slot(hca, id) + 1;
}

void cm_port_release(struct hca *hca, struct hca_cmid *id)
{
	u32 *at, link = cmid_slot(hca, id) + 1;

	if (!id->port_held)
		return;
	for (at = cm_port_chain(hca, id, id->src.port); *at && *at != link;
	     at = &hca->cmid[*at - 1].next)
		;
	if (*at)
		*at = id->next;
	id->next = 0;
	id->port_held = 0;
}

void cm_ports_rebuild(struct hca *hca)
{
	u32 i;

	memset(hca->cm_port, 0, sizeof(hca->cm_port));
	for (i = 0; i < hca->tab[TAB_CMID].high; i++)
		if (hca->cmid[i].client && hca->cmid[i].port_held)
			cm_port_insert(hca, &hca->cmid[i]);
}

/* Whether the identifier may share @port with those that have it. */
int cm_port_check_share(struct hca *hca, const struct hca_cmid *id, u32 port, bool reuse)
{
	const struct hca_cmid *o;
	u32 at;

	for (at = *cm_port_chain(hca, id, port); at; at = o->next) {
		o = &hca->cmid[at - 1];
		if (o == id || !cmid_has_port(o, id->node, port))
			continue;
		if (reuse && (o->opt & CM_OPT_REUSEADDR) && o->state != CM_LISTEN)
			continue;
		if ((id->opt & CM_OPT_AFONLY) && (o->opt & CM_OPT_AFONLY) &&
		    id->src.family != o->src.family)
			continue;
		if (cm_addr_is_any(&id->src) || cm_addr_is_any(&o->src))
			return -EADDRNOTAVAIL;
		if (cm_addr_is_same(&id->src, &o->src))
			return -EADDRINUSE;
	}
	return 0;
}

/* Both known, and different. */
static bool cm_addr_is_other(const struct cm_addr *a, const struct cm_addr *b)
{
	return !cm_addr_is_any(a) && !cm_addr_is_any(b) && !cm_addr_is_same(a, b);
}

/* Whether a connection from @port would differ from all existing ones. */
static bool cm_port_is_unique(struct hca *hca, const struct hca_cmid *id, u32 port)
{
	const struct hca_cmid *o;
	u32 at;

	for (at = *cm_port_chain(hca, id, port); at; at = o->next) {
		o = &hca->cmid[at - 1];
		if (o == id || !cmid_has_port(o, id->node, port))
			continue;
		if (id->dst.port && o->dst.port && id->dst.port != o->dst.port)
			continue;
		if (!cm_addr_is_other(&id->src, &o->src) && !cm_addr_is_other(&id->dst, &o->dst))
			return false;
	}
	return true;
}

/* In turn, so that a number is reused late. */
static int cm_port_pick_ephemeral(struct hca *hca, struct hca_cmid *id)
{
	u32 *turn = &hca->cm_ephemeral[cm_port_space_index(id->ps)];
	u32 n, port;

	for (n = 0; n < EPHEMERAL_COUNT; n++) {
		port = EPHEMERAL_FIRST + (u32)((hca->seed + (*turn)++) % EPHEMERAL_COUNT);
		if (!cm_port_is_unique(hca, id, port))
			continue;
		id->src.port = (u16)port;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

int cm_port_reserve(struct hca *hca, struct hca_cmid *id)
{
	int ret;

	if (id->src.port)
		ret = cm_port_check_share(hca, id, id->src.port, id->opt & CM_OPT_REUSEADDR);
	else
		ret = cm_port_pick_ephemeral(hca, id);
	if (ret)
		return ret;
	id->port_held = 1;
	cm_port_insert(hca, id);
	return 0;
}
