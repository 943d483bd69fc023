/* SPDX-License-Identifier: MIT */
/**
 * DOC: checks on packets that anybody may have built.
 *
 * Requester and responder assume of bursts that the packets of a message are as long as the path
 * MTU, that responses are segmented as their request was, and that opcodes exist. These functions
 * check that of packets off a wire. Sequence, rights, ranges, receives and memory are checked by
 * requester and responder themselves.
 */
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/packet_fault.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/transport/completer.h"
#include "emulator/transport/untrusted.h"

#define WHOLE (BF_FIRST | BF_LAST)
/* No QP's path MTU: a packet with it is refused as too long or too short. */
#define MTU_WRONG 1u

void untrusted_drop(struct engine *e, const struct burst *b, u32 fault)
{
	struct hca_port *port = port_of(e->hca, b->dst_dev, b->dst_port);

	if (port)
		port->counters[CNT_DROPPED]++;
	journal_drop(e, b, CAUSE_PACKET, fault);
}

/* IBTA 9.7.4.1.6: all but the last are as long as the path MTU, the last has at least a byte. */
static bool untrusted_length_ok(const struct hca_qp *qp, const struct burst *b)
{
	u64 before = b->flags & BF_FIRST ? 0 : qp->resp.off;

	switch (b->op) {
	case BOP_SEND:
	case BOP_WRITE:
		if (before + b->len > LIM_MSG || b->dma_len > LIM_MSG)
			return false;
		if (!(b->flags & BF_LAST))
			return b->len == (u64)b->npkts * qp->mtu;
		return packets_of(b->len, qp->mtu) == b->npkts && (b->len || (b->flags & BF_FIRST));
	case BOP_ATOMIC_WRITE:
		return b->len == 8;
	default:
		return true;
	}
}

/* IBTA 9.7.5.2.1, tables 46 and 48. */
static bool aeth_syndrome_ok(u8 aeth)
{
	return aeth < AETH_NAK_PSN_SEQ ? aeth < 0x40 : aeth <= AETH_NAK_REM_OP;
}

static bool untrusted_refuse(struct engine *e, const struct burst *p, u32 fault)
{
	untrusted_drop(e, p, fault);
	return false;
}

static bool untrusted_answer_ok(struct engine *e, const struct hca_qp *qp, const struct burst *p)
{
	if (!qp_reliable(qp))
		return untrusted_refuse(e, p, PKT_OPCODE);
	if (!aeth_syndrome_ok(p->aeth))
		return untrusted_refuse(e, p, PKT_SYNDROME);
	if (!req_outstanding(qp, p->psn) || !req_outstanding(qp, psn_add(p->psn, p->npkts - 1)))
		return untrusted_refuse(e, p, PKT_NOT_WAITED);
	return true;
}

static bool untrusted_request_ok(struct engine *e, const struct hca_qp *qp, struct burst *p)
{
	s32 ahead = psn_diff(p->psn, qp->resp.epsn);

	if (!qp_reliable(qp) && (p->op != BOP_SEND && (p->op != BOP_WRITE || qp->type == QPT_UD)))
		return untrusted_refuse(e, p, PKT_OPCODE);
	/* A duplicate is acknowledged or answered again: only its opcode has to exist. */
	if (ahead < 0 && p->op == BOP_NONE)
		return untrusted_refuse(e, p, PKT_OPCODE);
	if (p->op == BOP_READ_REQ) {
		p->npkts = packets_of(min_u64(p->len, LIM_MSG), qp->mtu);
		if (ahead < 0 && (s32)p->npkts > -ahead)
			return untrusted_refuse(e, p, PKT_RANGE);
	}
	if (!untrusted_length_ok(qp, p))
		p->mtu = MTU_WRONG;
	return true;
}

bool untrusted_check(struct engine *e, struct hca_qp *qp, struct burst *p)
{
	p->flags &= (u8)~BF_FOREIGN;
	p->mtu = qp->mtu;
	/* The QP has no path yet: its state is the reason to drop the packet. */
	if (qp->state < QPS_RTR)
		return true;
	if (p->op == BOP_ACK || p->op == BOP_READ_RESP || p->op == BOP_ATOMIC_ACK) {
		p->flags |= BF_FOREIGN;
		return untrusted_answer_ok(e, qp, p);
	}
	/* Only fault rules set it in requests. */
	p->aeth = 0;
	return untrusted_request_ok(e, qp, p);
}

/*
 * READ responses are segmented as their request was: one request for each qp_read_chunk() of the
 * message. A retried request may begin anywhere in it (IBTA 9.7.5.1.9, and 9.9.2.3 for what follows
 * from it).
 */
u32 untrusted_response_status(const struct hca_qp *qp, u64 at, u64 total, const struct burst *b)
{
	const u64 chunk = qp_read_chunk(qp), room = (u64)b->npkts * qp->mtu;
	u64 begin = qp_chunk_begin(qp, chunk, at, total), left;
	bool last;

	if (b->aeth >= AETH_RNR_NAK)
		return WCS_BAD_RESP_ERR;
	if (b->op != BOP_READ_RESP)
		return WCS_SUCCESS;
	left = qp_chunk_len(qp, chunk, at, total);
	last = left <= room;
	if (!!(b->flags & BF_LAST) != last || (at == begin && !(b->flags & BF_FIRST)))
		return WCS_BAD_RESP_ERR;
	if (b->len != min_u64(left, room) || packets_of(b->len, qp->mtu) != b->npkts)
		return WCS_LOC_LEN_ERR;
	return WCS_SUCCESS;
}
