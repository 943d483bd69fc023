/* SPDX-License-Identifier: MIT */
/**
 * DOC: the requester of SRD: messages to any queue pairs, each on its own.
 *
 * Theory of operation
 * -------------------
 * Up to SRD_WINDOW messages of a queue pair are under way. srd_step() begins the next one, or sends
 * one that is ready. Each has its own ACK timeout and RNR wait, so that one whose peer is silent
 * holds up no other one. They complete in any order: a completion names as free only what all
 * earlier work requests leave free.
 *
 * A SEND is one packet. A READ or WRITE goes in segments of up to SRD_SEGMENT packets, the next one
 * when all of the last one are acknowledged. Then the immediate data of a WRITE, which is a segment
 * of its own, arrives after all of the data. Packets that are not acknowledged in time are sent
 * again, and only those.
 *
 * An error ends the message that it concerns. The queue pair goes on.
 */
#include "emulator/transport/srd.h"

#include "emulator/av.h"
#include "emulator/journal/writer.h"
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/ring.h"
#include "emulator/tab.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/wire.h"
#include "emulator/transport/wqe.h"

#define SRD_TIMEOUT_NS	268435456ULL /* 4.096 us << 16 */
#define SRD_RETRIES	7
#define SRD_VIA_SEGMENT 16u /* packets, where links may be slow */

/* By enum srd_status: what rdma-core makes of it. */
static const u8 wc_status[] = {
	[SRD_OK] = WCS_SUCCESS,
	[SRD_FLUSHED] = WCS_WR_FLUSH_ERR,
	[SRD_LOCAL_QP_ERROR] = WCS_LOC_QP_OP_ERR,
	[SRD_LOCAL_UNSUPPORTED_OP] = WCS_LOC_QP_OP_ERR,
	[SRD_LOCAL_INVALID_AH] = WCS_LOC_QP_OP_ERR,
	[SRD_LOCAL_INVALID_LKEY] = WCS_LOC_PROT_ERR,
	[SRD_LOCAL_BAD_LENGTH] = WCS_LOC_LEN_ERR,
	[SRD_REMOTE_BAD_ADDRESS] = WCS_REM_ACCESS_ERR,
	[SRD_REMOTE_ABORT] = WCS_REM_ABORT_ERR,
	[SRD_REMOTE_BAD_DEST_QPN] = WCS_REM_INV_RD_REQ_ERR,
	[SRD_REMOTE_RNR] = WCS_RNR_RETRY_EXC_ERR,
	[SRD_REMOTE_BAD_LENGTH] = WCS_REM_INV_REQ_ERR,
	[SRD_REMOTE_BAD_STATUS] = WCS_BAD_RESP_ERR,
	[SRD_LOCAL_UNRESP_REMOTE] = WCS_RESP_TIMEOUT_ERR,
};

/* Message @wqe ends with @status, enum ib_wc_status, for which the device has the code @vendor. */
static void srd_end(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe, u32 status,
		    u32 vendor, u32 cause, u32 info)
{
	const struct sq_wqe *w = sq_slot(seg, qp, wqe);
	struct hca_cq *cq = &e->hca->cq[qp->scq];
	bool report = status || (w->send_flags & SEND_SIGNALED);
	struct cqe *cqe = report ? cq_reserve(e, seg, cq) : NULL;
	struct req_state s = qp->req;
	u32 state = qp->state;

	if (status)
		journal_send(e, qp, w, status, cause, info);
	else if (w->opcode == WR_SEND || w->opcode == WR_SEND_WITH_IMM)
		count_send(e->hca, qp);
	srd_retire(&s, wqe);
	if (cqe) {
		cqe_fill_send(e, qp, w, s.una - 1, status, cqe);
		cqe->vendor_err = vendor;
		/* As libefa has it: a READ is a send, and has no length. */
		cqe->byte_len = 0;
		if (cqe->opcode == WCO_RDMA_READ)
			cqe->opcode = WCO_SEND;
	} else if (report) {
		cq_entry_lost(e, qp, cq);
		state = cq->ignore_overrun ? state : QPS_ERR;
	}
	commit_req(e, qp, &s, state, cq, cqe);
	e->hca->srd[qp->srd - 1].ready &= ~BIT64(wqe % SRD_WINDOW);
	srd_msg_of(e->hca, qp, wqe)->state = SRD_FREE;
	if (cqe && cq->chan)
		cq_notify(e, seg, cq, status);
}

