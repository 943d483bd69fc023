/* SPDX-License-Identifier: MIT */
/**
 * DOC: connecting, accepting, rejecting and disconnecting: the calls of programs to the protocol.
 *
 * Which call is valid in which state, and its result, is as in the kernel's cma.c and cm.c.
 */
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/engine.h"
#include "emulator/mad.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#include <endian.h>

#define REJ_VENDOR_OPTION 35u

u32 cm_ack_timeout(u32 ack_delay, u32 lifetime)
{
	u32 path = lifetime + 1, t;

	if (path >= ack_delay)
		t = path + (ack_delay + 1 >= path);
	else
		t = ack_delay + (path + 1 >= ack_delay);
	return min_u32(CM_MAX_TIMEOUT, t);
}

void cm_proto_report(struct engine *e, struct hca_cmid *id, u32 when, u32 state, u32 proto,
		     struct cm_event *ev)
{
	if (id->state == when)
		cm_event_raise(e, id, state, proto, ev);
	else
		cmid_set_states(id, id->state, proto);
}

void cm_proto_finish(struct engine *e, struct hca_cmid *id, u32 when, u32 state, u32 proto,
		     struct cm_event *ev)
{
	if (id->state == CM_DESTROYING)
		proto = CMP_IDLE;
	if (proto == CMP_TIMEWAIT)
		cm_timer_arm(e, id, e->ops->now(e->ctx) + cm_time_ns(id->timeout));
	cm_proto_report(e, id, when, state, proto, ev);
	cm_peer_unlink(e->hca, id);
	if (proto == CMP_IDLE)
		cm_timer_arm(e, id, 0);
	cmid_release(e, id);
}

/* --- REQ --- */

static bool cm_type_is_connected(u32 type)
{
	return type == QPT_RC || type == QPT_UC || type == QPT_XRC_SEND;
}

static void req_fill_path(const struct hca *hca, const struct hca_cmid *id, u8 *mad)
{
	const struct hca_port *port = &hca->dev[id->bound - 1].port[id->port];
	const struct hca_av *av = &id->av;
	bool local = av->hop_limit <= 1;

	memcpy(mad + REQ_LOCAL_GID, port->gid[av->sgid_index % HCA_GIDS].raw, 16);
	memcpy(mad + REQ_REMOTE_GID, av->dgid, 16);
	mad_set(mad, F_REQ_LOCAL_LID, local ? port->lid : 0xffff);
	mad_set(mad, F_REQ_REMOTE_LID, local ? av->dlid : 0xffff);
	mad_set(mad, F_REQ_FLOW_LABEL, av->flow_label);
	mad_set(mad, F_REQ_RATE, av->static_rate);
	mad_set(mad, F_REQ_TRAFFIC_CLASS, av->traffic_class);
	mad_set(mad, F_REQ_HOP_LIMIT, av->hop_limit);
	mad_set(mad, F_REQ_SL, av->sl);
	mad_set(mad, F_REQ_SUBNET_LOCAL, local);
	mad_set(mad, F_REQ_PKEY, id->pkey);
	mad_set(mad, F_REQ_MTU, id->mtu);
}

static void req_build(const struct hca *hca, struct hca_cmid *id, const struct cm_param *p)
{
	const struct hca_dev *dev = &hca->dev[id->bound - 1];
	u8 *mad = id->mad;
	u32 len, off = mad_private_data(MAD_REQ, &len);

	mad_start(mad, MAD_REQ, id->tid);
	mad_set(mad, F_ATTR_MOD, id->ece_options);
	mad_set(mad, F_LOCAL_ID, id->local_id);
	mad_set(mad, F_REQ_VENDOR_ID, id->ece_vendor);
	mad_set(mad, F_REQ_SERVICE_ID, id->service_id);
	mad_set(mad, F_REQ_CA_GUID, dev->guid);
	mad_set(mad, F_REQ_QPN, id->qpn);
	mad_set(mad, F_REQ_INITIATOR_DEPTH, id->initiator_depth);
	mad_set(mad, F_REQ_REMOTE_TIMEOUT, CM_RESPONSE_TIMEOUT);
	mad_set(mad, F_REQ_LOCAL_TIMEOUT, CM_RESPONSE_TIMEOUT);
	mad_set(mad, F_REQ_FLOW_CONTROL, p->flow_control);
	mad_set(mad, F_REQ_PSN, id->psn);
	mad_set(mad, F_REQ_MAX_RETRIES, id->max_retries);
	mad_set(mad, F_REQ_ACK_TIMEOUT, cm_ack_timeout(dev->lim.ack_delay, id->lifetime));
	if (id->qp_type == QPT_UC)
		mad_set(mad, F_REQ_TRANSPORT, 1);
	if (id->qp_type == QPT_XRC_SEND) {
		mad_set(mad, F_REQ_TRANSPORT, 3);
		mad_set(mad, F_REQ_EXT_TRANSPORT, 1);
	} else {
		mad_set(mad, F_REQ_RESPONDER_RESOURCES, id->responder_resources);
		mad_set(mad, F_REQ_RETRY_COUNT, id->retry_count);
		mad_set(mad, F_REQ_RNR_RETRY, min_u32(7, p->rnr_retry_count));
		mad_set(mad, F_REQ_SRQ, id->srq);
	}
	req_fill_path(hca, id, mad);
	cma_put(mad + off, &id->src, &id->dst);
	memcpy(mad + off + CMA_HDR, p->data, p->data_len);
}

