/* SPDX-License-Identifier: MIT */
/* The state machine of queue pairs and the values of attributes. See tests/model/walk.h. */
#include "tests/model/walk.h"

/* --- the state machine as ibv_modify_qp(3) and IBTA 10.3.1 have it */

#define M_INIT (QPA_PKEY_INDEX | QPA_PORT | QPA_ACCESS_FLAGS)
#define M_CONN (QPA_AV | QPA_PATH_MTU | QPA_DEST_QPN | QPA_RQ_PSN)
#define M_RESP (QPA_MAX_DEST_RD_ATOMIC | QPA_MIN_RNR_TIMER)
#define M_REQ  (QPA_TIMEOUT | QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_SQ_PSN | QPA_MAX_QP_RD_ATOMIC)
#define M_LIVE (QPA_CUR_STATE | QPA_ACCESS_FLAGS | QPA_PATH_MIG_STATE)
#define M_SQD  (QPA_AV | QPA_ACCESS_FLAGS | QPA_PKEY_INDEX | QPA_PATH_MIG_STATE)
#define M_SQDR (M_SQD | QPA_PORT | QPA_TIMEOUT)
#define M_REQR (QPA_RETRY_CNT | QPA_RNR_RETRY | QPA_MAX_QP_RD_ATOMIC)
#define M_UD   (QPA_PKEY_INDEX | QPA_QKEY)

/** struct moves - what a type's moves need (RESET-INIT-RTR-RTS), and what they may have. */
static const struct moves {
	u32 init, rtr, rtr_may, rts, rts_may, sqd_may, sqe_may;
	bool sqe;
} moves[] = {
	[QPT_RC] = { M_INIT, M_CONN | M_RESP, QPA_ACCESS_FLAGS | QPA_PKEY_INDEX, M_REQ,
		     M_LIVE | QPA_MIN_RNR_TIMER, M_SQDR | M_REQR | M_RESP, 0, false },
	[QPT_UC] = { M_INIT, M_CONN, QPA_ACCESS_FLAGS | QPA_PKEY_INDEX, QPA_SQ_PSN, M_LIVE, M_SQD,
		     QPA_CUR_STATE | QPA_ACCESS_FLAGS, true },
	[QPT_UD] = { M_UD | QPA_PORT, 0, M_UD, QPA_SQ_PSN, QPA_CUR_STATE | QPA_QKEY, M_UD,
		     QPA_CUR_STATE | QPA_QKEY, true },
	[QPT_RAW_PACKET] = { QPA_PORT, 0, 0, 0, QPA_RATE_LIMIT, 0, 0, true },
	[QPT_XRC_SEND] = { M_INIT, M_CONN, QPA_ACCESS_FLAGS | QPA_PKEY_INDEX, M_REQ, M_LIVE,
			   M_SQDR | M_REQR, 0, false },
	[QPT_XRC_RECV] = { M_INIT, M_CONN | M_RESP, QPA_ACCESS_FLAGS | QPA_PKEY_INDEX,
			   QPA_TIMEOUT | QPA_SQ_PSN, M_LIVE | QPA_MIN_RNR_TIMER, M_SQDR | M_RESP, 0,
			   false },
};

bool qp_move(u32 type, u32 from, u32 to, u32 *required, u32 *optional)
{
	const struct moves *m = &moves[type];

	*required = *optional = 0;
	if (to == QPS_RESET)
		return true;
	if (to == QPS_ERR)
		return from != QPS_RESET;
	switch (from << 4 | to) {
	case QPS_RESET << 4 | QPS_INIT:
		*required = m->init;
		return true;
	case QPS_INIT << 4 | QPS_INIT:
		*optional = m->init;
		return true;
	case QPS_INIT << 4 | QPS_RTR:
		*required = m->rtr;
		*optional = m->rtr_may;
		return true;
	case QPS_RTR << 4 | QPS_RTS:
		*required = m->rts;
		*optional = m->rts_may;
		return true;
	case QPS_RTS << 4 | QPS_RTS:
	case QPS_SQD << 4 | QPS_RTS:
		*optional = m->rts_may;
		return true;
	case QPS_RTS << 4 | QPS_SQD:
		*optional = QPA_EN_SQD_ASYNC_NOTIFY;
		return true;
	case QPS_SQD << 4 | QPS_SQD:
		*optional = m->sqd_may;
		return true;
	case QPS_SQE << 4 | QPS_RTS:
		*optional = m->sqe_may;
		return m->sqe;
	}
	return false;
}

