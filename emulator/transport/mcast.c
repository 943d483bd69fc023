/* SPDX-License-Identifier: MIT */
/**
 * DOC: multicast: the replication of datagrams to the members of a group.
 */
#include "emulator/engine.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/transport/datagram.h"

/* Without a GRH the LID names the group. */
static bool mcast_is_addressed(const struct hca_mcast *m, const struct hca_av *av)
{
	return av->is_global ? !memcmp(m->gid, av->dgid, 16) : m->lid == av->dlid;
}

/* The QP that has sent it, if it still exists. */
static struct hca_qp *mcast_sender_qp(struct hca *hca, const struct burst *b)
{
	struct hca_qp *qp = &hca->qp[b->src_slot];
	u32 named = qp->create_flags & QPC_SOURCE_QPN ? qp->source_qpn : qp->qpn;

	return qp->client && qp->type == QPT_UD && qp->dev == b->src_dev && named == b->src_qpn
		       ? qp
		       : NULL;
}

/* The membership's QP, if it receives a copy of @b, or NULL. */
static struct hca_qp *mcast_receiver_qp(struct hca *hca, const struct burst *b,
					const struct hca_qp *src, const struct hca_mcast *m)
{
	struct hca_qp *qp;

	if (!m->client || !mcast_is_addressed(m, b->av))
		return NULL;
	qp = hca_qp_by_num(hca, m->qpn);
	if (!qp || !pkeys_match(qp->path.pkey, b->pkey) || qp_port(hca, qp)->state != PORT_ACTIVE)
		return NULL;
	if (qp == src && (qp->create_flags & QPC_BLOCK_SELF_MCAST_LB))
		return NULL;
	return qp;
}

int mcast_deliver(struct engine *e, const struct burst *b, u32 *next)
{
	struct hca *hca = e->hca;
	struct hca_qp *src = mcast_sender_qp(hca, b), *qp;
	bool all = b->dst_dev == ~0u;
	struct burst one = *b;
	u32 i;

	for (i = *next; i < hca->tab[TAB_MCAST].high; i++) {
		qp = mcast_receiver_qp(hca, b, src, &hca->mcast[i]);
		if (!qp || (!all && (qp->dev != b->dst_dev || qp->attr.port_num != b->dst_port)))
			continue;
		one.dst_dev = qp->dev;
		one.dst_port = (u8)qp->attr.port_num;
		one.dst_qpn = qp->qpn;
		if (ud_input(e, qp, &one) == -EAGAIN) {
			*next = i;
			return -EAGAIN;
		}
		port_count_packets(hca, qp->dev, qp->attr.port_num, MOVE_RECEIVED, b->npkts,
				   b->len);
		dev_count(hca, qp, CNT_MCAST_RCV);
	}
	*next = 0;
	return 0;
}

int mcast_input(struct engine *e, const struct burst *b)
{
	struct hca_qp *src = mcast_sender_qp(e->hca, b);
	u32 next = src ? src->mcast_next : 0;
	int ret;

	do
		ret = mcast_deliver(e, b, &next);
	while (ret && !src && next++ < HCA_MAX_MCAST);
	/* When the datagram is retried, members that have it already must not receive it again. */
	if (src)
		src->mcast_next = next;
	return src ? ret : 0;
}

bool mcast_next_port(struct hca *hca, const struct burst *b, u32 *i, u32 *dev, u8 *port)
{
	const struct hca_qp *src = mcast_sender_qp(hca, b), *qp;

	while (*i < hca->tab[TAB_MCAST].high) {
		qp = mcast_receiver_qp(hca, b, src, &hca->mcast[(*i)++]);
		if (!qp)
			continue;
		*dev = qp->dev;
		*port = (u8)qp->attr.port_num;
		return true;
	}
	return false;
}
