/* SPDX-License-Identifier: MIT */
/**
 * DOC: flow steering: rules, and which of them a frame matches, ibv_create_flow(3).
 *
 * Theory of operation
 * -------------------
 * A rule is a value and a mask for the fields of frame.h. A condition on the kind of a header ("the
 * frame has an IPv4 header") is a field as well, so matching compares words.
 *
 * Each port decides for itself. Its NORMAL rules are evaluated in the order of @order: priority,
 * then age; rules for nothing but a multicast address come after all others, the default rules
 * last. The first one that matches takes the frame. Rules equal to that one share the frame, each
 * of their queue pairs gets a copy, as on ConnectX: that is how several QPs receive one multicast
 * address. Rules that do not trap get a copy if they come before the one that does; sniffers always
 * do.
 */
#include "emulator/transport/eth.h"
#include "emulator/frame/frame.h"
static bool flow_has_fields(const struct flow_match *have, const struct flow_match *value,
			    const struct flow_match *mask)
{
	const any64 *h = (const any64 *)have, *v = (const any64 *)value, *m = (const any64 *)mask;
	u32 i;

	for (i = 0; i < sizeof(*have) / sizeof(u64); i++)
		if ((h[i] & m[i]) != v[i])
			return false;
	return true;
}

static bool flow_is_matching(const struct hca_flow *r, const struct frame *f)
{
	if (r->type == FLOW_MC_DEFAULT && !(f->outer.m.dmac[0] & 1))
		return false;
	return flow_has_fields(&f->outer.m, &r->value, &r->mask) &&
	       (!r->inner || flow_has_fields(&f->inner.m, &r->inner_value, &r->inner_mask));
}

static u32 flow_order_kind(const struct hca_flow *r)
{
	return (u32)(r->order >> 48);
}

static bool flow_is_trapping(const struct hca_flow *r)
{
	return r->client && r->type != FLOW_SNIFFER && !(r->flags & FLOW_DONT_TRAP);
}

bool flow_route(const struct hca *hca, const struct frame *f, struct flow_route *r)
{
	const struct hca_flow *rule;
	u32 i;

	if (!hca->tab[TAB_FLOW].n)
		return false;
	memset(r->best, 0, min_u32(hca->n_devs, HCA_MAX_DEVS) * sizeof(r->best[0]));
	for (i = 0; i < hca->tab[TAB_FLOW].high; i++) {
		u32 *best;

		rule = &hca->flow[i];
		if (!flow_is_trapping(rule))
			continue;
		best = &r->best[rule->dev][rule->port - 1];
		if ((!*best || rule->order < hca->flow[*best].order) && flow_is_matching(rule, f))
			*best = i;
	}
	return true;
}

/* Whether two rules match the same frames, with the same priority. */
static bool flow_is_same_rule(const struct hca_flow *a, const struct hca_flow *b)
{
	if (flow_order_kind(a) == ORDER_DEFAULT)
		return flow_order_kind(b) == ORDER_DEFAULT && a->priority == b->priority;
	return flow_order_kind(a) == flow_order_kind(b) && a->priority == b->priority &&
	       !memcmp(&a->value, &b->value,
		       offsetof(struct hca_flow, inner_mask) + sizeof(a->inner_mask) -
			       offsetof(struct hca_flow, value));
}

/* Whether the queue pair has an equal rule before @i: it gets one copy. */
static bool flow_is_repeated(const struct hca *hca, const struct hca_flow *r, u32 i)
{
	u32 j;

	for (j = 0; j < i; j++)
		if (hca->flow[j].qpn == r->qpn && hca->flow[j].port == r->port &&
		    flow_is_trapping(&hca->flow[j]) && flow_is_same_rule(r, &hca->flow[j]))
			return true;
	return false;
}

bool flow_is_receiver(const struct hca *hca, const struct frame *f, const struct flow_route *r,
		      u32 i)
{
	const struct hca_flow *rule = &hca->flow[i], *best;
	u32 b;

	if (!rule->client)
		return false;
	b = r->best[rule->dev][rule->port - 1];
	best = &hca->flow[b];
	if (i == b)
		return true;
	if (rule->type == FLOW_SNIFFER)
		return flow_is_matching(rule, f);
	if (rule->flags & FLOW_DONT_TRAP)
		return (!b || flow_order_kind(best) > flow_order_kind(rule) ||
			best->priority >= rule->priority) &&
		       flow_is_matching(rule, f);
	return b && !best->drop && !rule->drop && best->qpn != rule->qpn &&
	       flow_is_same_rule(best, rule) && flow_is_matching(rule, f) &&
	       !flow_is_repeated(hca, rule, i);
}
