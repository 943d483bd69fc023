/* SPDX-License-Identifier: MIT */
/**
 * DOC: the journal: a bounded ring that says why each error completion and async event came.
 */
#include "emulator/engine.h"

#include <stdio.h>

void journal_add(struct engine *e, const struct journal_entry *j)
{
	struct hca *hca = e->hca;
	u64 n = hca->journal_seq;
	struct journal_entry *slot = &hca->journal[n % JOURNAL_DEPTH];

	store_relaxed(&slot->seq, 0);
	*slot = *j;
	slot->ts = e->host->now(e->ctx);
	hca->journal_seq = n + 1;
	store_release(&slot->seq, n + 1);
}

void journal_qp(struct engine *e, const struct hca_qp *qp, u32 kind, u32 status, u32 cause,
		u32 info, u32 psn)
{
	const struct journal_entry j = {
		.kind = (u16)kind,
		.status = (u8)status,
		.cause = (u8)cause,
		.info = info,
		.qpn = qp->qpn,
		.peer_qpn = qp->attr.dest_qpn,
		.psn = psn,
		.client = qp->client - 1,
	};

	journal_add(e, &j);
}

static const char *cause_text(u32 cause)
{
	static const char *const text[CAUSE_COUNT] = {
		[CAUSE_NONE] = "modified to error by its owner",
		[CAUSE_LKEY] = "local key, range or right refused; lkey",
		[CAUSE_LOCAL_LEN] = "scatter list too short; bytes",
		[CAUSE_NAK] = "NAK from the peer; syndrome",
		[CAUSE_RETRY] = "no acknowledge after retransmissions; retry_cnt",
		[CAUSE_RNR_RETRY] = "receiver not ready too often; rnr_retry",
		[CAUSE_REQUEST_LEN] = "message longer than the receive; bytes",
		[CAUSE_RKEY] = "remote key, range or right refused; rkey",
		[CAUSE_ACCESS_FLAGS] = "operation not enabled on the QP; qp_access_flags",
		[CAUSE_RD_ATOMIC] = "READ or atomic beyond the limit; limit",
		[CAUSE_MISALIGNED] = "atomic at an address that is not a multiple of 8; low bits",
		[CAUSE_MEM_FAULT] = "registered memory is not mapped; key",
		[CAUSE_CQ_OVERRUN] = "completion queue full; CQ",
		[CAUSE_SRQN] = "no such SRQ in the target's XRC domain; SRQ number",
		[CAUSE_AH] = "no such address handle; handle",
		[CAUSE_WINDOW] = "memory window refused; key",
		[CAUSE_TAG] = "no such tag, or it has its message already; handle",
		[CAUSE_CM_TIMEOUT] = "no answer after retransmissions; retries",
		[CAUSE_CM_REJECT] = "rejected by the peer; reason",
		[CAUSE_CM_SIDR] = "no datagrams there; SIDR status",
		[CAUSE_FAULT] = "a fault rule; its number",
		[CAUSE_BAD_WQE] = "malformed work request or packet; opcode",
	};

	return cause < CAUSE_COUNT ? text[cause] : "?";
}

static const char *cm_event_text(u32 event)
{
	switch (event) {
	case CM_EV_UNREACHABLE:
		return "RDMA_CM_EVENT_UNREACHABLE";
	case CM_EV_REJECTED:
		return "RDMA_CM_EVENT_REJECTED";
	case CM_EV_DISCONNECTED:
		return "RDMA_CM_EVENT_DISCONNECTED";
	default:
		return "?";
	}
}

const char *journal_what(const struct journal_entry *j)
{
	switch (j->kind) {
	case JRN_EVENT:
		return ib_event_name(j->status);
	case JRN_COMPLETION:
		return ib_wc_status_name(j->status);
	case JRN_CM:
		return cm_event_text(j->status);
	default:
		return "client gone";
	}
}

int journal_text(const struct journal_entry *j, char *buf, size_t size)
{
	return snprintf(buf, size,
			"%llu.%09llu client %u qp 0x%06x peer 0x%06x psn 0x%06x: %s: %s 0x%x",
			(unsigned long long)(j->ts / 1000000000),
			(unsigned long long)(j->ts % 1000000000), j->client, j->qpn, j->peer_qpn,
			j->psn, journal_what(j), cause_text(j->cause), j->info);
}
