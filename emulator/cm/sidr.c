/* SPDX-License-Identifier: MIT */
/**
 * DOC: service id resolution (IBTA 12.11): finds the QP that receives datagrams at an address. One
 * request and one reply; there is no connection.
 */
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/mad.h"

int sidr_connect(struct engine *e, struct hca_cmid *id, const struct cm_param *p)
{
	u32 len, off = mad_private_data(MAD_SIDR_REQ, &len);
	u8 *mad = id->mad;

	id->response = cm_time_ns(CM_RESPONSE_TIMEOUT);
	mad_start(mad, MAD_SIDR_REQ, id->tid);
	mad_set(mad, F_LOCAL_ID, id->local_id);
	mad_set(mad, F_SIDR_REQ_PKEY, id->pkey);
	mad_set(mad, F_SIDR_REQ_SERVICE_ID, id->service_id);
	cma_put(mad + off, &id->src, &id->dst);
	memcpy(mad + off + CMA_HDR, p->data, p->data_len);
	cm_send_with_retries(e, id, CMP_SIDR_REQ_SENT);
	return 0;
}

static void sidr_rep_build(u8 mad[MAD_SIZE], u64 tid, u32 request, u64 service, u32 status)
{
	mad_start(mad, MAD_SIDR_REP, tid);
	mad_set(mad, F_LOCAL_ID, request);
	mad_set(mad, F_SIDR_REP_STATUS, status);
	mad_set(mad, F_SIDR_REP_SERVICE_ID, service);
}

int sidr_answer(struct engine *e, struct hca_cmid *id, u32 status, const struct cm_param *p)
{
	u32 len, off = mad_private_data(MAD_SIDR_REP, &len);
	u8 mad[MAD_SIZE];

	if ((p && p->data_len > CM_SIDR_REP_DATA) || id->proto != CMP_SIDR_REQ_RCVD)
		return -EINVAL;
	sidr_rep_build(mad, id->tid, id->remote_id, id->service_id, status);
	if (status == SIDR_VALID) {
		if (p && p->qkey) {
			if (cm_set_qkey(id, p->qkey))
				return -EINVAL;
		} else {
			cm_default_qkey(id);
		}
		mad_set(mad, F_ATTR_MOD, id->ece_options);
		mad_set(mad, F_SIDR_REP_QPN, id->qpn);
		mad_set(mad, F_SIDR_REP_QKEY, id->qkey);
		mad_set(mad, F_SIDR_REP_VENDOR_L, id->ece_vendor);
		mad_set(mad, F_SIDR_REP_VENDOR_H, id->ece_vendor >> 8 & 0xff);
	}
	if (p)
		memcpy(mad + off, p->data, p->data_len);
	store_release(&id->proto, CMP_IDLE);
	cm_peer_unlink(e->hca, id);
	cm_send_mad(e, id, mad);
	return 0;
}

static void sidr_refuse(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE], u32 status)
{
	u8 rep[MAD_SIZE];

	sidr_rep_build(rep, mad_get(mad, F_TID), (u32)mad_get(mad, F_LOCAL_ID),
		       mad_get(mad, F_SIDR_REQ_SERVICE_ID), status);
	cm_reply_mad(e, b, rep);
}

void sidr_req_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE])
{
	u64 service = mad_get(mad, F_SIDR_REQ_SERVICE_ID), guid = e->hca->dev[b->src_dev].guid;
	struct cm_event ev = { .type = CM_EV_CONNECT_REQUEST, .ud = 1 };
	u32 reason, len, off = mad_private_data(MAD_SIDR_REQ, &len);
	u32 request = (u32)mad_get(mad, F_LOCAL_ID);
	struct hca_cmid *id, *listener;
	struct cm_addr local, peer;

	if (cmid_by_remote_id(e->hca, guid, request))
		return;
	listener = cm_request_listener(e, b, mad + off, service, QPT_UD, &local, &peer, &reason);
	if (!listener) {
		sidr_refuse(e, b, mad,
			    reason == CM_REJ_INVALID_SERVICE_ID ? SIDR_UNSUPPORTED : SIDR_REJECT);
		return;
	}
	id = cmid_child_new(e, listener);
	if (!id) {
		sidr_refuse(e, b, mad, SIDR_REJECT);
		return;
	}
	cm_conn_begin(e->hca, id);
	id->passive = 1;
	id->src = local;
	id->dst = peer;
	id->remote_id = request;
	id->remote_guid = guid;
	id->service_id = service;
	id->tid = mad_get(mad, F_TID);
	id->qp_type = QPT_UD;
	id->pkey = (u32)mad_get(mad, F_SIDR_REQ_PKEY);
	cm_reply_av(e->hca, b, &id->av);
	id->bound = b->dst_dev + 1;
	id->port = b->dst_port;
	id->sgid_index = id->av.sgid_index;
	cm_event_set_data(&ev.param, mad, CMA_HDR);
	cm_peer_link(e->hca, id, CM_BY_ID);
	cm_event_raise(e, id, CM_CONNECT, CMP_SIDR_REQ_RCVD, &ev);
}

void sidr_rep_input(struct engine *e, const u8 mad[MAD_SIZE])
{
	struct hca_cmid *id = cmid_by_local_id(e->hca, (u32)mad_get(mad, F_LOCAL_ID), 0);
	struct cm_event ev = { .type = CM_EV_ESTABLISHED, .ud = 1 };

	if (!id || id->proto != CMP_SIDR_REQ_SENT)
		return;
	cm_event_set_data(&ev.param, mad, 0);
	ev.status = (s32)mad_get(mad, F_SIDR_REP_STATUS);
	if (ev.status != SIDR_VALID) {
		ev.type = CM_EV_UNREACHABLE;
		journal_cm(e, id, &ev, CAUSE_CM_SIDR, (u32)ev.status);
	} else if (cm_set_qkey(id, (u32)mad_get(mad, F_SIDR_REP_QKEY))) {
		ev.type = CM_EV_ADDR_ERROR;
		ev.status = -EINVAL;
		journal_cm(e, id, &ev, CAUSE_QKEY, (u32)mad_get(mad, F_SIDR_REP_QKEY));
	} else {
		ev.av = id->av;
		ev.param.qpn = (u32)mad_get(mad, F_SIDR_REP_QPN);
		ev.param.qkey = id->qkey;
		ev.param.ece_vendor = (u32)(mad_get(mad, F_SIDR_REP_VENDOR_H) << 8 |
					    mad_get(mad, F_SIDR_REP_VENDOR_L));
		ev.param.ece_options = (u32)mad_get(mad, F_ATTR_MOD);
	}
	cm_proto_finish(e, id, CM_CONNECT, CM_CONNECT, CMP_IDLE, &ev);
}
