/* SPDX-License-Identifier: MIT */
/**
 * DOC: rdma_init_qp_attr(): the attributes that an identifier's QP is to be modified to, with the
 * negotiated values.
 */
#include "emulator/cm/model.h"
#include "emulator/cm/proto.h"
#include "emulator/engine.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

void cm_default_qkey(struct hca_cmid *id)
{
	if (id->ps == CM_PS_UDP || id->ps == CM_PS_IB)
		id->qkey = CM_UDP_QKEY;
	else if (id->ps == CM_PS_IPOIB)
		id->qkey = CM_IPOIB_QKEY;
}

int cm_set_qkey(struct hca_cmid *id, u32 qkey)
{
	if (!qkey || (id->qkey && id->qkey != qkey))
		return -EINVAL;
	id->qkey = qkey;
	return 0;
}

static int cm_pkey_index(const struct hca *hca, const struct hca_cmid *id, u32 *index)
{
	const struct hca_dev *dev = &hca->dev[id->bound - 1];
	u32 want = id->pkey ? id->pkey : IB_DEFAULT_PKEY;
	u32 i;

	for (i = 0; i < dev->lim.pkeys && i < LIM_PKEYS; i++) {
		u32 pkey = dev->port[id->port].pkey[i];

		if (pkey && (pkey & 0x7fff) == (want & 0x7fff)) {
			*index = i;
			return 0;
		}
	}
	return -ENOENT;
}

/* Before a connection exists, and always for datagrams. */
static int cm_attr_plain(const struct hca *hca, struct hca_cmid *id, struct hca_qp_attr *a,
			 u32 *mask)
{
	int ret = cm_pkey_index(hca, id, &a->pkey_index);

	if (ret)
		return ret;
	a->port_num = id->port;
	*mask = QPA_STATE | QPA_PKEY_INDEX | QPA_PORT;
	if (id->qp_type != QPT_UD) {
		*mask |= QPA_ACCESS_FLAGS;
		return 0;
	}
	cm_default_qkey(id);
	a->qkey = id->qkey;
	*mask |= QPA_QKEY;
	return 0;
}

/* From the REQ or REP on both sides know each other. */
static bool cm_proto_has_peer(u32 proto)
{
	switch (proto) {
	case CMP_REQ_RCVD:
	case CMP_MRA_REQ_SENT:
	case CMP_REP_RCVD:
	case CMP_MRA_REP_SENT:
	case CMP_REP_SENT:
	case CMP_MRA_REP_RCVD:
	case CMP_ESTABLISHED:
		return true;
	default:
		return false;
	}
}

static int cm_attr_init(const struct hca *hca, const struct hca_cmid *id, struct hca_qp_attr *a,
			u32 *mask)
{
	if (!cm_proto_has_peer(id->proto) && id->proto != CMP_REQ_SENT &&
	    id->proto != CMP_MRA_REQ_RCVD)
		return -EINVAL;
	*mask = QPA_STATE | QPA_ACCESS_FLAGS | QPA_PKEY_INDEX | QPA_PORT;
	a->access = ACC_REMOTE_WRITE;
	if (id->responder_resources)
		a->access |= ACC_REMOTE_READ | ACC_REMOTE_ATOMIC;
	a->port_num = id->port;
	return cm_pkey_index(hca, id, &a->pkey_index);
}

static int cm_attr_rtr(const struct hca_cmid *id, struct hca_qp_attr *a, u32 *mask)
{
	if (!cm_proto_has_peer(id->proto))
		return -EINVAL;
	*mask = QPA_STATE | QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN | QPA_RQ_PSN;
	a->av = id->av;
	a->av.port_num = id->port;
	a->path_mtu = id->mtu;
	a->dest_qpn = id->remote_qpn;
	if (id->qp_type == QPT_RC || id->qp_type == QPT_XRC_RECV) {
		*mask |= QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER;
		a->max_dest_rd_atomic = id->responder_resources;
	}
	return 0;
}

static int cm_attr_rts(const struct hca_cmid *id, struct hca_qp_attr *a, u32 *mask)
{
	if (!cm_proto_has_peer(id->proto))
		return -EINVAL;
	*mask = QPA_STATE | QPA_SQ_PSN;
	a->sq_psn = id->remote_psn;
	if (id->qp_type == QPT_RC || id->qp_type == QPT_XRC_SEND) {
		*mask |= QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_MAX_QP_RD_ATOMIC;
		a->retry_cnt = id->retry_count;
		a->rnr_retry = id->rnr_retry_count;
		a->max_rd_atomic = id->initiator_depth;
	}
	if (id->qp_type != QPT_UC) {
		*mask |= QPA_TIMEOUT;
		a->timeout = id->timeout;
	}
	return 0;
}

int cmd_cm_init_qp_attr(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_cmid *id = own_cmid(e->hca, client, cmd->handle);
	u32 state = cmd->cm.qp_state, mask = 0;
	struct hca_qp_attr a = { .state = state };
	int ret = -EINVAL;

	if (!id || !id->bound || state >= QPS_COUNT)
		return -EINVAL;
	if (id->qp_type == QPT_UD || id->state < CM_CONNECT)
		ret = cm_attr_plain(e->hca, id, &a, &mask);
	else if (state == QPS_INIT)
		ret = cm_attr_init(e->hca, id, &a, &mask);
	else if (state == QPS_RTR)
		ret = cm_attr_rtr(id, &a, &mask);
	else if (state == QPS_RTS)
		ret = cm_attr_rts(id, &a, &mask);
	if (ret)
		return ret;
	if (state == QPS_RTR)
		a.rq_psn = id->psn;
	if ((mask & QPA_TIMEOUT) && (id->opt & CM_OPT_ACK_TIMEOUT_SET))
		a.timeout = id->ack_timeout;
	cmd->cm.attr = a;
	cmd->cm.attr_mask = mask;
	return 0;
}
