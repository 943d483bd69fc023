/* SPDX-License-Identifier: MIT */
/**
 * DOC: congestion: ECN marks, CNPs, and the rates of queue pairs (IBTA A17.9.3).
 *
 * A switch whose queue is long sets both ECN bits of a packet that its sender has declared capable
 * of that (ECT, the low bits of the traffic class). The receiver of such a payload sends a
 * congestion notification packet (CNP), at most one in CNP_NS for each queue pair.
 *
 * The sender lowers the rate of that queue pair as DCQCN does, in a simple form:
 *  - with a CNP, the rate becomes half of what the queue pair sends, and that becomes the target;
 *    at most once in CNP_NS;
 *  - each RAISE_NS without a CNP, the rate goes half of the way to the target, and after
 *    RAISES_FAST such steps the target grows by an eighth;
 *  - FREE_NS after the latest CNP there is no limit any more.
 * Between two bursts of the queue pair the time passes that the first one takes at that rate. READ
 * responses are not held.
 *
 * Queue pairs share ROCE_RATES entries by their numbers: one whose entry has the limit of another
 * has none.
 */
#include "fabric/roce/wire.h"

#include "emulator/qp.h"
#include "emulator/transport/relay.h"

#define CNP_NS	      (50 * NSEC_PER_USEC)
#define RAISE_NS      (300 * NSEC_PER_USEC)
#define RAISES_FAST   5u
#define FREE_NS	      (100 * NSEC_PER_MSEC)
#define RATE_MIN      (1ull << 20) /* bytes a second */
#define RATE_MAX      (50ull << 30) /* no queue pair sends more */
#define CNP_PAYLOAD   16u /* reserved bytes */
#define CNP_FRAME_MAX 128u
#define CNP_TCLASS    (48u << 2) /* DSCP 48, as HCAs send them */
#define BECN	      0x40u

/* @take: for a queue pair that has none. Return: NULL: there is none, or another one needs it. */
static struct roce_rate *rate_get(struct roce *r, u32 qpn, u64 now, bool take)
{
	struct roce_rate *e = &r->rate[qpn % ROCE_RATES];

	if (e->qpn == qpn)
		return e;
	if (!take || (e->rate && now < e->cut_at + FREE_NS))
		return NULL;
	*e = (struct roce_rate){ .qpn = qpn };
	return e;
}

/* Raise the rate as time has passed since the latest CNP. */
static void rate_raise(struct roce_rate *e, u64 now)
{
	if (now >= e->cut_at + FREE_NS) {
		e->rate = 0;
		return;
	}
	for (; now >= e->raise_at + RAISE_NS; e->raise_at += RAISE_NS) {
		if (e->raise_at >= e->cut_at + RAISES_FAST * RAISE_NS)
			e->target += e->target / 8;
		e->rate = (e->rate + e->target) / 2;
		if (e->rate > RATE_MAX) {
			e->rate = 0;
			return;
		}
	}
}

/* Tell programs whether the fabric process alone sends for the queue pair. */
static void rate_publish(struct hca *hca, const struct roce_rate *e)
{
	struct hca_wire_speed *s = &hca->wires.speed[e->qpn % HCA_WIRE_SPEEDS];

	if (s->qpn != e->qpn)
		*s = (struct hca_wire_speed){ .qpn = e->qpn, .since = real_ns() };
	s->limited_until = e->rate ? e->cut_at + FREE_NS : 0;
}

/* Bytes a second that a queue pair has sent. */
static u64 rate_speed(const struct hca *hca, u32 qpn, u64 now)
{
	const struct hca_wire_speed *s = &hca->wires.speed[qpn % HCA_WIRE_SPEEDS];
	u64 ns = now - s->since;

	if (s->qpn != qpn)
		return 0;
	return s->speed ? s->speed : s->bytes * NSEC_PER_SEC / (ns ? ns : 1);
}

static void rate_cut(struct hca *hca, struct roce_rate *e, u64 now)
{
	if (e->rate)
		rate_raise(e, now);
	if (e->rate && now < e->cut_at + CNP_NS)
		return;
	e->target = e->rate ? e->rate : rate_speed(hca, e->qpn, now);
	if (e->target < 2 * RATE_MIN)
		e->target = 2 * RATE_MIN;
	e->rate = e->target / 2;
	e->cut_at = e->raise_at = now;
	rate_publish(hca, e);
}

