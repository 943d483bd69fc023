/* SPDX-License-Identifier: MIT */
/**
 * DOC: the QP of an identifier: creating it, moving it through its states, destroying it.
 *
 * A connected QP goes to INIT when it is created, so that receives can be posted, and on to RTR and
 * RTS as its connection is established; a datagram QP goes to RTS at once. The engine knows the
 * connection and provides the attributes (CMD_CM_INIT_QP_ATTR).
 */
#include "libshim/cm/qp.h"

#include "emulator/verbs/cmd.h"
#include "libshim/client/call_fault.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/id.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"

#include <rdma/rdma_verbs.h>

/* Attributes for the next state of the identifier's QP. Return: 0, or -1 with errno. */
static int id_qp_attr(struct ucma_id *id, enum ibv_qp_state state, struct ibv_qp_attr *attr,
		      int *mask)
{
	struct hca_cmd cmd = { 0 };

	cmd.cm.qp_state = state;
	if (ucma_id_cmd(id, CMD_CM_INIT_QP_ATTR, &cmd))
		return -1;
	shim_qp_attr_to_ib(attr, &cmd.cm.attr);
	*mask = (int)cmd.cm.attr_mask;
	return 0;
}

static int id_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return rdma_seterrno(ibv_modify_qp(qp, attr, mask));
}

static int id_qp_move(struct ucma_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr;
	int mask;

	if (id_qp_attr(id, state, &attr, &mask))
		return -1;
	return id_qp_modify(qp, &attr, mask);
}

/**
 * rdma_init_qp_attr() - rdma_init_qp_attr(3), for the state @attr->qp_state. 0, or -1 with errno.
 */
SHIM_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *ibid, struct ibv_qp_attr *attr, int *mask)
{
	struct ucma_id *id = ucma_id_of(ibid);

	if (call_fails(CALL_rdma_init_qp_attr))
		return -1;
	if (!id)
		return -1;
	return id_qp_attr(id, attr->qp_state, attr, mask);
}

/* Give the QP the peer's ECE options: none, if the peer's device is of another vendor. */
static int id_accept_ece(struct ucma_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = { .vendor_id = id->local_ece.vendor_id };
	int ret;

	if (id->remote_ece.vendor_id == ece.vendor_id)
		ece.options = id->remote_ece.options;
	ret = ibv_set_ece(qp, &ece);
	return ret == EOPNOTSUPP ? 0 : rdma_seterrno(ret);
}

/* A new QP. That its device has no ECE is no error. */
static int id_init_ece(struct ucma_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = { 0 };
	int ret = ibv_query_ece(qp, &ece);

	if (ret && ret != EOPNOTSUPP)
		return rdma_seterrno(ret);
	id->local_ece.vendor_id = ece.vendor_id;
	id->local_ece.options = ece.options;
	return id->remote_ece.vendor_id ? id_accept_ece(id, qp) : 0;
}

/* The active side: a peer answers with the vendor of the request, or with none. */
static int id_check_ece(struct ucma_id *id, struct ibv_qp *qp)
{
	if (id->remote_ece.vendor_id && id->remote_ece.vendor_id != id->local_ece.vendor_id)
		return fail_minus(-EINVAL);
	return id_accept_ece(id, qp);
}

