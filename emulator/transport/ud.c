/* SPDX-License-Identifier: MIT */
/**
 * DOC: datagrams (IBTA 9.8.3): one packet each, to whoever the address handle names.
 *
 * A receive has room for the 40 bytes of the global route header before the payload. The header
 * travels in the completion entry and the poller writes it; the payload is placed after it. A
 * datagram with a wrong Q_Key, without a receive or with too small a one is dropped silently.
 */
#include "emulator/engine.h"
#include "emulator/frame/frame.h"
#include "emulator/journal/writer.h"
#include "emulator/qp.h"
#include "emulator/queue/cq.h"
#include "emulator/tab.h"
#include "emulator/transport/datagram.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/wc_fault.h"

#include <endian.h>

/* The header as RoCE v2 carries it; with IPv4 it fills the last 20 bytes (IBTA A17.4.5.2). */
static void ud_grh_fill(const struct hca *hca, const struct hca_path *p, const struct hca_av *av,
			u32 ip_payload, u8 grh[IB_GRH_LEN])
{
	const struct hca_dev *dev = &hca->dev[p->src_dev];
	const u8 *sgid = dev->port[p->src_port].gid[av->sgid_index % HCA_GIDS].raw;
	const u8 *dgid =
		av->is_global ? av->dgid : hca->dev[p->dst_dev].port[p->dst_port].gid[0].raw;
	u8 *ip = grh + 20;
	u32 word;

	memset(grh, 0, IB_GRH_LEN);
	if (dev->link_layer == LINK_ETHERNET && gid_is_v4(sgid) && gid_is_v4(dgid)) {
		ip[0] = 0x45;
		ip[1] = av->traffic_class;
		store_be16(ip + 2, 20 + ip_payload);
		ip[6] = 0x40; /* do not fragment */
		ip[8] = av->hop_limit;
		ip[9] = 17;
		memcpy(ip + 12, sgid + 12, 4);
		memcpy(ip + 16, dgid + 12, 4);
		store_be16(ip + 10, frame_ip_csum(ip, 20));
		return;
	}
	word = htobe32(6u << 28 | (u32)av->traffic_class << 20 | (av->flow_label & 0xfffff));
	memcpy(grh, &word, sizeof(word));
	if (dev->link_layer == LINK_ETHERNET) {
		store_be16(grh + 4, ip_payload);
		grh[6] = 17;
	} else {
		store_be16(grh + 4, ip_payload - 8);
		grh[6] = 0x1b; /* IBTA 8.3: a BTH follows */
	}
	grh[7] = av->hop_limit;
	memcpy(grh + 8, sgid, 16);
	memcpy(grh + 24, dgid, 16);
}

u32 ud_address(struct engine *e, struct hca_qp *qp, const struct sq_wqe *w, struct burst *b)
{
	struct hca *hca = e->hca;
	struct hca_ah *ah = tab_owned(hca, TAB_AH, qp->client - 1, w->ah);

	/* IBTA 10.2.2.2: an address belongs to the QP's port. */
	if (!ah || ah->pd != qp->pd || ah->av.port_num != qp->attr.port_num)
		return WCS_LOC_QP_OP_ERR;
	b->av = &ah->av;
	b->dst_dev = ah->av.dst_dev;
	b->dst_port = ah->av.dst_port;
	b->dst_qpn = w->remote_qpn;
	b->src_slot = (u16)qp_slot(qp);
	b->via = av_is_relayed(hca, &b->path, b->av);
	if (qp->create_flags & QPC_SOURCE_QPN)
		b->src_qpn = qp->source_qpn;
	/* IBTA 10.2.5: a key with the top bit set asks for the QP's own. */
	b->qkey = w->remote_qkey & QKEY_CONTROLLED ? qp->attr.qkey : w->remote_qkey;
	return WCS_SUCCESS;
}

