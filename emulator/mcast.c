/* SPDX-License-Identifier: MIT */
/**
 * DOC: multicast: which QPs are in which group, and the replication of datagrams to them.
 *
 * The fabric's switch copies a datagram to every member on every device, the sender's own included;
 * a member is not told of what it has sent itself only if it asked for that at creation.
 */
#include "emulator/model.h"

static bool is_member(const struct hca_mcast *m, const struct hca_qp *qp, const u8 gid[16])
{
	return m->client && m->qpn == qp->qpn && !memcmp(m->gid, gid, 16);
}

/* Groups on the device, members of this one, and where the QP's membership is, if it has one. */
static void count_members(const struct hca *hca, const struct hca_qp *qp, const u8 gid[16],
			  u32 *members, int *own)
{
	u32 i;

	*members = 0;
	*own = -1;
	for (i = 0; i < hca->tab[TAB_MCAST].high; i++) {
		const struct hca_mcast *m = &hca->mcast[i];

		if (m->client && m->dev == qp->dev && !memcmp(m->gid, gid, 16))
			++*members;
		if (is_member(m, qp, gid))
			*own = (int)i;
	}
}

/* Whether the device may have one more group. */
static bool group_fits(const struct hca *hca, u32 dev, u32 limit)
{
	const struct hca_mcast *m = hca->mcast;
	u32 i, j, n = 0;

	if (hca->dev[dev].n[TAB_MCAST] < limit)
		return true;
	for (i = 0; i < hca->tab[TAB_MCAST].high && n < limit; i++) {
		if (!m[i].client || m[i].dev != dev)
			continue;
		for (j = 0;
		     j < i && !(m[j].client && m[j].dev == dev && !memcmp(m[j].gid, m[i].gid, 16));
		     j++)
			;
		n += j == i;
	}
	return n < limit;
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
	count_members(hca, qp, c->gid, &members, &i);
	if (i >= 0)
		return 0;
	if (!lim->max_mcast_grp)
		return -EOPNOTSUPP;
	if (members >= lim->max_mcast_attach ||
	    (!members && !group_fits(hca, qp->dev, lim->max_mcast_grp)))
		return -ENOMEM;
	i = tab_find(hca, TAB_MCAST, qp->dev, HCA_MAX_MCAST);
	if (i < 0)
		return i;
	m = &hca->mcast[i];
	memcpy(m->gid, c->gid, 16);
	m->lid = c->lid;
	m->qpn = qp->qpn;
	tab_own(hca, TAB_MCAST, (u32)i, client, qp->dev);
	return 0;
}

int cmd_detach_mcast(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_qp *qp = own_qp(e->hca, client, cmd->handle);
	u32 members;
	int i;

	if (!qp)
		return -EINVAL;
	count_members(e->hca, qp, cmd->mcast.gid, &members, &i);
	if (i < 0)
		return -EINVAL;
	tab_free(e->hca, TAB_MCAST, (u32)i);
	return 0;
}

/* Without a GRH the group is the one with that LID. */
static bool group_is(const struct hca_mcast *m, const struct hca_av *av)
{
	return av->is_global ? !memcmp(m->gid, av->dgid, 16) : m->lid == av->dlid;
}

int mcast_input(struct engine *e, const struct burst *b)
{
	struct hca *hca = e->hca;
	struct hca_qp *src = hca_qp_by_num(hca, b->src_qpn);
	struct burst one = *b;
	struct hca_mcast *m;
	struct hca_qp *qp;
	u32 i;

	for (i = src ? src->mcast_next : 0; i < hca->tab[TAB_MCAST].high; i++) {
		m = &hca->mcast[i];
		if (!m->client || !group_is(m, b->av))
			continue;
		qp = hca_qp_by_num(hca, m->qpn);
		if (!qp || !pkeys_match(qp->pkey, b->pkey) ||
		    qp_port(hca, qp)->state != PORT_ACTIVE)
			continue;
		if (qp == src && (qp->create_flags & QPC_BLOCK_SELF_MCAST_LB))
			continue;
		one.dst_dev = qp->dev;
		one.dst_port = (u8)qp->attr.port_num;
		one.dst_qpn = qp->qpn;
		if (ud_input(e, qp, &one) == -EAGAIN && src) {
			/* The others are not to get it twice when it is sent again. */
			src->mcast_next = i;
			return -EAGAIN;
		}
		port_received(hca, qp->dev, qp->attr.port_num, b->npkts, b->len);
		dev_count(hca, qp, CNT_MCAST_RCV);
	}
	if (src)
		src->mcast_next = 0;
	return 0;
}
