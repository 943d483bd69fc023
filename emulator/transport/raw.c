/* SPDX-License-Identifier: MIT */
/**
 * DOC: raw Ethernet: from work requests to frames, and from the switch to the receivers.
 *
 * Theory of operation
 * -------------------
 * The fabric is one Ethernet switch that offers every frame to every port, the sender's included;
 * who gets it is for the flow rules of each port to say (emulator/verbs/flow.c). A frame is
 * gathered into a place behind its queue pair's send ring, in the sender's segment, where offloads
 * are applied; from there it is copied to each receiver. Where a link delays or inspects packets,
 * the frame passes it like a packet, once to each port where a rule matches (frame_send_links()),
 * and is offered there (raw_input()).
 *
 * That place is the client's own memory, which may change at any time: headers are copied before
 * they are parsed, and later code relies on offsets within the frame only.
 *
 * A work request is one frame, or, for a large TCP send, as many as it is cut into. raw_send()
 * sends one. Where it has got is in the requester's state between calls (struct progress): a frame
 * that cannot be delivered to one receiver now continues with that receiver, so that those before
 * it do not get it twice. The death of the token's holder may duplicate a frame, which Ethernet
 * allows.
 */
#include "emulator/engine.h"
#include "emulator/frame/frame.h"
#include "emulator/journal/writer.h"
#include "emulator/mem.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/queue/cq.h"
#include "emulator/ring.h"
#include "emulator/transport/capture_ring.h"
#include "emulator/transport/eth.h"
#include "emulator/transport/raw.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/wqe.h"

#include <endian.h>

#define ROCE_OVERHEAD 96u /* the most that RoCE v2 puts around a payload */

/**
 * struct progress - in the 64 bits that the requester keeps: which frame; rule it is at + 1, or 0.
 */
struct progress {
	u32 frame;
	u32 rule; /* 0: the frame is not gathered yet */
};

/** struct raw_wr - a work request, checked. */
struct raw_wr {
	struct hca_mem mem; /* payload */
	u64 len; /* bytes of it */
	u32 hdr; /* bytes of header before each frame's share of the payload */
	u32 share;
	u32 frames;
};

static u64 sq_scratch_off(const struct hca_qp *qp)
{
	return qp->sq_ring + sizeof(struct wq_ctl) + (u64)qp->sq_depth * qp->sq_stride;
}

/*
 * The port's Ethernet MTU, of which its RoCE MTU is what is left for payload: 1500 and jumbo frames
 * where those fit, else as much as RoCE needs. On the wire come the header and up to two tags.
 */
static u32 mtu_max_frame(u32 mtu)
{
	u32 eth = mtu == 1024 ? 1500 : mtu == 4096 ? 9000 : mtu + ROCE_OVERHEAD;

	return eth + FRAME_ETH + 2 * FRAME_VLAN;
}

static u32 qp_max_frame(const struct hca_qp *qp)
{
	return mtu_max_frame(qp->mtu);
}
_Static_assert(9000 + FRAME_ETH + 2 * FRAME_VLAN + FRAME_FCS <= LIM_FRAME, "fits its place");

/* A large send: the headers lie in the work request, before the list. */
static struct verdict raw_wr_check_tso(struct engine *e, const struct hca_qp *qp,
				       const struct sq_wqe *slot, const struct sq_wqe *w,
				       struct raw_wr *r)
{
	u32 max = lim_of(e->hca, qp->dev)->max_tso;
	const u8 *list = (const u8 *)slot->sge + ALIGN_UP(w->ah, sizeof(struct wq_sge));
	u32 bad_lkey;

