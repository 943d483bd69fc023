/* SPDX-License-Identifier: MIT */
/*
 * The attributes of each kind of object. Enumerations that the kernel and verbs.h have in common
 * are those of emulator/ib.h, too.
 */
#include "emulator/tab.h"
#include "fabric/nldev/model.h"

#include <arpa/inet.h>

#define SRQ_RANGES 64u /* of the QPs of an SRQ, that fit into a message */

/* The process that has the object, as the program that asks sees it. */
static void object_put_pid(struct nldev *n, const struct hca *hca, u32 owner)
{
	const struct hca_client *c = owner - 1 < HCA_MAX_CLIENTS ? &hca->client[owner - 1] : NULL;
	s32 pid = 0;

	if (c && c->pidns == n->pidns)
		pid = c->pid;
	else if (c && n->own_pidns == n->pidns)
		pid = c->fabric_pid;
	if (pid > 0)
		nlattr_put_u32(n, NLA_RES_PID, (u32)pid);
}

/* The context of an object: the first that its process has opened on the device. */
static void object_put_ctx(struct nldev *n, const struct hca *hca, u32 owner, u32 dev)
{
	u32 i, end = min_u32(load_relaxed(&hca->tab[TAB_REF].high), HCA_MAX_REF);

	for (i = 0; i < end; i++)
		if (load_acquire(&hca->ref[i].client) == owner && hca->ref[i].kind == REF_CONTEXT &&
		    hca->ref[i].dev == dev) {
			nlattr_put_u32(n, NLA_RES_CTXN, i + 1);
			return;
		}
}

static bool pd_is_shown(const struct hca *hca, u32 slot, u32 dev)
{
	return hca->pd[slot].dev == dev;
}

static void pd_put(struct nldev *n, struct hca *hca, u32 slot)
{
	const struct hca_pd *pd = &hca->pd[slot];

	nlattr_put_u64(n, NLA_RES_USECNT, pd->refs);
	nlattr_put_u32(n, NLA_RES_PDN, slot + 1);
	object_put_ctx(n, hca, pd->client, pd->dev);
	object_put_pid(n, hca, pd->client);
}

static bool cq_is_shown(const struct hca *hca, u32 slot, u32 dev)
{
	return hca->cq[slot].dev == dev;
}

static void cq_put(struct nldev *n, struct hca *hca, u32 slot)
{
	const struct hca_cq *cq = &hca->cq[slot];

	nlattr_put_u32(n, NLA_RES_CQE, cq->depth);
	nlattr_put_u64(n, NLA_RES_USECNT, cq->refs);
	nlattr_put_u8(n, NLA_DEV_DIM, 0);
	nlattr_put_u32(n, NLA_RES_CQN, slot + 1);
	object_put_ctx(n, hca, cq->client, cq->dev);
	object_put_pid(n, hca, cq->client);
}

static bool qp_is_shown(const struct hca *hca, u32 slot, u32 dev)
{
	return hca->qp[slot].dev == dev;
}

static u32 res_qp_port(const struct hca *hca, u32 slot)
{
	return hca->qp[slot].attr.port_num;
}

static void qp_put(struct nldev *n, struct hca *hca, u32 slot)
{
	const struct hca_qp *qp = &hca->qp[slot];

	if (qp->attr.port_num)
		nlattr_put_u32(n, NLA_PORT_INDEX, qp->attr.port_num);
	nlattr_put_u32(n, NLA_RES_LQPN, qp->qpn);
	if (qp->type == QPT_RC || qp->type == QPT_UC) {
		nlattr_put_u32(n, NLA_RES_RQPN, qp->attr.dest_qpn);
		nlattr_put_u32(n, NLA_RES_RQ_PSN, qp->attr.rq_psn);
	}
	nlattr_put_u32(n, NLA_RES_SQ_PSN, qp->attr.sq_psn);
	if (qp->type == QPT_RC || qp->type == QPT_UC || qp->type == QPT_XRC_SEND ||
	    qp->type == QPT_XRC_RECV)
		nlattr_put_u8(n, NLA_RES_PATH_MIG_STATE, (u8)qp->attr.path_mig_state);
	nlattr_put_u8(n, NLA_RES_TYPE, (u8)qp->type);
	nlattr_put_u8(n, NLA_RES_STATE, (u8)qp->state);
	if (qp->pd)
		nlattr_put_u32(n, NLA_RES_PDN, qp->pd);
	object_put_pid(n, hca, qp->client);
}

