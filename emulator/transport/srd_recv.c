/* SPDX-License-Identifier: MIT */
/**
 * DOC: the responder of SRD.
 *
 * Each burst is taken as it comes, and answered; nothing is expected to be in order. These checks
 * are made, and the first one that fails decides:
 *
 *  the QP exists, and is in RTR, RTS or SQD; its Q_Key     NAK invalid RD request
 *  the packet has arrived before (srd_flow.c)              ACK
 *  WRITE, READ: R_Key, range, access                       NAK remote access
 *  SEND, immediate data: a receive is posted               RNR NAK
 *  SEND: the receive's L_Keys                              NAK remote operational
 *  SEND: the receive is long enough                        NAK invalid request
 *
 * Rights are those of the region: SRD queue pairs have no access flags of their own. The payload is
 * copied first. Then one commit publishes the receive's completion, and that the packet has
 * arrived. The ACK follows. A holder that dies in between leaves a request that looks lost.
 */
#include "emulator/transport/srd.h"

#include "emulator/journal/writer.h"
#include "emulator/mem.h"
#include "emulator/qp.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/ring.h"
#include "emulator/tab.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/wc_fault.h"
#include "emulator/transport/wire.h"

#define SRD_HOP_LIMIT 64

/* Begin an answer to @b: packets back to where it came from. @av: receives the address. */
static void srd_answer_start(struct hca *hca, const struct burst *b, u8 op, u8 aeth,
			     struct hca_av *av, struct burst *r)
{
	const struct hca_port *to = &hca->dev[b->src_dev].port[b->src_port];
	u32 sgid = b->av ? b->av->sgid_index % HCA_GIDS : 0;

	*av = (struct hca_av){
		.dst_dev = b->src_dev,
		.is_global = 1,
		.hop_limit = SRD_HOP_LIMIT,
		.port_num = b->dst_port,
		.dst_port = b->src_port,
		.dlid = (u16)to->lid,
	};
	memcpy(av->dgid, to->gid[sgid].raw, sizeof(av->dgid));
	*r = (struct burst){
		.op = op,
		.flags = BF_FIRST | BF_LAST,
		.aeth = aeth,
		.psn = b->psn,
		.npkts = 1,
		.mtu = b->mtu,
		.msn = b->npkts,
		.srqn = b->srqn,
		.pkey = b->pkey,
		.src_dev = b->dst_dev,
		.dst_dev = b->src_dev,
		.src_port = b->dst_port,
		.dst_port = b->src_port,
		.src_qpn = b->dst_qpn,
		.dst_qpn = b->src_qpn,
		.dst_type = QPT_SRD,
		.av = av,
	};
	r->via = av_is_relayed(hca, &r->path, av);
}

/* An ACK or a NAK. Return: 0: one that is lost is sent again when the request is. */
static int srd_answer_send(struct engine *e, const struct burst *b, u8 aeth)
{
	struct hca_av av;
	struct burst r;

	srd_answer_start(e->hca, b, BOP_ACK, aeth, &av, &r);
	wire_send(e, &r);
	return 0;
}

void srd_refuse(struct engine *e, const struct burst *b)
{
	if (b->src_dev < e->hca->n_devs && b->src_port <= HCA_MAX_PORTS)
		srd_answer_send(e, b, AETH_NAK_INV_RD_REQ);
}

static int srd_nak(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 aeth, u32 cause,
		   u32 info)
{
	dev_count(e->hca, qp, CNT_NAK_SENT);
	journal_nak(e, qp, b, b->psn, aeth, cause, info);
	return srd_answer_send(e, b, aeth);
}

/* The flow of a request; 0: its packets are dropped. */
static u32 srd_flow_of(struct engine *e, const struct hca_qp *qp, const struct burst *b)
{
	u32 src = (b->src_qpn & IB_QPN_MASK) | (b->srqn & 0xff) << 24;
	u32 flow = srd_flow_get(e->hca, b->src_dev, src, qp->dev, qp->qpn);

	if (!flow)
		journal_drop(e, b, CAUSE_REFUSED, 0);
	return flow;
}

/* Name the sender as an EFA device does, by its address: the poller makes a number of it. */
static void srd_wc_origin(const struct hca *hca, const struct burst *b, struct rx_wc *wc,
			  struct cqe *cqe)
{
	const struct hca_port *from = &hca->dev[b->src_dev].port[b->src_port];
	u32 sgid = b->av ? b->av->sgid_index % HCA_GIDS : 0;

	memset(cqe->grh, 0, sizeof(cqe->grh));
	memcpy(cqe->grh + CQE_SGID, from->gid[sgid].raw, sizeof(from->gid[sgid].raw));
	cqe->slid = CQE_BY_GID;
	cqe->dlid_path_bits = 0;
	cqe->pkey_index = 0;
	cqe->sl = 0;
	cqe->cvlan = 0;
	cqe->flow_tag = 0;
	wc->flags |= CQE_EXT;
}

