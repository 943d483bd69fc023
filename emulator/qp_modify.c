/* SPDX-License-Identifier: MIT */
/**
 * DOC: the QP state machine as a checked table (IBTA 10.3.1, ibv_modify_qp(3)).
 *
 * Per type and move: the attributes that must be there and those that may. Anything else, or any
 * bad value, is EINVAL and nothing is modified.
 */
#include "emulator/model.h"

#define OPT_INIT (QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS)
#define OPT_RTS	 (QPA_CUR_STATE | QPA_ACCESS_FLAGS | QPA_ALT_PATH | QPA_PATH_MIG_STATE)
#define REQ_RTR	 (QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN | QPA_RQ_PSN)
#define OPT_SQD                                                                                    \
	(QPA_PORT | QPA_AV | QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_MAX_QP_RD_ATOMIC |  \
	 QPA_MAX_DEST_RD_ATOMIC | QPA_ALT_PATH | QPA_ACCESS_FLAGS | QPA_PKEY_INDEX |               \
	 QPA_MIN_RNR_TIMER | QPA_PATH_MIG_STATE)

struct qp_move {
	bool ok;
	u32 required;
	u32 optional;
};

static const struct qp_move rc_moves[QPS_COUNT][QPS_COUNT] = {
	[QPS_RESET] = {
		[QPS_RESET] = { true, 0, 0 },
		[QPS_INIT] = { true, OPT_INIT, 0 },
	},
	[QPS_INIT] = {
		[QPS_RESET] = { true, 0, 0 },
		[QPS_ERR] = { true, 0, 0 },
		[QPS_INIT] = { true, 0, OPT_INIT },
		[QPS_RTR] = { true, REQ_RTR | QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER,
			      QPA_ALT_PATH | QPA_ACCESS_FLAGS | QPA_PKEY_INDEX },
	},
	[QPS_RTR] = {
		[QPS_RESET] = { true, 0, 0 },
		[QPS_ERR] = { true, 0, 0 },
		[QPS_RTS] = { true,
			      QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_SQ_PSN |
				      QPA_MAX_QP_RD_ATOMIC,
			      OPT_RTS | QPA_MIN_RNR_TIMER },
	},
	[QPS_RTS] = {
		[QPS_RESET] = { true, 0, 0 },
		[QPS_ERR] = { true, 0, 0 },
		[QPS_RTS] = { true, 0, OPT_RTS | QPA_MIN_RNR_TIMER },
		[QPS_SQD] = { true, 0, QPA_EN_SQD_ASYNC_NOTIFY },
	},
	[QPS_SQD] = {
		[QPS_RESET] = { true, 0, 0 },
		[QPS_ERR] = { true, 0, 0 },
		[QPS_RTS] = { true, 0, OPT_RTS | QPA_MIN_RNR_TIMER },
		[QPS_SQD] = { true, 0, OPT_SQD },
	},
	[QPS_SQE] = {
		[QPS_RESET] = { true, 0, 0 },
		[QPS_ERR] = { true, 0, 0 },
	},
	[QPS_ERR] = {
		[QPS_RESET] = { true, 0, 0 },
		[QPS_ERR] = { true, 0, 0 },
	},
};

static int mask_check(const struct hca_qp *qp, const struct hca_qp_attr *a, u32 mask, u32 from,
		      u32 to)
{
	const struct qp_move *m;

	if (from >= QPS_COUNT || to >= QPS_COUNT)
		return -EINVAL;
	if ((mask & QPA_CUR_STATE) && from != QPS_RTR && from != QPS_RTS && from != QPS_SQD &&
	    from != QPS_SQE)
		return -EINVAL;
	if ((mask & QPA_CUR_STATE) && a->cur_state != qp->state)
		return -EINVAL;
	m = &rc_moves[from][to];
	if (!m->ok || (mask & m->required) != m->required)
		return -EINVAL;
	if (mask & ~(m->required | m->optional | QPA_STATE))
		return -EINVAL;
	return 0;
}

static int av_check(struct hca *hca, const struct hca_qp *qp, struct hca_av *av)
{
	const struct hca_dev *dev = &hca->dev[qp->dev];
	static const u8 zero[16];
	int dst;

	if (av->port_num != 1)
		return -EINVAL;
	if (!av->is_global) {
		/* LID addressing on Ethernet: programs that know no GID talk within their own port. */
		av->dst_dev = qp->dev;
		return 0;
	}
	if (av->sgid_index >= HCA_GIDS || !memcmp(av->dgid, zero, sizeof(zero)))
		return -EINVAL;
	if (!dev->gid[av->sgid_index].valid)
		return -ENODATA;
	dst = hca_find_dev(hca, av->dgid);
	/* What the kernel answers when no neighbour has the address. */
	if (dst < 0)
		return -ETIMEDOUT;
	av->dst_dev = (u32)dst;
	return 0;
}

