/* SPDX-License-Identifier: MIT */
/**
 * DOC: why: finds in HCA memory, at the moment of a failure, the reason why the peer did not
 * answer.
 *
 * Events that were observed come first (packets dropped, a NAK sent), then faults of the route,
 * then the state of the peer.
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/ring.h"

/* Whether the process is still alive. */
static bool who_is_live(const struct hca *hca, const struct journal_who *w)
{
	const struct hca_client *c;

	if (w->client >= HCA_MAX_CLIENTS)
		return false;
	c = &hca->client[w->client];
	return c->state == CLIENT_LIVE && c->pid == w->pid && c->node == w->node &&
	       !memcmp(c->name, w->name, sizeof(w->name));
}

static bool port_is_active(struct hca *hca, u32 dev, u32 port)
{
	const struct hca_port *p = port_of(hca, dev, port);

	return p && p->state == PORT_ACTIVE;
}

static void why_set(struct journal_entry *j, u32 why, u32 info)
{
	j->why = (u8)why;
	j->why_info = info;
}

static void why_set_dropped(struct journal_entry *j, u32 n, u32 cause, u32 info)
{
	why_set(j, WHY_DROPPED, info);
	j->n = n;
	j->why_cause = (u8)cause;
	if (cause == CAUSE_FAULT)
		j->rule = info;
}

/* The route to a port. Return: whether it is the reason. */
static bool why_route(struct hca *hca, u32 dev, u32 port, u32 to_dev, u32 to_port,
		      struct journal_entry *j)
{
	if (to_dev >= hca->n_devs)
		why_set(j, WHY_NO_ADDRESS, 0);
	else if (!port_is_active(hca, dev, port))
		why_set(j, WHY_OWN_PORT, port);
	else if (!port_is_active(hca, to_dev, to_port))
		why_set(j, WHY_PEER_PORT, to_port);
	else if (hca->dev[to_dev].member)
		why_set(j, WHY_FAR, 0);
	else
		return false;
	return true;
}

static void why_peer(struct hca *hca, const struct hca_qp *qp, struct journal_entry *j)
{
	const struct hca_qp *peer = journal_peer(hca, qp);

	if (!peer)
		why_set(j,
			j->peer.name[0] && !who_is_live(hca, &j->peer) ? WHY_PEER_ENDED
								       : WHY_PEER_GONE,
			0);
	else if (peer->state != QPS_RTR && peer->state != QPS_RTS && peer->state != QPS_SQD)
		why_set(j, WHY_PEER_STATE, peer->state);
	else if (peer->attr.dest_qpn != qp->qpn || peer->attr.av.dst_dev != qp->dev)
		why_set(j, WHY_PEER_OTHER, peer->attr.dest_qpn);
	else if (!pkeys_match(qp->path.pkey, peer->path.pkey))
		why_set(j, WHY_PKEY, (u32)qp->path.pkey << 16 | peer->path.pkey);
	else
		why_set(j, WHY_SILENT, peer->state);
}

/*
 * Whether drops with that cause explain the failure. The other causes only show that the peer was
 * not there.
 */
static bool cause_is_conclusive(u32 cause)
{
	return cause != CAUSE_NO_QP && cause != CAUSE_QP_STATE && cause != CAUSE_OTHER_PEER &&
	       cause != CAUSE_PKEY && cause != CAUSE_PORT_DOWN;
}

/* How often the packet was sent, from when to when. */
static void why_set_sent(const struct hca_qp *qp, struct journal_entry *j)
{
	const struct hca_trouble *t = &qp->trouble;

	if (t->n && t->psn == qp->req.una_psn) {
		j->since = t->since;
		j->last = t->last;
		j->attempt = t->n;
	}
}

/* The peer is there, and lacks the packet: only a drop can be known. */
static void why_resent(const struct hca_qp *qp, struct journal_entry *j)
{
	const struct hca_trouble *t = &qp->trouble;

	why_set_sent(qp, j);
	if (t->drops && t->drop_psn == qp->req.una_psn)
		why_set_dropped(j, t->drops, t->drop_cause, t->drop_info);
}

static void why_no_answer(struct engine *e, const struct hca_qp *qp, struct journal_entry *j)
{
	const struct hca_trouble *t = &qp->trouble;
	const struct hca_av *av = &qp->attr.av;
	u32 una = qp->req.una_psn;

	why_set_sent(qp, j);
	if (t->drops && t->drop_psn == una && cause_is_conclusive(t->drop_cause)) {
		why_set_dropped(j, t->drops, t->drop_cause, t->drop_info);
		return;
	}
	if (!why_route(e->hca, qp->dev, qp->attr.port_num, av->dst_dev, av->dst_port, j))
		why_peer(e->hca, qp, j);
	/* The peer was not ready when the packets were sent, but is now. */
	if (j->why == WHY_SILENT && t->drops && t->drop_psn == una)
		why_set_dropped(j, t->drops, t->drop_cause, t->drop_info);
}

/* Receives that are posted now where the peer's messages go; ~0: unknown. */
static u32 why_count_receives(struct engine *e, struct hca_qp *peer, const struct sq_wqe *w)
{
	struct hca_srq *srq = qp_recv_srq(e->hca, peer, w ? w->remote_qpn : 0);
	struct seg_hdr *seg = seg_of(e, srq ? srq->client : peer->client);

	if ((peer->type == QPT_XRC_RECV && !srq) || !seg)
		return ~0u;
	return srq ? srq_posted(seg, srq) - srq->cons : rq_posted(seg, peer) - peer->resp.rq_cons;
}

static void why_rnr(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w,
		    struct journal_entry *j)
{
	const struct hca_trouble *t = &qp->trouble;
	struct hca_qp *peer = journal_peer(e->hca, qp);
	bool again = t->rnr && t->rnr_psn == qp->req.una_psn;

	why_set(j, WHY_RECEIVES, peer ? why_count_receives(e, peer, w) : ~0u);
	j->n = 1 + (again ? t->rnr : 0);
	j->attempt = j->n - 1;
	j->since = again ? t->rnr_since : e->ops->now(e->ctx);
}

static void why_nak(struct engine *e, const struct hca_qp *qp, struct journal_entry *j)
{
	const struct hca_qp *peer = journal_peer(e->hca, qp);
	const struct hca_trouble *t = peer ? &peer->trouble : NULL;

	if (!t || t->nak_cause == CAUSE_NONE || t->nak_psn != qp->req.una_psn)
		return;
	why_set(j, WHY_NAK, t->nak_info);
	j->key = t->nak_key;
	j->why_cause = t->nak_cause;
	j->rule = t->nak_rule;
}

void journal_why_send(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w,
		      struct journal_entry *j)
{
	if (j->cause == CAUSE_RETRY)
		why_no_answer(e, qp, j);
	else if (j->cause == CAUSE_RETRY_NAK || j->cause == CAUSE_RETRY_RESPONSE)
		why_resent(qp, j);
	else if (j->cause == CAUSE_RNR_RETRY)
		why_rnr(e, qp, w, j);
	else if (j->cause == CAUSE_NAK)
		why_nak(e, qp, j);
}

void journal_why_cm(struct engine *e, const struct hca_cmid *id, struct journal_entry *j)
{
	if (id->drops)
		why_set_dropped(j, id->drops, id->drop_cause, id->drop_info);
	else
		why_route(e->hca, id->bound - 1, id->port, id->av.dst_dev, id->av.dst_port, j);
}
