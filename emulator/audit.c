/* SPDX-License-Identifier: MIT */
/**
 * DOC: the audit of HCA memory.
 *
 * Theory of operation
 * -------------------
 * One pass over the tables, from the referrers to what they refer to. Each live object is checked by
 * itself (owner, ranges, indices, states) and counts itself with its owner, with its table and with
 * each object that it refers to, in scratch memory of the audit's own. In the end what was counted
 * must be what the objects' own counts say: a reference too few is a use after free to come, one
 * too many an EBUSY that nobody can explain.
 *
 * It is meant to be run after each step of a long random walk: its cost goes by the tables' high
 * marks, not by their sizes.
 */
#include "emulator/audit.h"

#include "emulator/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What the requester may have under way at most: its window, and the burst that went beyond it. */
#define PSN_UNDER_WAY ((1 << 22) + (1 << 20) / 256)

struct owned {
	u32 n_qp, n_cq, n_mr, n_pd;
};

/**
 * struct audit - one audit.
 * @owned: by client
 * @pd_refs, @cq_refs: by handle
 */
struct audit {
	const struct hca *hca;
	char *why;
	size_t size;
	struct owned *owned;
	u32 *pd_refs;
	u32 *cq_refs;
	struct owned all;
};

static int __attribute__((format(printf, 2, 3))) flaw(const struct audit *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->why, a->size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

#define MUST(cond, ...)                                                                            \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return flaw(a, __VA_ARGS__);                                               \
	} while (0)

static bool power_of_two(u32 n)
{
	return n && !(n & (n - 1));
}

/* The owner of an object, index + 1, is a client that has a right to objects. */
static bool owner_ok(const struct audit *a, u32 owner)
{
	return owner <= HCA_MAX_CLIENTS && a->hca->client[owner - 1].state == CLIENT_LIVE;
}

static int audit_hca(const struct audit *a)
{
	const struct hca *hca = a->hca;
	const struct hca_commit *c = &hca->commit;

	MUST(hca->magic == HCA_MAGIC && hca->version == HCA_VERSION && hca->size == sizeof(*hca),
	     "header: magic %#x version %u", hca->magic, hca->version);
	MUST(!c->valid && !c->event_cq, "commit: pending between steps: valid %u, event of CQ %u",
	     c->valid, c->event_cq);
	MUST(!hca->cur_qp, "QP %u is said to be running", hca->cur_qp - 1);
	MUST(hca->n_devs <= HCA_MAX_DEVS, "%u devices", hca->n_devs);
	MUST(hca->serve_from < HCA_MAX_CLIENTS, "client %u is to be served next", hca->serve_from);
	MUST(hca->qp_cursor >= FIRST_QP && hca->qp_cursor < HCA_MAX_QP, "QP cursor %u",
	     hca->qp_cursor);
	MUST(hca->cq_cursor && hca->cq_cursor < HCA_MAX_CQ, "CQ cursor %u", hca->cq_cursor);
	MUST(hca->pd_cursor && hca->pd_cursor < HCA_MAX_PD, "PD cursor %u", hca->pd_cursor);
	MUST(hca->mr_cursor && hca->mr_cursor < HCA_MAX_MR, "MR cursor %u", hca->mr_cursor);
	MUST(hca->qp_high <= HCA_MAX_QP && hca->cq_high <= HCA_MAX_CQ &&
		     hca->pd_high <= HCA_MAX_PD && hca->mr_high <= HCA_MAX_MR,
	     "high marks: QP %u CQ %u PD %u MR %u", hca->qp_high, hca->cq_high, hca->pd_high,
	     hca->mr_high);
	return 0;
}

static int audit_pd(struct audit *a, u32 i)
{
	const struct hca_pd *pd = &a->hca->pd[i];

	MUST(i && owner_ok(a, pd->client), "PD %u: owner %u", i, pd->client - 1);
	MUST(pd->dev < a->hca->n_devs, "PD %u: device %u", i, pd->dev);
	a->owned[pd->client - 1].n_pd++;
	a->all.n_pd++;
	return 0;
}

/* Whether @owner may use the PD, which then counts one referrer more. */
static bool pd_used(struct audit *a, u32 pd, u32 owner)
{
	if (!pd || pd >= a->hca->pd_high || a->hca->pd[pd].client != owner)
		return false;
	a->pd_refs[pd]++;
	return true;
}

