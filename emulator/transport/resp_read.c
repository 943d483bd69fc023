/* SPDX-License-Identifier: MIT */
/**
 * DOC: the responder's side of READ, atomics and FLUSH, first time and again.
 *
 * A duplicate READ is executed again; a duplicate atomic never is: its result is kept (IBTA 9.4.5,
 * 9.7.5.1.4). State is committed before the response leaves, so the requester retransmits the
 * request if the response is lost or its sender dies.
 */
#include "emulator/engine.h"
#include "emulator/mem.h"
#include "emulator/queue/commit.h"
#include "emulator/transport/atomic.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/wire.h"

/* @last: the message ends with it. */
static void resp_accept_request(struct engine *e, struct hca_qp *qp, const struct burst *b,
				u32 npkts, bool last)
{
	struct resp_state s = qp->resp;

	s.epsn = psn_add(b->psn, npkts);
	s.msn = (s.msn + last) & IB_PSN_MASK;
	s.flags &= ~(u32)RESP_NAK_SENT;
	s.rx_pkts++;
	commit_resp(e, qp, &s, qp->state);
}

static int resp_refuse(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 nak,
		       u32 cause, u32 info)
{
	u32 event = nak == AETH_NAK_INV_REQ ? EV_QP_REQ_ERR : EV_QP_ACCESS_ERR;

	return resp_nak_fail(e, qp, b, nak, 0, event, cause, info);
}

/*
 * The checks of a READ. @src: receives the memory that it names. Return: 0, or the NAK that refuses
 * it, with *cause and *info.
 */
static u8 resp_check_read(struct hca *hca, const struct hca_qp *qp, const struct burst *b,
			  struct hca_mem *src, u32 *cause, u32 *info)
{
	if (!(qp->attr.access & ACC_REMOTE_READ)) {
		*cause = CAUSE_ACCESS_FLAGS;
		*info = qp->attr.access;
		return AETH_NAK_INV_REQ;
	}
	if (!qp->attr.max_dest_rd_atomic) {
		*cause = CAUSE_RD_ATOMIC;
		*info = 0;
		return AETH_NAK_INV_REQ;
	}
	if (b->dma_len > LIM_MSG || mem_remote(hca, qp, resp_pd(hca, qp, b), b->rkey, b->va,
					       b->dma_len, ACC_REMOTE_READ, src)) {
		*cause = CAUSE_RKEY;
		*info = b->rkey;
		return AETH_NAK_REM_ACCESS;
	}
	return 0;
}

bool resp_allows_read(struct hca *hca, const struct hca_qp *qp, const struct burst *b)
{
	struct hca_mem src;
	u32 cause, info;

	return !resp_check_read(hca, qp, b, &src, &cause, &info);
}

int resp_read(struct engine *e, struct hca_qp *qp, const struct burst *b, bool dup)
{
	const bool last = b->off + b->len >= b->dma_len;
	u32 npkts = packets_of(b->len, qp->mtu), cause, info;
	struct hca_mem src;
	struct burst rsp;
	u8 nak = resp_check_read(e->hca, qp, b, &src, &cause, &info);

	/* A duplicate was answered before: drop it if it cannot be answered again. */
	if (nak)
		return dup ? 0 : resp_refuse(e, qp, b, nak, cause, info);
	if (!dup)
		resp_accept_request(e, qp, b, npkts, last);
	resp_start(qp, b->psn, BOP_READ_RESP, AETH_ACK, &rsp);
	rsp.flags = (b->off ? 0 : BF_FIRST) | (last ? BF_LAST : 0);
	rsp.npkts = npkts;
	rsp.off = b->off;
	rsp.len = b->len;
	rsp.mem = rsp.len ? &src : NULL;
	return wire_send(e, &rsp);
}

int resp_empty(struct engine *e, struct hca_qp *qp, u32 psn)
{
	struct burst rsp;

	resp_start(qp, psn, BOP_READ_RESP, AETH_ACK, &rsp);
	return wire_send(e, &rsp);
}

