/* SPDX-License-Identifier: MIT */
/**
 * DOC: from records of the ring to packets as on the wire.
 *
 * Header fields that a burst does not have are set as Linux' software RoCE sets them: the UDP
 * source port comes from the flow label or the QP numbers, IPv4 packets are not fragmented, MAC
 * addresses are those from which the ports' GUIDs are made. Packets that a wire has received have
 * the fields that they came with (struct burst_seen).
 */
#include "fabric/packet/packet.h"

#include "emulator/port.h"

#include <endian.h>

#define SPORT_BASE 0xc000u
#define SPORT_MASK 0x3fffu
#define RUN_MAX	   64u /* UDP_MAX_SEGMENTS before Linux 6.9 */
#define RUN_BYTES  (65535u - 20u - 8u) /* of the longest datagram of IPv4 */
#define FRAME_HEAD (14u + 20u + 8u)

/* The inverse of EUI-64. */
static void frame_guid_mac(u64 guid, u8 mac[6])
{
	mac[0] = (u8)(guid >> 56) ^ 2;
	mac[1] = (u8)(guid >> 48);
	mac[2] = (u8)(guid >> 40);
	mac[3] = (u8)(guid >> 16);
	mac[4] = (u8)(guid >> 8);
	mac[5] = (u8)guid;
}

static void frame_port_mac(const struct hca *hca, u32 dev, u32 port, u8 mac[6])
{
	memset(mac, 0, 6);
	if (dev < HCA_MAX_DEVS && port <= HCA_MAX_PORTS)
		frame_guid_mac(hca->dev[dev].port[port].guid, mac);
}

/* RFC 1112, RFC 2464. */
static void frame_group_mac(const u8 gid[16], u8 mac[6])
{
	static const u8 v4[] = { 0x01, 0x00, 0x5e }, v6[] = { 0x33, 0x33 };

	if (gid_is_v4(gid)) {
		memcpy(mac, v4, 3);
		memcpy(mac + 3, gid + 13, 3);
		mac[3] &= 0x7f;
	} else {
		memcpy(mac, v6, 2);
		memcpy(mac + 2, gid + 12, 4);
	}
}

static bool frame_is_group(const u8 gid[16])
{
	return gid[0] == 0xff || (gid_is_v4(gid) && gid[12] >> 4 == 0xe);
}

void packet_set_macs(const struct hca *hca, const struct hca_path *path, const u8 dgid[16],
		     struct roce_pkt *p)
{
	frame_port_mac(hca, path->src_dev, path->src_port, p->eth_src);
	if (frame_is_group(dgid))
		frame_group_mac(dgid, p->eth_dst);
	else
		frame_port_mac(hca, path->dst_dev, path->dst_port, p->eth_dst);
}

/* As the kernel's rdma_get_udp_sport(): the flow label, or a hash of both QP numbers, folded. */
static u16 frame_udp_source(u32 flow_label, u32 src_qpn, u32 dst_qpn)
{
	u64 v = (u64)src_qpn * dst_qpn;
	u32 label = flow_label & 0xfffff;

	if (!label) {
		v ^= v >> 20;
		v ^= v >> 40;
		label = (u32)v & 0xfffff;
	}
	return (u16)(((label & SPORT_MASK) ^ label >> 14) | SPORT_BASE);
}

static u8 frame_transport(u32 qp_type)
{
	switch (qp_type) {
	case QPT_UC:
		return ROCE_UC;
	case QPT_UD:
		return ROCE_UD;
	case QPT_SRD: /* its own packets are not public: those of IBTA that are most like it */
		return ROCE_RD;
	case QPT_XRC_SEND:
	case QPT_XRC_RECV:
		return ROCE_XRC;
	default:
		return ROCE_RC;
	}
}

/*
 * The four opcodes of a message's packets are consecutive, except for immediate data and
 * invalidation on the last.
 */
static u8 frame_data_op(u8 base, bool first, bool last, u8 flags)
{
	static const u8 invalidate[] = { ROCE_SEND_LAST_INV, ROCE_SEND_ONLY_INV };
	u8 imm = flags & BF_IMM && last;

	if (last && flags & BF_INV)
		return invalidate[first];
	if (first)
		return (u8)(last ? base + 4 + imm : base);
	return (u8)(last ? base + 2 + imm : base + 1);
}

static u8 frame_read_resp_op(bool first, bool last)
{
	if (first)
		return last ? ROCE_READ_RESP_ONLY : ROCE_READ_RESP_FIRST;
	return last ? ROCE_READ_RESP_LAST : ROCE_READ_RESP_MIDDLE;
}

