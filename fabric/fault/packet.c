/* SPDX-License-Identifier: MIT */
/* See packet.h. */
#include "fabric/fault/packet.h"
#include "emulator/engine.h"
#include "emulator/frame/frame.h"

#define ROUND_SPAN (1 << 22)

/* --- rounds ----------------------------------------------------------------------------------- */

/* Merge the two oldest runs: rounds of their packets may skip a number, but never repeat one. */
static void rounds_merge_oldest(struct pkt_rounds *r)
{
	u32 times = max_u32(r->run[0].times, r->run[1].times);

	memmove(&r->run[0], &r->run[1], (--r->n) * sizeof(r->run[0]));
	r->run[0].times = times;
}

/* PSNs wrap: forget what is too far back. */
static void rounds_move_base(struct pkt_rounds *r, u32 psn)
{
	if (psn_diff(psn, r->base) < ROUND_SPAN)
		return;
	r->base = (psn - ROUND_SPAN / 2) & IB_PSN_MASK;
	while (r->n && psn_diff(r->run[0].end, r->base) <= 0)
		memmove(&r->run[0], &r->run[1], (--r->n) * sizeof(r->run[0]));
}

static void rounds_insert(struct pkt_rounds *r, u32 at, u32 end, u32 times)
{
	memmove(&r->run[at + 1], &r->run[at], (r->n - at) * sizeof(r->run[0]));
	r->run[at].end = end;
	r->run[at].times = times;
	r->n++;
}

static u32 rounds_run_start(const struct pkt_rounds *r, u32 i)
{
	return i ? r->run[i - 1].end : r->base;
}

/* A packet after all that were sent so far, perhaps with a gap. */
static u32 rounds_sent_first(struct pkt_rounds *r, u32 psn)
{
	if (r->n && r->run[r->n - 1].times == 1) {
		r->run[r->n - 1].end = psn_add(psn, 1);
		return 1;
	}
	if (r->n == ROUND_RUNS)
		rounds_merge_oldest(r);
	rounds_insert(r, r->n, psn_add(psn, 1), 1);
	return 1;
}

/* A packet of run @i is sent once more: the run is split into up to three. */
static u32 rounds_sent_again(struct pkt_rounds *r, u32 i, u32 psn)
{
	u32 times = r->run[i].times, end = psn_add(psn, 1);

	if (rounds_run_start(r, i) == psn && i && r->run[i - 1].times == times + 1) {
		/* The common case: the packet that follows the last retransmitted one. */
		r->run[i - 1].end = end;
	} else {
		for (; r->n + 2 > ROUND_RUNS; i = i ? i - 1 : 0)
			rounds_merge_oldest(r);
		times = r->run[i].times;
		if (rounds_run_start(r, i) != psn) {
			rounds_insert(r, i, psn, times);
			i++;
		}
		rounds_insert(r, i, end, times + 1);
		i++;
	}
	if (r->run[i].end == end) {
		memmove(&r->run[i], &r->run[i + 1], (r->n - i - 1) * sizeof(r->run[0]));
		r->n--;
	}
	return times + 1;
}

u32 fault_rounds_next(struct pkt_rounds *r, u32 psn)
{
	u32 i;

	rounds_move_base(r, psn);
	if (!r->n)
		r->base = psn;
	if (psn_diff(psn, r->base) < 0) {
		/* It was first sent before rounds were counted. */
		if (r->n == ROUND_RUNS)
			rounds_merge_oldest(r);
		rounds_insert(r, 0, r->base, 1);
		r->base = psn;
		return 1;
	}
	for (i = 0; i < r->n; i++)
		if (psn_diff(psn, r->run[i].end) < 0)
			return rounds_sent_again(r, i, psn);
	return rounds_sent_first(r, psn);
}

/* --- packets ---------------------------------------------------------------------------------- */

static u32 pkt_send_op(const struct burst *b)
{
	bool imm = b->flags & BF_IMM, inv = b->flags & BF_INV;

	switch (b->flags & (BF_FIRST | BF_LAST)) {
	case BF_FIRST:
		return OP_SEND_FIRST;
	case BF_LAST:
		return imm ? OP_SEND_LAST_IMM : inv ? OP_SEND_LAST_INV : OP_SEND_LAST;
	case BF_FIRST | BF_LAST:
		return imm ? OP_SEND_ONLY_IMM : inv ? OP_SEND_ONLY_INV : OP_SEND_ONLY;
	default:
		return OP_SEND_MIDDLE;
	}
}

static u32 pkt_write_op(const struct burst *b)
{
	bool imm = b->flags & BF_IMM;

	switch (b->flags & (BF_FIRST | BF_LAST)) {
	case BF_FIRST:
		return OP_WRITE_FIRST;
	case BF_LAST:
		return imm ? OP_WRITE_LAST_IMM : OP_WRITE_LAST;
	case BF_FIRST | BF_LAST:
		return imm ? OP_WRITE_ONLY_IMM : OP_WRITE_ONLY;
	default:
		return OP_WRITE_MIDDLE;
	}
}