static bool cq_used(struct audit *a, u32 cq, u32 owner)
{
	if (!cq || cq >= a->hca->cq_high || a->hca->cq[cq].client != owner)
		return false;
	a->cq_refs[cq]++;
	return true;
}

static int audit_mr(struct audit *a, u32 i)
{
	const struct hca_mr *mr = &a->hca->mr[i];

	MUST(i && owner_ok(a, mr->client), "MR %u: owner %u", i, mr->client - 1);
	MUST(pd_used(a, mr->pd, mr->client), "MR %u: PD %u is not its owner's", i, mr->pd);
	MUST(!mr->key || mr->key >> 8 == i, "MR %u: key %#x", i, mr->key);
	MUST(mr->addr + mr->len >= mr->addr && mr->iova + mr->len >= mr->iova,
	     "MR %u: range %#llx+%#llx wraps", i, (unsigned long long)mr->addr,
	     (unsigned long long)mr->len);
	a->owned[mr->client - 1].n_mr++;
	a->all.n_mr++;
	return 0;
}

static int audit_cq(struct audit *a, u32 i)
{
	const struct hca_cq *cq = &a->hca->cq[i];

	MUST(i && owner_ok(a, cq->client), "CQ %u: owner %u", i, cq->client - 1);
	MUST(cq->dev < a->hca->n_devs, "CQ %u: device %u", i, cq->dev);
	MUST(power_of_two(cq->depth) && cq->depth <= LIM_CQE + 1, "CQ %u: depth %u", i, cq->depth);
	MUST(seg_range_ok(cq->ring, CQ_HDR + (u64)cq->depth * sizeof(struct cqe)),
	     "CQ %u: ring at %#llx", i, (unsigned long long)cq->ring);
	MUST(cq->prod - cq->cons <= cq->depth, "CQ %u: %u entries in %u", i, cq->prod - cq->cons,
	     cq->depth);
	MUST(cq->chan <= SEG_MAX_CHANS && cq->async_chan < SEG_MAX_CHANS, "CQ %u: channels %u, %u",
	     i, cq->chan, cq->async_chan);
	a->owned[cq->client - 1].n_cq++;
	a->all.n_cq++;
	return 0;
}

static int audit_queue(const struct audit *a, u32 i, const char *which, u64 ring, u32 depth,
		       u32 stride, u32 want_stride)
{
	MUST(!depth || power_of_two(depth), "QP %#x: %s depth %u", i, which, depth);
	MUST(depth <= LIM_QP_WR, "QP %#x: %s depth %u", i, which, depth);
	MUST(stride == want_stride, "QP %#x: %s stride %u", i, which, stride);
	MUST(!depth || seg_range_ok(ring, sizeof(struct wq_ctl) + (u64)depth * stride),
	     "QP %#x: %s ring at %#llx", i, which, (unsigned long long)ring);
	return 0;
}

/* A QP whose timer is armed is found by it, and the earliest deadline is known. */
static int audit_timer(const struct audit *a, u32 i)
{
	const struct hca *hca = a->hca;
	const struct hca_qp *qp = &hca->qp[i];
	const struct req_state *s = &qp->req;
	u32 client = qp->client - 1;
	bool rung = hca->pending_clients[client / 64] & BIT64(client % 64);
	bool waits = (s->flags & REQ_RNR_WAIT) || (s->next_psn != s->una_psn && qp->attr.timeout);

	if (qp->deadline) {
		MUST(hca->timer_bits[i / 64] & BIT64(i % 64), "QP %#x: armed without a bit", i);
		MUST(hca->timer_sum[i / 64 / 64] & BIT64(i / 64 % 64),
		     "QP %#x: armed without a bit in the summary", i);
		MUST(hca->next_deadline <= qp->deadline, "QP %#x: due before the earliest deadline",
		     i);
		return 0;
	}
	/* One whose doorbell rings is armed when it is served. */
	MUST(rung || qp->stalled || !waits || (qp->state != QPS_RTS && qp->state != QPS_SQD),
	     "QP %#x: waits without a timer", i);
	return 0;
}

