/* SPDX-License-Identifier: MIT */
/**
 * DOC: faults on packets where they arrive: requests that the responder refuses, and damaged
 * packets.
 *
 * Only a request that the responder would accept now can be refused: the next one in sequence, for
 * a QP that is ready. Any other packet passes without being counted: the responder drops it, or
 * answers it again, as it does without a rule.
 */
#include "emulator/cm/proto.h"
#include "emulator/transport/wc_fault.h"
#include "emulator/transport/responder.h"
#include "emulator/journal/writer.h"
#include "emulator/mad.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/transport/srd.h"
#include "emulator/transport/wire.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"
#include "fabric/fault/packet.h"
#include "fabric/fault/tx.h"

#define REFUSE (FAULT_ACT(FA_RNR) | FAULT_ACT(FA_NAK))
#define ANSWER (FAULT_ACT(FA_REJECT) | FAULT_ACT(FA_MRA))

/* As if the previous packet had been lost. The NAK is sent even if one was sent before. */
static int rx_nak_sequence(struct engine *e, struct hca_qp *qp, const struct burst *b, u32 rule)
{
	struct resp_state s = qp->resp;

	s.flags |= RESP_NAK_SENT;
	commit_resp(e, qp, &s, qp->state);
	dev_count(e->hca, qp, CNT_OUT_OF_SEQ);
	journal_nak(e, qp, b, s.epsn, AETH_NAK_PSN_SEQ, CAUSE_FAULT, rule);
	return wire_send_ack(e, qp, s.epsn, AETH_NAK_PSN_SEQ);
}

static int rx_refuse(struct fabric *f, struct hca_qp *qp, const struct burst *b,
		     const struct fault_rule *r)
{
	struct engine *e = &f->engine;

	if (r->act == FA_RNR) {
		journal_nak(e, qp, b, b->psn, AETH_RNR_NAK, CAUSE_FAULT, r->id);
		return wire_send_rnr(e, qp, b->psn,
				     r->what.timer ? r->what.timer - 1 : qp->attr.min_rnr_timer);
	}
	if (r->what.syndrome == AETH_NAK_PSN_SEQ)
		return rx_nak_sequence(e, qp, b, r->id);
	return resp_nak_by_rule(e, qp, b, (u8)r->what.syndrome, r->id);
}

/* SRD: the message ends or waits, and no queue pair goes to ERR. */
static int rx_refuse_srd(struct fabric *f, struct hca_qp *qp, const struct burst *b,
			 const struct fault_rule *r)
{
	u32 aeth = r->what.syndrome;

	if (r->act == FA_RNR)
		aeth = AETH_RNR_NAK | (r->what.timer ? r->what.timer - 1 : SRD_RNR_TIMER);
	return srd_refuse_by_rule(&f->engine, qp, b, (u8)aeth, r->id);
}

/* The QP that would accept a request now. */
static struct hca_qp *rx_accepting_qp(struct fabric *f, const struct burst *b)
{
	struct hca_qp *qp;

	if (b->dst_type != QPT_SRD)
		return link_expecting_qp(f, b);
	qp = hca_qp_by_num(f->hca, b->dst_qpn);
	return qp && qp_addressed(qp, b) && srd_accepts(&f->engine, qp, b) ? qp : NULL;
}

/* The next rule that hits. A burst is counted when it is first offered, not when it is retried. */
static const struct fault_rule *rx_match_rule(struct fabric *f, struct lq_entry *e, u32 acts)
{
	struct fault_rule *r;
	struct fault_pkt p;
	u32 first, at = 0;

	if (e->tries)
		return e->verdict ? fault_rule_find(f->faults, "", e->verdict) : NULL;
	fault_pkt_set_ends(f->hca, &e->b, &p, &first);
	fault_pkt_set_one(&e->b, first, &p);
	p.round = e->round;
	if (p.op == OP_MAD)
		p.mad = (u32)mad_get(link_payload(f, e), F_ATTR);
	r = fault_match_wire(f, &p, acts, &at);
	e->verdict = r ? r->id : 0;
	return r;
}