static int value_check(struct hca *hca, const struct hca_qp *qp, struct hca_qp_attr *a, u32 mask)
{
	static const u32 acc = ACC_LOCAL_WRITE | ACC_REMOTE_WRITE | ACC_REMOTE_READ |
			       ACC_REMOTE_ATOMIC | ACC_MW_BIND | ACC_ZERO_BASED | ACC_ON_DEMAND |
			       ACC_HUGETLB | 0x3ff00000u;
	const struct {
		u32 bit;
		u32 value;
		u32 max;
	} range[] = {
		{ QPA_PKEY_INDEX, a->pkey_index, LIM_PKEYS - 1 },
		{ QPA_PATH_MTU, a->path_mtu, hca->dev[qp->dev].max_mtu },
		{ QPA_TIMEOUT, a->timeout, 31 },
		{ QPA_RETRY_CNT, a->retry_cnt, 7 },
		{ QPA_RNR_RETRY, a->rnr_retry, 7 },
		{ QPA_MIN_RNR_TIMER, a->min_rnr_timer, 31 },
		{ QPA_MAX_QP_RD_ATOMIC, a->max_rd_atomic, LIM_RD_ATOM },
		{ QPA_MAX_DEST_RD_ATOMIC, a->max_dest_rd_atomic, LIM_RD_ATOM },
		{ QPA_DEST_QPN, a->dest_qpn, IB_QPN_MASK },
		{ QPA_PATH_MIG_STATE, a->path_mig_state, 2 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(range); i++)
		if ((mask & range[i].bit) && range[i].value > range[i].max)
			return -EINVAL;
	if ((mask & QPA_PORT) && a->port_num != 1)
		return -EINVAL;
	if ((mask & QPA_PATH_MTU) && !a->path_mtu)
		return -EINVAL;
	if ((mask & QPA_ACCESS_FLAGS) && (a->access & ~acc))
		return -EINVAL;
	/* No alternate paths on RoCE ports. */
	if (mask & QPA_ALT_PATH)
		return -EINVAL;
	return mask & QPA_AV ? av_check(hca, qp, &a->av) : 0;
}

/* Take the values over. Everything was checked. */
static void apply(struct hca_qp *qp, const struct hca_qp_attr *a, u32 mask)
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
	if (mask & QPA_AV)
		d->av = a->av;
	if (mask & QPA_PATH_MTU)
		qp->mtu = ib_mtu_bytes(a->path_mtu);
}

static void enter_reset(struct engine *e, struct hca_qp *qp)
{
	timer_arm(e, qp, 0);
	memset(&qp->attr, 0, sizeof(qp->attr));
	memset(&qp->req, 0, sizeof(qp->req));
	memset(&qp->resp, 0, sizeof(qp->resp));
	memset(qp->at, 0, sizeof(qp->at));
	qp->stalled = 0;
}

static void enter_state(struct engine *e, struct hca_qp *qp, u32 from, u32 to)
{
	struct req_state *s = &qp->req;

	if (to == QPS_RESET)
		enter_reset(e, qp);
	if (from == QPS_INIT && to == QPS_RTR)
		qp->resp.epsn = qp->attr.rq_psn;
	if (from == QPS_RTR && to == QPS_RTS) {
		s->next_psn = s->una_psn = s->una_first = qp->attr.sq_psn;
		s->retry = (u8)qp->attr.retry_cnt;
		s->rnr_retry = (u8)qp->attr.rnr_retry;
	}
	if (from == QPS_SQD && to != QPS_SQD)
		s->flags &= ~(u32)REQ_DRAINED;
	if (to == QPS_ERR)
		timer_arm(e, qp, 0);
	store_relaxed(&qp->state, to);
}

int cmd_modify_qp(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca_qp *qp = own_qp(e->hca, client, cmd->handle);
	struct hca_qp_attr *a = &cmd->mod.attr;
	u32 mask = cmd->mod.mask;
	u32 from, to;
	int ret;

	if (!qp)
		return -EINVAL;
	from = mask & QPA_CUR_STATE ? a->cur_state : qp->state;
	to = mask & QPA_STATE ? a->state : from;
	ret = mask_check(qp, a, mask, from, to);
	if (!ret)
		ret = value_check(e->hca, qp, a, mask);
	if (ret)
		return ret;
	apply(qp, a, mask);
	enter_state(e, qp, from, to);
	/* Work that waited for this state: sends in SQD, everything to be flushed in ERR. */
	if (to == QPS_RTS || to == QPS_SQD || to == QPS_ERR)
		engine_run_qp(e, qp_slot(e->hca, qp));
	return 0;
}
