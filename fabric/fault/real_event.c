/* SPDX-License-Identifier: MIT */
/**
 * DOC: events of programs on real devices: those of the rdma_cm that rules drop or reject, and the
 * asynchronous ones that the devices raise.
 *
 * The kernel has the messages of connection management. What reaches a program is the event that a
 * message has caused, so that is where a rule about messages hits: the process of the program asks
 * about each event (libtap/users/event_faults.c) while there is such a rule.
 */
#include "emulator/cm/cm.h"
#include "emulator/journal/writer.h"
#include "emulator/mad.h"
#include "fabric/core/fabric.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"

_Static_assert(PROTO_CM_REJ == MAD_REJ - MAD_REQ, "the order of the attributes");
_Static_assert(PROTO_CM_SIDR_REP == MAD_SIDR_REP - MAD_REQ, "and their end");

static bool cm_is_valid(const struct proto_cm *cm)
{
	return cm->message < PROTO_CM_MESSAGES && cm->event <= CM_EV_TIMEWAIT_EXIT &&
	       cm->qpn <= IB_QPN_MASK;
}

int fault_cm_request(struct fabric *f, const struct client *cl, struct proto_msg *m)
{
	const struct fault_rule *r;
	struct journal_entry j;

	if (!f->real)
		return -EOPNOTSUPP;
	if (!cm_is_valid(&m->cm))
		return -EINVAL;
	r = fault_match_cm(f, cl->id, MAD_REQ + m->cm.message);
	m->cm.act = !r ? PROTO_CM_SHOW : r->act == FA_REJECT ? PROTO_CM_REJECT : PROTO_CM_DROP;
	if (!r)
		return 0;
	j = journal_of_client(f->hca, cl->id, m->cm.qpn, JRN_CM, m->cm.event, r->id);
	j.optype = JOP_MAD;
	j.opcode = (u16)(MAD_REQ + m->cm.message);
	fault_call_journal(f, &j);
	return 0;
}

int fault_event_seen(struct fabric *f, const struct client *cl, const struct proto_msg *m)
{
	const struct proto_event *event = &m->event;
	struct journal_entry j;

	if (!f->real)
		return -EOPNOTSUPP;
	if (event->type > EV_WQ_FATAL || event->qpn > IB_QPN_MASK)
		return -EINVAL;
	j = journal_of_client(f->hca, cl->id, event->qpn, JRN_EVENT, event->type, 0);
	fault_call_journal(f, &j);
	return 0;
}

int fault_qp_unseen(struct fabric *f, const struct client *cl, const struct proto_msg *m)
{
	struct journal_entry j;

	if (!f->real)
		return -EOPNOTSUPP;
	if (m->event.qpn > IB_QPN_MASK)
		return -EINVAL;
	j = journal_of_client(f->hca, cl->id, m->event.qpn, JRN_UNSEEN, 0, 0);
	fault_call_journal(f, &j);
	return 0;
}