/* Answer a CM request that is not delivered to its listener. */
static void rx_cm_reject(struct fabric *f, const struct lq_entry *e, const struct fault_rule *r)
{
	const u8 *mad = link_payload(f, e);
	u8 rep[MAD_SIZE];

	if (mad_get(mad, F_ATTR) == MAD_SIDR_REQ) {
		mad_start(rep, MAD_SIDR_REP, mad_get(mad, F_TID));
		mad_set(rep, F_LOCAL_ID, mad_get(mad, F_LOCAL_ID));
		mad_set(rep, F_SIDR_REP_SERVICE_ID, mad_get(mad, F_SIDR_REQ_SERVICE_ID));
		mad_set(rep, F_SIDR_REP_STATUS, r->what.has_reason ? r->what.reason : SIDR_REJECT);
		cm_reply_mad(&f->engine, &e->b, rep);
		return;
	}
	cm_send_rej(&f->engine, &e->b, mad,
		    r->what.has_reason ? r->what.reason : CM_REJ_CONSUMER_DEFINED, ABOUT_REQ, NULL,
		    0);
}

/* Send an MRA, so that the requester waits longer; the request is delivered as well. */
static void rx_cm_mra(struct fabric *f, const struct lq_entry *e)
{
	const u8 *mad = link_payload(f, e);
	u8 mra[MAD_SIZE];

	mad_start(mra, MAD_MRA, mad_get(mad, F_TID));
	mad_set(mra, F_REMOTE_ID, mad_get(mad, F_LOCAL_ID));
	mad_set(mra, F_MRA_ABOUT, ABOUT_REQ);
	mad_set(mra, F_MRA_TIMEOUT, CM_MRA_TIMEOUT);
	cm_reply_mad(&f->engine, &e->b, mra);
}

static bool rx_mad_arrive(struct fabric *f, struct lq_entry *e)
{
	const struct fault_rule *r = rx_match_rule(f, e, ANSWER);

	if (!r || e->tries)
		return false;
	f->engine.rule = r->id;
	if (r->act == FA_REJECT) {
		journal_cm_refused(&f->engine, &e->b, link_payload(f, e), r->id);
		rx_cm_reject(f, e, r);
	} else {
		rx_cm_mra(f, e);
	}
	f->engine.rule = 0;
	return r->act == FA_REJECT;
}

bool fault_rx_arrive(struct fabric *f, struct lq_entry *e, int *ret)
{
	const struct fault_rule *r;
	struct hca_qp *qp;

	*ret = 0;
	if (f->hca->dev[e->b.dst_dev].member)
		return false;
	if (fault_pkt_op(&e->b) == OP_MAD)
		return rx_mad_arrive(f, e);
	qp = rx_accepting_qp(f, &e->b);
	if (!qp)
		return false;
	r = rx_match_rule(f, e, REFUSE);
	if (!r)
		return false;
	/* Journal entries written meanwhile name the rule. */
	f->engine.rule = r->id;
	*ret = qp->type == QPT_SRD ? rx_refuse_srd(f, qp, &e->b, r) : rx_refuse(f, qp, &e->b, r);
	f->engine.rule = 0;
	return true;
}

void fault_rx_corrupt(struct fabric *f, const struct lq_entry *e)
{
	struct hca_port *p = port_of(f->hca, e->b.dst_dev, e->b.dst_port);

	if (p && !f->hca->dev[e->b.dst_dev].member)
		p->counters[CNT_RCV_ERRORS]++;
	fault_burst_lost(f, &e->b, e->corrupt);
}

void fault_burst_lost(struct fabric *f, const struct burst *b, u32 rule)
{
	if (rule)
		journal_drop(&f->engine, b, CAUSE_FAULT, rule);
	else
		fabric_note(f, "qp 0x%06x to 0x%06x psn 0x%06x is lost: the link's queue is full",
			    b->src_qpn, b->dst_qpn, b->psn);
}
