/* SPDX-License-Identifier: MIT */
/**
 * DOC: which packets have links on their way: the ones of ports that have a delay, a limit of their
 * rate, or whose device is another fabric's.
 *
 * Two ports that have neither are joined by a wire without delay, which any holder of the token is;
 * and what goes from a port to itself stays within its HCA. All else is the fabric process's, but
 * that a program may send to hosts outside by itself (relay_may_leave()).
 */
#include "emulator/av.h"
#include "emulator/engine.h"
#include "emulator/qp.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/relay.h"

/*
 * Real time. A QP that waits for room or memory is rung when it is there; it retries as often
 * anyway.
 */
#define STALL_LOOK_NS 100000000ULL
/* Real time: how often an expired ACK timeout asks whether the packet is still under way. */
#define UNDER_WAY_LOOK_NS 20000000ULL

bool relay_port(const struct hca_dev *dev, u32 port)
{
	const struct hca_uplink *l = &dev->port[port].link;

	return dev->member || l->delay_ns || l->jitter_ns || l->rate_bps || dev->port[port].fault ||
	       dev->port[port].capture_via;
}

bool relay_is_needed(const struct hca *hca, u32 src_dev, u32 src_port, u32 dst_dev, u32 dst_port)
{
	if (likely(!hca->n_via) || src_dev >= hca->n_devs || dst_dev >= hca->n_devs ||
	    src_port > HCA_MAX_PORTS || dst_port > HCA_MAX_PORTS)
		return false;
	if (unlikely(hca->chaos))
		return true;
	if (src_dev == dst_dev && src_port == dst_port)
		return hca->dev[src_dev].port[src_port].fault ||
		       hca->dev[src_dev].port[src_port].capture_via;
	return relay_port(&hca->dev[src_dev], src_port) || relay_port(&hca->dev[dst_dev], dst_port);
}

bool relay_is_needed_raw(const struct hca *hca, u32 dev, u32 port)
{
	u32 d, p;

	if (likely(!hca->n_via))
		return false;
	if (hca->chaos || relay_port(&hca->dev[dev], port))
		return true;
	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports && !hca->dev[d].member; p++)
			if (relay_port(&hca->dev[d], p))
				return true;
	return false;
}

bool relay_is_direct(const struct hca *hca, u32 src_dev, u32 src_port, u32 dst_dev, u32 dst_port)
{
	return hca_dev_is_peer(hca, dst_dev) && !hca->chaos && !hca->watched &&
	       !relay_port(&hca->dev[src_dev], src_port) && !hca->dev[dst_dev].port[dst_port].fault;
}

bool relay_may_leave(const struct engine *e, const struct hca_qp *qp)
{
	const struct hca_path *p = &qp->path;

	return e->leaves && !qp->stalled &&
	       relay_is_direct(e->hca, p->src_dev, p->src_port, p->dst_dev, p->dst_port);
}

bool burst_is_mcast(const struct burst *b)
{
	return b->av && av_is_mcast(b->av);
}

static struct hca_qp *relay_running_qp(struct engine *e)
{
	u32 cur = e->hca->cur_qp;

	return cur && cur <= HCA_MAX_QP ? &e->hca->qp[cur - 1] : NULL;
}

void relay_hold(struct engine *e, u64 at)
{
	struct hca_qp *qp = relay_running_qp(e);

	if (qp)
		qp_timer_arm(e, qp, at);
}

void relay_expect(struct engine *e, u32 dev, u32 qpn, u64 at)
{
	struct hca_qp *qp = hca_qp_by_num(e->hca, qpn);

	if (qp && qp->dev == dev && qp->left_at < at)
		qp->left_at = at;
}

/*
 * While there is no room the QP has no ACK timer: its one timer is set to when there may be room.
 */
void relay_left(struct engine *e, const struct burst *b, u64 at)
{
	struct hca_qp *qp = relay_running_qp(e);

	if (!qp || qp->qpn != b->src_qpn || (!qp_reliable(qp) && qp->type != QPT_SRD))
		return;
	qp->left_at = qp->left_at > at ? qp->left_at : at;
	if (unlikely(qp->type == QPT_SRD))
		return;
	if (qp->ack_due && qp->ack_una == qp->req.una_psn)
		return;
	qp->ack_una = qp->req.una_psn;
	qp->ack_due = qp->attr.timeout ? at + qp_ack_timeout_ns(e->hca, qp) : 0;
}

/* Real time as a span of the fabric clock, as it is if that stands still. */
static u64 relay_span(const struct engine *e, u64 ns)
{
	u64 span = hca_clock_span(&e->hca->clock, ns);

	return span ? span : ns;
}

static bool relay_under_way(struct engine *e, struct hca_qp *qp)
{
	return e->ops->under_way && e->ops->under_way(e->ctx, qp);
}

bool relay_ack_overdue(struct engine *e, struct hca_qp *qp)
{
	u64 now = e->ops->now(e->ctx);

	if (!qp->path.via || !qp->ack_due || qp->ack_una != qp->req.una_psn || qp->ack_due > now)
		return false;
	if (relay_under_way(e, qp)) {
		qp->ack_due = now + relay_span(e, UNDER_WAY_LOOK_NS);
		return false;
	}
	qp->ack_due = 0;
	return true;
}

/*
 * Whether its packets go directly into the connection with another fabric. Elsewhere a link holds
 * the packet for some time, and relay_left() sets the start of the ACK timeout.
 */
static bool relay_is_far(const struct hca *hca, const struct hca_path *p)
{
	return p->via && hca->dev[p->dst_dev].member && !hca->chaos &&
	       !relay_port(&hca->dev[p->src_dev], p->src_port);
}

void relay_stalled(struct engine *e, struct hca_qp *qp)
{
	u64 now = e->ops->now(e->ctx), at;
	bool far = relay_is_far(e->hca, &qp->path);

	if (far && (!qp->ack_due || qp->ack_una != qp->req.una_psn)) {
		qp->ack_una = qp->req.una_psn;
		qp->ack_due = qp->attr.timeout && qp_reliable(qp)
				      ? now + qp_ack_timeout_ns(e->hca, qp)
				      : 0;
	}
	if (qp->deadline)
		return;
	at = now + relay_span(e, STALL_LOOK_NS);
	qp_timer_arm(e, qp, far && qp->ack_due ? min_u64(at, qp->ack_due) : at);
}

void relay_resumed(struct engine *e, struct hca_qp *qp)
{
	if (unlikely(qp->ack_due) && relay_is_far(e->hca, &qp->path))
		qp->ack_due = 0;
}

bool relay_timer_early(struct engine *e, struct hca_qp *qp)
{
	u64 now = e->ops->now(e->ctx);

	if (!qp->path.via || (qp->req.flags & REQ_RNR_WAIT) || qp->stalled || !qp->attr.timeout)
		return false;
	if (qp->left_at > now)
		qp_timer_arm(e, qp, qp->left_at + qp_ack_timeout_ns(e->hca, qp));
	else if (relay_under_way(e, qp))
		qp_timer_arm(e, qp, now + relay_span(e, UNDER_WAY_LOOK_NS));
	else
		return false;
	return true;
}

void qp_stall(struct engine *e, struct hca_qp *qp)
{
	qp->stalled = 1;
	dev_count(e->hca, qp, CNT_DEFERRED);
	if (e->self != ENGINE_FABRIC)
		qp_timer_arm(e, qp, 1);
	else
		relay_stalled(e, qp);
}