void srd_complete(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe,
		  enum srd_status status, u32 cause, u32 info)
{
	srd_end(e, qp, seg, wqe, wc_status[status], status, cause, info);
}

/* The device's code for a status that a fault rule has chosen; 0: it has none. */
static u32 srd_vendor_of(u32 status)
{
	u32 i;

	for (i = ARRAY_SIZE(wc_status) - 1; i && wc_status[i] != status; i--)
		;
	return i;
}

void srd_segment_end(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe)
{
	struct srd_msg *m = srd_msg_of(e->hca, qp, wqe);

	if (srd_off(m) + m->len >= m->total) {
		srd_complete(e, qp, seg, wqe, SRD_OK, CAUSE_NONE, 0);
		return;
	}
	m->retry = SRD_RETRIES;
	m->rnr_retry = (u8)qp->attr.rnr_retry;
	store_between(&m->at, srd_at(srd_off(m) + m->len, 0));
	srd_msg_ready(e->hca, qp, wqe);
}

static enum srd_status srd_status_of_check(const struct verdict *v)
{
	return v->status == WCS_LOC_PROT_ERR  ? SRD_LOCAL_INVALID_LKEY
	       : v->status == WCS_LOC_LEN_ERR ? SRD_LOCAL_BAD_LENGTH
					      : SRD_LOCAL_UNSUPPORTED_OP;
}

/* Bytes of the segment that begins at @off of a message. */
static u32 srd_segment_len(const struct hca_qp *qp, const struct sq_wqe *w, u64 off, u64 total,
			   bool via)
{
	u64 len = min_u64(total - off, (u64)(via ? SRD_VIA_SEGMENT : SRD_SEGMENT) * qp->mtu);
	u64 last = total ? (total - 1) / qp->mtu * qp->mtu : 0;

	if (w->opcode == WR_RDMA_WRITE_WITH_IMM && off < last)
		len = min_u64(len, last - off);
	return (u32)len;
}

/* The oldest packet under way to the message's peer, or *psn. */
static void srd_find_oldest(struct hca *hca, const struct hca_qp *qp, const struct srd_msg *to,
			    u32 *psn)
{
	u64 left = srd_active(&qp->req);
	const struct srd_msg *m;
	u32 i;

	for_each_bit64(i, left) {
		m = srd_msg_of(hca, qp, qp->req.una + i);
		if (srd_npkts(m) && m->dst_dev == to->dst_dev && m->dst_qpn == to->dst_qpn &&
		    psn_diff(m->psn, *psn) < 0)
			*psn = m->psn;
	}
}

/*
 * Give the message's next segment its PSNs. Return: 0; -EAGAIN: one that was sent before has to
 * arrive first; -ENOSPC.
 */
static int srd_segment_begin(struct hca *hca, struct hca_qp *qp, const struct sq_wqe *w,
			     struct srd_msg *m, const struct burst *b)
{
	u32 flow = srd_flow_get(hca, qp->dev, srd_source(qp), b->dst_dev, b->dst_qpn);
	u32 oldest, n, len = srd_segment_len(qp, w, srd_off(m), m->total, b->via);
	struct srd_flow_key *k;

	if (!flow)
		return -ENOSPC;
	k = &hca->srd_key[flow - 1];
	m->dst_dev = b->dst_dev;
	m->dst_qpn = b->dst_qpn;
	oldest = k->next_psn;
	srd_find_oldest(hca, qp, m, &oldest);
	if (psn_diff(k->next_psn, oldest) > (s32)(SRD_PSNS - SRD_SEGMENT))
		return -EAGAIN;
	n = packets_of(len, qp->mtu);
	m->len = len;
	m->acked = 0;
	m->psn = k->next_psn;
	/* A holder that dies in between leaves PSNs that nothing has. */
	store_between(&k->next_psn, psn_add(k->next_psn, n));
	store_between(&m->at, srd_at(srd_off(m), n));
	return 0;
}

