/* SPDX-License-Identifier: MIT */
/**
 * DOC: multicast: group memberships. transport/mcast.c replicates datagrams to the members.
 *
 * The fabric's switch copies a datagram to every member on every device, the sender's own included.
 * Only a member that was created with the flag to block loopback does not receive its own
 * datagrams.
 */
#include "emulator/av.h"
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

static bool mcast_is_member(const struct hca_mcast *m, const struct hca_qp *qp, const u8 gid[16])
{
	return m->client && m->qpn == qp->qpn && !memcmp(m->gid, gid, 16);
}

/*
 * Count the group's members on the QP's device, and find the QP's own membership: -1 if it has
 * none.
 */
static void mcast_count_members(const struct hca *hca, const struct hca_qp *qp, const u8 gid[16],
				u32 *members, int *own)
{
	u32 i;

	*members = 0;
	*own = -1;
	for (i = 0; i < hca->tab[TAB_MCAST].high; i++) {
		const struct hca_mcast *m = &hca->mcast[i];

		if (m->client && m->dev == qp->dev && !memcmp(m->gid, gid, 16))
			++*members;
		if (mcast_is_member(m, qp, gid))
			*own = (int)i;
	}
}

/* Hash of a group. Clients choose their GIDs, but do not know the seed. */
static u32 mcast_hash_gid(const struct hca *hca, const u8 gid[16])
{
	u64 half[2];

	memcpy(half, gid, sizeof(half));
	half[0] = (half[0] ^ half[0] >> 32) * (hca->seed | 1);
	half[1] = (half[0] ^ half[0] >> 29 ^ half[1]) * (hca->seed * 2 + 1);
	return (u32)(half[1] >> 32) % ARRAY_SIZE(hca->mcast_seen);
}

/* Add the group of membership @i. Return: whether it is new. */
static bool mcast_is_new_group(struct hca *hca, u32 i)
{
	u32 at = mcast_hash_gid(hca, hca->mcast[i].gid), seen;

	while ((seen = hca->mcast_seen[at])) {
		if (!memcmp(hca->mcast[seen - 1].gid, hca->mcast[i].gid, 16))
			return false;
		at = (at + 1) % ARRAY_SIZE(hca->mcast_seen);
	}
	hca->mcast_seen[at] = i + 1;
	return true;
}

/* Whether the device may have one more group. */
static bool mcast_has_group_room(struct hca *hca, u32 dev, u32 limit)
{
	u32 i, n = 0;

	if (hca->dev[dev].n[TAB_MCAST] < limit)
		return true;
	memset(hca->mcast_seen, 0, sizeof(hca->mcast_seen));
	for (i = 0; i < hca->tab[TAB_MCAST].high && n < limit; i++)
		if (hca->mcast[i].client && hca->mcast[i].dev == dev)
			n += mcast_is_new_group(hca, i);
	return n < limit;
}

/* The fabric process joins, and leaves, groups on the wires. */
static void mcast_kick(struct engine *e)
{
	if (e->hca->wires.n)
		e->kick = true;
}

void mcast_move(struct engine *e)
{
	e->hca->mcast_moves++;
	mcast_kick(e);
}

int cmd_attach_mcast(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	struct hca_qp *qp = own_qp(hca, client, cmd->handle);
	const struct cmd_mcast *c = &cmd->mcast;
	const struct hca_limits *lim;
	struct hca_mcast *m;
	u32 members;
	int i;

	if (!qp || qp->type != QPT_UD || !gid_is_mcast(c->gid))
		return -EINVAL;
	lim = lim_of(hca, qp->dev);
	mcast_count_members(hca, qp, c->gid, &members, &i);
	if (i >= 0)
		return 0;
	if (!lim->max_mcast_grp)
		return -EOPNOTSUPP;
	if (members >= lim->max_mcast_attach ||
	    (!members && !mcast_has_group_room(hca, qp->dev, lim->max_mcast_grp)) ||
	    !mcast_has_wire_room(hca, client, qp, c->gid))
		return -ENOMEM;
	i = tab_find(hca, TAB_MCAST, qp->dev, HCA_MAX_MCAST);
	if (i < 0)
		return i;
	m = &hca->mcast[i];
	memcpy(m->gid, c->gid, 16);
	m->lid = c->lid;
	m->qpn = qp->qpn;
	tab_own(hca, TAB_MCAST, (u32)i, client, qp->dev);
	mcast_kick(e);
	return 0;
}

int cmd_detach_mcast(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_qp *qp = own_qp(e->hca, client, cmd->handle);
	u32 members;
	int i;

	if (!qp)
		return -EINVAL;
	mcast_count_members(e->hca, qp, cmd->mcast.gid, &members, &i);
	if (i < 0)
		return -EINVAL;
	tab_free(e->hca, TAB_MCAST, (u32)i);
	return 0;
}