/* XRC QPs have one half each: attributes of the other are passed over. */
u32 qp_passed_over(u32 type)
{
	if (type == QPT_XRC_SEND)
		return M_RESP;
	return type == QPT_XRC_RECV ? M_REQR : 0;
}

u32 qp_any_move(u32 type)
{
	const struct moves *m = &moves[type];

	return m->init | m->rtr | m->rtr_may | m->rts | m->rts_may | m->sqd_may;
}

bool qp_has_sqe(u32 type)
{
	return moves[type].sqe;
}

static const struct {
	u32 bit;
	size_t field;
	u32 min, bad; /* values below @bad are good */
} values[] = {
	{ QPA_PKEY_INDEX, offsetof(struct hca_qp_attr, pkey_index), 0, 1 },
	{ QPA_PORT, offsetof(struct hca_qp_attr, port_num), 1, 2 },
	{ QPA_PATH_MTU, offsetof(struct hca_qp_attr, path_mtu), 1, 6 },
	{ QPA_TIMEOUT, offsetof(struct hca_qp_attr, timeout), 0, 32 },
	{ QPA_RETRY_CNT, offsetof(struct hca_qp_attr, retry_cnt), 0, 8 },
	{ QPA_RNR_RETRY, offsetof(struct hca_qp_attr, rnr_retry), 0, 8 },
	{ QPA_MIN_RNR_TIMER, offsetof(struct hca_qp_attr, min_rnr_timer), 0, 32 },
	{ QPA_MAX_QP_RD_ATOMIC, offsetof(struct hca_qp_attr, max_rd_atomic), 0, LIM_RD_ATOM + 1 },
	{ QPA_MAX_DEST_RD_ATOMIC, offsetof(struct hca_qp_attr, max_dest_rd_atomic), 0,
	  LIM_RD_ATOM + 1 },
	{ QPA_PATH_MIG_STATE, offsetof(struct hca_qp_attr, path_mig_state), 0, 3 },
	{ QPA_DEST_QPN, offsetof(struct hca_qp_attr, dest_qpn), 0, 1 << 24 },
};

static u32 *value(struct hca_qp_attr *a, u32 i)
{
	return (u32 *)(void *)((u8 *)a + values[i].field);
}

void good_values(struct walk *w, struct hca_qp_attr *a)
{
	memset(a, 0, sizeof(*a));
	for (u32 i = 0; i < ARRAY_SIZE(values); i++)
		*value(a, i) = values[i].min + pick(w, values[i].bad - values[i].min);
	a->rq_psn = pick(w, 1 << 24);
	a->sq_psn = pick(w, 1 << 24);
	a->access = pick(w, 4) ? 0xf | ACC_FLUSH : pick(w, 16);
	a->en_sqd_async_notify = pick(w, 2);
	a->qkey = 0x11111111;
	good_av(w, &a->av);
}

/* A value out of its range, or an address that leads nowhere. Return: -errno; 0: none was found. */
int bad_value(struct walk *w, struct hca_qp_attr *a, u32 mask)
{
	u32 i = pick(w, ARRAY_SIZE(values));

	if ((mask & QPA_AV) && chance(w, 3))
		return spoil_av(w, &a->av);
	if ((mask & QPA_ACCESS_FLAGS) && chance(w, 4)) {
		a->access |= 1u << 12;
		return -EINVAL;
	}
	if (!(mask & values[i].bit))
		return 0;
	*value(a, i) = values[i].bad + pick(w, 1000);
	return -EINVAL;
}
