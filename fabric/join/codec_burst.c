/* SPDX-License-Identifier: MIT */
/*
 * Bursts as frames: layout and checks. A burst that join_burst_get() accepts keeps the engine's
 * invariants, whatever its sender meant.
 */
#include "fabric/join/bytes.h"
#include "fabric/join/proto.h"

static void codec_av_put(u8 *p, const struct hca_av *av)
{
	memset(p, 0, JOIN_AV);
	memcpy(p, av->dgid, 16);
	codec_put32(p + 16, av->flow_label);
	p[20] = av->is_global;
	p[21] = av->sgid_index;
	p[22] = av->hop_limit;
	p[23] = av->traffic_class;
	codec_put16(p + 24, av->dlid);
	p[26] = av->sl;
	p[27] = av->static_rate;
}

static int codec_av_get(const u8 *p, struct hca_av *av)
{
	memset(av, 0, sizeof(*av));
	memcpy(av->dgid, p, 16);
	av->flow_label = codec_get32(p + 16);
	av->is_global = p[20];
	av->sgid_index = p[21];
	av->hop_limit = p[22];
	av->traffic_class = p[23];
	av->dlid = codec_get16(p + 24);
	av->sl = p[26];
	av->static_rate = p[27];
	return av->is_global > 1 || av->sgid_index >= HCA_GIDS || av->sl > 15 ? -EPROTO : 0;
}

void join_burst_put(u8 *p, const struct burst *b, u32 src_dev, u32 dst_dev)
{
	p[0] = b->op;
	p[1] = b->flags;
	p[2] = b->aeth;
	p[3] = b->atomic_op;
	codec_put32(p + 4, b->psn);
	codec_put32(p + 8, src_dev);
	codec_put32(p + 12, dst_dev);
	codec_put32(p + 16, b->src_qpn);
	codec_put32(p + 20, b->dst_qpn);
	p[24] = b->src_port;
	p[25] = b->dst_port;
	codec_put16(p + 26, b->pkey);
	p[28] = b->dst_type;
	p[29] = b->av ? 1 : 0;
	codec_put16(p + 30, b->src_slot);
	codec_put32(p + 32, b->npkts);
	codec_put32(p + 36, b->msn);
	codec_put32(p + 40, b->mtu);
	codec_put32(p + 44, b->imm);
	codec_put32(p + 48, b->inv_rkey);
	codec_put32(p + 52, b->rkey);
	codec_put32(p + 56, b->srqn);
	codec_put32(p + 60, b->qkey);
	join_u64_put(p + 64, b->va);
	join_u64_put(p + 72, b->dma_len);
	join_u64_put(p + 80, b->compare_add);
	join_u64_put(p + 88, b->swap);
	join_u64_put(p + 96, b->orig);
	codec_put32(p + 104, join_data_len(b));
	codec_put32(p + 108, 0);
	if (b->av)
		codec_av_put(p + JOIN_BURST, b->av);
}

void join_burst_void(u8 *p)
{
	codec_put32(p + 108, 1);
}

static void codec_burst_fields_get(const u8 *p, struct burst *b)
{
	*b = (struct burst){
		.op = p[0],
		.flags = p[1],
		.aeth = p[2],
		.atomic_op = p[3],
		.psn = codec_get32(p + 4),
		.src_dev = codec_get32(p + 8),
		.dst_dev = codec_get32(p + 12),
		.src_qpn = codec_get32(p + 16),
		.dst_qpn = codec_get32(p + 20),
		.src_port = p[24],
		.dst_port = p[25],
		.pkey = codec_get16(p + 26),
		.dst_type = p[28],
		.src_slot = codec_get16(p + 30),
		.npkts = codec_get32(p + 32),
		.msn = codec_get32(p + 36),
		.mtu = codec_get32(p + 40),
		.imm = codec_get32(p + 44),
		.inv_rkey = codec_get32(p + 48),
		.rkey = codec_get32(p + 52),
		.srqn = codec_get32(p + 56),
		.qkey = codec_get32(p + 60),
		.va = join_u64_get(p + 64),
		.dma_len = join_u64_get(p + 72),
		.compare_add = join_u64_get(p + 80),
		.swap = join_u64_get(p + 88),
		.orig = join_u64_get(p + 96),
		.len = codec_get32(p + 104),
	};
}

static bool codec_mtu_ok(u32 mtu)
{
	return mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1));
}