/* Set the request and its path from the program's parameters. */
static void req_take_params(struct hca *hca, struct hca_cmid *id, const struct cm_param *p)
{
	u32 life = id->lifetime;

	cm_conn_begin(hca, id);
	id->passive = 0;
	id->service_id = (u64)id->ps << 16 | id->dst.port;
	id->qpn = p->qpn & IB_QPN_MASK;
	id->srq = !!p->srq;
	id->ece_vendor = p->ece_vendor;
	id->ece_options = p->ece_options;
	id->responder_resources = p->responder_resources;
	id->initiator_depth = p->initiator_depth;
	id->flow_control = !!p->flow_control;
	id->retry_count = (u8)min_u32(7, p->retry_count);
	id->max_retries = CM_MAX_RETRIES;
	id->timeout = (u8)min_u32(CM_MAX_TIMEOUT, life + 1);
	id->response = 2 * cm_time_ns(life) + cm_time_ns(CM_RESPONSE_TIMEOUT);
	if (!id->pkey)
		id->pkey = IB_DEFAULT_PKEY;
	if (!id->mtu)
		id->mtu = hca->dev[id->bound - 1].port[id->port].active_mtu;
}

int cmd_cm_connect(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);
	const struct cm_param *p = &cmd->cm.param;
	bool ud = id && id->qp_type == QPT_UD;

	if (!id || !cmd->cm.has_param || !id->bound || id->state != CM_ROUTE_RESOLVED)
		return -EINVAL;
	if (p->data_len > (ud ? CM_SIDR_REQ_DATA : CM_REQ_DATA) ||
	    (!ud && !cm_type_is_connected(id->qp_type)))
		return -EINVAL;
	req_take_params(e->hca, id, p);
	id->state = CM_CONNECT;
	if (ud)
		return sidr_connect(e, id, p);
	req_build(e->hca, id, p);
	cm_send_with_retries(e, id, CMP_REQ_SENT);
	return 0;
}

/* --- REP and RTU --- */

static void rep_build(const struct hca *hca, struct hca_cmid *id, const struct cm_param *p)
{
	const struct hca_dev *dev = &hca->dev[id->bound - 1];
	u8 *mad = id->mad;
	u32 len, off = mad_private_data(MAD_REP, &len);

	mad_start(mad, MAD_REP, id->tid);
	mad_set(mad, F_ATTR_MOD, id->ece_options);
	mad_set(mad, F_LOCAL_ID, id->local_id);
	mad_set(mad, F_REMOTE_ID, id->remote_id);
	mad_set(mad, F_REP_PSN, id->psn);
	mad_set(mad, F_REP_RESPONDER_RESOURCES, id->responder_resources);
	mad_set(mad, F_REP_ACK_DELAY, dev->lim.ack_delay);
	mad_set(mad, F_REP_RNR_RETRY, min_u32(7, p->rnr_retry_count));
	mad_set(mad, F_REP_CA_GUID, dev->guid);
	if (id->qp_type == QPT_XRC_RECV) {
		mad_set(mad, F_REP_SRQ, 1);
		mad_set(mad, F_REP_EECN, id->qpn);
	} else {
		mad_set(mad, F_REP_INITIATOR_DEPTH, id->initiator_depth);
		mad_set(mad, F_REP_FLOW_CONTROL, p->flow_control);
		mad_set(mad, F_REP_SRQ, id->srq);
		mad_set(mad, F_REP_QPN, id->qpn);
	}
	mad_set(mad, F_REP_VENDOR_L, id->ece_vendor);
	mad_set(mad, F_REP_VENDOR_M, id->ece_vendor >> 8);
	mad_set(mad, F_REP_VENDOR_H, id->ece_vendor >> 16);
	memcpy(mad + off, p->data, p->data_len);
}