static int atomic_replay(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct burst rsp;
	u32 i;

	/* The latest first: sequence numbers come round again. */
	for (i = 1; i <= LIM_RD_ATOM; i++) {
		const struct atomic_res *res = &qp->at[(qp->resp.at_head - i) % LIM_RD_ATOM];

		if (!res->nth || res->psn != b->psn)
			continue;
		resp_start(qp, b->psn, BOP_ATOMIC_ACK, AETH_ACK, &rsp);
		rsp.orig = res->orig;
		return wire_send(e, &rsp);
	}
	return 0; /* too old: the requester cannot be waiting for it */
}

int resp_atomic(struct engine *e, struct hca_qp *qp, const struct burst *b, bool dup)
{
	const struct atomic_res *res = atomic_next(qp);
	struct resp_state s = qp->resp;
	struct hca_mem dst;
	struct burst rsp;
	int ret;

	if (dup)
		return atomic_replay(e, qp, b);
	if (!(qp->attr.access & ACC_REMOTE_ATOMIC))
		return resp_refuse(e, qp, b, AETH_NAK_INV_REQ, CAUSE_ACCESS_FLAGS, qp->attr.access);
	if (!qp->attr.max_dest_rd_atomic)
		return resp_refuse(e, qp, b, AETH_NAK_INV_REQ, CAUSE_RD_ATOMIC, 0);
	if (b->va & 7) {
		mem_note_alignment(e->hca, b->va, 8, (u32)b->va & 7);
		return resp_refuse(e, qp, b, AETH_NAK_INV_REQ, CAUSE_MISALIGNED, (u32)b->va & 7);
	}
	if (mem_remote(e->hca, qp, resp_pd(e->hca, qp, b), b->rkey, b->va, 8, ACC_REMOTE_ATOMIC,
		       &dst))
		return resp_refuse(e, qp, b, AETH_NAK_REM_ACCESS, CAUSE_RKEY, b->rkey);
	ret = atomic_execute(e, qp, b, &dst);
	if (ret == -EAGAIN || ret == -ESRCH)
		return ret == -EAGAIN ? ret : 0;
	if (ret)
		return resp_nak_fail(e, qp, b, AETH_NAK_REM_OP, 0, EV_QP_FATAL, CAUSE_MEM_FAULT,
				     b->rkey);
	s.at_head++;
	s.epsn = psn_add(b->psn, 1);
	s.msn = (s.msn + 1) & IB_PSN_MASK;
	s.flags &= ~(u32)RESP_NAK_SENT;
	s.rx_pkts++;
	commit_resp(e, qp, &s, qp->state);
	resp_start(qp, b->psn, BOP_ATOMIC_ACK, AETH_ACK, &rsp);
	rsp.orig = res->orig;
	return wire_send(e, &rsp);
}

/* The rights that the placement types of a FLUSH need, of the QP as of the region (A19). */
static u32 flush_rights(u64 feth)
{
	return (feth & FLUSH_GLOBAL ? ACC_FLUSH_GLOBAL : 0u) |
	       (feth & FLUSH_PERSISTENT ? ACC_FLUSH_PERSISTENT : 0u);
}

/*
 * The WRITEs before it have been copied, and processes share memory coherently: what is left of
 * global visibility is the order. Persistence is a promise of the profile, see `pmem`.
 */
int resp_flush(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	const u32 need = flush_rights(b->swap);

	if (b->swap & ~(u64)FLUSH_KNOWN)
		return resp_refuse(e, qp, b, AETH_NAK_INV_REQ, CAUSE_BAD_WQE, b->op);
	if ((qp->attr.access & need) != need)
		return resp_refuse(e, qp, b, AETH_NAK_INV_REQ, CAUSE_ACCESS_FLAGS, qp->attr.access);
	if (!qp->attr.max_dest_rd_atomic)
		return resp_refuse(e, qp, b, AETH_NAK_INV_REQ, CAUSE_RD_ATOMIC, 0);
	if (mem_remote_flush(e->hca, qp, resp_pd(e->hca, qp, b), b->rkey, b->va, b->dma_len,
			     b->swap & FLUSH_MR, need))
		return resp_refuse(e, qp, b, AETH_NAK_REM_ACCESS, CAUSE_RKEY, b->rkey);
	resp_accept_request(e, qp, b, 1, true);
	return resp_empty(e, qp, b->psn);
}