int ucma_qp_rtr(struct ucma_id *id, u8 resp_res)
{
	struct ibv_qp *qp = id->id.qp;
	struct ibv_qp_attr attr;
	int mask;

	if (!qp)
		return 0;
	/* INIT again: its access flags are known only now. */
	if (id_qp_move(id, qp, IBV_QPS_INIT) || id_qp_attr(id, IBV_QPS_RTR, &attr, &mask))
		return -1;
	if (resp_res != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = resp_res;
	return id_qp_modify(qp, &attr, mask);
}

int ucma_qp_rts(struct ucma_id *id, u8 init_depth)
{
	struct ibv_qp_attr attr;
	int mask;

	if (!id->id.qp)
		return 0;
	if (id_qp_attr(id, IBV_QPS_RTS, &attr, &mask))
		return -1;
	if (init_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = init_depth;
	return id_qp_modify(id->id.qp, &attr, mask);
}

int ucma_qp_err(struct ucma_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return id->id.qp ? id_qp_modify(id->id.qp, &attr, IBV_QP_STATE) : 0;
}

int ucma_establish(struct ucma_id *c)
{
	struct hca_cmd cmd = { 0 };
	int err;

	if (!(c->id.qp && id_check_ece(c, c->id.qp)) && !ucma_qp_rtr(c, RDMA_MAX_RESP_RES) &&
	    !ucma_qp_rts(c, RDMA_MAX_INIT_DEPTH) && !ucma_id_cmd(c, CMD_CM_ACCEPT, &cmd))
		return 0;
	err = errno;
	ucma_qp_err(c);
	return fail_minus(-err);
}

static int id_qp_init_ud(struct ucma_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	if (id_qp_move(id, qp, IBV_QPS_INIT) || id_qp_modify(qp, &attr, IBV_QP_STATE))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return id_qp_modify(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

void ucma_cqs_destroy(struct rdma_cm_id *id)
{
	if (id->qp_type == IBV_QPT_XRC_RECV && id->srq)
		return;
	/* CQs first, since both may be on one channel. */
	if (id->send_cq && id->send_cq != id->recv_cq)
		ibv_destroy_cq(id->send_cq);
	if (id->recv_cq)
		ibv_destroy_cq(id->recv_cq);
	if (id->send_cq_channel && id->send_cq_channel != id->recv_cq_channel)
		ibv_destroy_comp_channel(id->send_cq_channel);
	if (id->recv_cq_channel)
		ibv_destroy_comp_channel(id->recv_cq_channel);
	id->send_cq = id->recv_cq = NULL;
	id->send_cq_channel = id->recv_cq_channel = NULL;
}

static int cq_and_channel_create(struct rdma_cm_id *id, u32 size, struct ibv_cq **cq,
				 struct ibv_comp_channel **ch)
{
	if (!size)
		return 0;
	*ch = ibv_create_comp_channel(id->verbs);
	if (!*ch)
		return -1;
	*cq = ibv_create_cq(id->verbs, (int)size, id, *ch, 0);
	return *cq ? 0 : -1;
}

int ucma_cqs_create(struct rdma_cm_id *id, u32 send_size, u32 recv_size)
{
	int err;

	if (!cq_and_channel_create(id, recv_size, &id->recv_cq, &id->recv_cq_channel) &&
	    !cq_and_channel_create(id, send_size, &id->send_cq, &id->send_cq_channel))
		return 0;
	err = errno;
	ucma_cqs_destroy(id);
	return fail_minus(-err);
}

/* Use the identifier's own objects where @attr has none. Return: 0, or -1 with errno. */
static int qp_default_attr(struct ucma_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *ibid = &id->id;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = ibid->pd;
	} else if (attr->pd->context != ibid->verbs) {
		return fail_minus(-EINVAL);
	}
	if ((ibid->recv_cq && attr->recv_cq && ibid->recv_cq != attr->recv_cq) ||
	    (ibid->send_cq && attr->send_cq && ibid->send_cq != attr->send_cq))
		return fail_minus(-EINVAL);
	if (ibid->qp_type == IBV_QPT_XRC_RECV &&
	    (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd)) {
		attr->xrcd = ucma_dev_xrcd(id->dev);
		if (!attr->xrcd)
			return -1;
		attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	}
	if (ucma_cqs_create(ibid, attr->send_cq || ibid->send_cq ? 0 : attr->cap.max_send_wr,
			    attr->recv_cq || ibid->recv_cq ? 0 : attr->cap.max_recv_wr))
		return -1;
	if (!attr->send_cq)
		attr->send_cq = ibid->send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = ibid->recv_cq;
	if (!attr->srq)
		attr->srq = ibid->srq;
	return 0;
}

/**
 * rdma_create_qp_ex() - rdma_create_qp(3): where @attr names none, the QP uses the identifier's
 * protection domain, SRQ, and CQs that are made for it. Return: 0, or -1 with errno.
 */
SHIM_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *ibid, struct ibv_qp_init_attr_ex *attr)
{
	struct ucma_id *id = ucma_id_of(ibid);
	struct ibv_qp *qp;
	int err;

	if (call_fails(CALL_rdma_create_qp_ex))
		return -1;
	if (!id)
		return -1;
	if (ibid->qp || !id->dev)
		return fail_minus(-EINVAL);
	if (qp_default_attr(id, attr))
		return -1;
	qp = ibv_create_qp_ex(ibid->verbs, attr);
	if (qp && !id_init_ece(id, qp) &&
	    !(ibid->qp_type == IBV_QPT_UD ? id_qp_init_ud(id, qp)
					  : id_qp_move(id, qp, IBV_QPS_INIT))) {
		/* An XRC target QP has no PD. */
		if (qp->pd)
			ibid->pd = qp->pd;
		ibid->qp = qp;
		return 0;
	}
	err = errno;
	if (qp)
		ibv_destroy_qp(qp);
	ucma_cqs_destroy(ibid);
	return fail_minus(-err);
}

/** rdma_create_qp() - rdma_create_qp(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex;
	int ret;

	if (call_fails(CALL_rdma_create_qp))
		return -1;
	memset(&ex, 0, sizeof(ex));
	/* The extended structure begins with the plain one. */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	ret = rdma_create_qp_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return ret;
}

/** rdma_destroy_qp() - rdma_destroy_qp(3), with the CQs that were made for it. */
SHIM_EXPORT void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
	ucma_cqs_destroy(id);
}
