/* SPDX-License-Identifier: MIT */
/**
 * DOC: messages of SRD that fail or begin later on purpose: wc_fault.h says how rules are asked.
 *
 * Rules are asked about each message before it begins. One that is to fail is not sent, whatever it
 * fails with; one that is deferred waits as for a receiver that is not ready, and holds up no other
 * message.
 */
#include "emulator/port_counter.h"
#include "emulator/qp.h"
#include "emulator/transport/srd.h"

/* Count a status that a rule has chosen as one that came by itself. */
static void srd_fault_count(struct engine *e, const struct hca_qp *qp, u32 status)
{
	if (status == WCS_RESP_TIMEOUT_ERR)
		dev_count(e->hca, qp, CNT_RETRY_EXC);
	else if (status == WCS_RNR_RETRY_EXC_ERR)
		dev_count(e->hca, qp, CNT_RNR_RETRY_EXC);
}

bool srd_fault_ask(struct engine *e, const struct hca_qp *qp, const struct sq_wqe *w, u32 wqe,
		   u32 *status, u32 *rule)
{
	struct srd_msg *m = srd_msg_of(e->hca, qp, wqe);
	struct hca_work work = {
		.qp = qp,
		.client = qp->client - 1,
		.opcode = w->opcode,
		.wr_id = w->wr_id,
		.len = m->total,
	};

	if (m->asked)
		return false;
	m->asked = 1;
	*status = e->ops->fault(e->ctx, &work);
	*rule = work.rule;
	if (*status) {
		srd_fault_count(e, qp, *status);
	} else if (work.hold_ns) {
		m->held_posts = work.hold_posts;
		srd_msg_wait(e, qp, wqe, work.hold_ns);
	}
	return *status || work.hold_ns;
}

void srd_fault_posted(struct hca *hca, const struct hca_qp *qp, u32 posted)
{
	u64 left = srd_active(&qp->req);
	u32 i;

	for_each_bit64(i, left) {
		u32 wqe = qp->req.una + i;
		const struct srd_msg *m = srd_msg_of(hca, qp, wqe);

		if (m->state == SRD_RNR && m->held_posts && posted - wqe > m->held_posts)
			srd_msg_ready(hca, qp, wqe);
	}
}