static u8 frame_opcode(const struct burst *b, bool first, bool last)
{
	switch (b->op) {
	case BOP_SEND:
		return frame_data_op(ROCE_SEND_FIRST, first, last, b->flags);
	case BOP_WRITE:
		return frame_data_op(ROCE_WRITE_FIRST, first, last, b->flags & (u8)~BF_INV);
	case BOP_READ_REQ:
		return ROCE_READ_REQ;
	case BOP_READ_RESP:
		return frame_read_resp_op(first, last);
	case BOP_ATOMIC_REQ:
		return b->atomic_op == WR_ATOMIC_FETCH_AND_ADD ? ROCE_FETCH_ADD : ROCE_CMP_SWAP;
	case BOP_ATOMIC_WRITE:
		return ROCE_ATOMIC_WRITE;
	case BOP_FLUSH:
		return ROCE_FLUSH;
	case BOP_ATOMIC_ACK:
		return ROCE_ATOMIC_ACK;
	default:
		return ROCE_ACK;
	}
}

/* The kernel numbers the datagrams of a wire's sockets 0, and its IPv6 flow labels are 0. */
static bool frame_is_on_wire(const struct hca *hca, const struct cap_rec *r)
{
	u32 i;

	if (hca_dev_is_peer(hca, r->b.src_dev) || hca_dev_is_peer(hca, r->b.dst_dev))
		return true;
	for (i = 0; i < hca->wires.n && i < HCA_WIRES && frame_is_group(r->dgid); i++)
		if (!memcmp(hca->wires.gid[i], r->sgid, 16))
			return true;
	return false;
}

/* Whether a wire has received it. */
static bool frame_was_received(const struct hca *hca, const struct cap_rec *r)
{
	return hca_dev_is_peer(hca, r->b.src_dev);
}

static void frame_set_seen(const struct burst_seen *seen, struct roce_pkt *p)
{
	p->tclass = seen->tclass;
	p->flow_label = seen->flow_label;
	p->hop_limit = seen->hop_limit;
	p->udp_src = seen->udp_src;
	p->mig = seen->mig;
	p->ecn = seen->ecn;
	p->resv7 = seen->resv7;
}

static void frame_network(const struct hca *hca, const struct cap_rec *r, struct roce_pkt *p)
{
	const struct hca_dev *dev = &hca->dev[r->b.src_dev];
	const struct burst *b = &r->b;

	memcpy(p->sgid, r->sgid, sizeof(p->sgid));
	memcpy(p->dgid, r->dgid, sizeof(p->dgid));
	p->tclass = r->av.traffic_class;
	p->flow_label = r->av.flow_label & 0xfffff;
	p->hop_limit = r->av.hop_limit;
	if (dev->link_layer != LINK_ETHERNET) {
		p->net = r->av.is_global ? ROCE_IB_GRH : ROCE_IB;
		p->sl = r->av.sl & 0xf;
		p->slid = (u16)(dev->port[b->src_port].lid | r->av.src_path_bits);
		p->dlid = r->av.dlid;
		return;
	}
	p->net = gid_is_v4(r->sgid) && gid_is_v4(r->dgid) ? ROCE_IP4 : ROCE_IP6;
	p->ip_frag = ROCE_IP_DF;
	p->udp_src =
		frame_udp_source(p->flow_label, b->src_qpn & IB_QPN_MASK, b->dst_qpn & IB_QPN_MASK);
	if (frame_was_received(hca, r)) {
		frame_set_seen(&b->seen, p);
	} else if (frame_is_on_wire(hca, r)) {
		if (hca_wire_port_is_taken(&hca->wires, p->udp_src))
			p->udp_src = ROCE_UDP_PORT;
		p->flow_label = 0;
	}
	packet_set_macs(hca, &b->path, r->dgid, p);
}

/* Set the headers that all packets of the burst have, or those of them with such a header. */
static void frame_headers(const struct burst *b, struct roce_pkt *p)
{
	p->pkey = b->pkey;
	p->dqpn = b->dst_qpn & IB_QPN_MASK;
	p->qkey = b->qkey;
	p->sqpn = b->src_qpn & IB_QPN_MASK;
	p->srqn = b->srqn & IB_QPN_MASK;
	p->eec = b->srqn & IB_QPN_MASK;
	p->va = b->va;
	p->rkey = b->rkey;
	p->dma_len = (u32)b->dma_len;
	p->syndrome = b->aeth;
	p->msn = b->msn & IB_PSN_MASK;
	p->orig = b->orig;
	p->imm = be32toh(b->imm);
	p->inv_rkey = b->inv_rkey;
	p->swap = b->swap;
	p->compare = b->compare_add;
	p->flush = (u32)b->swap;
	if (b->op == BOP_ATOMIC_REQ && b->atomic_op == WR_ATOMIC_FETCH_AND_ADD) {
		p->swap = b->compare_add;
		p->compare = 0;
	}
}

u32 packet_frame_begin(const struct hca *hca, const struct cap_view *v, struct roce_pkt *p)
{
	const struct cap_rec *r = v->rec;
	const struct burst *b = &r->b;

	if (b->src_dev >= HCA_MAX_DEVS || b->src_port > HCA_MAX_PORTS || !b->mtu)
		return 0;
	memset(p, 0, sizeof(*p));
	frame_network(hca, r, p);
	frame_headers(b, p);
	if (r->fate & CAP_DAMAGED)
		p->icrc_xor = 1;
	return burst_packets(b);
}