	r->hdr = w->ah;
	r->share = w->remote_qkey;
	if (w->ah < FRAME_ETH || w->ah > qp->max_tso_hdr || !r->share || (w->hw & SQ_HW_INLINE) ||
	    w->num_sge > qp->max_sge)
		return wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_BAD_WQE, w->opcode);
	if (mem_local(e->hca, qp->pd, (const struct wq_sge *)(const void *)list, w->num_sge, 0,
		      ~0ULL, &r->mem, &r->len, &bad_lkey))
		return wqe_verdict(WCS_LOC_PROT_ERR, CAUSE_LKEY, bad_lkey);
	r->frames = r->len ? (u32)min_u64(DIV_ROUND_UP(r->len, r->share), UINT32_MAX) : 1;
	if (r->len <= max && r->hdr + min_u64(r->len, r->share) <= qp_max_frame(qp))
		return wqe_verdict(WCS_SUCCESS, CAUSE_BAD_WQE, w->opcode);
	return wqe_verdict(WCS_LOC_LEN_ERR, CAUSE_LOCAL_LEN, (u32)r->len);
}

/* Return: with WCS_SUCCESS the cause of what may fail later. */
static struct verdict raw_wr_check(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
				   const struct sq_wqe *slot, const struct sq_wqe *w,
				   struct raw_wr *r)
{
	struct verdict v;

	if (w->opcode == WR_TSO)
		return raw_wr_check_tso(e, qp, slot, w, r);
	v = wqe_check(e, qp, seg, slot, w, &r->mem, &r->len);
	if (v.status)
		return v;
	r->hdr = 0;
	r->frames = 1;
	r->share = (u32)r->len;
	if (r->len >= FRAME_ETH && r->len <= qp_max_frame(qp))
		return wqe_verdict(WCS_SUCCESS, CAUSE_BAD_WQE, w->opcode);
	return wqe_verdict(WCS_LOC_LEN_ERR, CAUSE_LOCAL_LEN, (u32)r->len);
}

static void frame_reparse(struct eth_frame *f, u32 len)
{
	u8 hdrs[FRAME_HDRS];

	memcpy(hdrs, f->p, min_u32(len, FRAME_HDRS));
	frame_parse(hdrs, len, &f->f);
}

/* The bytes of the frame into its place. Return: 0, -EAGAIN or a WC status, negated. */
static int frame_gather(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *slot,
			const struct raw_wr *r, struct eth_frame *f, u32 payload)
{
	u64 key = (u64)qp->qpn << 32 | (u64)f->nth << 1;
	int ret = 0;

	memcpy(f->p, slot->sge, r->hdr);
	if (payload)
		ret = e->ops->copy(e->ctx, &f->mem, r->hdr, &r->mem,
				   (u64)(f->nth - qp->req.next) * r->share, payload, key);
	return !ret || ret == -EAGAIN ? ret : -WCS_LOC_PROT_ERR;
}

/* Apply the HCA's offloads to a frame. Return: 0 or a WC status, negated. */
static int frame_offload(const struct sq_wqe *w, const struct raw_wr *r, struct eth_frame *f,
			 u32 nth, u32 payload)
{
	struct frame_tcp t = {
		.nth = nth,
		.mss = r->share,
		.payload = payload,
		.last = nth + 1 == r->frames,
	};

	frame_reparse(f, r->hdr + payload);
	if (w->opcode == WR_TSO) {
		if (frame_tcp_headers(f->p, &f->f) != r->hdr)
			return -WCS_LOC_QP_OP_ERR;
		frame_segment(f->p, &f->f, r->hdr, &t);
		frame_reparse(f, r->hdr + payload);
		frame_checksum(f->p, &f->f);
	} else if (w->send_flags & SEND_IP_CSUM) {
		frame_checksum(f->p, &f->f);
	}
	return 0;
}

/* The queue that a frame for a spreading queue pair goes to; NULL: none that is ready. */
static struct hca_wq *rss_pick_wq(struct hca *hca, const struct hca_qp *qp, const struct frame *f)
{
	const struct hca_ind *t = &hca->ind[qp->ind - 1];
	struct hca_wq *wq;
	u32 hash;

	if (!t->client)
		return NULL;
	hash = rss_hash(qp->rss_key, qp->rss_fields, f);
	wq = &hca->wq[t->wq[hash & (t->n - 1)]];
	return wq->client && wq->state == WQS_RDY ? wq : NULL;
}