/* Packets [@first, @first + @n) of the segment. *b has the address, and what is of the message. */
static void srd_burst(const struct hca_qp *qp, const struct sq_wqe *w, const struct srd_msg *m,
		      u32 first, u32 n, struct burst *b)
{
	u64 at = srd_off(m) + (u64)first * qp->mtu;
	u64 len = min_u64((u64)n * qp->mtu, srd_off(m) + m->len - at);
	bool last = at + len == m->total;

	b->psn = psn_add(m->psn, first);
	b->npkts = n;
	b->len = b->dma_len = len;
	b->swap = m->total;
	b->va = w->remote_addr + at;
	b->off = b->op == BOP_READ_REQ ? 0 : at;
	b->flags = BF_FIRST | BF_LAST;
	if (last)
		b->flags |= wqe_ops[w->opcode].flags;
	if (last && (w->send_flags & SEND_SOLICITED))
		b->flags |= BF_SOLICITED;
}

/* Send the packets of the segment that are not acknowledged. Return: as hca_input(). */
static int srd_segment_send(struct engine *e, struct hca_qp *qp, const struct sq_wqe *w,
			    struct srd_msg *m, const struct hca_mem *mem, struct burst *b)
{
	const u32 psn = m->psn, npkts = srd_npkts(m);
	u32 first, n;
	u64 now;
	int ret;

	for (first = 0; first < npkts; first += n) {
		n = 1;
		if (m->acked >> first & 1)
			continue;
		while (first + n < npkts && !(m->acked >> (first + n) & 1))
			n++;
		srd_burst(qp, w, m, first, n, b);
		b->mem = b->len && b->op != BOP_READ_REQ ? mem : NULL;
		qp->req.tx_pkts += n;
		qp->req.tx_bytes += b->len;
		e->budget_bytes -= (s64)b->len;
		ret = wire_send(e, b);
		if (ret == -EAGAIN)
			return ret;
		/* The answer has come already, and the message may have gone on. */
		if (m->state != SRD_SENT || m->psn != psn || srd_npkts(m) != npkts)
			return 0;
	}
	now = e->ops->now(e->ctx);
	m->deadline = (qp->left_at > now ? qp->left_at : now) + SRD_TIMEOUT_NS;
	return 0;
}

static void srd_burst_start(const struct hca_qp *qp, const struct sq_wqe *w, struct burst *b)
{
	*b = (struct burst){
		.op = wqe_ops[w->opcode].op,
		.path = qp->path,
		.mtu = qp->mtu,
		.rkey = w->rkey,
		.imm = w->imm,
		.srqn = srd_source(qp) >> 24,
	};
	b->near = 0;
	b->dst_type = QPT_SRD;
}

/* Check a message and find its peer. Return: enum srd_status. */
static enum srd_status srd_check(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
				 struct sq_wqe *w, struct srd_msg *m, u32 wqe, struct hca_mem *mem,
				 struct burst *b, struct verdict *v)
{
	const struct sq_wqe *slot = sq_slot(seg, qp, wqe);
	u64 total;

	memcpy(w, slot, sizeof(*w));
	*v = wqe_check(e, qp, seg, slot, w, mem, &total);
	if (v->status)
		return srd_status_of_check(v);
	/* The program may change a message under way: it gets what it asked for at first. */
	if (m->at && m->total != total) {
		*v = wqe_verdict(WCS_LOC_LEN_ERR, CAUSE_LOCAL_LEN, (u32)total);
		return SRD_LOCAL_BAD_LENGTH;
	}
	m->total = total;
	srd_burst_start(qp, w, b);
	if (ud_address(e, qp, w, b) || av_is_mcast(b->av)) {
		*v = wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_AH, w->ah);
		return SRD_LOCAL_INVALID_AH;
	}
	return SRD_OK;
}

/* Ask the fault rules about a message that begins. Return: whether it ends here, or waits. */
static bool srd_fault(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg,
		      const struct sq_wqe *w, u32 wqe)
{
	u32 status, rule;

	if (!srd_fault_ask(e, qp, w, wqe, &status, &rule))
		return false;
	if (status)
		srd_end(e, qp, seg, wqe, status, srd_vendor_of(status), CAUSE_FAULT, rule);
	return true;
}