/* A request whose response is no ACK does not ask for one, but Linux sets the bit anyway. */
static bool frame_asks_ack(const struct hca *hca, const struct cap_rec *r)
{
	const struct burst *b = &r->b;

	if (frame_was_received(hca, r))
		return b->flags & BF_ACK_REQ;
	if (b->dst_type == QPT_UC || b->dst_type == QPT_UD)
		return false;
	if (b->dst_type == QPT_SRD)
		return b->op != BOP_ACK && b->op != BOP_READ_RESP;
	return b->flags & BF_ACK_REQ || b->op == BOP_READ_REQ || b->op == BOP_ATOMIC_REQ ||
	       b->op == BOP_FLUSH;
}

/* Set the payload of packet @i. */
static void frame_payload(const struct cap_view *v, u32 i, struct roce_pkt *p)
{
	const struct burst *b = &v->rec->b;
	u64 at = (u64)i * b->mtu, len = b->op == BOP_READ_REQ ? 0 : b->len;

	p->payload_len = len > at ? (u32)min_u64(len - at, b->mtu) : 0;
	p->payload_cap = min_u32(p->payload_len, v->rec->keep);
	p->payload = v->payload + (u64)i * v->rec->keep;
}

/* The opcode of packet @i. */
static u8 frame_opcode_at(const struct burst *b, u32 i)
{
	bool first = !i && b->flags & BF_FIRST;
	bool last = i + 1 == burst_packets(b) && b->flags & BF_LAST;

	return ROCE_OPCODE(frame_transport(b->dst_type), frame_opcode(b, first, last));
}

/* Bytes of packet @i after its UDP header. */
static u32 frame_len_at(const struct burst *b, u32 i)
{
	u64 at = (u64)i * b->mtu, len = b->op == BOP_READ_REQ ? 0 : b->len;
	struct roce_pkt p = { .net = ROCE_IP4,
			      .opcode = frame_opcode_at(b, i),
			      .payload_len = len > at ? (u32)min_u64(len - at, b->mtu) : 0 };

	return roce_frame_len(&p) - FRAME_HEAD;
}

u32 packet_frame_gap(const struct burst *b)
{
	const struct roce_pkt p = {
		.net = ROCE_IP4,
		.opcode = ROCE_OPCODE(frame_transport(b->dst_type), frame_opcode(b, false, false)),
	};

	return roce_frame_len(&p) - FRAME_HEAD;
}

/* The first packet and the last may have other headers than those between, which are equal. */
static struct packet_run frame_run(const struct burst *b, u32 i)
{
	const u32 n = burst_packets(b), len = frame_len_at(b, n > 2 ? 1 : 0);
	const u32 begin = frame_len_at(b, 0) != len, end = n - (frame_len_at(b, n - 1) > len);
	const u32 most = min_u32(RUN_MAX, RUN_BYTES / len);
	struct packet_run run = { i, 1, end > begin + 1 };
	u32 runs, each;

	if (i < begin || i >= end)
		return run;
	/* Of about the same length: one that is left over would leave on its own. */
	runs = (end - begin + most - 1) / most;
	/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): @end is beyond @begin */
	each = (end - begin + runs - 1) / runs;
	run.first = begin + (i - begin) / each * each;
	run.n = min_u32(each, end - run.first);
	return run;
}

/*
 * Set the fields of packet @i that the kernel writes. The ICRC of a packet that a wire has received
 * has told its identification; no socket shows its UDP checksum.
 */
static void frame_kernel_headers(const struct hca *hca, const struct cap_rec *r, u32 i,
				 struct roce_pkt *p, struct packet_run *run)
{
	bool wire = frame_is_on_wire(hca, r);

	if (frame_was_received(hca, r)) {
		*run = (struct packet_run){ .first = i, .n = 1 };
		p->ip_id = (u16)(r->b.ip_id + i);
		return;
	}
	if (i >= run->first + run->n)
		*run = wire && hca->wires.bursts ? frame_run(&r->b, i)
						 : (struct packet_run){ .first = i, .n = 1 };
	p->ip_id = (u16)(wire ? i - run->first : r->nth + i);
	p->udp_sum = run->sums;
}

bool packet_frame_next(const struct hca *hca, const struct cap_view *v, u32 i, struct roce_pkt *p,
		       struct packet_run *run)
{
	const struct burst *b = &v->rec->b;
	u32 n = burst_packets(b), was = p->payload_len;

	frame_payload(v, i, p);
	p->psn = psn_add(b->psn, i);
	frame_kernel_headers(hca, v->rec, i, p, run);
	if (i > 1 && i + 1 < n)
		return p->payload_len == was;
	p->opcode = frame_opcode_at(b, i);
	p->solicited = i + 1 == n && b->flags & BF_LAST && b->flags & BF_SOLICITED;
	p->ack_req = i + 1 == n && frame_asks_ack(hca, v->rec);
	return false;
}
