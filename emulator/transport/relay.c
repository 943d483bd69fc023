/* SPDX-License-Identifier: MIT */
/**
 * DOC: which packets have links on their way: the ones of ports that have a delay, a limit of their
 * rate, or whose device is another fabric's.
 *
 * Two ports that have neither are joined by a wire without delay, which any holder of the token is;
 * and what goes from a port to itself stays within its HCA. All else is the fabric process's.
 */
#include "emulator/model.h"

#define VIA_CHUNK_MS   4
#define IB_MTU_MAX     4096u
#define VIA_LOOK_SHIFT 4u
#define CHAOS_SHIFTS   9u /* of a burst's size: down to one packet of the largest MTU */
/*
 * To another fabric and back there are two processes that want the CPU, and buffers that all queue pairs share: who
 * sends again too early sends READ data again, which makes the others late. Nor is anything to be given up by chaos.
 * This is real time.
 */
#define FAR_ACK_MIN_NS 250000000ULL
/* Real time: who waits for room or for memory, and should be rung when it is there, looks as often anyway. */
#define STALL_LOOK_NS 100000000ULL

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

bool burst_is_mcast(const struct burst *b)
{
	return b->av && av_is_mcast(b->av);
}

void relay_ring(struct engine *e, u32 slot)
{
	struct hca *hca = e->hca;
	u32 word = slot / 64;

	/* Still set: whoever is to take the bit finds the work that was published before this. */
	if (fetch_or(&hca->via_bits[word], BIT64(slot % 64)) & BIT64(slot % 64))
		return;
	fetch_or(&hca->via_sum[word / 64], BIT64(word % 64));
	fetch_or(&hca->via_any, BIT64(word / 64));
	if (load_relaxed(&hca->via_asleep) && exchange(&hca->via_asleep, 0))
		e->host->kick(e->ctx);
}

static void relay_serve_word(struct engine *e, u32 word, u32 from)
{
	u64 bits = exchange(&e->hca->via_bits[word], 0);
	u32 bit, slot;

	for_each_bit64(bit, bits) {
		slot = word * 64 + bit;
		if (slot < from || !budget_left(e)) {
			relay_ring(e, slot);
			continue;
		}
		req_run_qp(e, slot);
		if (!budget_left(e))
			e->hca->via_from = slot + 1;
	}
}

static void relay_serve_from(struct engine *e, u32 from)
{
	struct hca *hca = e->hca;
	u64 any = exchange(&hca->via_any, 0), sum;
	u32 i, j;

	for_each_bit64(i, any) {
		if (i >= ARRAY_SIZE(hca->via_sum))
			break;
		sum = exchange(&hca->via_sum[i], 0);
		for_each_bit64(j, sum)
			relay_serve_word(e, i * 64 + j, from);
	}
}

void relay_serve(struct engine *e)
{
	u32 from = e->hca->via_from;

	if (!load_relaxed(&e->hca->via_any))
		return;
	e->hca->via_from = 0;
	if (from)
		relay_serve_from(e, from);
	relay_serve_from(e, 0);
}

