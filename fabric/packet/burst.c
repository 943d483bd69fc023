/* SPDX-License-Identifier: MIT */
/**
 * DOC: from frames to bursts, of one packet or of several of a message.
 *
 * Pure functions over the HCA's tables. The responder refuses, in sequence, opcodes that the
 * transport does not have and payloads of requests that have none: such a packet becomes one with
 * BOP_NONE.
 */
#include "emulator/transport/untrusted.h"
#include "emulator/engine.h"
#include "emulator/packet_fault.h"
#include "emulator/port.h"
#include "emulator/transport/relay.h"
#include "fabric/packet/packet.h"

#include <endian.h>

/** struct op_map - a BTH's opcode in terms of the engine. */
struct op_map {
	u8 op; /* enum burst_op */
	u8 flags; /* enum burst_flags */
};

#define ONLY (BF_FIRST | BF_LAST)

static struct op_map burst_opcode(u32 op)
{
	static const struct op_map map[32] = {
		[ROCE_SEND_FIRST] = { BOP_SEND, BF_FIRST },
		[ROCE_SEND_MIDDLE] = { BOP_SEND, 0 },
		[ROCE_SEND_LAST] = { BOP_SEND, BF_LAST },
		[ROCE_SEND_LAST_IMM] = { BOP_SEND, BF_LAST | BF_IMM },
		[ROCE_SEND_ONLY] = { BOP_SEND, ONLY },
		[ROCE_SEND_ONLY_IMM] = { BOP_SEND, ONLY | BF_IMM },
		[ROCE_SEND_LAST_INV] = { BOP_SEND, BF_LAST | BF_INV },
		[ROCE_SEND_ONLY_INV] = { BOP_SEND, ONLY | BF_INV },
		[ROCE_WRITE_FIRST] = { BOP_WRITE, BF_FIRST },
		[ROCE_WRITE_MIDDLE] = { BOP_WRITE, 0 },
		[ROCE_WRITE_LAST] = { BOP_WRITE, BF_LAST },
		[ROCE_WRITE_LAST_IMM] = { BOP_WRITE, BF_LAST | BF_IMM },
		[ROCE_WRITE_ONLY] = { BOP_WRITE, ONLY },
		[ROCE_WRITE_ONLY_IMM] = { BOP_WRITE, ONLY | BF_IMM },
		[ROCE_READ_REQ] = { BOP_READ_REQ, ONLY },
		[ROCE_READ_RESP_FIRST] = { BOP_READ_RESP, BF_FIRST },
		[ROCE_READ_RESP_MIDDLE] = { BOP_READ_RESP, 0 },
		[ROCE_READ_RESP_LAST] = { BOP_READ_RESP, BF_LAST },
		[ROCE_READ_RESP_ONLY] = { BOP_READ_RESP, ONLY },
		[ROCE_ACK] = { BOP_ACK, ONLY },
		[ROCE_ATOMIC_ACK] = { BOP_ATOMIC_ACK, ONLY },
		[ROCE_CMP_SWAP] = { BOP_ATOMIC_REQ, ONLY },
		[ROCE_FETCH_ADD] = { BOP_ATOMIC_REQ, ONLY },
		[ROCE_RESYNC] = { BOP_NONE, ONLY },
		[24] = { BOP_NONE, ONLY },
		[25] = { BOP_NONE, ONLY },
		[26] = { BOP_NONE, ONLY },
		[27] = { BOP_NONE, ONLY },
		[ROCE_FLUSH] = { BOP_FLUSH, ONLY },
		[ROCE_ATOMIC_WRITE] = { BOP_ATOMIC_WRITE, ONLY },
		[30] = { BOP_NONE, ONLY },
		[31] = { BOP_NONE, ONLY },
	};

	return map[op & 31];
}

/* The type of QPs that take the opcode: struct hca_path.dst_type; 0: there is none. */
static u8 burst_qp_type(u8 opcode)
{
	switch (opcode >> 5) {
	case ROCE_RC:
		return QPT_RC;
	case ROCE_UC:
		return QPT_UC;
	case ROCE_UD:
		return QPT_UD;
	case ROCE_XRC:
		return roce_is_response(opcode) ? QPT_XRC_SEND : QPT_XRC_RECV;
	default:
		return 0;
	}
}

