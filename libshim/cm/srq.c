/* SPDX-License-Identifier: MIT */
/**
 * DOC: the shared receive queue of an identifier.
 */
#include "libshim/client/call_fault.h"
#include "libshim/cm/cm.h"
#include "libshim/cm/id.h"
#include "libshim/cm/qp.h"
#include "libshim/interpose/export.h"
#include "libshim/verbs/objects.h"

#include <rdma/rdma_verbs.h>

/* Use the identifier's XRC domain and CQ where the program names none. *made: a CQ was made. */
static int srq_default_xrc(struct ucma_id *id, struct ibv_srq_init_attr_ex *attr, bool *made)
{
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		attr->xrcd = ucma_dev_xrcd(id->dev);
		if (!attr->xrcd)
			return -1;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
		if (ucma_cqs_create(&id->id, 0, attr->attr.max_wr))
			return -1;
		attr->cq = id->id.recv_cq;
		*made = true;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

/** rdma_create_srq_ex() - rdma_create_srq(3). Return: 0, or -1 with errno. */
SHIM_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *ibid, struct ibv_srq_init_attr_ex *attr)
{
	struct ucma_id *id = ucma_id_of(ibid);
	bool made = false;
	int err;

	if (call_fails(CALL_rdma_create_srq_ex))
		return -1;
	if (!id)
		return -1;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || !id->dev || ibid->srq)
		return fail_minus(-EINVAL);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->pd = ibid->pd;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	if (attr->srq_type == IBV_SRQT_XRC && srq_default_xrc(id, attr, &made))
		return -1;
	ibid->srq = ibv_create_srq_ex(ibid->verbs, attr);
	if (ibid->srq)
		return 0;
	err = errno;
	if (made)
		ucma_cqs_destroy(ibid);
	return fail_minus(-err);
}

/** rdma_create_srq() - rdma_create_srq(3): an XRC SRQ for an XRC identifier. 0, -1 with errno. */
SHIM_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
				struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex;
	int ret;

	if (call_fails(CALL_rdma_create_srq))
		return -1;
	memset(&ex, 0, sizeof(ex));
	ex.srq_context = attr->srq_context;
	ex.attr = attr->attr;
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	ex.pd = pd;
	ret = rdma_create_srq_ex(id, &ex);
	attr->attr = ex.attr;
	return ret;
}

/** rdma_destroy_srq() - rdma_destroy_srq(3), with the CQ that was made for it. */
SHIM_EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	ucma_cqs_destroy(id);
}
