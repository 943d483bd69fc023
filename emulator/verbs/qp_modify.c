/* SPDX-License-Identifier: MIT */
/**
 * DOC: the QP state machine as a checked table (IBTA 10.3.1, ibv_modify_qp(3)).
 *
 * The table has, per QP type and transition, the required and the optional attributes. Any other
 * attribute or invalid value is EINVAL, and nothing is modified.
 */
#include "emulator/av.h"
#include "emulator/engine.h"
#include "emulator/journal/writer.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/queue/tag.h"
#include "emulator/ring.h"
#include "emulator/transport/atomic.h"
#include "emulator/transport/pace.h"
#include "emulator/transport/path.h"
#include "emulator/transport/qp_timer.h"
#include "emulator/transport/requester.h"
#include "emulator/transport/rxq.h"
#include "emulator/transport/srd.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define CONN_INIT (QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS)
#define UD_INIT	  (QPA_PKEY_INDEX | QPA_PORT | QPA_QKEY)
#define CONN_RTR  (QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN | QPA_RQ_PSN)
#define RESP_RTR  (CONN_RTR | QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER)
#define OPT_RTR	  (QPA_ALT_PATH | QPA_ACCESS_FLAGS | QPA_PKEY_INDEX)
#define REQ_RTS	  (QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_SQ_PSN | QPA_MAX_QP_RD_ATOMIC)
#define OPT_RTS	  (QPA_CUR_STATE | QPA_ACCESS_FLAGS | QPA_ALT_PATH | QPA_PATH_MIG_STATE)
#define RESP_RTS  (OPT_RTS | QPA_MIN_RNR_TIMER)
#define UD_RTS	  (QPA_CUR_STATE | QPA_QKEY)
#define OPT_SQD	  (QPA_AV | QPA_ALT_PATH | QPA_ACCESS_FLAGS | QPA_PKEY_INDEX | QPA_PATH_MIG_STATE)
#define REQ_SQD                                                                                    \
	(OPT_SQD | QPA_PORT | QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_MAX_QP_RD_ATOMIC)
#define RESP_SQD (OPT_SQD | QPA_PORT | QPA_TIMEOUT | QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER)
#define RC_SQD	 (REQ_SQD | QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER)

/** struct qp_rules - the attributes of each transition, for one QP type. */
struct qp_rules {
	u32 init; /* RESET to INIT: required; INIT to INIT: optional */
	u32 rtr_req, rtr_opt;
	u32 rts_req, rts_opt; /* RTR to RTS; @rts_opt also RTS to RTS and SQD to RTS */
	u32 sqd_opt; /* SQD to SQD */
	u32 sqe_opt; /* SQE to RTS */
	bool sqe; /* a send error leads to SQE */
};

static const struct qp_rules qp_rules[] = {
	[QPT_RC] = { CONN_INIT, RESP_RTR, OPT_RTR, REQ_RTS, RESP_RTS, RC_SQD, 0, false },
	[QPT_UC] = { CONN_INIT, CONN_RTR, OPT_RTR, QPA_SQ_PSN, OPT_RTS, OPT_SQD,
		     QPA_CUR_STATE | QPA_ACCESS_FLAGS, true },
	[QPT_UD] = { UD_INIT, 0, QPA_PKEY_INDEX | QPA_QKEY, QPA_SQ_PSN, UD_RTS,
		     QPA_PKEY_INDEX | QPA_QKEY, UD_RTS, true },
	[QPT_SRD] = { UD_INIT, 0, QPA_PKEY_INDEX | QPA_QKEY, QPA_SQ_PSN, UD_RTS | QPA_RNR_RETRY,
		      QPA_PKEY_INDEX | QPA_QKEY, 0, false },
	[QPT_RAW_PACKET] = { QPA_PORT, 0, 0, 0, QPA_RATE_LIMIT, 0, 0, true },
	[QPT_XRC_SEND] = { CONN_INIT, CONN_RTR, OPT_RTR, REQ_RTS, OPT_RTS, REQ_SQD, 0, false },
	[QPT_XRC_RECV] = { CONN_INIT, RESP_RTR, OPT_RTR, QPA_TIMEOUT | QPA_SQ_PSN, RESP_RTS,
			   RESP_SQD, 0, false },
};

