/* SPDX-License-Identifier: MIT */
/**
 * DOC: connection requests on the listening side. A new request needs a listener, a place in its
 * backlog and a path back. A repeated one gets the same answer again. A request from a QP that
 * seems to be connected shows that the old connection is stale.
 */
#include "emulator/av.h"
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/engine.h"
#include "emulator/mad.h"
#include "emulator/port.h"

/* Return: enum ib_qp_type; 0: an unsupported type, such as reliable datagrams. */
static u32 req_qp_type(const u8 mad[MAD_SIZE])
{
	switch (mad_get(mad, F_REQ_TRANSPORT)) {
	case 0:
		return QPT_RC;
	case 1:
		return QPT_UC;
	case 3:
		return mad_get(mad, F_REQ_EXT_TRANSPORT) == 1 ? QPT_XRC_RECV : 0;
	default:
		return 0;
	}
}

/* A repeated request: the answer to the first one may have been lost. */
static void req_input_again(struct engine *e, const struct hca_cmid *id)
{
	if (id->proto == CMP_MRA_REQ_SENT)
		cm_send_mra(e, id, ABOUT_REQ);
}

/* The listener's path back to the requester. Return: as av_check(). */
static int req_return_path(struct engine *e, const struct hca_cmid *listener, const struct burst *b,
			   const u8 mad[MAD_SIZE], struct hca_av *av)
{
	const struct hca_dev *dev = &e->hca->dev[b->dst_dev];
	int index;
	u8 port;

	cm_reply_av(e->hca, b, av);
	av->flow_label = (u32)mad_get(mad, F_REQ_FLOW_LABEL);
	av->traffic_class = (u8)mad_get(mad, F_REQ_TRAFFIC_CLASS);
	av->sl = (u8)mad_get(mad, F_REQ_SL);
	if (dev->link_layer == LINK_ETHERNET) {
		index = cm_gid_index(&dev->port[b->dst_port], mad + REQ_REMOTE_GID);
		if (index < 0)
			return -ENODATA;
		av->sgid_index = (u8)index;
		av->is_global = 1;
		memcpy(av->dgid, mad + REQ_LOCAL_GID, sizeof(av->dgid));
		if (av_is_mcast(av))
			return -EINVAL;
		/* av_check() would make a peer of it, and a sender may name any number of them. */
		if (hca_find_gid(e->hca, av->dgid, &port) < 0)
			return -EHOSTUNREACH;
	}
	return av_check(e->hca, listener->client - 1, b->dst_dev, av);
}

/* Store the request's parameters. */
static void req_store(struct hca_cmid *id, const u8 mad[MAD_SIZE])
{
	u32 timeout = (u32)mad_get(mad, F_REQ_ACK_TIMEOUT);

	id->passive = 1;
	id->remote_id = (u32)mad_get(mad, F_LOCAL_ID);
	id->remote_guid = mad_get(mad, F_REQ_CA_GUID);
	id->remote_qpn = (u32)mad_get(mad, F_REQ_QPN);
	id->remote_psn = (u32)mad_get(mad, F_REQ_PSN);
	id->service_id = mad_get(mad, F_REQ_SERVICE_ID);
	id->tid = mad_get(mad, F_TID);
	id->qp_type = req_qp_type(mad);
	id->pkey = (u32)mad_get(mad, F_REQ_PKEY);
	id->mtu = (u32)mad_get(mad, F_REQ_MTU);
	id->initiator_depth = (u8)mad_get(mad, F_REQ_RESPONDER_RESOURCES);
	id->responder_resources = (u8)mad_get(mad, F_REQ_INITIATOR_DEPTH);
	id->retry_count = (u8)mad_get(mad, F_REQ_RETRY_COUNT);
	id->rnr_retry_count = (u8)mad_get(mad, F_REQ_RNR_RETRY);
	id->max_retries = (u8)mad_get(mad, F_REQ_MAX_RETRIES);
	id->response = cm_time_ns((u32)mad_get(mad, F_REQ_LOCAL_TIMEOUT));
	id->timeout = (u8)(timeout ? timeout : 1);
}