/*
 * An identifier is on the device that it is bound to. One that listens on all addresses is on all
 * devices of its node: the kernel makes an identifier of its own for each. Those that programs have
 * destroyed are not shown.
 */
static bool cmid_is_shown(const struct hca *hca, u32 slot, u32 dev)
{
	const struct hca_cmid *id = &hca->cmid[slot];

	if (id->state == CM_DESTROYING)
		return false;
	return id->bound ? id->bound - 1 == dev
			 : id->state == CM_LISTEN && id->node == hca->dev[dev].node;
}

static u32 cmid_port(const struct hca *hca, u32 slot)
{
	return hca->cmid[slot].bound ? hca->cmid[slot].port : 0;
}

static void cmid_put_addr(struct nldev *n, u32 type, const struct cm_addr *a)
{
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		u8 room[128]; /* struct __kernel_sockaddr_storage */
	} ss = { .room = { 0 } };

	if (a->family == AF_INET) {
		ss.in.sin_family = AF_INET;
		ss.in.sin_port = htons(a->port);
		memcpy(&ss.in.sin_addr, a->ip + 12, 4);
	} else if (a->family == AF_INET6) {
		ss.in6.sin6_family = AF_INET6;
		ss.in6.sin6_port = htons(a->port);
		ss.in6.sin6_scope_id = a->scope;
		memcpy(&ss.in6.sin6_addr, a->ip, 16);
	} else {
		return;
	}
	nlattr_put(n, type, &ss, sizeof(ss));
}

static void cmid_put(struct nldev *n, struct hca *hca, u32 slot)
{
	/* enum rdma_cm_state of the kernel */
	static const u8 states[] = {
		[CM_IDLE] = 0,		 [CM_ADDR_BOUND] = 7,  [CM_ADDR_RESOLVED] = 2,
		[CM_ROUTE_RESOLVED] = 4, [CM_CONNECT] = 5,     [CM_DISCONNECT] = 6,
		[CM_LISTEN] = 8,	 [CM_DESTROYING] = 10,
	};
	const struct hca_cmid *id = &hca->cmid[slot];
	u32 state = id->state;

	if (cmid_port(hca, slot))
		nlattr_put_u32(n, NLA_PORT_INDEX, id->port);
	if (id->qpn) {
		nlattr_put_u32(n, NLA_RES_LQPN, id->qpn);
		nlattr_put_u8(n, NLA_RES_TYPE, (u8)id->qp_type);
	}
	nlattr_put_u32(n, NLA_RES_PS, id->ps);
	nlattr_put_u8(n, NLA_RES_STATE, state < ARRAY_SIZE(states) ? states[state] : 0);
	cmid_put_addr(n, NLA_RES_SRC_ADDR, &id->src);
	cmid_put_addr(n, NLA_RES_DST_ADDR, &id->dst);
	nlattr_put_u32(n, NLA_RES_CM_IDN, slot + 1);
	object_put_pid(n, hca, id->client);
}

/* The kernel tracks no windows, and a null region is no object of its own. */
static bool mr_is_shown(const struct hca *hca, u32 slot, u32 dev)
{
	return hca->mr[slot].dev == dev && hca->mr[slot].kind == MR_USER;
}

static void mr_put(struct nldev *n, struct hca *hca, u32 slot)
{
	const struct hca_mr *mr = &hca->mr[slot];

	if (n->admin) {
		nlattr_put_u32(n, NLA_RES_RKEY, mr->key);
		nlattr_put_u32(n, NLA_RES_LKEY, mr->key);
	}
	nlattr_put_u64(n, NLA_RES_MRLEN, mr->len);
	nlattr_put_u32(n, NLA_RES_MRN, slot + 1);
	nlattr_put_u32(n, NLA_RES_PDN, mr->pd);
	object_put_pid(n, hca, mr->client);
}

static bool ctx_is_shown(const struct hca *hca, u32 slot, u32 dev)
{
	return hca->ref[slot].dev == dev && hca->ref[slot].kind == REF_CONTEXT;
}

