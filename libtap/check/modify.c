/* SPDX-License-Identifier: MIT */
/*
 * Why ibv_modify_qp() has failed with EINVAL: the first rule of ibv_modify_qp(3) that the call
 * breaks. A reason that is the device's own stays unknown, and is not reported.
 */
#include "emulator/gid.h"
#include "libtap/check/checks.h"
#include "traces/calls/desc.h"

#include <stdarg.h>
#include <stdio.h>

/* struct modify_step - a transition. @must: its attributes; @may: others that it takes */
static const struct modify_step {
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	enum ibv_qp_type type;
	u32 must;
	u32 may;
} modify_steps[] = {
#define RTR_PATH (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_MAY	 (IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX)
#define RTS_MAY	 (IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)
	{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_RC,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_UC,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	  0 },
	{ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_RC,
	  RTR_PATH | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, RTR_MAY },
	{ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_UC, RTR_PATH, RTR_MAY },
	{ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_RC,
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		  IBV_QP_MAX_QP_RD_ATOMIC,
	  RTS_MAY | IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UC, IBV_QP_SQ_PSN, RTS_MAY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UD, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY },
};

/* struct modify_call - a failed call, and what the device has. @why: "" at first */
struct modify_call {
	const struct ibv_qp *qp;
	const struct ibv_qp_attr *attr;
	u32 mask;
	enum ibv_qp_state from;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	char why[256];
};

static __attribute__((format(printf, 2, 3))) bool modify_blame(struct modify_call *m,
							       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, ap);
	va_end(ap);
	return true;
}

static const char *modify_state(enum ibv_qp_state state)
{
	return check_enum_name(&vnames_qp_state, state);
}

static const char *modify_bits(u32 mask, char *text, size_t size)
{
	return check_flag_names(&vnames_qp_mask, mask, text, size);
}

static const struct modify_step *modify_find_step(const struct modify_call *m)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modify_steps); i++)
		if (modify_steps[i].from == m->from && modify_steps[i].to == m->attr->qp_state &&
		    modify_steps[i].type == m->qp->qp_type)
			return &modify_steps[i];
	return NULL;
}

/* Whether ibv_modify_qp(3) has a transition, of any type of queue pair. */
static bool modify_is_transition(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return true;
	switch (to) {
	case IBV_QPS_INIT:
		return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
	case IBV_QPS_RTR:
		return from == IBV_QPS_INIT;
	case IBV_QPS_RTS:
		return from == IBV_QPS_RTR || from == IBV_QPS_RTS || from == IBV_QPS_SQD ||
		       from == IBV_QPS_SQE;
	case IBV_QPS_SQD:
		return from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	default:
		return false;
	}
}

static bool modify_check_transition(struct modify_call *m)
{
	const struct modify_step *step;
	char bits[200];
	u32 odd;

	if (!(m->mask & IBV_QP_STATE))
		return false;
	if (!modify_is_transition(m->from, m->attr->qp_state))
		return modify_blame(m, "qp_state: no transition leads from %s to %s",
				    modify_state(m->from), modify_state(m->attr->qp_state));
	step = modify_find_step(m);
	if (!step)
		return false;
	odd = step->must & ~m->mask;
	if (odd)
		return modify_blame(m, "attr_mask lacks %s, which %s to %s needs",
				    modify_bits(odd, bits, sizeof(bits)), modify_state(step->from),
				    modify_state(step->to));
	odd = m->mask & ~(IBV_QP_STATE | step->must | step->may);
	return odd && modify_blame(m, "attr_mask has %s, which %s to %s does not take",
				   modify_bits(odd, bits, sizeof(bits)), modify_state(step->from),
				   modify_state(step->to));
}

/* A number that must not exceed @max, if its bit is set. */
static bool modify_check_max(struct modify_call *m, u32 bit, const char *name, u64 value, u64 max,
			     const char *of)
{
	return (m->mask & bit) && value > max &&
	       modify_blame(m, "%s is %llu: at most %llu%s", name, (unsigned long long)value,
			    (unsigned long long)max, of);
}

static bool modify_check_numbers(struct modify_call *m)
{
	const struct ibv_qp_attr *a = m->attr;

	return modify_check_max(m, IBV_QP_TIMEOUT, "timeout", a->timeout, 31, "") ||
	       modify_check_max(m, IBV_QP_RETRY_CNT, "retry_cnt", a->retry_cnt, 7, "") ||
	       modify_check_max(m, IBV_QP_RNR_RETRY, "rnr_retry", a->rnr_retry, 7, "") ||
	       modify_check_max(m, IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", a->min_rnr_timer, 31,
				"") ||
	       modify_check_max(m, IBV_QP_SQ_PSN, "sq_psn", a->sq_psn, 0xffffff, ", 24 bits") ||
	       modify_check_max(m, IBV_QP_RQ_PSN, "rq_psn", a->rq_psn, 0xffffff, ", 24 bits") ||
	       modify_check_max(m, IBV_QP_DEST_QPN, "dest_qp_num", a->dest_qp_num, 0xffffff,
				", 24 bits") ||
	       modify_check_max(m, IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", a->max_rd_atomic,
				(u64)m->dev.max_qp_init_rd_atom,
				", max_qp_init_rd_atom of the device") ||
	       modify_check_max(m, IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic",
				a->max_dest_rd_atomic, (u64)m->dev.max_qp_rd_atom,
				", max_qp_rd_atom of the device") ||
	       modify_check_max(m, IBV_QP_PKEY_INDEX, "pkey_index", a->pkey_index,
				(u64)m->port.pkey_tbl_len - 1, " on this port");
}