static int cm_accept_request(struct engine *e, struct hca_cmid *id, u64 uid,
			     const struct cm_param *p)
{
	if (p->data_len > CM_REP_DATA)
		return -EINVAL;
	if (id->proto != CMP_REQ_RCVD && id->proto != CMP_MRA_REQ_SENT)
		return -EINVAL;
	id->responder_resources = p->responder_resources;
	id->initiator_depth = p->initiator_depth;
	id->flow_control = !!p->flow_control;
	/*
	 * Before the REP leaves: its answer is an event, and only identifiers with a uid get
	 * events.
	 */
	id->uid = uid;
	rep_build(e->hca, id, p);
	cm_send_with_retries(e, id, CMP_REP_SENT);
	return 0;
}

static int cm_accept_reply(struct engine *e, struct hca_cmid *id)
{
	if (id->proto != CMP_REP_RCVD && id->proto != CMP_MRA_REP_SENT)
		return -EINVAL;
	store_release(&id->proto, CMP_ESTABLISHED);
	cm_send_rtu(e, id);
	return 0;
}

int cmd_cm_accept(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);
	const struct cm_param *p = cmd->cm.has_param ? &cmd->cm.param : NULL;
	int ret;

	if (!id || !id->bound || id->state != CM_CONNECT)
		return -EINVAL;
	if (p) {
		id->qpn = p->qpn & IB_QPN_MASK;
		id->srq = !!p->srq;
		id->ece_vendor = p->ece_vendor;
		id->ece_options = p->ece_options;
	}
	if (id->qp_type == QPT_UD) {
		ret = sidr_answer(e, id, SIDR_VALID, p);
		if (!ret && p)
			id->uid = cmd->cm.uid;
	} else if (p) {
		ret = cm_accept_request(e, id, cmd->cm.uid, p);
	} else {
		ret = cm_accept_reply(e, id);
	}
	if (!ret)
		return 0;
	if (id->qp_type == QPT_UD)
		(void)sidr_answer(e, id, SIDR_REJECT, NULL);
	else
		(void)cm_reject(e, id, CM_REJ_CONSUMER_DEFINED, NULL, 0, NULL);
	return ret;
}

/* --- REJ --- */

static void rej_build(const struct hca_cmid *id, u8 mad[MAD_SIZE], u32 reason, const void *info,
		      u32 info_len, const struct cm_param *p)
{
	u32 len, off = mad_private_data(MAD_REJ, &len);
	u32 about = ABOUT_OTHER;

	if (id->proto == CMP_REQ_RCVD || id->proto == CMP_MRA_REQ_SENT)
		about = ABOUT_REQ;
	if (id->proto == CMP_REP_RCVD || id->proto == CMP_MRA_REP_SENT)
		about = ABOUT_REP;
	mad_start(mad, MAD_REJ, id->tid);
	mad_set(mad, F_LOCAL_ID, id->proto == CMP_REQ_RCVD ? 0 : id->local_id);
	mad_set(mad, F_REMOTE_ID, id->remote_id);
	mad_set(mad, F_REJ_ABOUT, about);
	mad_set(mad, F_REJ_REASON, reason);
	mad_set(mad, F_REJ_INFO_LEN, info_len);
	if (info_len)
		memcpy(mad + REJ_INFO, info, info_len);
	if (p)
		memcpy(mad + off, p->data, min_u32(p->data_len, len));
}

/* The program has ended the connection: there is no event. */
static void cm_proto_quit(struct engine *e, struct hca_cmid *id, u32 proto)
{
	u64 now = e->ops->now(e->ctx);

	cm_timer_arm(e, id, proto == CMP_TIMEWAIT ? now + cm_time_ns(id->timeout) : id->deadline);
	cmid_set_states(id, id->state, proto);
	cm_peer_unlink(e->hca, id);
	if (proto == CMP_IDLE)
		cm_timer_arm(e, id, 0);
}

