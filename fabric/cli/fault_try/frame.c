/* SPDX-License-Identifier: MIT */
/* See frame.h. */
#include "fabric/cli/fault_try/frame.h"
#include "emulator/mad.h"

static void trace_read_mad(const struct roce_pkt *r, struct trace_pkt *p)
{
	const u8 *mad = r->payload;

	if (r->payload_cap < MAD_SIZE || mad_get(mad, F_CLASS) != MAD_CLASS_CM)
		return;
	p->cm.attr = (u32)mad_get(mad, F_ATTR);
	p->cm.local_id = (u32)mad_get(mad, F_LOCAL_ID);
	if (p->cm.attr != MAD_REQ)
		p->cm.remote_id = (u32)mad_get(mad, F_REMOTE_ID);
	if (p->cm.attr == MAD_REQ) {
		p->cm.qpn = (u32)mad_get(mad, F_REQ_QPN);
		p->cm.psn = (u32)mad_get(mad, F_REQ_PSN);
	} else if (p->cm.attr == MAD_REP) {
		p->cm.qpn = (u32)mad_get(mad, F_REP_QPN);
		p->cm.psn = (u32)mad_get(mad, F_REP_PSN);
	}
}

static struct trace_addr trace_addr_from(const struct roce_pkt *r, const u8 gid[16], u16 lid)
{
	struct trace_addr a = { .kind = '6' };

	switch (r->net) {
	case ROCE_IP4:
		a.kind = '4';
		memcpy(a.b, gid + 12, 4);
		break;
	case ROCE_IB:
		a.kind = 'L';
		a.b[0] = (u8)(lid >> 8);
		a.b[1] = (u8)lid;
		break;
	default:
		memcpy(a.b, gid, 16);
	}
	return a;
}

/* Fault rules know no RD, no CNP and no FLUSH. */
static bool trace_is_for_rules(const struct roce_pkt *r)
{
	u32 transport = r->opcode >> 5;

	if (r->wrong & ROCE_BAD_OPCODE || (r->opcode & 31) == ROCE_FLUSH)
		return false;
	return transport == ROCE_RC || transport == ROCE_UC || transport == ROCE_UD ||
	       transport == ROCE_XRC;
}

enum trace_verdict trace_frame_parse(u32 link, const u8 *bytes, u32 caplen, u32 len,
				     struct trace_pkt *p)
{
	struct roce_pkt r;
	int ret = roce_parse(link, bytes, caplen, len, &r);

	memset(p, 0, sizeof(*p));
	if (ret)
		return ret == -EBADMSG ? TRACE_BAD : TRACE_OTHER;
	if (!trace_is_for_rules(&r))
		return TRACE_OTHER;
	p->src = trace_addr_from(&r, r.sgid, r.slid);
	p->dst = trace_addr_from(&r, r.dgid, r.dlid);
	p->transport = r.opcode >> 5;
	p->opcode = r.opcode & 31u;
	p->src_qpn = r.sqpn;
	p->dst_qpn = r.dqpn;
	p->psn = r.psn;
	p->aeth = r.syndrome;
	p->size = r.payload_len;
	if (p->transport == ROCE_UD && p->dst_qpn == 1 && p->src_qpn == 1)
		trace_read_mad(&r, p);
	return TRACE_RDMA;
}