static void ctx_put(struct nldev *n, struct hca *hca, u32 slot)
{
	nlattr_put_u32(n, NLA_RES_CTXN, slot + 1);
	object_put_pid(n, hca, hca->ref[slot].client);
}

static bool srq_is_shown(const struct hca *hca, u32 slot, u32 dev)
{
	return hca->srq[slot].dev == dev;
}

static void srq_put_range(struct nldev *n, u32 first, u32 last)
{
	u32 entry = nlattr_nest(n, NLA_RES_QP_ENTRY);

	if (first == last) {
		nlattr_put_u32(n, NLA_RES_LQPN, first);
	} else {
		nlattr_put_u32(n, NLA_MIN_RANGE, first);
		nlattr_put_u32(n, NLA_MAX_RANGE, last);
	}
	nlattr_nest_end(n, entry);
}

/* Its QPs, successive numbers as a range. */
static void srq_put_qps(struct nldev *n, const struct hca *hca, u32 slot)
{
	u32 i, end = min_u32(load_relaxed(&hca->tab[TAB_QP].high), HCA_MAX_QP);
	u32 table = nlattr_nest(n, NLA_RES_QP), first = 0, last = 0, ranges = 0;

	for (i = 0; i < end && ranges < SRQ_RANGES; i++) {
		const struct hca_qp *qp = &hca->qp[i];

		if (!load_acquire(&qp->client) || qp->srq != slot + 1)
			continue;
		if (first && qp->qpn == last + 1) {
			last++;
			continue;
		}
		if (first) {
			srq_put_range(n, first, last);
			ranges++;
		}
		first = last = qp->qpn;
	}
	if (first && ranges < SRQ_RANGES)
		srq_put_range(n, first, last);
	nlattr_nest_end(n, table);
}

static void srq_put(struct nldev *n, struct hca *hca, u32 slot)
{
	const struct hca_srq *srq = &hca->srq[slot];

	nlattr_put_u32(n, NLA_RES_SRQN, slot + 1);
	nlattr_put_u8(n, NLA_RES_TYPE, (u8)srq->type);
	nlattr_put_u32(n, NLA_RES_PDN, srq->pd);
	if (srq->cq)
		nlattr_put_u32(n, NLA_RES_CQN, srq->cq);
	srq_put_qps(n, hca, slot);
	object_put_pid(n, hca, srq->client);
}

static const struct nldev_kind kinds[NLO_COUNT] = {
	[NLO_PD] = { "pd", NLC_RES_PD_GET, TAB_PD, NLA_RES_PD, NLA_RES_PD_ENTRY, NLA_RES_PDN, true,
		     pd_is_shown, NULL, pd_put },
	[NLO_CQ] = { "cq", NLC_RES_CQ_GET, TAB_CQ, NLA_RES_CQ, NLA_RES_CQ_ENTRY, NLA_RES_CQN, true,
		     cq_is_shown, NULL, cq_put },
	[NLO_QP] = { "qp", NLC_RES_QP_GET, TAB_QP, NLA_RES_QP, NLA_RES_QP_ENTRY, NLA_RES_LQPN,
		     false, qp_is_shown, res_qp_port, qp_put },
	[NLO_CM_ID] = { "cm_id", NLC_RES_CM_ID_GET, TAB_CMID, NLA_RES_CM_ID, NLA_RES_CM_ID_ENTRY,
			NLA_RES_CM_IDN, false, cmid_is_shown, cmid_port, cmid_put },
	[NLO_MR] = { "mr", NLC_RES_MR_GET, TAB_MR, NLA_RES_MR, NLA_RES_MR_ENTRY, NLA_RES_MRN, true,
		     mr_is_shown, NULL, mr_put },
	[NLO_CTX] = { "ctx", NLC_RES_CTX_GET, TAB_REF, NLA_RES_CTX, NLA_RES_CTX_ENTRY, NLA_RES_CTXN,
		      true, ctx_is_shown, NULL, ctx_put },
	[NLO_SRQ] = { "srq", NLC_RES_SRQ_GET, TAB_SRQ, NLA_RES_SRQ, NLA_RES_SRQ_ENTRY, NLA_RES_SRQN,
		      true, srq_is_shown, NULL, srq_put },
};

const struct nldev_kind *nldev_kind_of(enum nldev_object i)
{
	return &kinds[i];
}
