/* SPDX-License-Identifier: MIT */
/**
 * DOC: connections of identifiers: listen, connect, accept, reject, disconnect.
 *
 * A QP that belongs to the identifier is connected before the program gets the event: the passive
 * side makes it ready before it sends the REP, the active side when it receives that (event.c).
 */
#include "emulator/cm/cm.h"
#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/cm/addr.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/event.h"
#include "libshim/cm/qp.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <stdlib.h>

/* The checks that librdmacm itself does. The device's limits hold for connections only. */
static bool is_valid_param(const struct ucma_id *c, const struct rdma_conn_param *p)
{
	if (c->id.ps != RDMA_PS_TCP || (!p && c->id.qp))
		return true;
	if (!p || !c->dev)
		return false;
	return (p->responder_resources == RDMA_MAX_RESP_RES ||
		p->responder_resources <= c->dev->max_responder_resources) &&
	       (p->initiator_depth == RDMA_MAX_INIT_DEPTH ||
		p->initiator_depth <= c->dev->max_initiator_depth);
}

/*
 * Private data: first the data of rdma_getaddrinfo(3), then the call's. Data that exceeds every
 * message is truncated; the engine refuses it by its full length.
 */
static void param_fill_data(const struct ucma_id *c, struct cm_param *to,
			    const struct rdma_conn_param *p)
{
	u32 len = p && p->private_data ? p->private_data_len : 0;
	u32 first = min_u32((u32)c->connect_len, sizeof(to->data));

	if (first)
		memcpy(to->data, c->connect, first);
	if (len)
		memcpy(to->data + first, p->private_data,
		       min_u32(len, (u32)sizeof(to->data) - first));
	to->data_len = (u8)min_u32((u32)c->connect_len + len, 255);
}

static void param_fill(const struct ucma_id *c, struct cm_param *to,
		       const struct rdma_conn_param *p)
{
	const struct ibv_qp *qp = c->id.qp;

	to->responder_resources = c->responder_resources;
	to->initiator_depth = c->initiator_depth;
	to->ece_options = c->local_ece.options;
	to->flow_control = p ? p->flow_control : 0;
	to->retry_count = p ? p->retry_count : 7;
	to->rnr_retry_count = p ? p->rnr_retry_count : 7;
	to->qpn = qp ? qp->qp_num : p ? p->qp_num : 0;
	to->srq = qp ? !!qp->srq : p ? !!p->srq : 0;
	param_fill_data(c, to, p);
}

/** rdma_listen() - rdma_listen(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { .cm.backlog = (u32)backlog };

	if (call_fails(CALL_rdma_listen))
		return -1;
	if (!c || ucma_id_cmd(c, CMD_CM_LISTEN, &cmd))
		return -1;
	return ucma_query_addr(c);
}

/** rdma_connect() - rdma_connect(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { .cm.has_param = 1 };
	u8 depth, resources;

	if (call_fails(CALL_rdma_connect))
		return -1;
	if (!c)
		return -1;
	if (!c->dev || !is_valid_param(c, p))
		return fail_minus(-EINVAL);
	depth = p ? p->initiator_depth : RDMA_MAX_INIT_DEPTH;
	resources = p ? p->responder_resources : RDMA_MAX_RESP_RES;
	c->initiator_depth = depth == RDMA_MAX_INIT_DEPTH ? c->dev->max_initiator_depth : depth;
	c->responder_resources =
		resources == RDMA_MAX_RESP_RES ? c->dev->max_responder_resources : resources;
	param_fill(c, &cmd.cm.param, p);
	cmd.cm.param.ece_vendor = c->local_ece.vendor_id;
	if (ucma_id_cmd(c, CMD_CM_CONNECT, &cmd))
		return -1;
	free(c->connect);
	c->connect = NULL;
	c->connect_len = 0;
	return ucma_complete(c);
}

/* Unless the program sets limits, use the peer's, within those of the device. */
static void accept_set_limits(struct ucma_id *c, const struct rdma_conn_param *p)
{
	u8 depth = p ? p->initiator_depth : RDMA_MAX_INIT_DEPTH;
	u8 resources = p ? p->responder_resources : RDMA_MAX_RESP_RES;

	if (depth == RDMA_MAX_INIT_DEPTH)
		depth = (u8)min_u32(c->initiator_depth, c->dev->max_initiator_depth);
	if (resources == RDMA_MAX_RESP_RES)
		resources = (u8)min_u32(c->responder_resources, c->dev->max_responder_resources);
	c->initiator_depth = depth;
	c->responder_resources = resources;
}

/* A synchronous identifier no longer needs the event of the request. */
static int accept_ud_done(struct ucma_id *c)
{
	if (c->sync && c->id.event) {
		ucma_event_ack(c->id.event);
		c->id.event = NULL;
	}
	return 0;
}

/** rdma_accept() - rdma_accept(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { .cm.has_param = 1 };
	bool ud;
	int err;

	if (call_fails(CALL_rdma_accept))
		return -1;
	if (!c)
		return -1;
	if (!c->dev || (!p && !id->qp) || !is_valid_param(c, p))
		return fail_minus(-EINVAL);
	accept_set_limits(c, p);
	ud = id->qp_type == IBV_QPT_UD;
	if (!ud && (ucma_qp_rtr(c, c->responder_resources) || ucma_qp_rts(c, c->initiator_depth)))
		return -1;
	cmd.cm.uid = (u64)(uintptr_t)c;
	param_fill(c, &cmd.cm.param, p);
	cmd.cm.param.ece_vendor = c->remote_ece.vendor_id;
	if (ucma_id_cmd(c, CMD_CM_ACCEPT, &cmd)) {
		err = errno;
		ucma_qp_err(c);
		return fail_minus(-err);
	}
	return ud ? accept_ud_done(c) : ucma_complete(c);
}

/**
 * rdma_establish() - rdma_establish(3): the program has made its own QP ready.
 * Return: 0, or -1 with errno (EINVAL: the QP is the identifier's).
 */
SHIM_EXPORT int rdma_establish(struct rdma_cm_id *id)
{
	struct ucma_id *c = ucma_id_of(id);

	if (call_fails(CALL_rdma_establish))
		return -1;
	if (!c)
		return -1;
	return id->qp ? fail_minus(-EINVAL) : ucma_establish(c);
}

/** rdma_reject() - rdma_reject(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_reject(struct rdma_cm_id *id, const void *private_data,
			    uint8_t private_data_len)
{
	struct ucma_id *c = ucma_id_of(id);

	if (call_fails(CALL_rdma_reject))
		return -1;
	return c ? ucma_reject(c, CM_REJ_CONSUMER_DEFINED, private_data, private_data_len) : -1;
}

/** rdma_disconnect() - rdma_disconnect(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_disconnect(struct rdma_cm_id *id)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { 0 };

	if (call_fails(CALL_rdma_disconnect))
		return -1;
	if (!c)
		return -1;
	if (!id->verbs)
		return fail_minus(-EINVAL);
	if (ucma_qp_err(c) || ucma_id_cmd(c, CMD_CM_DISCONNECT, &cmd))
		return -1;
	return ucma_complete(c);
}

/** rdma_notify() - rdma_notify(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	struct ucma_id *c = ucma_id_of(id);
	struct hca_cmd cmd = { .cm.event = (u32)event };

	if (call_fails(CALL_rdma_notify))
		return -1;
	return c ? ucma_id_cmd(c, CMD_CM_NOTIFY, &cmd) : -1;
}
