/* SPDX-License-Identifier: MIT */
/**
 * DOC: input of QP 1: each message in each state (IBTA 12.9.7, 12.9.8).
 *
 * Any process may send anything here. A message is copied before it is parsed, and every id in it
 * is validated; a message that matches nothing is dropped, except for requests, which are rejected.
 */
#include "emulator/cm/input.h"
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/mad.h"
#include "emulator/port.h"

#include <endian.h>

/* --- MRA --- */

static void mra_input(struct engine *e, const u8 mad[MAD_SIZE])
{
	u32 about = (u32)mad_get(mad, F_MRA_ABOUT);
	u32 remote = about == ABOUT_REQ ? 0 : (u32)mad_get(mad, F_LOCAL_ID);
	struct hca_cmid *id = cmid_by_local_id(e->hca, (u32)mad_get(mad, F_REMOTE_ID), remote);
	u32 proto;

	if (!id)
		return;
	if (id->proto == CMP_REQ_SENT && about == ABOUT_REQ)
		proto = CMP_MRA_REQ_RCVD;
	else if (id->proto == CMP_REP_SENT && about == ABOUT_REP)
		proto = CMP_MRA_REP_RCVD;
	else
		return;
	id->wait = cm_time_ns((u32)mad_get(mad, F_MRA_TIMEOUT)) + cm_time_ns(id->timeout);
	store_release(&id->proto, proto);
	cm_timer_arm(e, id, e->ops->now(e->ctx) + id->wait);
}

/* --- REJ --- */

static struct hca_cmid *rej_find_cmid(struct hca *hca, const u8 mad[MAD_SIZE])
{
	u32 remote = (u32)mad_get(mad, F_LOCAL_ID);
	u64 guid;

	/* A peer that gives up before it knows our id sends its GUID. */
	if (mad_get(mad, F_REJ_REASON) == CM_REJ_TIMEOUT) {
		memcpy(&guid, mad + REJ_INFO, sizeof(guid));
		return cmid_by_remote_id(hca, be64toh(guid), remote);
	}
	if (mad_get(mad, F_REJ_ABOUT) == ABOUT_REQ)
		remote = 0;
	return cmid_by_local_id(hca, (u32)mad_get(mad, F_REMOTE_ID), remote);
}

static void rej_input(struct engine *e, const u8 mad[MAD_SIZE])
{
	struct hca_cmid *id = rej_find_cmid(e->hca, mad);
	struct cm_event ev = { .type = CM_EV_REJECTED };
	u32 proto = CMP_IDLE;

	if (!id)
		return;
	ev.status = (s32)mad_get(mad, F_REJ_REASON);
	switch (id->proto) {
	case CMP_REQ_SENT:
	case CMP_MRA_REQ_RCVD:
	case CMP_REP_SENT:
	case CMP_MRA_REP_RCVD:
	case CMP_REQ_RCVD:
	case CMP_MRA_REQ_SENT:
		if (ev.status == CM_REJ_STALE_CONN)
			proto = CMP_TIMEWAIT;
		break;
	case CMP_DREQ_SENT:
	case CMP_REP_RCVD:
	case CMP_MRA_REP_SENT:
	case CMP_ESTABLISHED:
		proto = CMP_TIMEWAIT;
		break;
	default:
		return;
	}
	cm_event_set_data(&ev.param, mad, 0);
	journal_cm(e, id, &ev, CAUSE_CM_REJECT, (u32)ev.status);
	cm_proto_finish(e, id, CM_CONNECT, CM_CONNECT, proto, &ev);
}

/* --- REP and RTU --- */

/* A repeated REP: the RTU or MRA was lost. */
static void rep_input_again(struct engine *e, const u8 mad[MAD_SIZE])
{
	const struct hca_cmid *id = cmid_by_local_id(e->hca, (u32)mad_get(mad, F_REMOTE_ID),
						     (u32)mad_get(mad, F_LOCAL_ID));

	if (!id)
		return;
	if (id->proto == CMP_ESTABLISHED)
		cm_send_rtu(e, id);
	else if (id->proto == CMP_MRA_REP_SENT)
		cm_send_mra(e, id, ABOUT_REP);
}

static u32 rep_qpn(const struct hca_cmid *id, const u8 mad[MAD_SIZE])
{
	return (u32)mad_get(mad, id->qp_type == QPT_XRC_SEND ? F_REP_EECN : F_REP_QPN);
}