/* The frame as this receiver sees it: without a tag, with its check sequence. */
static void frame_tailor(struct eth_frame *f, bool strip, bool fcs, struct hca_mem *mem)
{
	u32 sum;

	*mem = f->mem;
	if (fcs && !f->fcs) {
		sum = htole32(frame_fcs(f->p, f->f.len));
		memcpy(f->p + f->f.len, &sum, sizeof(sum));
		f->fcs = true;
	}
	if (fcs)
		mem->iov[0].len += FRAME_FCS;
	if (!strip)
		return;
	mem->iov[1].addr = mem->iov[0].addr + FRAME_ETH - 2 + FRAME_VLAN;
	mem->iov[1].len = mem->iov[0].len - (FRAME_ETH - 2 + FRAME_VLAN);
	mem->iov[0].len = FRAME_ETH - 2;
	mem->n = 2;
}

static void frame_describe_recv(struct eth_frame *f, const struct hca_flow *rule, bool strip,
				struct rx_wc *wc, struct cqe *cqe)
{
	if (!f->csum)
		f->csum = frame_csum_ok(f->p, &f->f) ? 1 : 2;
	if (f->csum == 1)
		wc->wc_flags |= WCF_IP_CSUM_OK;
	cqe->flow_tag = rule->tag;
	if (!rule->has_tag && !strip)
		return;
	wc->flags |= CQE_EXT;
	cqe->slid = 0;
	cqe->sl = 0;
	cqe->dlid_path_bits = 0;
	cqe->pkey_index = 0;
	cqe->cvlan = strip ? be16toh(f->f.outer.m.vlan) : 0;
}

/* A copy for one receiver. Return: 0, also when it was dropped, or -EAGAIN. */
static int frame_deliver(struct engine *e, struct eth_frame *f, const struct hca_flow *rule,
			 struct hca_qp *qp)
{
	struct hca_wq *wq = qp->ind ? rss_pick_wq(e->hca, qp, &f->f) : NULL;
	struct resp_state s = qp->resp;
	struct rx_wc wc = { .opcode = WCO_RECV };
	struct burst b = { .op = BOP_SEND, .flags = BF_FIRST | BF_LAST, .npkts = 1 };
	struct hca_mem mem;
	struct cqe *cqe;
	struct rx rx;
	bool strip, fcs;
	int ret = -ENOBUFS;

	if (qp->ind ? !wq : qp->state < QPS_RTR || qp->state > QPS_SQE)
		return 0;
	if (wq ? !rx_open_wq(e, wq, &rx) : !rx_open_own(e, qp, &rx))
		return -EAGAIN;
	strip = f->f.outer.m.tagged &&
		(wq ? wq->flags & WQF_CVLAN_STRIPPING : qp->create_flags & QPC_CVLAN_STRIPPING);
	fcs = wq ? wq->flags & WQF_SCATTER_FCS : qp->create_flags & QPC_SCATTER_FCS;
	frame_tailor(f, strip, fcs, &mem);
	b.mem = &mem;
	b.len = mem.iov[0].len + (mem.n > 1 ? mem.iov[1].len : 0);
	b.src_qpn = f->src_qpn;
	b.psn = f->nth;
	wc.wqe = rx_next(&rx, qp, &s, &wc.slot);
	cqe = wc.wqe ? cq_reserve(e, rx.seg, rx.cq) : NULL;
	if (cqe)
		ret = rx_place(e, qp, &rx, &b, 0, &wc, cqe);
	/* It has taken the receive, and cannot say so. */
	if (unlikely(wc.wqe && !cqe && !rx.cq->ignore_overrun))
		rx_done(e, qp, &rx, &s, &b, &wc, NULL);
	if (cqe && (ret == -EACCES || ret == -EFAULT_DST)) {
		rx_error(e, qp, &rx, &b, WCS_LOC_PROT_ERR, CAUSE_LKEY, wc.bad);
		return 0;
	}
	if (ret) {
		if (ret != -EAGAIN)
			port_of(e->hca, rule->dev, rule->port)->counters[CNT_DROPPED]++;
		return ret == -EAGAIN ? ret : 0;
	}
	frame_describe_recv(f, rule, strip, &wc, cqe);
	wc.len = (u32)b.len;
	s.rx_pkts++;
	s.rx_bytes += b.len;
	if (wq) {
		qp->resp.rx_pkts = s.rx_pkts;
		qp->resp.rx_bytes = s.rx_bytes;
	}
	rx_done(e, qp, &rx, &s, &b, &wc, cqe);
	return 0;
}