bool roce_rate_holds(struct fabric *f, struct roce_wire *w, const struct burst *b)
{
	u64 now = real_ns();
	struct roce_rate *e =
		egress_counts_speed(f->hca, b) ? rate_get(f->roce, b->src_qpn, now, false) : NULL;

	if (!e || !e->rate)
		return false;
	rate_raise(e, now);
	if (!e->rate)
		rate_publish(f->hca, e);
	if (!e->rate || now >= e->next_at)
		return false;
	w->n.rate_held++;
	relay_hold(&f->engine, fabric_ns(f) + hca_clock_span(&f->hca->clock, e->next_at - now));
	return true;
}

void roce_rate_sent(struct fabric *f, const struct burst *b, u32 len)
{
	u64 now = real_ns();
	struct roce_rate *e =
		egress_counts_speed(f->hca, b) ? rate_get(f->roce, b->src_qpn, now, false) : NULL;

	egress_note_speed(f->hca, b, len, now);
	if (e && e->rate)
		e->next_at = (now > e->next_at ? now : e->next_at) + len * NSEC_PER_SEC / e->rate;
}

/* Packets within a host are not marked by switches. */
static bool wire_is_loopback(const struct roce_wire *w)
{
	static const u8 ip6[16] = { [15] = 1 };

	return (gid_is_v4(w->box.gid) && w->box.gid[12] == 127) || !memcmp(w->box.gid, ip6, 16);
}

/* A CNP is no burst: captures get its frame. @sent: by @qp's port; false: it has received it */
static void cnp_capture(struct fabric *f, const struct hca_qp *qp, const struct roce_pkt *p,
			bool sent)
{
	const struct hca_path *out = &qp->path, in = { .src_dev = out->dst_dev,
						       .src_port = out->dst_port,
						       .dst_dev = out->src_dev,
						       .dst_port = out->src_port };
	u8 frame[CNP_FRAME_MAX];
	struct roce_pkt cnp = *p;
	u32 len;

	if (likely(!f->hca->capture.on))
		return;
	packet_set_macs(f->hca, sent ? out : &in, p->dgid, &cnp);
	if (roce_build(&cnp, frame, sizeof(frame), &len) == (int)len)
		cap_frame_passed(&f->engine, qp, frame, len);
}

void roce_cnp_send(struct fabric *f, struct roce_wire *w, const struct roce_pkt *p,
		   const struct burst *b)
{
	static const u8 reserved[CNP_PAYLOAD];
	const struct hca_qp *qp = hca_qp_by_num(f->hca, b->dst_qpn);
	struct roce_pkt cnp = { .net = p->net,
				.tclass = CNP_TCLASS,
				.ip_frag = ROCE_IP_DF,
				.hop_limit = 64,
				.udp_src = ROCE_UDP_PORT,
				.opcode = ROCE_OPCODE_CNP,
				.pkey = p->pkey,
				.ecn = BECN,
				.payload = reserved,
				.payload_len = CNP_PAYLOAD,
				.payload_cap = CNP_PAYLOAD };
	struct cap_rec rec = { .av.traffic_class = CNP_TCLASS };
	u64 now = real_ns();
	struct egress_batch one = { .n = 1, .run = { 1 } };
	struct roce_rate *e;

	w->n.ecn_marked++;
	/* ACKs do not get fewer. Only packets of connected queue pairs say who has sent them. */
	if (!p->payload_len || !qp || !b->src_qpn || b->dst_type == QPT_UD || wire_is_loopback(w) ||
	    w->full)
		return;
	e = rate_get(f->roce, b->dst_qpn, now, true);
	if (!e || now < e->told_at + CNP_NS)
		return;
	e->told_at = now;
	cnp.dqpn = b->src_qpn & IB_QPN_MASK;
	memcpy(cnp.sgid, p->dgid, sizeof(cnp.sgid));
	memcpy(cnp.dgid, p->sgid, sizeof(cnp.dgid));
	memcpy(rec.sgid, p->dgid, sizeof(rec.sgid));
	memcpy(rec.dgid, p->sgid, sizeof(rec.dgid));
	if (roce_build_around(&cnp, NULL, NULL, f->roce->egress.frames) ||
	    !egress_frames(&f->roce->egress, &w->out, &rec, &one))
		return;
	w->n.cnp_sent++;
	cnp_capture(f, qp, &cnp, true);
}

bool roce_cnp_input(struct fabric *f, struct roce_wire *w, const struct roce_pkt *p)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, p->dqpn);
	struct roce_rate *e;
	u64 now = real_ns();

	if (!qp || qp->state < QPS_RTR || memcmp(qp->attr.av.dgid, p->sgid, 16) != 0)
		return false;
	w->n.cnp_received++;
	cnp_capture(f, qp, p, false);
	e = rate_get(f->roce, p->dqpn, now, true);
	if (e)
		rate_cut(f->hca, e, now);
	return true;
}
