/* SPDX-License-Identifier: MIT */
/**
 * DOC: the protocol's timers: one deadline per identifier. Messages that await an answer are
 * retransmitted until their retries are used up; TIMEWAIT ends.
 *
 * Thousands of timers may expire together. One holding of the token handles a limited number of
 * them, and the rest stay due: the fabric process returns for them at once, and other processes get
 * the token in between.
 */
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/deadline.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"

#define TIMERS_AT_ONCE 256u

/* No answer has come. */
static void cm_timer_give_up(struct engine *e, struct hca_cmid *id)
{
	struct cm_event ev = { .type = CM_EV_UNREACHABLE, .status = -ETIMEDOUT };
	bool dreq = id->proto == CMP_DREQ_SENT;

	if (dreq)
		ev.type = CM_EV_DISCONNECTED;
	journal_cm(e, id, &ev, CAUSE_CM_TIMEOUT, id->max_retries);
	cm_proto_finish(e, id, CM_CONNECT, dreq ? CM_DISCONNECT : CM_CONNECT,
			dreq ? CMP_TIMEWAIT : CMP_IDLE, &ev);
}

static void cm_timer_fire(struct engine *e, struct hca_cmid *id, u64 now)
{
	struct cm_event ev = { .type = CM_EV_TIMEWAIT_EXIT };

	switch (id->proto) {
	case CMP_REQ_SENT:
	case CMP_MRA_REQ_RCVD:
	case CMP_REP_SENT:
	case CMP_MRA_REP_RCVD:
	case CMP_DREQ_SENT:
	case CMP_SIDR_REQ_SENT:
		if (!id->retries) {
			cm_timer_give_up(e, id);
			break;
		}
		id->retries--;
		cm_timer_arm(e, id, now + id->wait);
		cm_send_mad(e, id, id->mad);
		break;
	case CMP_TIMEWAIT:
		cm_proto_finish(e, id, CM_DISCONNECT, CM_DISCONNECT, CMP_IDLE, &ev);
		break;
	default:
		/* The awaited message has come. */
		cm_timer_arm(e, id, 0);
	}
}

bool cm_timer_expire(struct engine *e, struct hca_cmid *id, u32 event)
{
	struct cm_event ev = { .type = CM_EV_TIMEWAIT_EXIT };

	if (id->state == CM_DESTROYING)
		return false;
	if (event == CM_EV_TIMEWAIT_EXIT) {
		if (id->proto != CMP_TIMEWAIT)
			return false;
		cm_proto_finish(e, id, CM_DISCONNECT, CM_DISCONNECT, CMP_IDLE, &ev);
		return true;
	}
	switch (id->proto) {
	case CMP_REQ_SENT:
	case CMP_MRA_REQ_RCVD:
	case CMP_REP_SENT:
	case CMP_MRA_REP_RCVD:
	case CMP_SIDR_REQ_SENT:
		cm_timer_give_up(e, id);
		return true;
	default:
		return false;
	}
}

static u64 cm_timer_check(struct engine *e, u32 slot, u64 now)
{
	struct hca_cmid *id = &e->hca->cmid[slot];

	if (id->client && id->deadline && id->deadline <= now && e->cm_timers) {
		e->cm_timers--;
		cm_timer_fire(e, id, now);
	}
	return id->client ? id->deadline : 0;
}

u64 cm_timers(struct engine *e, u64 now)
{
	e->cm_timers = TIMERS_AT_ONCE;
	return deadline_scan(e, e->hca->cm_bits, e->hca->cm_sum, HCA_MAX_CMID, now, cm_timer_check);
}