u64 qp_ack_timeout_ns(const struct hca *hca, const struct hca_qp *qp)
{
	u64 t = ib_ack_timeout_ns(qp->attr.timeout), least;

	if (likely(!qp->path.via) || !(hca->dev[qp->path.dst_dev].member || hca->chaos))
		return t;
	least = hca_clock_span(&hca->clock, FAR_ACK_MIN_NS);
	return t > least ? t : least;
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

/* While there is no room it has no ack timer: the one timer says when there may be some. */
void relay_left(struct engine *e, const struct burst *b, u64 at)
{
	struct hca_qp *qp = relay_running_qp(e);

	if (!qp || qp->qpn != b->src_qpn || !qp_reliable(qp))
		return;
	qp->left_at = qp->left_at > at ? qp->left_at : at;
	if (qp->ack_due && qp->ack_una == qp->req.una_psn)
		return;
	qp->ack_una = qp->req.una_psn;
	qp->ack_due = qp->attr.timeout ? at + qp_ack_timeout_ns(e->hca, qp) : 0;
}

bool relay_ack_overdue(struct engine *e, struct hca_qp *qp)
{
	if (!qp->path.via || !qp->ack_due || qp->ack_una != qp->req.una_psn ||
	    qp->ack_due > e->host->now(e->ctx))
		return false;
	qp->ack_due = 0;
	return true;
}

/*
 * Whether what it sends goes straight into the connection with another fabric. Elsewhere a link has the
 * packet for some time, and relay_left() says from when on that counts.
 */
static bool relay_is_far(const struct hca *hca, const struct hca_path *p)
{
	return p->via && hca->dev[p->dst_dev].member && !hca->chaos &&
	       !relay_port(&hca->dev[p->src_dev], p->src_port);
}

void relay_stalled(struct engine *e, struct hca_qp *qp)
{
	u64 now = e->host->now(e->ctx), look = hca_clock_span(&e->hca->clock, STALL_LOOK_NS), at;
	bool far = relay_is_far(e->hca, &qp->path);

	if (far && (!qp->ack_due || qp->ack_una != qp->req.una_psn)) {
		qp->ack_una = qp->req.una_psn;
		qp->ack_due = qp->attr.timeout && qp_reliable(qp)
				      ? now + qp_ack_timeout_ns(e->hca, qp)
				      : 0;
	}
	if (qp->deadline)
		return;
	/* A clock that stands says nothing of when. */
	at = now + (look ? look : STALL_LOOK_NS);
	qp_timer_arm(e, qp, far && qp->ack_due ? min_u64(at, qp->ack_due) : at);
}

void relay_resumed(struct engine *e, struct hca_qp *qp)
{
	if (unlikely(qp->ack_due) && relay_is_far(e->hca, &qp->path))
		qp->ack_due = 0;
}

bool relay_timer_early(struct engine *e, struct hca_qp *qp)
{
	if (!qp->path.via || (qp->req.flags & REQ_RNR_WAIT) || qp->stalled || !qp->attr.timeout ||
	    qp->left_at <= e->host->now(e->ctx))
		return false;
	qp_timer_arm(e, qp, qp->left_at + qp_ack_timeout_ns(e->hca, qp));
	return true;
}

/*
 * Where packets are looked at one by one some are lost as a rule, and all behind them are sent again. Only
 * ever less: a READ that is asked for again may come in smaller portions than before, not in larger ones.
 */
static void relay_chunk_shrink(const struct hca *hca, struct hca_qp *qp)
{
	const struct hca_path *p = &qp->path;

	if (p->via && qp->chunk_shift < VIA_LOOK_SHIFT &&
	    (hca->dev[p->src_dev].port[p->src_port].fault ||
	     hca->dev[p->dst_dev].port[p->dst_port].fault))
		qp->chunk_shift = VIA_LOOK_SHIFT;
}

/* What a link carries in some milliseconds: acknowledges come often enough, and flows take turns. */
void relay_set_chunk(const struct hca *hca, struct hca_qp *qp)
{
	const struct hca_path *p = &qp->path;
	u64 rate, bytes;

	qp->chunk_shift = 0;
	if (!p->via)
		return;
	if (hca->chaos)
		qp->chunk_shift = (u32)(mix64(hca->chaos_seed ^ qp->qpn) % CHAOS_SHIFTS);
	rate = rate_slower(hca->dev[p->src_dev].port[p->src_port].link.rate_bps,
			   hca->dev[p->dst_dev].port[p->dst_port].link.rate_bps);
	bytes = rate / (8 * 1000 / VIA_CHUNK_MS);
	while (rate && REQ_CHUNK >> qp->chunk_shift > IB_MTU_MAX &&
	       REQ_CHUNK >> qp->chunk_shift > bytes)
		qp->chunk_shift++;
	relay_chunk_shrink(hca, qp);
}

void relay_update_paths(struct hca *hca)
{
	u32 d, p, i, n = hca->chaos;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports; p++)
			n += relay_port(&hca->dev[d], p);
	store_relaxed(&hca->n_via, n);
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		if (hca->qp[i].client) {
			qp_path_update(hca, &hca->qp[i]);
			relay_chunk_shrink(hca, &hca->qp[i]);
		}
}

void hca_port_set_link(struct engine *e, u32 dev, u32 port, const struct hca_uplink *link)
{
	struct hca_port *p = port_of(e->hca, dev, port);

	if (!p)
		return;
	if (!p->own_mtu)
		p->own_mtu = p->active_mtu;
	p->link = *link;
	store_relaxed(&p->active_mtu, link->mtu ? min_u32(link->mtu, p->own_mtu) : p->own_mtu);
	relay_update_paths(e->hca);
}