/* GIDs of InfiniBand and of RoCE v1 are no addresses of IP. */
static bool modify_check_gids(struct modify_call *m, const struct ibv_ah_attr *ah)
{
	struct ibv_gid_entry own;
	bool ipv4;

	if (ibv_query_gid_ex(m->qp->context, ah->port_num, ah->grh.sgid_index, &own, 0))
		return modify_blame(m, "ah_attr.grh.sgid_index is %u: that GID is empty",
				    ah->grh.sgid_index);
	ipv4 = gid_is_v4(own.gid.raw);
	return own.gid_type == IBV_GID_TYPE_ROCE_V2 && ipv4 != gid_is_v4(ah->grh.dgid.raw) &&
	       modify_blame(m,
			    "ah_attr.grh.sgid_index is %u, the GID of an %s address, and dgid is "
			    "an %s one: a packet has addresses of one kind",
			    ah->grh.sgid_index, ipv4 ? "IPv4" : "IPv6", ipv4 ? "IPv6" : "IPv4");
}

static bool modify_check_path(struct modify_call *m)
{
	const struct ibv_qp_attr *a = m->attr;
	const struct ibv_ah_attr *ah = &a->ah_attr;

	if ((m->mask & IBV_QP_PORT) && (!a->port_num || a->port_num > m->dev.phys_port_cnt))
		return modify_blame(m, "port_num is %u: 1 to %u", a->port_num,
				    m->dev.phys_port_cnt);
	if ((m->mask & IBV_QP_PATH_MTU) &&
	    (a->path_mtu < IBV_MTU_256 || a->path_mtu > m->port.active_mtu))
		return modify_blame(m,
				    "path_mtu is %d, of enum ibv_mtu: at most %d, %u bytes, the "
				    "active_mtu of the port",
				    a->path_mtu, m->port.active_mtu, 128u << m->port.active_mtu);
	if (!(m->mask & IBV_QP_AV))
		return false;
	if (!ah->port_num || ah->port_num > m->dev.phys_port_cnt)
		return modify_blame(m, "ah_attr.port_num is %u: 1 to %u", ah->port_num,
				    m->dev.phys_port_cnt);
	if (!ah->is_global && m->port.link_layer == IBV_LINK_LAYER_ETHERNET)
		return modify_blame(m, "ah_attr.is_global is 0: RoCE needs 1, with grh.dgid and "
				       "grh.sgid_index");
	if (!ah->is_global)
		return false;
	if (ah->grh.sgid_index >= m->port.gid_tbl_len)
		return modify_blame(m, "ah_attr.grh.sgid_index is %u: at most %d on this port",
				    ah->grh.sgid_index, m->port.gid_tbl_len - 1);
	return modify_check_gids(m, ah);
}

static u8 modify_port(const struct ibv_qp_attr *now, const struct modify_call *m)
{
	u8 port = m->mask & IBV_QP_PORT ? m->attr->port_num : now->port_num;

	return port ? port : 1;
}

void check_modify_failed(const struct tap_call *c)
{
	struct ibv_qp *qp = (void *)(uintptr_t)c->args[0];
	const struct check_obj *o = check_obj_find(VOBJ_QP, qp);
	struct modify_call m = {
		.qp = qp,
		.attr = (void *)(uintptr_t)c->args[1],
		.mask = (u32)c->args[2],
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr now;

	memset(&now, 0, sizeof(now));
	if (!o || ibv_query_qp(qp, &now, IBV_QP_STATE | IBV_QP_PORT, &init) ||
	    ibv_query_device(qp->context, &m.dev))
		return;
	m.from = now.qp_state;
	/* A port that does not exist is the reason itself. */
	if (ibv_query_port(qp->context, modify_port(&now, &m), &m.port) &&
	    ibv_query_port(qp->context, 1, &m.port))
		return;
	if (modify_check_transition(&m) || modify_check_numbers(&m) || modify_check_path(&m))
		check_report(FINDING_QP_MODIFY_INVALID, (struct check_other){ "created", o->stack },
			     "qp%u, %s: %s", o->ord, modify_state(m.from), m.why);
}