/* Find the port that has the address of one end, by GID or LID. Return: whether there is one. */
static bool burst_find_port(const struct hca *hca, const struct roce_pkt *r, bool source, u32 *dev,
			    u8 *port, u32 *index)
{
	const u8 *gid = source ? r->sgid : r->dgid;
	u32 at = 0, p;
	bool ip;
	int found;

	*index = 0;
	if (r->net == ROCE_IB || r->net == ROCE_IB_GRH) {
		found = hca_find_lid(hca, source ? r->slid : r->dlid, port);
		*dev = (u32)found;
		return found >= 0;
	}
	while (hca_addr_next(hca, gid, &at, dev, &p, index, &ip))
		if (!ip && hca->dev[*dev].link_layer == LINK_ETHERNET) {
			*port = (u8)p;
			return true;
		}
	return false;
}

static void burst_set_address(const struct roce_pkt *r, struct packet_burst *p, u32 sgid_index)
{
	p->av = (struct hca_av){
		.dst_dev = p->b.dst_dev,
		.flow_label = r->flow_label,
		.is_global = r->net != ROCE_IB,
		.sgid_index = (u8)sgid_index,
		.hop_limit = r->hop_limit,
		.traffic_class = r->tclass,
		.dlid = r->dlid,
		.sl = r->sl,
		.port_num = p->b.src_port,
		.dst_port = p->b.dst_port,
	};
	memcpy(p->av.dgid, r->dgid, sizeof(p->av.dgid));
	p->b.av = &p->av;
}

/* Set source and destination. Return: as packet_to_burst(). */
static int burst_set_ends(const struct hca *hca, const struct roce_pkt *r, struct packet_burst *p)
{
	struct burst *b = &p->b;
	const struct hca_qp *qp;
	u32 index, none;

	if (!burst_find_port(hca, r, true, &b->src_dev, &b->src_port, &index))
		return -ENXIO;
	if (!burst_find_port(hca, r, false, &b->dst_dev, &b->dst_port, &none)) {
		b->dst_dev = ~0u;
		b->dst_port = 0;
	} else if (hca->dev[b->dst_dev].member) {
		return -EREMOTE;
	}
	if (b->dst_type == QPT_UD) {
		b->src_qpn = r->sqpn;
		burst_set_address(r, p, index);
		return 0;
	}
	/* Packets of connected QPs do not name the QP that sends them. */
	qp = &hca->qp[r->dqpn & (HCA_MAX_QP - 1)];
	if (qp->client && qp->qpn == r->dqpn && qp->attr.av.dst_dev == b->src_dev &&
	    qp->attr.av.dst_port == b->src_port)
		b->src_qpn = qp->attr.dest_qpn;
	return 0;
}

static void burst_set_fields(const struct roce_pkt *r, struct burst *b)
{
	const struct op_map m = burst_opcode(r->opcode);
	bool add = (r->opcode & 31) == ROCE_FETCH_ADD;

	*b = (struct burst){
		.op = m.op,
		.flags = m.flags | BF_FOREIGN,
		.aeth = r->syndrome,
		.atomic_op = add ? WR_ATOMIC_FETCH_AND_ADD : WR_ATOMIC_CMP_AND_SWP,
		.psn = r->psn,
		.ip_id = r->ip_id,
		.dst_type = burst_qp_type(r->opcode),
		.dst_qpn = r->dqpn,
		.pkey = r->pkey,
		.npkts = 1,
		.msn = r->msn,
		.imm = htobe32(r->imm),
		.inv_rkey = r->inv_rkey,
		.rkey = r->rkey,
		.srqn = r->srqn,
		.qkey = r->qkey,
		.va = r->va,
		.dma_len = r->dma_len,
		.compare_add = add ? r->swap : r->compare,
		.swap = m.op == BOP_FLUSH ? r->flush : r->swap,
		.orig = r->orig,
		.len = r->payload_len,
		.seen = { .flow_label = r->flow_label,
			  .udp_src = r->udp_src,
			  .tclass = r->tclass,
			  .hop_limit = r->hop_limit,
			  .mig = r->mig,
			  .ecn = r->ecn,
			  .resv7 = r->resv7 },
	};
	if (r->ack_req)
		b->flags |= BF_ACK_REQ;
	if (r->solicited && (b->flags & BF_LAST))
		b->flags |= BF_SOLICITED;
}