static void rep_fill_event(struct cm_event *ev, const struct hca_cmid *id, const u8 mad[MAD_SIZE])
{
	struct cm_param *p = &ev->param;

	ev->type = CM_EV_CONNECT_RESPONSE;
	p->qpn = rep_qpn(id, mad);
	p->responder_resources = (u8)mad_get(mad, F_REP_INITIATOR_DEPTH);
	p->initiator_depth = (u8)mad_get(mad, F_REP_RESPONDER_RESOURCES);
	p->flow_control = (u8)mad_get(mad, F_REP_FLOW_CONTROL);
	p->rnr_retry_count = (u8)mad_get(mad, F_REP_RNR_RETRY);
	p->srq = (u8)mad_get(mad, F_REP_SRQ);
	p->ece_vendor = (u32)(mad_get(mad, F_REP_VENDOR_H) << 16 |
			      mad_get(mad, F_REP_VENDOR_M) << 8 | mad_get(mad, F_REP_VENDOR_L));
	p->ece_options = (u32)mad_get(mad, F_ATTR_MOD);
	cm_event_set_data(p, mad, 0);
}

static void rep_store(struct hca_cmid *id, const u8 mad[MAD_SIZE])
{
	id->remote_guid = mad_get(mad, F_REP_CA_GUID);
	id->remote_qpn = rep_qpn(id, mad);
	id->remote_psn = (u32)mad_get(mad, F_REP_PSN);
	id->initiator_depth = (u8)mad_get(mad, F_REP_RESPONDER_RESOURCES);
	id->responder_resources = (u8)mad_get(mad, F_REP_INITIATOR_DEPTH);
	id->rnr_retry_count = (u8)mad_get(mad, F_REP_RNR_RETRY);
	id->timeout = (u8)cm_ack_timeout((u32)mad_get(mad, F_REP_ACK_DELAY), id->lifetime);
	/* This store comes last: until then the request counts as unanswered. */
	store_release(&id->remote_id, (u32)mad_get(mad, F_LOCAL_ID));
}

static void rep_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE])
{
	struct hca_cmid *id = cmid_by_local_id(e->hca, (u32)mad_get(mad, F_REMOTE_ID), 0);
	u64 guid = mad_get(mad, F_REP_CA_GUID);
	struct cm_event ev = { 0 };
	struct hca_cmid *stale;

	if (!id) {
		rep_input_again(e, mad);
		return;
	}
	if (id->proto != CMP_REQ_SENT && id->proto != CMP_MRA_REQ_RCVD)
		return;
	if (cmid_by_remote_id(e->hca, guid, (u32)mad_get(mad, F_LOCAL_ID)))
		return;
	stale = cmid_by_remote_qpn(e->hca, guid, rep_qpn(id, mad));
	if (stale) {
		cm_send_rej(e, b, mad, CM_REJ_STALE_CONN, ABOUT_REP, NULL, 0);
		(void)cm_disconnect(e, stale);
		return;
	}
	rep_fill_event(&ev, id, mad);
	rep_store(id, mad);
	cm_proto_report(e, id, CM_CONNECT, CM_CONNECT, CMP_MRA_REP_SENT, &ev);
	cm_peer_link(e->hca, id, CM_BY_ID | CM_BY_QPN);
	cm_timer_arm(e, id, 0);
}

static void rtu_input(struct engine *e, const u8 mad[MAD_SIZE])
{
	struct hca_cmid *id = cmid_by_local_id(e->hca, (u32)mad_get(mad, F_REMOTE_ID),
					       (u32)mad_get(mad, F_LOCAL_ID));
	struct cm_event ev = { .type = CM_EV_ESTABLISHED };

	if (!id || (id->proto != CMP_REP_SENT && id->proto != CMP_MRA_REP_RCVD))
		return;
	cm_proto_report(e, id, CM_CONNECT, CM_CONNECT, CMP_ESTABLISHED, &ev);
	cm_timer_arm(e, id, 0);
}

/* --- DREQ and DREP --- */

/* An unknown connection is one that has ended. */
static void dreq_input_unknown(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE])
{
	u8 drep[MAD_SIZE];

	mad_start(drep, MAD_DREP, mad_get(mad, F_TID));
	mad_set(drep, F_LOCAL_ID, mad_get(mad, F_REMOTE_ID));
	mad_set(drep, F_REMOTE_ID, mad_get(mad, F_LOCAL_ID));
	cm_reply_mad(e, b, drep);
}

