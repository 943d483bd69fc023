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
#define MAX_BACKLOG	16384u /* as if net.rdma_ucm.max_backlog had this value */

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

/* Whether @o, found in a hash chain, has this very number. */
static inline bool cmid_has_port(const struct hca_cmid *o, u32 node, u32 port)
{
	return o->node == node && o->src.port == port;
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
static int cm_port_check_share(struct hca *hca, const struct hca_cmid *id, u32 port, bool reuse)
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

static bool cmid_is_listening(const struct hca *hca, const struct hca_cmid *id, u32 dev, u32 port)
{
	return id->state == CM_LISTEN && cmid_has_port(id, hca->dev[dev].node, port) &&
	       (!id->bound || id->bound == dev + 1);
}

/* Index + 1 of the first identifier in the chain of a port number of the device's node. */
static u32 cm_port_first(const struct hca *hca, u32 space, u32 dev, u32 port)
{
	return hca->cm_port[space][cm_port_slot(hca->dev[dev].node, port)];
}

bool cm_port_has_listener(const struct hca *hca, u32 dev, u32 ps, u16 port)
{
	u32 space = cm_port_space_index(ps), at;

	if (space == CM_PORT_SPACES || dev >= hca->n_devs)
		return false;
	for (at = cm_port_first(hca, space, dev, port); at; at = hca->cmid[at - 1].next)
		if (cmid_is_listening(hca, &hca->cmid[at - 1], dev, port))
			return true;
	return false;
}

struct hca_cmid *cm_listener_find(struct hca *hca, u32 dev, u32 ps, const struct cm_addr *dst)
{
	struct hca_cmid *id, *any = NULL;
	u32 space = cm_port_space_index(ps), at;

	if (space == CM_PORT_SPACES || dev >= hca->n_devs)
		return NULL;
	for (at = cm_port_first(hca, space, dev, dst->port); at; at = id->next) {
		id = &hca->cmid[at - 1];
		if (!cmid_is_listening(hca, id, dev, dst->port))
			continue;
		if (!cm_addr_is_any(&id->src)) {
			/* The peer's message does not name the interface. */
			if (id->src.family == dst->family &&
			    !memcmp(id->src.ip, dst->ip, sizeof(dst->ip)))
				return id;
		} else if (id->src.family == dst->family || !(id->opt & CM_OPT_AFONLY)) {
			any = id;
		}
	}
	return any;
}

int cmd_cm_listen(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	static const struct cm_addr any4 = { .family = CM_AF_INET,
					     .ip = { [10] = 0xff, [11] = 0xff } };
	struct hca *hca = e->hca;
	struct hca_cmid *id = own_cmid(hca, client, cmd->handle);
	s32 backlog = (s32)cmd->cm.backlog;
	int ret;

	if (!id)
		return -EINVAL;
	if (id->state == CM_IDLE) {
		ret = cm_bind_addr(hca, id, &any4, NULL);
		if (ret)
			return ret;
	}
	if (id->state != CM_ADDR_BOUND)
		return -EINVAL;
	/* A listener must not share its number. */
	if (id->opt & CM_OPT_REUSEADDR) {
		ret = cm_port_check_share(hca, id, id->src.port, false);
		if (ret)
			return ret;
		id->opt &= ~(u32)CM_OPT_REUSEADDR;
	}
	id->backlog = backlog > 0 && (u32)backlog < MAX_BACKLOG ? (u32)backlog : MAX_BACKLOG;
	id->service_id = (u64)id->ps << 16 | id->src.port;
	cmid_set_states(id, CM_LISTEN, CMP_LISTEN);
	return 0;
}