/* A receive that cannot take the message. */
static int srd_refuse_recv(struct engine *e, struct hca_qp *qp, struct rx *rx,
			   const struct burst *b, const struct rx_wc *wc, int ret)
{
	struct resp_state s = qp->resp;

	if (ret == -EMSGSIZE)
		return srd_nak(e, qp, b, AETH_NAK_INV_REQ, CAUSE_REQUEST_LEN, wc->room);
	if (ret == -EFAULT_SRC)
		return srd_nak(e, qp, b, AETH_NAK_REM_OP, CAUSE_MEM_FAULT, 0);
	rx_journal(e, qp, rx, b, WCS_LOC_PROT_ERR, CAUSE_LKEY, wc->bad);
	rx_fail(e, qp, rx, &s, WCS_LOC_PROT_ERR, qp->state);
	return srd_nak(e, qp, b, AETH_NAK_REM_OP, CAUSE_LKEY, wc->bad);
}

/* Complete the receive of one packet, whose payload is in place, and acknowledge it. */
static int srd_receive_end(struct engine *e, struct hca_qp *qp, struct rx *rx, u32 flow,
			   const struct burst *b, struct rx_wc *wc, struct cqe *cqe)
{
	struct resp_state s = qp->resp;

	if (cqe)
		srd_wc_origin(e->hca, b, wc, cqe);
	s.rx_pkts++;
	s.rx_bytes += b->len;
	commit_srd(e, flow, b->psn);
	rx_done(e, qp, rx, &s, b, wc, cqe);
	return srd_answer_send(e, b, AETH_ACK);
}

/* A receive that a fault rule fails: it ends, and the message does not arrive. */
static int srd_fault_recv(struct engine *e, struct hca_qp *qp, struct rx *rx, const struct burst *b,
			  u32 status)
{
	bool request = status == WCS_LOC_LEN_ERR || status == WCS_REM_INV_REQ_ERR;
	struct resp_state s = qp->resp;

	rx_journal(e, qp, rx, b, status, CAUSE_FAULT, qp->fault.recv_rule);
	rx_fail(e, qp, rx, &s, status, qp->state);
	return srd_nak(e, qp, b, request ? AETH_NAK_INV_REQ : AETH_NAK_REM_OP, CAUSE_FAULT,
		       qp->fault.recv_rule);
}

static int srd_rnr(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	dev_count(e->hca, qp, CNT_RNR_SENT);
	return srd_answer_send(e, b, AETH_RNR_NAK | SRD_RNR_TIMER);
}

static int srd_send_input(struct engine *e, struct hca_qp *qp, u32 flow, const struct burst *b)
{
	struct rx_wc wc = { .opcode = WCO_RECV };
	struct cqe *cqe;
	struct rx rx;
	u32 status;
	int ret;

	if (!rx_open_own(e, qp, &rx))
		return -EAGAIN;
	wc.wqe = rx_next(&rx, qp, &qp->resp, &wc.slot);
	if (!wc.wqe)
		return srd_rnr(e, qp, b);
	if (unlikely(e->ops->fault)) {
		status = wc_fault_recv(e, qp, &rx, b, wc.wqe->wr_id, wc.wqe->total_len);
		if (status)
			return srd_fault_recv(e, qp, &rx, b, status);
	}
	cqe = cq_reserve(e, rx.seg, rx.cq);
	ret = rx_place(e, qp, &rx, b, 0, &wc, cqe);
	if (ret == -EAGAIN || ret == -ESRCH)
		return resp_unreached(e, b, ret);
	if (ret)
		return srd_refuse_recv(e, qp, &rx, b, &wc, ret);
	wc.len = (u32)b->len;
	return srd_receive_end(e, qp, &rx, flow, b, &wc, cqe);
}

/* A run of packets of a WRITE that have not arrived before. Return: as hca_input(), or 1: done. */
static int srd_write_run(struct engine *e, struct hca_qp *qp, u32 flow, const struct burst *b)
{
	struct rx_wc wc = { .opcode = WCO_RECV_RDMA_WITH_IMM };
	const bool imm = b->flags & BF_IMM;
	struct hca_mem dst;
	struct rx rx;
	u32 i;
	int ret;

	if (mem_remote(e->hca, qp, qp->pd, b->rkey, b->va, b->len, ACC_REMOTE_WRITE, &dst))
		return srd_nak(e, qp, b, AETH_NAK_REM_ACCESS, CAUSE_RKEY, b->rkey);
	if (imm) {
		if (!rx_open_own(e, qp, &rx))
			return -EAGAIN;
		wc.wqe = rx_next(&rx, qp, &qp->resp, &wc.slot);
		if (!wc.wqe)
			return srd_rnr(e, qp, b);
	}
	ret = resp_fetch(e, qp, b, &dst, 0);
	if (ret == -EAGAIN || ret == -ESRCH)
		return resp_unreached(e, b, ret);
	if (ret)
		return srd_nak(e, qp, b, AETH_NAK_REM_OP, CAUSE_MEM_FAULT, b->rkey);
	if (imm) {
		/* The packets before the last one have arrived: the requester sees to that. */
		wc.len = (u32)b->swap;
		return srd_receive_end(e, qp, &rx, flow, b, &wc, cq_reserve(e, rx.seg, rx.cq));
	}
	for (i = 0; i < b->npkts; i++)
		srd_flow_mark(e->hca, flow, psn_add(b->psn, i));
	return 1;
}