static void dreq_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE])
{
	struct hca_cmid *id = cmid_by_local_id(e->hca, (u32)mad_get(mad, F_REMOTE_ID),
					       (u32)mad_get(mad, F_LOCAL_ID));
	struct cm_event ev = { .type = CM_EV_DISCONNECTED };

	if (!id) {
		dreq_input_unknown(e, b, mad);
		return;
	}
	if (id->qpn != mad_get(mad, F_DREQ_QPN))
		return;
	switch (id->proto) {
	case CMP_REP_SENT:
	case CMP_MRA_REP_RCVD:
	case CMP_ESTABLISHED:
	case CMP_DREQ_SENT:
		break;
	case CMP_TIMEWAIT:
		cm_send_drep(e, id);
		return;
	default:
		return;
	}
	id->tid = mad_get(mad, F_TID);
	/* The program cannot call rdma_disconnect() any more. */
	if (id->state == CM_DESTROYING) {
		cm_send_drep(e, id);
		cm_proto_finish(e, id, CM_CONNECT, CM_DISCONNECT, CMP_IDLE, &ev);
		return;
	}
	cm_proto_report(e, id, CM_CONNECT, CM_DISCONNECT, CMP_DREQ_RCVD, &ev);
	cm_timer_arm(e, id, 0);
}

static void drep_input(struct engine *e, const u8 mad[MAD_SIZE])
{
	struct hca_cmid *id = cmid_by_local_id(e->hca, (u32)mad_get(mad, F_REMOTE_ID),
					       (u32)mad_get(mad, F_LOCAL_ID));
	struct cm_event ev = { .type = CM_EV_DISCONNECTED };

	if (id && (id->proto == CMP_DREQ_SENT || id->proto == CMP_DREQ_RCVD))
		cm_proto_finish(e, id, CM_CONNECT, CM_DISCONNECT, CMP_TIMEWAIT, &ev);
}

/* --- all --- */

static void mad_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE])
{
	switch (mad_get(mad, F_ATTR)) {
	case MAD_REQ:
		cm_req_input(e, b, mad);
		break;
	case MAD_MRA:
		mra_input(e, mad);
		break;
	case MAD_REJ:
		rej_input(e, mad);
		break;
	case MAD_REP:
		rep_input(e, b, mad);
		break;
	case MAD_RTU:
		rtu_input(e, mad);
		break;
	case MAD_DREQ:
		dreq_input(e, b, mad);
		break;
	case MAD_DREP:
		drep_input(e, mad);
		break;
	case MAD_SIDR_REQ:
		sidr_req_input(e, b, mad);
		break;
	case MAD_SIDR_REP:
		sidr_rep_input(e, mad);
		break;
	default:
		/* There are no alternate paths: a LAP is not answered, an APR not expected. */
		break;
	}
}

/* Return: 0, -EAGAIN, or another error when the MAD cannot be read. */
static int mad_fetch(struct engine *e, const struct burst *b, u8 mad[MAD_SIZE])
{
	const char *base = (const char *)e->hca;
	struct hca_mem dst = { .client = HCA_SELF, .kind = MEM_SEG, .n = 1 };
	int ret;

	dst.iov[0].addr = (u64)((const char *)e->hca->cm_in - base);
	dst.iov[0].len = MAD_SIZE;
	ret = e->ops->copy(e->ctx, &dst, 0, b->mem, b->off, MAD_SIZE,
			   (u64)GSI_QPN << 32 | b->psn << 1 | 1);
	if (!ret)
		memcpy(mad, e->hca->cm_in, MAD_SIZE);
	return ret;
}

static bool port_has_pkey(const struct hca_port *port, u16 pkey)
{
	u32 i;

	for (i = 0; i < LIM_PKEYS; i++)
		if (pkeys_match(port->pkey[i], pkey))
			return true;
	return false;
}

int cm_input(struct engine *e, const struct burst *b)
{
	struct hca_port *port = port_of(e->hca, b->dst_dev, b->dst_port);
	u8 mad[MAD_SIZE];
	int ret = -EINVAL;

	if (!port || !port_of(e->hca, b->src_dev, b->src_port))
		return -ENETDOWN;
	if (b->op == BOP_SEND && b->dst_type == QPT_UD && b->av && b->mem && b->len == MAD_SIZE &&
	    b->qkey == GSI_QKEY && port_has_pkey(port, b->pkey))
		ret = mad_fetch(e, b, mad);
	if (ret == -EAGAIN)
		return ret;
	if (!ret && mad_is_cm(mad))
		mad_input(e, b, mad);
	else {
		port->counters[CNT_DROPPED]++;
		journal_drop(e, b, CAUSE_NO_MAD, 0);
	}
	return 0;
}