static u32 pkt_response_op(const struct burst *b)
{
	switch (b->flags & (BF_FIRST | BF_LAST)) {
	case BF_FIRST:
		return OP_READ_RESP_FIRST;
	case BF_LAST:
		return OP_READ_RESP_LAST;
	case BF_FIRST | BF_LAST:
		return OP_READ_RESP_ONLY;
	default:
		return OP_READ_RESP_MIDDLE;
	}
}

u32 fault_pkt_ack_op(u8 aeth)
{
	switch (aeth) {
	case AETH_NAK_PSN_SEQ:
		return OP_NAK_SEQ;
	case AETH_NAK_INV_REQ:
	case AETH_NAK_INV_RD_REQ:
		return OP_NAK_INV_REQ;
	case AETH_NAK_REM_ACCESS:
		return OP_NAK_ACCESS;
	case AETH_NAK_REM_OP:
		return OP_NAK_OP;
	default:
		return aeth < AETH_RNR_NAK ? OP_ACK : OP_NAK_RNR;
	}
}

u32 fault_pkt_op(const struct burst *b)
{
	if (b->dst_qpn == GSI_QPN && b->src_qpn == GSI_QPN)
		return OP_MAD;
	switch (b->op) {
	case BOP_SEND:
		return pkt_send_op(b);
	case BOP_WRITE:
		return pkt_write_op(b);
	case BOP_READ_REQ:
		return OP_READ_REQ;
	case BOP_READ_RESP:
		return pkt_response_op(b);
	case BOP_ATOMIC_REQ:
		return b->atomic_op == WR_ATOMIC_FETCH_AND_ADD ? OP_FETCH_ADD : OP_CMP_SWAP;
	case BOP_ATOMIC_WRITE:
		return OP_ATOMIC_WRITE;
	case BOP_FLUSH:
		return OP_FLUSH;
	case BOP_ATOMIC_ACK:
		return OP_ATOMIC_ACK;
	case BOP_ACK:
		return fault_pkt_ack_op(b->aeth);
	default:
		return OP_NONE;
	}
}

/* A QP of this fabric, or NULL. */
static const struct hca_qp *pkt_end_qp(const struct hca *hca, u32 dev, u32 qpn)
{
	const struct hca_qp *qp = &hca->qp[qpn & (HCA_MAX_QP - 1)];

	return qp->client && qp->qpn == qpn && qp->dev == dev ? qp : NULL;
}

static void pkt_fill_end(const struct hca *hca, struct fault_end *e, u32 dev, u32 port, u32 qpn,
			 const struct hca_qp *qp)
{
	*e = (struct fault_end){ .node = dev < hca->n_devs ? hca->dev[dev].node : ~0u,
				 .dev = dev,
				 .port = port,
				 .qpn = qpn,
				 .client = qp ? qp->client : 0 };
}

void fault_pkt_set_ends(const struct hca *hca, const struct burst *b, struct fault_pkt *p,
			u32 *first)
{
	const struct hca_qp *src = pkt_end_qp(hca, b->src_dev, b->src_qpn);
	const struct hca_qp *dst = pkt_end_qp(hca, b->dst_dev, b->dst_qpn);
	bool answer = b->op == BOP_ACK || b->op == BOP_READ_RESP || b->op == BOP_ATOMIC_ACK;

	*p = (struct fault_pkt){
		.types = 1u << (b->dst_type & 31) | 1u << (peer_type(b->dst_type) & 31), .round = 1
	};
	pkt_fill_end(hca, &p->src, b->src_dev, b->src_port, b->src_qpn, src);
	pkt_fill_end(hca, &p->dst, b->dst_dev, b->dst_port, b->dst_qpn, dst);
	*first = 0;
	if (qpt_is_datagram(b->dst_type) || b->dst_type == QPT_RAW_PACKET)
		return;
	p->conn = src ? src->conn : dst ? dst->conn : 0;
	/* A response has the PSN of its request, which counts in the opposite direction. */
	if (answer)
		*first = dst ? dst->attr.sq_psn : src ? src->attr.rq_psn : 0;
	else
		*first = src ? src->attr.sq_psn : dst ? dst->attr.rq_psn : 0;
}

void fault_pkt_set_one(const struct burst *b, u32 first, struct fault_pkt *p)
{
	p->op = fault_pkt_op(b);
	p->psn = b->psn;
	p->rel = (b->psn - first) & IB_PSN_MASK;
	p->size = b->mem ? b->len : 0;
	/* A frame counts without its check sequence, as its sender posted it. */
	if (b->dst_type == QPT_RAW_PACKET && p->size >= FRAME_FCS)
		p->size -= FRAME_FCS;
}