int cm_reject(struct engine *e, struct hca_cmid *id, u32 reason, const void *info, u32 info_len,
	      const struct cm_param *p)
{
	u8 mad[MAD_SIZE];
	u32 proto = CMP_IDLE;

	switch (id->proto) {
	case CMP_REQ_SENT:
	case CMP_MRA_REQ_RCVD:
	case CMP_REQ_RCVD:
	case CMP_MRA_REQ_SENT:
	case CMP_REP_RCVD:
	case CMP_MRA_REP_SENT:
		break;
	case CMP_REP_SENT:
	case CMP_MRA_REP_RCVD:
		proto = CMP_TIMEWAIT;
		break;
	default:
		return -EINVAL;
	}
	rej_build(id, mad, reason, info, info_len, p);
	/* The REJ is sent once: afterwards no identifier is left that could repeat it. */
	cm_send_mad(e, id, mad);
	cm_proto_quit(e, id, proto);
	return 0;
}

int cmd_cm_reject(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);
	const struct cm_param *p = cmd->cm.has_param ? &cmd->cm.param : NULL;
	u32 reason = cmd->cm.reason ? cmd->cm.reason : CM_REJ_CONSUMER_DEFINED;

	if (!id || !id->bound || (reason != CM_REJ_CONSUMER_DEFINED && reason != REJ_VENDOR_OPTION))
		return -EINVAL;
	if (id->qp_type == QPT_UD)
		return sidr_answer(e, id, SIDR_REJECT, p);
	if (p && p->data_len > CM_REJ_DATA)
		return -EINVAL;
	return cm_reject(e, id, reason, NULL, 0, p);
}

/* --- DREQ and DREP --- */

int cm_disconnect(struct engine *e, struct hca_cmid *id)
{
	if (id->proto != CMP_ESTABLISHED)
		return -EINVAL;
	cm_send_dreq(e, id, true);
	return 0;
}

/* Valid in any state after a connection or an attempt at one, as in the kernel. */
int cmd_cm_disconnect(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);

	if (!id || !id->bound)
		return -EINVAL;
	if (id->state != CM_CONNECT && id->state != CM_DISCONNECT && id->state != CM_LISTEN)
		return -EINVAL;
	if (cm_disconnect(e, id) && id->proto == CMP_DREQ_RCVD) {
		cm_proto_quit(e, id, CMP_TIMEWAIT);
		cm_send_drep(e, id);
	}
	return 0;
}

/* --- events of the QP --- */

int cmd_cm_notify(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);
	struct cm_event ev = { .type = CM_EV_ESTABLISHED };

	if (!id || !id->bound || (id->state != CM_CONNECT && id->state != CM_DISCONNECT))
		return -EINVAL;
	if (cmd->cm.event == EV_PATH_MIG)
		return id->proto == CMP_ESTABLISHED ? 0 : -EINVAL;
	if (cmd->cm.event != EV_COMM_EST)
		return -EINVAL;
	if (id->proto == CMP_ESTABLISHED)
		return -EISCONN;
	if (id->proto != CMP_REP_SENT && id->proto != CMP_MRA_REP_RCVD)
		return -EINVAL;
	cm_proto_report(e, id, CM_CONNECT, CM_CONNECT, CMP_ESTABLISHED, &ev);
	cm_timer_arm(e, id, 0);
	return 0;
}

/* --- the end --- */

bool cm_proto_end(struct engine *e, struct hca_cmid *id)
{
	u64 guid = htobe64(id->bound ? e->hca->dev[id->bound - 1].guid : 0);

	switch (id->proto) {
	case CMP_SIDR_REQ_RCVD:
		(void)sidr_answer(e, id, SIDR_REJECT, NULL);
		break;
	case CMP_REQ_SENT:
	case CMP_MRA_REQ_RCVD:
		(void)cm_reject(e, id, CM_REJ_TIMEOUT, &guid, sizeof(guid), NULL);
		break;
	case CMP_ESTABLISHED:
		/* Its target QP serves other initiators as well: no DREQ. */
		if (id->qp_type != QPT_XRC_RECV)
			(void)cm_disconnect(e, id);
		break;
	case CMP_DREQ_RCVD:
		cm_send_drep(e, id);
		break;
	default:
		(void)cm_reject(e, id, CM_REJ_CONSUMER_DEFINED, NULL, 0, NULL);
		break;
	}
	/* A DREQ is retransmitted until the peer answers it. */
	if (id->proto == CMP_DREQ_SENT)
		return false;
	cm_proto_quit(e, id, CMP_IDLE);
	return true;
}