static int srd_write_input(struct engine *e, struct hca_qp *qp, u32 flow, const struct burst *b)
{
	struct burst run;
	u32 first, n;
	int ret;

	if ((b->flags & BF_IMM) && b->npkts != 1)
		return 0;
	for (first = 0; first < b->npkts; first += n) {
		n = 1;
		if (srd_flow_has(e->hca, flow, psn_add(b->psn, first)))
			continue;
		while (first + n < b->npkts &&
		       !srd_flow_has(e->hca, flow, psn_add(b->psn, first + n)))
			n++;
		burst_split(b, first, n, &run);
		ret = srd_write_run(e, qp, flow, &run);
		if (ret <= 0)
			return ret;
	}
	return srd_answer_send(e, b, AETH_ACK);
}

/* READs are executed again as often as they come. */
static int srd_read_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct hca_mem src;
	struct hca_av av;
	struct burst r;

	if (b->dma_len > (u64)SRD_SEGMENT * b->mtu ||
	    mem_remote(e->hca, qp, qp->pd, b->rkey, b->va, b->dma_len, ACC_REMOTE_READ, &src))
		return srd_nak(e, qp, b, AETH_NAK_REM_ACCESS, CAUSE_RKEY, b->rkey);
	srd_answer_start(e->hca, b, BOP_READ_RESP, AETH_ACK, &av, &r);
	r.npkts = packets_of(b->dma_len, b->mtu);
	r.len = b->dma_len;
	r.mem = r.len ? &src : NULL;
	return wire_send(e, &r);
}

bool srd_accepts(struct engine *e, const struct hca_qp *qp, const struct burst *b)
{
	u32 flow;

	if (srd_is_answer(b) || !b->av || b->qkey != qp->attr.qkey || qp->state < QPS_RTR ||
	    qp->state > QPS_SQD)
		return false;
	if (b->op == BOP_READ_REQ)
		return true;
	flow = srd_flow_of(e, qp, b);
	return flow && !srd_flow_has(e->hca, flow, b->psn);
}

int srd_refuse_by_rule(struct engine *e, struct hca_qp *qp, const struct burst *b, u8 aeth,
		       u32 rule)
{
	if (aeth >= AETH_NAK_PSN_SEQ)
		return srd_nak(e, qp, b, aeth, CAUSE_FAULT, rule);
	dev_count(e->hca, qp, CNT_RNR_SENT);
	journal_nak(e, qp, b, b->psn, AETH_RNR_NAK, CAUSE_FAULT, rule);
	return srd_answer_send(e, b, aeth);
}

int srd_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	u32 flow;

	if (!b->av || !b->npkts || b->npkts > SRD_SEGMENT)
		return 0;
	if (!seg_of(e, qp->client))
		return -EAGAIN;
	if (qp->state < QPS_RTR || qp->state > QPS_SQD) {
		journal_drop(e, b, CAUSE_QP_STATE, qp->state);
		return srd_answer_send(e, b, AETH_NAK_INV_RD_REQ);
	}
	if (b->qkey != qp->attr.qkey) {
		dev_count(e->hca, qp, CNT_BAD_QKEY);
		journal_drop(e, b, CAUSE_QKEY, b->qkey);
		return srd_answer_send(e, b, AETH_NAK_INV_RD_REQ);
	}
	if (b->op == BOP_READ_REQ)
		return srd_read_input(e, qp, b);
	if (b->op != BOP_WRITE && (b->op != BOP_SEND || b->npkts != 1))
		return 0;
	flow = srd_flow_of(e, qp, b);
	if (!flow)
		return 0;
	if (b->op == BOP_WRITE)
		return srd_write_input(e, qp, flow, b);
	if (srd_flow_has(e->hca, flow, b->psn)) {
		dev_count(e->hca, qp, CNT_DUP_REQUEST);
		return srd_answer_send(e, b, AETH_ACK);
	}
	return srd_send_input(e, qp, flow, b);
}