/* Checks of a port before it knows the QP. Return: enum packet_fault; PKT_FAULTS: none. */
static u32 burst_packet_fault(const struct roce_pkt *r)
{
	static const struct {
		u32 wrong;
		u32 fault;
	} map[] = {
		{ ROCE_BAD_SHORT | ROCE_BAD_LEN | ROCE_CUT, PKT_CUT },
		{ ROCE_BAD_IP_CSUM | ROCE_BAD_UDP_CSUM, PKT_CSUM },
		{ ROCE_BAD_GRH | ROCE_BAD_TVER, PKT_VERSION },
		{ ROCE_BAD_ICRC | ROCE_BAD_VCRC, PKT_CRC },
		{ ROCE_BAD_PAD, PKT_PAD },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(map); i++)
		if (r->wrong & map[i].wrong)
			return map[i].fault;
	/* No port has GIDs of RoCE version 1. */
	if (r->net == ROCE_V1)
		return PKT_VERSION;
	if (!burst_qp_type(r->opcode))
		return PKT_OPCODE;
	return PKT_FAULTS;
}

int packet_to_burst(const struct hca *hca, const struct roce_pkt *r, struct packet_burst *p,
		    u32 *fault)
{
	struct burst *b = &p->b;
	int ret;

	burst_set_fields(r, b);
	ret = burst_set_ends(hca, r, p);
	if (ret)
		return ret;
	b->mtu = ib_mtu_bytes(
		b->dst_dev < hca->n_devs ? hca->dev[b->dst_dev].port[b->dst_port].active_mtu : 5);
	p->mem = (struct hca_mem){ .client = HCA_PROC, .kind = MEM_VM, .n = 1 };
	p->mem.iov[0] = (struct hca_iov){ (u64)(uintptr_t)r->payload, r->payload_len };
	*fault = burst_packet_fault(r);
	if (r->wrong & (ROCE_BAD_OPCODE | ROCE_BAD_PAYLOAD)) {
		if (roce_is_response(r->opcode) && *fault == PKT_FAULTS)
			*fault = PKT_LEN;
		b->op = BOP_NONE;
		b->flags = BF_FOREIGN | ONLY;
	}
	if (b->dst_type == QPT_UD && *fault == PKT_FAULTS) {
		if (b->op != BOP_SEND)
			*fault = PKT_OPCODE;
		else if (burst_is_mcast(b) && b->dst_qpn != IB_MCAST_QPN)
			*fault = PKT_GROUP;
		else if (b->len > b->mtu)
			*fault = PKT_LEN;
	}
	b->mem = b->len ? &p->mem : NULL;
	/* In the engine a READ request has the length that it asks for. */
	if (b->op == BOP_READ_REQ) {
		b->len = b->dma_len;
		b->mem = NULL;
	}
	return 0;
}

/* Whether @n is what comes after @b: of the same message, and as long as its opcode says. */
static bool burst_is_continued(const struct burst *b, const struct burst *n)
{
	if (n->op != b->op || (n->flags & BF_FIRST) || n->psn != psn_add(b->psn, b->npkts))
		return false;
	if (n->dst_qpn != b->dst_qpn || n->dst_type != b->dst_type || n->pkey != b->pkey ||
	    n->srqn != b->srqn)
		return false;
	if (n->op == BOP_READ_RESP && n->aeth >= AETH_RNR_NAK)
		return false;
	return n->flags & BF_LAST ? n->len && n->len <= b->mtu : n->len == b->mtu;
}

bool packet_extend_burst(const struct roce_pkt *r, struct packet_burst *p)
{
	struct burst n;

	burst_set_fields(r, &n);
	if (r->wrong || !burst_is_continued(&p->b, &n))
		return false;
	if (memcmp(&n.seen, &p->b.seen, sizeof(n.seen)) != 0)
		return false;
	/* An IPv6 header has no identification. */
	if (r->net == ROCE_IP4 && n.ip_id != (u16)(p->b.ip_id + p->b.npkts))
		return false;
	p->b.flags |= n.flags;
	p->b.imm = n.imm;
	p->b.inv_rkey = n.inv_rkey;
	p->b.msn = n.msn;
	p->b.npkts++;
	p->b.len += n.len;
	p->mem.iov[0].len = p->b.len;
	return true;
}