static void flow_count_frame(struct hca *hca, const struct hca_flow *rule,
			     const struct eth_frame *f)
{
	struct hca_ctr *c = rule->counters ? &hca->ctr[rule->counters - 1] : NULL;

	if (c) {
		c->packets++;
		c->bytes += f->f.len;
	}
}

/*
 * Offer a frame to the port, or to all ports (@port 0) that are up, from flow rule *at on. Return:
 * 0, or -EAGAIN with *at the rule whose queue pair is out of reach now.
 */
static int frame_switch(struct engine *e, struct eth_frame *f, u32 dev, u32 port, u32 *at)
{
	struct hca *hca = e->hca;
	struct flow_route route;
	struct hca_qp *qp;
	u32 i;

	if (!flow_route(hca, &f->f, &route))
		return 0;
	for (i = *at; i < hca->tab[TAB_FLOW].high; i++) {
		const struct hca_flow *rule = &hca->flow[i];

		if (!flow_is_receiver(hca, &f->f, &route, i) ||
		    (port && (rule->dev != dev || rule->port != port)) ||
		    port_is_down(hca, rule->dev, rule->port))
			continue;
		qp = hca_qp_by_num(hca, rule->qpn);
		if (qp && !rule->drop && frame_deliver(e, f, rule, qp) == -EAGAIN) {
			*at = i;
			return -EAGAIN;
		}
		flow_count_frame(hca, rule, f);
	}
	return 0;
}

/* --- over links --- */

/* The smallest MTU of a link that it goes over. */
static u32 frame_least_mtu(u32 len)
{
	u32 mtu = 256;

	while (mtu < 4096 && len > mtu_max_frame(mtu))
		mtu *= 2;
	return mtu;
}

/* The packet that a link carries to that port, with its check sequence. */
static void frame_burst(const struct hca_qp *qp, struct eth_frame *f, u32 dev, u32 port,
			struct hca_mem *mem, struct burst *b)
{
	frame_tailor(f, false, true, mem);
	*b = (struct burst){
		.op = BOP_SEND,
		.flags = BF_FIRST | BF_LAST,
		.psn = f->nth & IB_PSN_MASK,
		.path = qp->path,
		.npkts = 1,
		.mtu = frame_least_mtu(f->f.len),
		.len = mem->iov[0].len,
		.mem = mem,
	};
	b->dst_dev = dev;
	b->dst_port = (u8)port;
	b->dst_qpn = 0;
}

/*
 * To all ports where a flow rule takes it, those of them that rules from *at on are the first for.
 * Return: 0, or -EAGAIN with *at the rule whose port's link has no room.
 */
static int frame_send_links(struct engine *e, const struct hca_qp *qp, struct eth_frame *f, u32 *at)
{
	u64 seen[HCA_MAX_DEVS * HCA_MAX_PORTS / 64] = { 0 };
	struct hca *hca = e->hca;
	struct flow_route route;
	struct hca_mem mem;
	struct burst b;
	u32 i, n;

	if (!flow_route(hca, &f->f, &route))
		return 0;
	for (i = 0; i < hca->tab[TAB_FLOW].high; i++) {
		const struct hca_flow *rule = &hca->flow[i];

		if (!flow_is_receiver(hca, &f->f, &route, i))
			continue;
		n = rule->dev * HCA_MAX_PORTS + rule->port - 1;
		if (seen[n / 64] & BIT64(n % 64))
			continue;
		seen[n / 64] |= BIT64(n % 64);
		if (i < *at)
			continue;
		frame_burst(qp, f, rule->dev, rule->port, &mem, &b);
		if (e->ops->link(e->ctx, &b) == -EAGAIN) {
			*at = i;
			return -EAGAIN;
		}
	}
	return 0;
}

