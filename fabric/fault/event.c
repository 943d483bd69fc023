/* SPDX-License-Identifier: MIT */
/**
 * DOC: events that rules raise: on QPs, CQs, SRQs, WQs, devices and rdma_cm identifiers. Port
 * events are in port.c. emulator/verbs/raise.c does what accompanies each event.
 */
#include "emulator/cm/input.h"
#include "emulator/verbs/raise.h"
#include "emulator/qp.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/core/fabric.h"
#include "fabric/fault/keys.h"

static bool rule_is_on_owner(const struct fabric *f, const struct fault_rule *r, u32 owner, u32 dev)
{
	return owner && fault_rule_is_on_port(f, &r->where, dev, 0) &&
	       fault_rule_is_on_client(f, &r->where, owner - 1);
}

static bool rule_is_on_qp(const struct fabric *f, const struct fault_rule *r,
			  const struct hca_qp *qp)
{
	const struct fault_where *w = &r->where;

	return rule_is_on_owner(f, r, qp->client, qp->dev) && (!w->has_qpn || w->qpn == qp->qpn) &&
	       (!w->port || w->port == qp->attr.port_num);
}

/* The QP at one end of the packet, if the rule names it. */
static bool event_raise_end(struct fabric *f, const struct fault_rule *r,
			    const struct fault_end *end)
{
	struct hca_qp *qp = hca_qp_by_num(f->hca, end->qpn);

	return qp && qp->dev == end->dev && rule_is_on_qp(f, r, qp) &&
	       raise_qp(&f->engine, qp, r->what.event, r->id);
}

/* On the end that the rule names; if it names none, on the sender. */
static bool event_raise_ends(struct fabric *f, const struct fault_rule *r,
			     const struct fault_pkt *p)
{
	bool said = r->has & KEYS_WHO;
	bool done = false;

	if (r->where.dir != DIR_RX)
		done = event_raise_end(f, r, &p->src);
	if (r->where.dir == DIR_RX || (said && r->where.dir == DIR_ANY))
		done |= event_raise_end(f, r, &p->dst);
	return done;
}

static bool event_raise_qps(struct fabric *f, const struct fault_rule *r)
{
	bool done = false;
	u32 i;

	for (i = 0; i < f->hca->tab[TAB_QP].high; i++)
		if (rule_is_on_qp(f, r, &f->hca->qp[i]))
			done |= raise_qp(&f->engine, &f->hca->qp[i], r->what.event, r->id);
	return done;
}

static bool event_raise_cqs(struct fabric *f, const struct fault_rule *r)
{
	struct hca_cq *cq;
	bool done = false;
	u32 i;

	for (i = 0; i < f->hca->tab[TAB_CQ].high; i++) {
		cq = &f->hca->cq[i];
		if (rule_is_on_owner(f, r, cq->client, cq->dev) &&
		    (!r->what.cq || r->what.cq == i + 1))
			done |= raise_cq(&f->engine, cq, r->id);
	}
	return done;
}

static bool event_raise_srqs(struct fabric *f, const struct fault_rule *r)
{
	struct hca_srq *srq;
	bool done = false;
	u32 i;

	for (i = 0; i < f->hca->tab[TAB_SRQ].high; i++) {
		srq = &f->hca->srq[i];
		if (rule_is_on_owner(f, r, srq->client, srq->dev) &&
		    (!r->what.srq || r->what.srq == i + 1))
			done |= raise_srq(&f->engine, srq, r->what.event, r->id);
	}
	return done;
}

static bool event_raise_wqs(struct fabric *f, const struct fault_rule *r)
{
	bool done = false;
	u32 i;

	for (i = 0; i < f->hca->tab[TAB_WQ].high; i++)
		if (rule_is_on_owner(f, r, f->hca->wq[i].client, f->hca->wq[i].dev))
			done |= raise_wq(&f->engine, &f->hca->wq[i], r->id);
	return done;
}

static bool event_raise_devices(struct fabric *f, const struct fault_rule *r)
{
	const struct hca_ref *ref;
	bool done = false;
	u32 i;

	for (i = 1; i < f->hca->tab[TAB_REF].high; i++) {
		ref = &f->hca->ref[i];
		if (rule_is_on_owner(f, r, ref->client, ref->dev))
			done |= raise_context(&f->engine, ref, r->id);
	}
	return done;
}

static bool event_raise_cms(struct fabric *f, const struct fault_rule *r)
{
	struct hca_cmid *id;
	bool done = false;
	u32 i;

	for (i = 0; i < f->hca->tab[TAB_CMID].high; i++) {
		id = &f->hca->cmid[i];
		if (id->bound && rule_is_on_owner(f, r, id->client, id->bound - 1))
			done |= raise_cm(&f->engine, id, r->what.event - FAULT_EVENT_CM);
	}
	return done;
}

bool fault_object_event_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	switch (r->what.event) {
	case EV_CQ_ERR:
		return event_raise_cqs(f, r);
	case EV_SRQ_ERR:
	case EV_SRQ_LIMIT_REACHED:
		return event_raise_srqs(f, r);
	case EV_WQ_FATAL:
		return event_raise_wqs(f, r);
	case EV_DEVICE_FATAL:
		return event_raise_devices(f, r);
	}
	if (r->what.event >= FAULT_EVENT_CM)
		return event_raise_cms(f, r);
	return p ? event_raise_ends(f, r, p) : event_raise_qps(f, r);
}