/* The required and optional attributes of a transition. Return: whether the transition exists. */
static bool qp_transition_attrs(u32 type, u32 from, u32 to, u32 *required, u32 *optional)
{
	const struct qp_rules *r = &qp_rules[type];

	*required = 0;
	*optional = 0;
	if (to == QPS_RESET || (to == QPS_ERR && from != QPS_RESET))
		return true;
	switch (from * QPS_COUNT + to) {
	case QPS_RESET *QPS_COUNT + QPS_INIT:
		*required = r->init;
		return true;
	case QPS_INIT *QPS_COUNT + QPS_INIT:
		*optional = r->init;
		return true;
	case QPS_INIT *QPS_COUNT + QPS_RTR:
		*required = r->rtr_req;
		*optional = r->rtr_opt;
		return true;
	case QPS_RTR *QPS_COUNT + QPS_RTS:
		*required = r->rts_req;
		*optional = r->rts_opt;
		return true;
	case QPS_RTS *QPS_COUNT + QPS_RTS:
	case QPS_SQD *QPS_COUNT + QPS_RTS:
		*optional = r->rts_opt;
		return true;
	case QPS_RTS *QPS_COUNT + QPS_SQD:
		*optional = QPA_EN_SQD_ASYNC_NOTIFY;
		return true;
	case QPS_SQD *QPS_COUNT + QPS_SQD:
		*optional = r->sqd_opt;
		return true;
	case QPS_SQE *QPS_COUNT + QPS_RTS:
		*optional = r->sqe_opt;
		return r->sqe;
	default:
		return false;
	}
}

static int qp_modify_check_mask(const struct hca_qp *qp, const struct hca_qp_attr *a, u32 mask,
				u32 from, u32 to)
{
	u32 required, optional;

	if (from >= QPS_COUNT || to >= QPS_COUNT)
		return -EINVAL;
	if ((mask & QPA_CUR_STATE) && from != QPS_RTR && from != QPS_RTS && from != QPS_SQD &&
	    from != QPS_SQE)
		return -EINVAL;
	if ((mask & QPA_CUR_STATE) && a->cur_state != qp->state)
		return -EINVAL;
	if (!qp_transition_attrs(qp->type, from, to, &required, &optional))
		return -EINVAL;
	if ((mask & required) != required || (mask & ~(required | optional | QPA_STATE)))
		return -EINVAL;
	return 0;
}

/* The QP's port after the modify; NULL: none, not a port of the device, or two different ones. */
static const struct hca_port *qp_modify_port(struct hca *hca, const struct hca_qp *qp,
					     const struct hca_qp_attr *a, u32 mask)
{
	u32 port = mask & QPA_PORT ? a->port_num : qp->attr.port_num;

	/* In SQD a new path implies its port (in the kernel since 4.11). */
	if ((mask & QPA_AV) && !(mask & (QPA_PORT | QPA_STATE)))
		port = a->av.port_num;
	if ((mask & QPA_AV) && a->av.port_num != port)
		return NULL;
	return port_of(hca, qp->dev, port);
}

/* Whether the device's responder resources for READs and atomics suffice. */
static bool qp_has_rd_atomic_room(struct hca *hca, const struct hca_qp *qp, u32 wanted)
{
	const struct hca_limits *lim = lim_of(hca, qp->dev);
	u64 sum = wanted;
	u32 i;

	if ((u64)lim->max_qp * lim->max_rd_atom <= lim->max_res_rd_atom)
		return true;
	for (i = 0; i < hca->tab[TAB_QP].high; i++)
		if (hca->qp[i].client && hca->qp[i].dev == qp->dev && &hca->qp[i] != qp)
			sum += hca->qp[i].attr.max_dest_rd_atomic;
	return sum <= lim->max_res_rd_atom;
}

