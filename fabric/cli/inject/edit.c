/* SPDX-License-Identifier: MIT */
/**
 * DOC: frames of a capture are rewritten as frames of the live queue pair's peer.
 *
 * Values that belong to a connection become those of the live one: addresses, QP numbers, PSNs,
 * keys of regions and addresses in them, a datagram's Q_Key. All other fields stay, even wrong
 * ones. A frame that cannot be rebuilt, because its lengths or checksums are wrong, is sent
 * unchanged.
 */
#include "emulator/ib.h"
#include "emulator/obj.h"
#include "fabric/cli/inject/tool.h"

#define AS_IT_IS                                                                                   \
	(ROCE_BAD_SHORT | ROCE_BAD_LEN | ROCE_BAD_IP_CSUM | ROCE_BAD_UDP_CSUM | ROCE_BAD_GRH |     \
	 ROCE_BAD_PAD)

/* Replace a key of the file by the key of a region that the live program has registered. */
static void inject_set_key(const struct inject_file *file, const struct inject_live *live,
			   struct roce_pkt *p)
{
	u32 i;

	for (i = 0; i < file->n_keys && i < live->n_regions; i++)
		if (file->key[i].rkey == p->rkey) {
			p->va = live->region[i].va + (p->va - file->key[i].va);
			p->rkey = live->region[i].rkey;
			return;
		}
}

/* Whether two packets are for the same multicast group. */
static bool inject_is_same_group(const struct roce_pkt *a, const struct roce_pkt *b)
{
	if (!inject_is_multicast(a) || !inject_is_multicast(b))
		return false;
	return a->net == ROCE_IB || b->net == ROCE_IB ? a->dlid == b->dlid
						      : !memcmp(a->dgid, b->dgid, 16);
}

/* The destination is the queue pair's port, or its multicast group in place of that of the file. */
static void inject_set_destination(const struct inject_file *file, const struct proto_inject *q,
				   struct roce_pkt *p)
{
	if (!inject_is_multicast(p)) {
		memcpy(p->dgid, q->gid, 16);
		p->dlid = q->lid;
	} else if (q->in_group && file->group && inject_is_same_group(p, file->group)) {
		memcpy(p->dgid, q->mgid, 16);
		p->dlid = q->mlid;
	}
}

static void inject_set_net(const struct inject_file *file, const struct proto_inject *q,
			   struct roce_pkt *p)
{
	bool v4 = gid_is_v4(q->gid), grh = p->net == ROCE_IB_GRH;

	inject_set_destination(file, q, p);
	/* All packets of a connection have a GRH, or none has. */
	if (q->type != QPT_UD)
		grh = q->global;
	if (q->link_layer == LINK_INFINIBAND)
		p->net = grh ? ROCE_IB_GRH : ROCE_IB;
	else
		p->net = v4 ? ROCE_IP4 : ROCE_IP6;
	if (p->net == ROCE_IP4)
		p->ip_frag = ROCE_IP_DF;
	/* The checksum covers the addresses; RoCE v2 does not use it. */
	p->udp_csum = 0;
	if (!p->hop_limit)
		p->hop_limit = q->hop_limit;
	memcpy(p->sgid, q->peer_gid, 16);
	p->slid = q->peer_lid;
}

u32 inject_psn_base(const struct proto_inject *q, const struct roce_pkt *p, bool from_live)
{
	return roce_is_response(p->opcode) == from_live ? q->first_request : q->first_answer;
}

static void inject_set_connection(const struct inject_file *file, const struct inject_frame *fr,
				  const struct inject_live *live, struct roce_pkt *p)
{
	const struct proto_inject *q = &live->q;
	u32 headers = roce_headers(p->opcode);

	inject_set_net(file, q, p);
	if (p->dqpn == GSI_QPN)
		return;
	if (!inject_is_multicast(p))
		p->dqpn = q->qpn;
	if (q->type != QPT_UD)
		p->psn = (inject_psn_base(q, p, false) + fr->rel) & IB_PSN_MASK;
	if (headers & (ROCE_RETH | ROCE_ATOMICETH))
		inject_set_key(file, live, p);
	if ((headers & ROCE_DETH) && p->qkey == file->qkey)
		p->qkey = q->qkey;
	if ((headers & ROCE_XRCETH) && p->srqn == file->srqn)
		p->srqn = q->srqn;
}

int inject_frame_build(const struct inject_file *file, const struct inject_frame *fr,
		       const struct inject_live *live, bool as_is, const struct inject_value *value,
		       u32 n, struct proto_frame *out)
{
	struct roce_pkt p = fr->pkt;
	static u8 payload[PROTO_FRAME];
	u32 wire;
	int ret;

	*out = (struct proto_frame){ .link = fr->link, .len = fr->len };
	if ((as_is && !n) || fr->parsed || (fr->pkt.wrong & AS_IT_IS)) {
		if (fr->len > sizeof(out->bytes))
			return -EMSGSIZE;
		memcpy(out->bytes, fr->bytes, fr->len);
		return n ? -EINVAL : 0;
	}
	p.icrc_xor = fr->pkt.wrong & ROCE_BAD_ICRC ? 1 : 0;
	if (!as_is)
		inject_set_connection(file, fr, live, &p);
	inject_values_set(&p, live, value, n, payload, sizeof(payload));
	if (roce_frame_len(&p) > sizeof(out->bytes))
		return -EMSGSIZE;
	ret = roce_build(&p, out->bytes, sizeof(out->bytes), &wire);
	if (ret < 0)
		return ret;
	out->link = roce_link_of(p.net);
	out->len = (u32)ret;
	if (p.net >= ROCE_IB && (fr->pkt.wrong & ROCE_BAD_VCRC))
		out->bytes[out->len - 1] ^= 1;
	return 0;
}