/* Send a message that is ready. Return: whether something has happened. */
static bool srd_send(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg, u32 wqe)
{
	struct srd_msg *m = srd_msg_of(e->hca, qp, wqe);
	struct hca_mem mem;
	struct verdict v;
	struct sq_wqe w;
	struct burst b;
	enum srd_status status = srd_check(e, qp, seg, &w, m, wqe, &mem, &b, &v);
	int ret = 0;

	if (unlikely(e->ops->fault) && !status && srd_fault(e, qp, seg, &w, wqe))
		return true;
	if (!status && !srd_npkts(m)) {
		ret = srd_segment_begin(e->hca, qp, &w, m, &b);
		if (ret == -EAGAIN)
			return false;
		if (ret) {
			status = SRD_LOCAL_QP_ERROR;
			v = wqe_verdict(WCS_LOC_QP_OP_ERR, CAUSE_AH, w.ah);
		}
	}
	e->budget_wrs--;
	if (status) {
		srd_complete(e, qp, seg, wqe, status, v.cause, v.info);
		return true;
	}
	/* A holder has died that was about to say so. */
	if (unlikely(m->acked == srd_packets(0, srd_npkts(m)))) {
		srd_segment_end(e, qp, seg, wqe);
		return true;
	}
	/* First, since the answer may come within the call. */
	m->state = SRD_SENT;
	m->deadline = e->ops->now(e->ctx) + SRD_TIMEOUT_NS;
	e->hca->srd[qp->srd - 1].ready &= ~BIT64(wqe % SRD_WINDOW);
	if (srd_segment_send(e, qp, &w, m, &mem, &b) != -EAGAIN)
		return true;
	if (m->state == SRD_SENT)
		srd_msg_ready(e->hca, qp, wqe);
	qp_stall(e, qp);
	return false;
}

static bool srd_begin(struct engine *e, struct hca_qp *qp)
{
	struct req_state s = qp->req;

	if (s.next - s.una >= SRD_WINDOW)
		return false;
	*srd_msg_of(e->hca, qp, s.next) = (struct srd_msg){
		.retry = SRD_RETRIES,
		.rnr_retry = (u8)qp->attr.rnr_retry,
	};
	srd_msg_ready(e->hca, qp, s.next);
	s.next++;
	s.sent = s.next;
	commit_req(e, qp, &s, qp->state, NULL, NULL);
	return true;
}

bool srd_step(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	const struct srd_window *win = &e->hca->srd[qp->srd - 1];
	u64 left = srd_active(&qp->req);
	u32 i;

	if (unlikely(e->ops->fault))
		srd_fault_posted(e->hca, qp, sq_posted(seg, qp));
	for_each_bit64(i, left) {
		u32 wqe = qp->req.una + i;

		if (!(win->ready >> wqe % SRD_WINDOW & 1))
			continue;
		if (srd_send(e, qp, seg, wqe))
			return true;
		if (qp->stalled)
			return false;
	}
	if (qp->req.next == sq_posted(seg, qp) || qp->state == QPS_SQD)
		return false;
	return srd_begin(e, qp);
}

void srd_timer_arm(struct engine *e, struct hca_qp *qp)
{
	u64 left = srd_active(&qp->req), first = 0;
	const struct srd_msg *m;
	u32 i;

	if (qp->stalled)
		return;
	for_each_bit64(i, left) {
		m = srd_msg_of(e->hca, qp, qp->req.una + i);
		if (m->state != SRD_READY && (!first || m->deadline < first))
			first = m->deadline;
	}
	if (!first)
		qp->deadline = 0;
	else if (first != qp->deadline)
		qp_timer_arm(e, qp, first);
}

void srd_timeout(struct engine *e, struct hca_qp *qp, struct seg_hdr *seg)
{
	u64 left = srd_active(&qp->req), now = e->ops->now(e->ctx);
	const u32 una = qp->req.una;
	struct srd_msg *m;
	u32 i;

	for_each_bit64(i, left) {
		m = srd_msg_of(e->hca, qp, una + i);
		if (m->state == SRD_READY || m->deadline > now)
			continue;
		if (m->state == SRD_SENT) {
			dev_count(e->hca, qp, m->retry ? CNT_TIMEOUT : CNT_RETRY_EXC);
			if (!m->retry) {
				srd_complete(e, qp, seg, una + i, SRD_LOCAL_UNRESP_REMOTE,
					     CAUSE_RETRY, SRD_RETRIES);
				continue;
			}
			m->retry--;
			qp->n_retry++;
		}
		srd_msg_ready(e->hca, qp, una + i);
	}
}

void srd_recover(struct hca *hca, struct hca_qp *qp)
{
	u64 left = srd_active(&qp->req);
	u32 i;

	hca->srd[qp->srd - 1].ready = 0;
	for_each_bit64(i, left) {
		if (srd_msg_of(hca, qp, qp->req.una + i)->state != SRD_RNR)
			srd_msg_ready(hca, qp, qp->req.una + i);
	}
}
