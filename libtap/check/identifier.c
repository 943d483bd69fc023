/* SPDX-License-Identifier: MIT */
/* Identifiers of the rdma_cm: what a connection is accepted with, and their end. */
#include "libtap/check/checks.h"

void check_id_event(const struct rdma_cm_event *event)
{
	struct check_obj *id = check_obj_find(VOBJ_ID, event->id);

	if (!id || event->event != RDMA_CM_EVENT_CONNECT_REQUEST || event->id->ps == RDMA_PS_UDP)
		return;
	id->id.is_requested = true;
	id->id.initiator_depth = event->param.conn.initiator_depth;
}

static void identifier_check_depth(const struct check_obj *id, const struct rdma_conn_param *param)
{
	/* The library replaces the largest value by what both sides can do. */
	if (!param || param->initiator_depth == RDMA_MAX_INIT_DEPTH ||
	    param->initiator_depth <= id->id.initiator_depth)
		return;
	check_report(
		FINDING_ID_ACCEPT_DEPTH, (struct check_other){ NULL, 0 },
		"id%u is accepted with initiator_depth %u: the peer takes %u READs and atomics "
		"at a time",
		id->ord, param->initiator_depth, id->id.initiator_depth);
}

/* Whether messages of the peer that arrive at once would find no receive. */
static void identifier_check_receives(const struct check_obj *id, const struct ibv_qp *ibqp)
{
	struct check_obj *qp = check_obj_find(VOBJ_QP, ibqp);
	bool empty;

	if (!qp)
		return;
	pthread_mutex_lock(&qp->qp.lock);
	empty = !qp->qp.rq.lost && !qp->qp.rq.n;
	pthread_mutex_unlock(&qp->qp.lock);
	if (empty)
		check_report(FINDING_ID_ACCEPT_EMPTY,
			     (struct check_other){ "queue pair created", qp->stack },
			     "id%u is accepted, and qp%u has no receives", id->ord, qp->ord);
}

/* --- connections --- */

static void identifier_check_private(const struct check_obj *id, const struct rdma_cm_id *cm_id,
				     const struct rdma_conn_param *param)
{
	u32 most = cm_id->ps == RDMA_PS_UDP ? 180 : 56;

	if ((cm_id->ps != RDMA_PS_TCP && cm_id->ps != RDMA_PS_UDP) ||
	    param->private_data_len <= most)
		return;
	check_report(FINDING_ID_PRIVATE_LONG, (struct check_other){ NULL, 0 },
		     "id%u is connected with %u bytes of private data: at most %u on InfiniBand "
		     "and RoCE",
		     id->ord, param->private_data_len, most);
}

/* @connects: of rdma_connect(), which alone has retry_count */
static void identifier_check_retries(const struct check_obj *id,
				     const struct rdma_conn_param *param, bool connects)
{
	struct check_other none = { NULL, 0 };

	if (connects && !param->retry_count)
		check_report(FINDING_QP_RETRY_NONE, none,
			     "id%u: retry_count is 0: the first lost packet breaks the connection",
			     id->ord);
	if (param->rnr_retry_count == 7)
		check_report(FINDING_QP_RNR_INFINITE, none,
			     "id%u: rnr_retry_count is 7: sends to a peer that posts no receives "
			     "are retried indefinitely",
			     id->ord);
}

void check_id_connecting(const struct rdma_cm_id *cm_id, const struct rdma_conn_param *param)
{
	struct check_obj *id = check_obj_find(VOBJ_ID, cm_id);

	if (!id || !param)
		return;
	identifier_check_private(id, cm_id, param);
	if (cm_id->ps == RDMA_PS_TCP)
		identifier_check_retries(id, param, true);
}

void check_id_accepting(const struct rdma_cm_id *cm_id, const struct rdma_conn_param *param)
{
	struct check_obj *id = check_obj_find(VOBJ_ID, cm_id);

	if (!id)
		return;
	/* rdma_get_request() leaves its event there. */
	if (cm_id->event)
		check_id_event(cm_id->event);
	if (!id->id.is_requested)
		return;
	identifier_check_depth(id, param);
	identifier_check_receives(id, cm_id->qp);
	if (param)
		identifier_check_retries(id, param, false);
}

void check_id_ending(const struct rdma_cm_id *cm_id)
{
	struct check_obj *id = check_obj_find(VOBJ_ID, cm_id);
	struct check_obj *qp = id ? check_obj_find(VOBJ_QP, cm_id->qp) : NULL;

	if (qp)
		check_report(FINDING_ID_DESTROY_QP,
			     (struct check_other){ "queue pair created", qp->stack },
			     "id%u is destroyed before its queue pair qp%u", id->ord, qp->ord);
}
