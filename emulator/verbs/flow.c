/* SPDX-License-Identifier: MIT */
/**
 * DOC: flow rules: creation and destruction, ibv_create_flow(3). transport/flow.c matches frames.
 */
#include "emulator/engine.h"
#include "emulator/port.h"
#include "emulator/qp.h"
#include "emulator/tab.h"
#include "emulator/transport/eth.h"
#include "emulator/verbs/cmd.h"
#include "emulator/verbs/verbs.h"

#define MAX_PRIORITY 0xffffu

#define TAG_BITS 24u /* in a completion */

static bool flow_match_is_zero(const struct flow_match *m)
{
	static const struct flow_match none;

	return !memcmp(m, &none, sizeof(none));
}

/* Whether the mask has bits for a multicast destination only. */
static bool flow_is_multicast_only(const struct cmd_flow *c)
{
	struct flow_match m = c->mask;

	if (!(c->mask.dmac[0] & c->value.dmac[0] & 1) || !flow_match_is_zero(&c->inner_mask))
		return false;
	memset(m.dmac, 0, sizeof(m.dmac));
	m.l2 = 0;
	return flow_match_is_zero(&m);
}

static void flow_match_apply_mask(struct flow_match *value, const struct flow_match *mask)
{
	any64 *v = (any64 *)value;
	const any64 *m = (const any64 *)mask;
	u32 i;

	for (i = 0; i < sizeof(*value) / sizeof(u64); i++)
		v[i] &= m[i];
}

static int flow_create_check(struct hca *hca, u32 client, const struct cmd_flow *c)
{
	const struct hca_qp *qp = own_qp(hca, client, c->qp);
	const struct hca_ctr *ctr;

	if (!qp || qp->type != QPT_RAW_PACKET || !port_of(hca, qp->dev, c->port) ||
	    c->type > FLOW_SNIFFER || c->priority > MAX_PRIORITY ||
	    (c->flags & ~(u32)FLOW_DONT_TRAP))
		return -EINVAL;
	if ((c->flags & FLOW_DONT_TRAP) && c->type != FLOW_NORMAL)
		return -EINVAL;
	if (c->has_tag &&
	    (c->tag >> TAG_BITS || c->type == FLOW_ALL_DEFAULT || c->type == FLOW_MC_DEFAULT))
		return -EINVAL;
	if (!c->counters)
		return 0;
	ctr = tab_owned(hca, TAB_CTR, client, c->counters - 1);
	return ctr && ctr->n && ctr->dev == qp->dev ? 0 : -EINVAL;
}

static void flow_create_fill(struct hca *hca, struct hca_flow *r, const struct cmd_flow *c)
{
	u64 kind = c->type != FLOW_NORMAL      ? ORDER_DEFAULT
		   : flow_is_multicast_only(c) ? ORDER_MULTICAST
					       : ORDER_NORMAL;

	memset(r, 0, sizeof(*r));
	r->qpn = hca->qp[c->qp].qpn;
	r->port = c->port;
	r->type = c->type;
	r->priority = c->priority;
	r->flags = c->flags;
	r->counters = c->counters;
	r->tag = c->has_tag ? c->tag : 0;
	r->has_tag = !!c->has_tag;
	r->drop = !!c->drop;
	r->order = kind << 48 | (u64)c->priority << 32 | hca->flow_seq++;
	r->mask = c->mask;
	r->value = c->value;
	r->inner_mask = c->inner_mask;
	r->inner_value = c->inner_value;
	flow_match_apply_mask(&r->value, &r->mask);
	flow_match_apply_mask(&r->inner_value, &r->inner_mask);
	r->inner = !flow_match_is_zero(&r->inner_mask);
	if (r->counters)
		hca->ctr[r->counters - 1].refs++;
}

int cmd_create_flow(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	struct hca *hca = e->hca;
	const struct cmd_flow *c = &cmd->flow;
	int ret = flow_create_check(hca, client, c), i;
	u32 dev;

	if (ret)
		return ret;
	dev = hca->qp[c->qp].dev;
	i = tab_find(hca, TAB_FLOW, dev, lim_of(hca, dev)->max_flow);
	if (i < 0)
		return i;
	flow_create_fill(hca, &hca->flow[i], c);
	tab_own(hca, TAB_FLOW, (u32)i, client, dev);
	cmd->handle = (u32)i;
	return 0;
}

int cmd_destroy_flow(struct engine *e, u32 client, struct hca_cmd *cmd)
{
	const struct hca_flow *r = tab_owned(e->hca, TAB_FLOW, client, cmd->handle);

	if (!r)
		return -EINVAL;
	if (r->counters)
		e->hca->ctr[r->counters - 1].refs--;
	tab_free(e->hca, TAB_FLOW, cmd->handle);
	return 0;
}