int raw_input(struct engine *e, const struct burst *b, u8 *frame, u32 *next)
{
	struct eth_frame f = { .p = frame, .src_qpn = b->src_qpn, .nth = b->psn, .fcs = true };

	if (!b->mem || b->mem->n != 1 || b->len < FRAME_ETH + FRAME_FCS || b->len > LIM_FRAME)
		return 0;
	if (unlikely(port_is_down(e->hca, b->dst_dev, b->dst_port))) {
		journal_drop(e, b, CAUSE_PORT_DOWN, b->dst_dev << 8 | b->dst_port);
		return 0;
	}
	f.mem = *b->mem;
	f.mem.iov[0].len = b->len - FRAME_FCS;
	frame_reparse(&f, (u32)f.mem.iov[0].len);
	return frame_switch(e, &f, b->dst_dev, b->dst_port, next);
}

/* The frame leaves its port. Return: as frame_switch(). */
static int frame_leave_port(struct engine *e, const struct hca_qp *qp, struct eth_frame *f, u32 *at)
{
	struct hca_mem mem;
	struct burst b;

	if (unlikely(port_is_down(e->hca, qp->path.src_dev, qp->path.src_port))) {
		frame_burst(qp, f, JOURNAL_NOBODY, 0, &mem, &b);
		journal_drop(e, &b, CAUSE_PORT_DOWN, b.src_dev << 8 | b.src_port);
		return 0;
	}
	if (unlikely(qp->path.via))
		return frame_send_links(e, qp, f, at);
	return frame_switch(e, f, 0, 0, at);
}

int raw_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, const struct sq_wqe *slot,
	     const struct sq_wqe *w, u64 *at, struct verdict *v)
{
	struct progress p = { .frame = (u32)(*at >> 32), .rule = (u32)*at };
	struct eth_frame f = { .src_qpn = qp->qpn, .nth = qp->req.next + p.frame };
	struct raw_wr r;
	u32 payload, rule;
	int ret = 0;

	*v = raw_wr_check(e, qp, seg, slot, w, &r);
	if (v->status)
		return -(int)v->status;
	/* Only the fabric process has links. */
	if (unlikely(qp->path.via && !e->ops->link))
		return -EAGAIN;
	if (p.frame >= r.frames)
		return 0; /* the client shortened it under way */
	payload = (u32)min_u64(r.len - (u64)p.frame * r.share, r.share);
	f.mem.client = qp->client - 1;
	f.mem.kind = MEM_SEG;
	f.mem.n = 1;
	f.mem.iov[0].addr = sq_scratch_off(qp);
	f.mem.iov[0].len = r.hdr + payload;
	f.p = seg_ptr(seg, f.mem.iov[0].addr);
	if (!p.rule) {
		ret = frame_gather(e, qp, slot, &r, &f, payload);
		if (!ret)
			ret = frame_offload(w, &r, &f, p.frame, payload);
		if (!ret && unlikely(e->hca->watched) && e->hca->capture.on && !qp->path.via)
			ret = cap_frame_put(e, qp, f.p, r.hdr + payload);
		if (ret)
			return ret;
		p.rule = 1;
		qp->req.tx_pkts++;
		qp->req.tx_bytes += r.hdr + payload;
	}
	frame_reparse(&f, r.hdr + payload);
	/* As links and rules know it. */
	if (unlikely(qp->path.via))
		f.nth = (u32)(qp->req.tx_pkts - 1);
	rule = p.rule - 1;
	ret = frame_leave_port(e, qp, &f, &rule);
	e->budget_bytes -= r.hdr + payload;
	*at = (u64)p.frame << 32 | (rule + 1);
	if (ret || p.frame + 1 == r.frames)
		return ret;
	e->budget_wrs--;
	*at = (u64)(p.frame + 1) << 32;
	return 1;
}