u8 ud_cqe_origin(const struct hca *hca, const struct hca_qp *qp, const struct hca_path *path,
		 const struct hca_av *av, u32 ip_payload, struct cqe *cqe)
{
	const struct hca_dev *dev = &hca->dev[path->src_dev];
	const bool ethernet = dev->link_layer == LINK_ETHERNET;

	ud_grh_fill(hca, path, av, ip_payload, cqe->grh);
	cqe->slid = (u16)dev->port[path->src_port].lid;
	cqe->dlid_path_bits = 0;
	cqe->pkey_index = (u16)qp->attr.pkey_index;
	/* On RoCE what the service level tells is the packet's kind, as mlx5 has it. */
	cqe->sl = av->sl;
	if (ethernet)
		cqe->sl = cqe->grh[20] >> 4 == 4 && !cqe->grh[0] ? ROCE_PKT_V4 : ROCE_PKT_V6;
	cqe->cvlan = 0;
	cqe->flow_tag = 0;
	if (unlikely(lim_is_efa(&dev->lim))) {
		cqe->slid = CQE_BY_GID;
		return 0;
	}
	return ethernet || av->is_global ? WCF_GRH : 0;
}

/*
 * A datagram finds no place. @cqe: of its completion, if there was room; @ret: then of rx_place()
 */
static void ud_drop(struct engine *e, const struct hca_qp *qp, const struct rx *rx,
		    const struct burst *b, const struct rx_wc *wc, const struct cqe *cqe, int ret)
{
	dev_count(e->hca, qp, CNT_DROPPED);
	if (!wc->wqe)
		journal_drop(e, b, CAUSE_NO_RECEIVE, 0);
	else if (!cqe)
		journal_drop(e, b, CAUSE_CQ_OVERRUN, (u32)(rx->cq - e->hca->cq));
	else if (ret == -EMSGSIZE)
		journal_drop(e, b, CAUSE_REQUEST_LEN, wc->room);
	else
		journal_drop(e, b, CAUSE_SENDER_GONE, 0);
}

int ud_input(struct engine *e, struct hca_qp *qp, const struct burst *b)
{
	struct resp_state s = qp->resp;
	struct rx_wc wc = { .opcode = WCO_RECV };
	struct cqe *cqe;
	struct rx rx;
	int ret = -EACCES;

	if (b->op != BOP_SEND || !b->av)
		return 0;
	if (qp->state < QPS_RTR || qp->state > QPS_SQE) {
		journal_drop(e, b, CAUSE_QP_STATE, qp->state);
		return 0;
	}
	if (b->qkey != qp->attr.qkey) {
		dev_count(e->hca, qp, CNT_BAD_QKEY);
		journal_drop(e, b, CAUSE_QKEY, b->qkey);
		return 0;
	}
	if (!rx_open(e, qp, resp_srq(e->hca, qp, b), &rx))
		return -EAGAIN;
	wc.wqe = rx_next(&rx, qp, &s, &wc.slot);
	if (unlikely(e->ops->fault) && wc.wqe && wc_fault_recv_error(e, qp, &rx, b, wc.wqe))
		return 0;
	cqe = wc.wqe ? cq_reserve(e, rx.seg, rx.cq) : NULL;
	if (cqe)
		ret = rx_place(e, qp, &rx, b, IB_GRH_LEN, &wc, cqe);
	if (ret == -EAGAIN)
		return ret;
	/* The receive itself is wrong: that is the receiver's error (IBTA 9.9.3, class C). */
	if (cqe && (ret == -EACCES || ret == -EFAULT_DST)) {
		rx_error(e, qp, &rx, b, WCS_LOC_PROT_ERR, CAUSE_LKEY, wc.bad);
		return 0;
	}
	if (ret)
		ud_drop(e, qp, &rx, b, &wc, cqe, ret);
	if (unlikely(wc.wqe && !cqe && !rx.cq->ignore_overrun))
		rx_done(e, qp, &rx, &s, b, &wc, NULL);
	if (ret)
		return 0;
	wc.flags |= CQE_GRH | CQE_EXT;
	wc.wc_flags |= ud_cqe_origin(e->hca, qp, &b->path, b->av,
				     ud_ip_payload(b->len, b->flags & BF_IMM), cqe);
	wc.len = IB_GRH_LEN + (u32)b->len;
	s.rx_pkts++;
	s.rx_bytes += b->len;
	rx_done_fast(e, qp, &rx, &s, b, &wc, cqe);
	return 0;
}