/* Check fields that every burst has, whatever its opcode. */
static bool codec_burst_common_ok(const struct burst *b)
{
	const u32 types = 1u << QPT_RC | 1u << QPT_UC | 1u << QPT_UD | 1u << QPT_SRD |
			  1u << QPT_XRC_SEND | 1u << QPT_XRC_RECV;
	const u8 last = BF_IMM | BF_INV | BF_SOLICITED;

	if (b->op >= BOP_NONE || b->flags > 2 * BF_ACK_REQ - 1 || !codec_mtu_ok(b->mtu))
		return false;
	if ((b->flags & last) && !(b->flags & BF_LAST))
		return false;
	if (b->psn > IB_PSN_MASK || b->src_qpn > IB_QPN_MASK || b->dst_qpn > IB_QPN_MASK)
		return false;
	if (!b->src_port || b->src_port > HCA_MAX_PORTS)
		return false;
	return b->dst_type < 32 && (types & 1u << b->dst_type);
}

/* Check the payload and the number of packets that it takes. */
static bool codec_burst_length_ok(const struct burst *b)
{
	const u8 whole = BF_FIRST | BF_LAST;

	switch (b->op) {
	case BOP_SEND:
	case BOP_WRITE:
	case BOP_READ_RESP:
		return b->npkts == packets_of(b->len, b->mtu) && b->dma_len <= LIM_MSG &&
		       ((b->flags & BF_LAST) || (b->len && !(b->len % b->mtu)));
	case BOP_READ_REQ:
		return !b->len && b->dma_len <= JOIN_MAX_DATA &&
		       b->npkts == packets_of(b->dma_len, b->mtu) && (b->flags & whole) == whole;
	case BOP_ATOMIC_WRITE:
		return b->len == 8 && b->npkts == 1 && (b->flags & whole) == whole;
	case BOP_FLUSH:
		return !b->len && b->npkts == 1 && (b->flags & whole) == whole &&
		       b->dma_len <= LIM_MSG;
	case BOP_ATOMIC_REQ:
		return !b->len && b->npkts == 1 && (b->flags & whole) == whole &&
		       (b->atomic_op == WR_ATOMIC_CMP_AND_SWP ||
			b->atomic_op == WR_ATOMIC_FETCH_AND_ADD);
	default:
		return !b->len && b->npkts == 1;
	}
}

static bool codec_burst_datagram_ok(const struct burst *b)
{
	const u8 whole = BF_FIRST | BF_LAST;

	if (b->dst_type == QPT_SRD)
		return b->npkts <= SRD_SEGMENT && b->srqn <= 0xff &&
		       (b->op == BOP_WRITE || b->op == BOP_READ_REQ || b->op == BOP_READ_RESP ||
			((b->op == BOP_SEND || b->op == BOP_ACK) && b->npkts == 1));
	return b->op == BOP_SEND && b->npkts == 1 && (b->flags & whole) == whole;
}

int join_burst_get(const u8 *p, u32 len, u8 lane, struct burst *b, struct hca_av *av,
		   const u8 **data)
{
	u32 size = JOIN_BURST;

	if (len < size)
		return -EPROTO;
	codec_burst_fields_get(p, b);
	if (p[29] > 1 || (p[29] == 1) != qpt_is_datagram(b->dst_type))
		return -EPROTO;
	if (p[29]) {
		size += JOIN_AV;
		if (len < size || codec_av_get(p + JOIN_BURST, av))
			return -EPROTO;
		b->av = av;
	}
	if (!codec_burst_common_ok(b) || !codec_burst_length_ok(b) || join_lane_of(b->op) != lane)
		return -EPROTO;
	if ((b->av && !codec_burst_datagram_ok(b)) || b->len > JOIN_MAX_DATA ||
	    codec_get32(p + 108) > 1)
		return -EPROTO;
	*data = codec_get32(p + 108) ? NULL : p + size;
	if (len - size != (*data ? b->len : 0))
		return -EPROTO;
	/* In the engine a READ request has the length that it asks for. */
	if (b->op == BOP_READ_REQ)
		b->len = b->dma_len;
	return 0;
}

/* Compare type, lane and members of the header; devices, numbers, ports, P_Key and transport. */
bool join_burst_same_flow(const u8 *a, const u8 *b)
{
	const u8 *x = a + JOIN_HDR, *y = b + JOIN_HDR;

	if (codec_get32(b) < JOIN_HDR + JOIN_BURST || a[4] != JT_BURST ||
	    memcmp(a + 4, b + 4, 20) != 0)
		return false;
	return !memcmp(x + 8, y + 8, 21);
}

static bool codec_asks_ack(u8 op, u8 flags)
{
	return (op == BOP_SEND || op == BOP_WRITE) && (flags & BF_ACK_REQ);
}

bool join_burst_shares_ack(const struct burst *b, const u8 *next)
{
	return codec_asks_ack(b->op, b->flags) &&
	       codec_asks_ack(next[JOIN_HDR], next[JOIN_HDR + 1]);
}