static int audit_req(const struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	const struct req_state *s = &qp->req;
	static const u32 known = REQ_RNR_WAIT | REQ_DRAINED | REQ_RESENT;

	MUST(s->next - s->una <= qp->sq_depth, "QP %#x: WQEs [%u, %u) in %u", i, s->una, s->next,
	     qp->sq_depth);
	MUST(!((s->next_psn | s->una_psn | s->una_first) & ~IB_PSN_MASK),
	     "QP %#x: PSNs %#x %#x %#x", i, s->next_psn, s->una_psn, s->una_first);
	MUST(psn_diff(s->una_psn, s->una_first) >= 0 && psn_diff(s->next_psn, s->una_psn) >= 0 &&
		     psn_diff(s->next_psn, s->una_psn) <= PSN_UNDER_WAY,
	     "QP %#x: PSNs out of order: first %#x una %#x next %#x", i, s->una_first, s->una_psn,
	     s->next_psn);
	MUST(s->next_off <= LIM_MSG, "QP %#x: %llu bytes of a message sent", i,
	     (unsigned long long)s->next_off);
	MUST(s->una != s->next || s->next_off || s->next_psn == s->una_psn,
	     "QP %#x: packets under way, but no WQE", i);
	MUST(s->rd_out <= LIM_RD_ATOM, "QP %#x: %u READs outstanding", i, s->rd_out);
	MUST(s->retry <= 7 && s->rnr_retry <= 7, "QP %#x: retries left: %u, %u", i, s->retry,
	     s->rnr_retry);
	MUST(!(s->flags & ~known), "QP %#x: requester flags %#x", i, s->flags);
	return 0;
}

static int audit_resp(const struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	const struct resp_state *s = &qp->resp;
	static const u32 known = RESP_NAK_SENT | RESP_IN_MSG | RESP_COMM_EST;
	u32 k;

	MUST(!((s->epsn | s->msn) & ~IB_PSN_MASK), "QP %#x: expects PSN %#x, MSN %#x", i, s->epsn,
	     s->msn);
	MUST(!(s->flags & ~known), "QP %#x: responder flags %#x", i, s->flags);
	MUST(!(s->flags & RESP_IN_MSG) || s->op == BOP_SEND || s->op == BOP_WRITE,
	     "QP %#x: in a message of kind %u", i, s->op);
	MUST(!(s->flags & RESP_IN_MSG) || s->op != BOP_WRITE || s->off <= s->len,
	     "QP %#x: %u of %u bytes written", i, s->off, s->len);
	for (k = 0; k < LIM_RD_ATOM; k++) {
		const struct atomic_res *res = &qp->at[k];

		/* The latest may have been executed, but not committed, when its executor died. */
		MUST(!res->nth || ((res->nth - 1) % LIM_RD_ATOM == k && res->nth <= s->at_head + 1),
		     "QP %#x: atomic result %u is the %u-th of %u", i, k, res->nth, s->at_head);
	}
	return 0;
}

static int audit_idle(const struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	const struct req_state *s = &qp->req;

	MUST(!s->next && !s->una && !qp->resp.rq_cons && !qp->deadline && !qp->stalled,
	     "QP %#x: in %s with WQEs taken", i, ib_qp_state_name(qp->state));
	return 0;
}

static int audit_qp(struct audit *a, u32 i)
{
	const struct hca_qp *qp = &a->hca->qp[i];
	int ret;

	MUST(i >= FIRST_QP && owner_ok(a, qp->client), "QP %#x: owner %u", i, qp->client - 1);
	MUST((qp->qpn & (HCA_MAX_QP - 1)) == i && qp->qpn <= IB_QPN_MASK, "QP %#x: number %#x", i,
	     qp->qpn);
	MUST(qp->dev < a->hca->n_devs, "QP %#x: device %u", i, qp->dev);
	MUST(qp->async_chan < SEG_MAX_CHANS, "QP %#x: channel %u", i, qp->async_chan);
	MUST(pd_used(a, qp->pd, qp->client), "QP %#x: PD %u is not its owner's", i, qp->pd);
	MUST(cq_used(a, qp->scq, qp->client), "QP %#x: send CQ %u is not its owner's", i, qp->scq);
	MUST(cq_used(a, qp->rcq, qp->client), "QP %#x: receive CQ %u is not its owner's", i,
	     qp->rcq);
	MUST(qp->max_sge <= LIM_SGE && qp->max_rsge <= LIM_SGE && qp->max_inline <= LIM_INLINE,
	     "QP %#x: %u and %u entries, %u inline", i, qp->max_sge, qp->max_rsge, qp->max_inline);
	ret = audit_queue(a, i, "send", qp->sq_ring, qp->sq_depth, qp->sq_stride,
			  sq_stride(qp->max_sge, qp->max_inline));
	if (!ret)
		ret = audit_queue(a, i, "receive", qp->rq_ring, qp->rq_depth, qp->rq_stride,
				  rq_stride(qp->max_rsge));
	MUST(ret || qp->state < QPS_COUNT, "QP %#x: state %u", i, qp->state);
	if (!ret && qp->state <= QPS_INIT)
		ret = audit_idle(a, i);
	if (!ret && qp->state >= QPS_RTR && qp->state < QPS_ERR &&
	    (qp->mtu < 256 || qp->mtu > 4096))
		ret = flaw(a, "QP %#x: MTU %u", i, qp->mtu);
	if (!ret)
		ret = audit_req(a, i);
	if (!ret)
		ret = audit_resp(a, i);
	if (!ret)
		ret = audit_timer(a, i);
	a->owned[qp->client - 1].n_qp++;
	a->all.n_qp++;
	return ret;
}

