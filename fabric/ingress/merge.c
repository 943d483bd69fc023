/* SPDX-License-Identifier: MIT */
/**
 * DOC: packets of a message that arrive together become one burst.
 *
 * A sender that lets its kernel cut a payload into datagrams (UDP_SEGMENT) has the receiver's
 * kernel hand them out together (UDP_GRO). Each burst costs the engine a look at its tables and a
 * copy into the memory of a program, which is a system call: one for up to 64 packets then.
 *
 * Only packets whose turn it is are merged: for the responder and the completer the burst is as a
 * requester of the same fabric makes it. Each packet has been parsed like a single one.
 */
#include "fabric/ingress/ingress.h"

#include "emulator/qp.h"
#include "emulator/transport/wire.h"

/* Whether packets may be added to that one: its queue pair expects it next, and it is full. */
static bool merge_begins(const struct hca_qp *qp, const struct burst *b)
{
	if ((b->flags & (BF_LAST | BF_ACK_REQ)) || b->dst_type == QPT_UD || !qp ||
	    !qp_addressed(qp, b) || qp->state < QPS_RTR || b->len != qp->mtu)
		return false;
	if (b->op == BOP_READ_RESP)
		return b->psn == qp->req.una_psn && b->aeth < AETH_RNR_NAK;
	return (b->op == BOP_SEND || b->op == BOP_WRITE) && b->psn == qp->resp.epsn;
}

/*
 * Add the datagram whose turn it is, and move its payload to @payload. Its headers are written over
 * the end of that.
 */
static bool merge_datagram(struct roce_in *in, const u8 sgid[16], const u8 dgid[16], u8 *payload,
			   u64 *numbered)
{
	u8 *before = in->bytes + in->at - ROCE_IP6_UDP, kept[ROCE_IP6_UDP];
	struct roce_pkt p;
	bool fits;

	memcpy(kept, before, sizeof(kept));
	fits = roce_datagram_parse(sgid, dgid, in, &p) == ROCE_DROPS &&
	       packet_extend_burst(&p, &in->burst);
	memcpy(before, kept, sizeof(kept));
	if (!fits)
		return false;
	memmove(payload, p.payload, p.payload_len);
	*numbered += roce_datagram_is_numbered(in, &p);
	return true;
}

void roce_merge(struct hca *hca, struct roce_in *in, const u8 sgid[16], const u8 dgid[16],
		u64 *numbered)
{
	struct burst *b = &in->burst.b;
	const struct hca_qp *qp = hca_qp_by_num(hca, b->dst_qpn);
	const u32 at = in->at, len = in->len;
	u8 *payload;

	if (at + len >= in->end || !merge_begins(qp, b))
		return;
	b->mtu = qp->mtu;
	payload = in->bytes + in->burst.mem.iov[0].addr;
	while (!(b->flags & (BF_LAST | BF_ACK_REQ)) && in->at + in->len < in->end) {
		in->at += in->len;
		in->len = min_u32(in->end - in->at, in->step);
		if (!merge_datagram(in, sgid, dgid, payload + b->len, numbered))
			break;
		in->held = in->at + in->len;
	}
	in->at = at;
	in->len = len;
}