static void req_fill_event(struct cm_event *ev, const struct hca_cmid *id, const u8 mad[MAD_SIZE])
{
	struct cm_param *p = &ev->param;

	ev->type = CM_EV_CONNECT_REQUEST;
	p->qpn = id->remote_qpn;
	p->responder_resources = id->responder_resources;
	p->initiator_depth = id->initiator_depth;
	p->flow_control = (u8)mad_get(mad, F_REQ_FLOW_CONTROL);
	p->retry_count = id->retry_count;
	p->rnr_retry_count = id->rnr_retry_count;
	p->srq = (u8)mad_get(mad, F_REQ_SRQ);
	p->ece_vendor = (u32)mad_get(mad, F_REQ_VENDOR_ID);
	p->ece_options = (u32)mad_get(mad, F_ATTR_MOD);
	cm_event_set_data(p, mad, CMA_HDR);
}

struct hca_cmid *cm_request_listener(struct engine *e, const struct burst *b, const u8 *data,
				     u64 service, u32 type, struct cm_addr *local,
				     struct cm_addr *peer, u32 *reason)
{
	struct hca_cmid *listener;

	/* The reason differs if an identifier listens on that port at another address. */
	*reason = CM_REJ_INVALID_SERVICE_ID;
	if (service >> 32 ||
	    !cm_port_has_listener(e->hca, b->dst_dev, (u32)service >> 16, (u16)service))
		return NULL;
	*reason = CM_REJ_CONSUMER_DEFINED;
	if (cma_get(data, (u16)service, local, peer))
		return NULL;
	listener = cm_listener_find(e->hca, b->dst_dev, (u32)service >> 16, local);
	return listener && (!listener->qp_type || listener->qp_type == type) ? listener : NULL;
}

static void req_begin_child(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE],
			    const struct hca_av *av, struct hca_cmid *id)
{
	struct cm_event ev = { 0 };

	cm_conn_begin(e->hca, id);
	req_store(id, mad);
	id->av = *av;
	id->bound = b->dst_dev + 1;
	id->port = b->dst_port;
	id->sgid_index = av->sgid_index;
	req_fill_event(&ev, id, mad);
	cm_peer_link(e->hca, id, CM_BY_ID | CM_BY_QPN);
	/* The program answers later; until then a repeated request gets an MRA. */
	cm_event_raise(e, id, CM_CONNECT, CMP_MRA_REQ_SENT, &ev);
}

void cm_req_input(struct engine *e, const struct burst *b, const u8 mad[MAD_SIZE])
{
	u64 guid = mad_get(mad, F_REQ_CA_GUID), service = mad_get(mad, F_REQ_SERVICE_ID);
	const struct hca_port *port = &e->hca->dev[b->dst_dev].port[b->dst_port];
	u32 reason, len, off = mad_private_data(MAD_REQ, &len);
	struct hca_cmid *id, *listener;
	struct cm_addr local, peer;
	struct hca_av av;

	id = cmid_by_remote_id(e->hca, guid, (u32)mad_get(mad, F_LOCAL_ID));
	if (id) {
		req_input_again(e, id);
		return;
	}
	/*
	 * The peer's QP seems to be connected: that connection is from before the peer's restart.
	 */
	id = cmid_by_remote_qpn(e->hca, guid, (u32)mad_get(mad, F_REQ_QPN));
	if (id) {
		cm_send_rej(e, b, mad, CM_REJ_STALE_CONN, ABOUT_REQ, NULL, 0);
		(void)cm_disconnect(e, id);
		return;
	}
	listener = cm_request_listener(e, b, mad + off, service, req_qp_type(mad), &local, &peer,
				       &reason);
	if (!listener) {
		cm_send_rej(e, b, mad, reason, ABOUT_REQ, NULL, 0);
		return;
	}
	if (req_return_path(e, listener, b, mad, &av)) {
		cm_send_rej(e, b, mad, CM_REJ_INVALID_GID, ABOUT_REQ, port->gid[0].raw, 16);
		return;
	}
	/* Without room it is dropped, not rejected: the peer retransmits it. */
	id = cmid_child_new(e, listener);
	if (!id)
		return;
	id->src = local;
	id->dst = peer;
	req_begin_child(e, b, mad, &av, id);
}