static int audit_refs(const struct audit *a)
{
	const struct hca *hca = a->hca;
	u32 i;

	for (i = 0; i < hca->pd_high; i++)
		MUST(!hca->pd[i].client || hca->pd[i].refs == a->pd_refs[i],
		     "PD %u: %u references, %u referrers", i, hca->pd[i].refs, a->pd_refs[i]);
	for (i = 0; i < hca->cq_high; i++)
		MUST(!hca->cq[i].client || hca->cq[i].refs == a->cq_refs[i],
		     "CQ %u: %u references, %u referrers", i, hca->cq[i].refs, a->cq_refs[i]);
	return 0;
}

static int audit_counts(const struct audit *a)
{
	const struct hca *hca = a->hca;
	u32 i, n = 0;

	MUST(hca->n_qp == a->all.n_qp && hca->n_cq == a->all.n_cq && hca->n_mr == a->all.n_mr &&
		     hca->n_pd == a->all.n_pd,
	     "counts: QP %u (%u) CQ %u (%u) MR %u (%u) PD %u (%u)", hca->n_qp, a->all.n_qp,
	     hca->n_cq, a->all.n_cq, hca->n_mr, a->all.n_mr, hca->n_pd, a->all.n_pd);
	/* Low slots are used first: the rest is looked at only when some are missing. */
	for (i = 0; i < HCA_MAX_CLIENTS && n < hca->n_clients; i++) {
		const struct hca_client *c = &hca->client[i];
		const struct owned *o = &a->owned[i];

		n += c->state != CLIENT_FREE;
		MUST(c->state != CLIENT_LIVE || c->gen, "client %u: generation 0", i);
		MUST(c->n_qp == o->n_qp && c->n_cq == o->n_cq && c->n_mr == o->n_mr &&
			     c->n_pd == o->n_pd,
		     "client %u: counts QP %u (%u) CQ %u (%u) MR %u (%u) PD %u (%u)", i, c->n_qp,
		     o->n_qp, c->n_cq, o->n_cq, c->n_mr, o->n_mr, c->n_pd, o->n_pd);
	}
	MUST(n == hca->n_clients, "%u clients, %u counted", n, hca->n_clients);
	return 0;
}

/* PDs first, QPs last: objects come after what they refer to. */
static int audit_tables(struct audit *a)
{
	const struct hca *hca = a->hca;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < hca->pd_high; i++)
		if (hca->pd[i].client)
			ret = audit_pd(a, i);
	for (i = 0; !ret && i < hca->cq_high; i++)
		if (hca->cq[i].client)
			ret = audit_cq(a, i);
	for (i = 0; !ret && i < hca->mr_high; i++)
		if (hca->mr[i].client)
			ret = audit_mr(a, i);
	for (i = 0; !ret && i < hca->qp_high; i++)
		if (hca->qp[i].client)
			ret = audit_qp(a, i);
	if (!ret)
		ret = audit_refs(a);
	return ret ? ret : audit_counts(a);
}

int hca_audit(const struct hca *hca, char *why, size_t size)
{
	struct audit a = { .hca = hca, .why = why, .size = size };
	int ret;

	if (size)
		*why = 0;
	ret = audit_hca(&a);
	if (ret)
		return ret;
	a.owned = calloc(HCA_MAX_CLIENTS, sizeof(*a.owned));
	a.pd_refs = calloc(hca->pd_high + 1, sizeof(*a.pd_refs));
	a.cq_refs = calloc(hca->cq_high + 1, sizeof(*a.cq_refs));
	ret = a.owned && a.pd_refs && a.cq_refs ? audit_tables(&a) : -ENOMEM;
	free(a.owned);
	free(a.pd_refs);
	free(a.cq_refs);
	return ret;
}