static int qp_modify_check_values(struct hca *hca, const struct hca_qp *qp, struct hca_qp_attr *a,
				  u32 mask)
{
	const struct hca_port *port = qp_modify_port(hca, qp, a, mask);
	const struct {
		u32 bit;
		u32 value;
		u32 max;
	} range[] = {
		{ QPA_PKEY_INDEX, a->pkey_index, lim_of(hca, qp->dev)->pkeys - 1 },
		{ QPA_PATH_MTU, a->path_mtu, port ? port->max_mtu : 0 },
		{ QPA_TIMEOUT, a->timeout, 31 },
		{ QPA_RETRY_CNT, a->retry_cnt, 7 },
		{ QPA_RNR_RETRY, a->rnr_retry, 7 },
		{ QPA_MIN_RNR_TIMER, a->min_rnr_timer, 31 },
		{ QPA_MAX_QP_RD_ATOMIC, a->max_rd_atomic, lim_of(hca, qp->dev)->max_rd_atom },
		{ QPA_MAX_DEST_RD_ATOMIC, a->max_dest_rd_atomic,
		  lim_of(hca, qp->dev)->max_rd_atom },
		{ QPA_DEST_QPN, a->dest_qpn, IB_QPN_MASK },
		{ QPA_PATH_MIG_STATE, a->path_mig_state, 2 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(range); i++)
		if ((mask & range[i].bit) && range[i].value > range[i].max)
			return -EINVAL;
	if (!port && (mask & (QPA_PORT | QPA_AV | QPA_PATH_MTU)))
		return -EINVAL;
	if ((mask & QPA_PATH_MTU) && !a->path_mtu)
		return -EINVAL;
	if ((mask & QPA_ACCESS_FLAGS) && (a->access & ~ACC_KNOWN))
		return -EINVAL;
	if ((mask & QPA_MAX_DEST_RD_ATOMIC) &&
	    !qp_has_rd_atomic_room(hca, qp, a->max_dest_rd_atomic))
		return -ENOMEM;
	if ((mask & QPA_RATE_LIMIT) && a->rate_limit &&
	    (a->rate_limit < lim_of(hca, qp->dev)->rate_limit_min ||
	     a->rate_limit > lim_of(hca, qp->dev)->rate_limit_max))
		return -EINVAL;
	/* RoCE ports have no alternate paths. */
	if (mask & QPA_ALT_PATH)
		return -EINVAL;
	return mask & QPA_AV ? av_check(hca, qp->client - 1, qp->dev, &a->av) : 0;
}

/* Store the new values, which were checked before. */
static void qp_modify_apply(struct hca *hca, struct hca_qp *qp, const struct hca_qp_attr *a,
			    u32 mask)
{
	struct hca_qp_attr *d = &qp->attr;
	const struct {
		u32 bit;
		u32 *dst;
		u32 value;
	} set[] = {
		{ QPA_EN_SQD_ASYNC_NOTIFY, &d->en_sqd_async_notify, a->en_sqd_async_notify },
		{ QPA_ACCESS_FLAGS, &d->access, a->access },
		{ QPA_PKEY_INDEX, &d->pkey_index, a->pkey_index },
		{ QPA_PORT, &d->port_num, a->port_num },
		{ QPA_QKEY, &d->qkey, a->qkey },
		{ QPA_RATE_LIMIT, &d->rate_limit, a->rate_limit },
		{ QPA_RATE_LIMIT, &d->max_burst, a->max_burst },
		{ QPA_PATH_MTU, &d->path_mtu, a->path_mtu },
		{ QPA_TIMEOUT, &d->timeout, a->timeout },
		{ QPA_RETRY_CNT, &d->retry_cnt, a->retry_cnt },
		{ QPA_RNR_RETRY, &d->rnr_retry, a->rnr_retry },
		{ QPA_RQ_PSN, &d->rq_psn, a->rq_psn & IB_PSN_MASK },
		{ QPA_MAX_QP_RD_ATOMIC, &d->max_rd_atomic, a->max_rd_atomic },
		{ QPA_MIN_RNR_TIMER, &d->min_rnr_timer, a->min_rnr_timer },
		{ QPA_SQ_PSN, &d->sq_psn, a->sq_psn & IB_PSN_MASK },
		{ QPA_MAX_DEST_RD_ATOMIC, &d->max_dest_rd_atomic, a->max_dest_rd_atomic },
		{ QPA_PATH_MIG_STATE, &d->path_mig_state, a->path_mig_state },
		{ QPA_DEST_QPN, &d->dest_qpn, a->dest_qpn },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(set); i++)
		if (mask & set[i].bit)
			*set[i].dst = set[i].value;
	if (mask & QPA_AV) {
		d->av = a->av;
		d->port_num = a->av.port_num;
	}
	qp_path_update(hca, qp);
	/* Only now: later a message under way has to be retransmitted in the same chunks. */
	/* Datagrams have no path: the port's MTU applies. */
	if ((mask & QPA_PORT) && qp->state <= QPS_INIT)
		qp->mtu = ib_mtu_bytes(qp_port(hca, qp)->active_mtu);
	if (mask & QPA_PATH_MTU)
		qp->mtu = ib_mtu_bytes(a->path_mtu);
	if (mask & QPA_AV)
		relay_set_chunk(hca, qp);
}

void qp_clear(struct engine *e, struct hca_qp *qp)
{
	qp_timer_arm(e, qp, 0);
	tm_forget(e->hca, qp);
	if (qp->type == QPT_SRD)
		srd_forget(e->hca, qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp_path_update(e->hca, qp);
	memset(&qp->req, 0, sizeof(qp->req));
	memset(&qp->resp, 0, sizeof(qp->resp));
	memset(qp->at, 0, sizeof(qp->at));
	qp->rq_seen = 0;
	qp->mcast_next = 0;
	qp->chunk = qp->chunk_rest = qp->read_chunk = qp->ack_span = 0;
	qp->left_at = qp->ack_due = 0;
	qp->part_sent = 0;
	qp->probe.on = 0;
	qp->stalled = 0;
	qp->conn = 0;
	memset(&qp->fault, 0, sizeof(qp->fault));
}

/* The state comes first: if the holder dies, a scan finishes the rest (recover.c). */
static void qp_enter_reset(struct engine *e, struct hca_qp *qp)
{
	rx_give_back(e, qp);
	qp->resets++;
	store_relaxed(&qp->state, QPS_RESET);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	qp_clear(e, qp);
}

/*
 * Give the connection its ordinal: the peer's, if the peer was in RTR first. That may have been
 * connected with this QP before, and then waits for no request of that time.
 */
static void qp_begin_connection(struct hca *hca, struct hca_qp *qp)
{
	struct hca_qp *peer = hca_qp_by_num(hca, qp->attr.dest_qpn);

	if (qp_is_datagram(qp) || qp->type == QPT_RAW_PACKET)
		return;
	if (peer && peer->conn && peer != qp && peer->dev == qp->attr.av.dst_dev &&
	    peer->attr.dest_qpn == qp->qpn && peer->attr.av.dst_dev == qp->dev) {
		qp->conn = peer->conn;
		atomic_forget(peer);
	} else {
		qp->conn = ++hca->n_conns;
	}
}

/* Work requests on the QP's own queues. */
static u32 qp_queued_wrs(struct engine *e, const struct hca_qp *qp)
{
	struct seg_hdr *seg = seg_of(e, qp->client);

	return seg ? sq_posted(seg, qp) - qp->req.una + rq_posted(seg, qp) - qp->resp.rq_cons : 0;
}

static void qp_enter_state(struct engine *e, struct hca_qp *qp, u32 from, u32 to)
{
	struct req_state *s = &qp->req;

	if (to == QPS_RESET)
		qp_enter_reset(e, qp);
	if (from == QPS_RESET && to == QPS_INIT && qp->type == QPT_SRD)
		qp->attr.rnr_retry = SRD_RNR_RETRY;
	if (from == QPS_INIT && to == QPS_RTR) {
		qp->resp.epsn = qp->attr.rq_psn;
		qp_begin_connection(e->hca, qp);
		journal_note_peer(e->hca, qp);
	}
	if (from == QPS_RTR && to == QPS_RTS) {
		s->next_psn = s->una_psn = s->una_first = qp->attr.sq_psn;
		s->retry = (u8)qp->attr.retry_cnt;
		s->rnr_retry = (u8)qp->attr.rnr_retry;
	}
	if (from == QPS_SQD && to != QPS_SQD)
		s->flags &= ~(u32)REQ_DRAINED;
	if (to == QPS_ERR) {
		qp_timer_arm(e, qp, 0);
		journal_flush(e, qp, qp_queued_wrs(e, qp));
	}
	store_relaxed(&qp->state, to);
}

/*
 * Without the attributes of the half that an XRC QP lacks: the kernel's verbs layer ignores them.
 */
static u32 qp_modify_mask(u32 type, u32 mask)
{
	if (type == QPT_XRC_SEND)
		return mask & ~(u32)(QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER);
	if (type == QPT_XRC_RECV)
		return mask & ~(u32)(QPA_MAX_QP_RD_ATOMIC | QPA_RETRY_CNT | QPA_RNR_RETRY);
	return mask;
}

int cmd_modify_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_qp *qp = shared_qp(e->hca, client, cmd->handle, cmd->mod.opened);
	struct hca_qp_attr *a = &cmd->mod.attr;
	u32 mask, from, to;
	int ret;

	if (!qp)
		return -EINVAL;
	/* An RSS QP over WQs has no state of its own. */
	if (qp->ind)
		return -EOPNOTSUPP;
	/* libibverbs knows no such attribute of providers without packet pacing (rxe). */
	if ((cmd->mod.mask & QPA_RATE_LIMIT) && !lim_of(e->hca, qp->dev)->rate_limit_max)
		return -EOPNOTSUPP;
	mask = qp_modify_mask(qp->type, cmd->mod.mask);
	from = mask & QPA_CUR_STATE ? a->cur_state : qp->state;
	to = mask & QPA_STATE ? a->state : from;
	ret = qp_modify_check_mask(qp, a, mask, from, to);
	if (!ret)
		ret = qp_modify_check_values(e->hca, qp, a, mask);
	if (ret)
		return ret;
	/* Each transition to SQD has to request the notification again. */
	if (from == QPS_RTS && to == QPS_SQD)
		qp->attr.en_sqd_async_notify = 0;
	qp_modify_apply(e->hca, qp, a, mask);
	if (mask & QPA_RATE_LIMIT)
		pace_changed(e, qp);
	if ((mask & QPA_PORT) && qp->type == QPT_UD)
		mcast_move(e);
	qp_enter_state(e, qp, from, to);
	/* Run work that waited for this state: sends in SQD, the flush in ERR. */
	if (to == QPS_RTS || to == QPS_SQD || to == QPS_ERR || to == QPS_SQE)
		req_run_qp(e, qp_slot(qp));
	return 0;
}
