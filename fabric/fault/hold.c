/* SPDX-License-Identifier: MIT */
/**
 * DOC: completion queues that are held: `cq hold` of rdmaemu-faults(7), the fabric process's side.
 *
 * While there is such a rule, the process of a program asks at each moment from which on it may
 * withhold completions (fabric/proto/cq_hold.h). It asks without the token, as for calls.
 */
#include "fabric/core/fabric.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"

static bool hold_rule_is_on_cq(const struct fabric *f, const struct fault_rule *r, u32 client,
			       u32 cq)
{
	if (r->what.cq && r->what.cq != cq + 1)
		return false;
	/* The devices of programs on real ones are not known: fault_check_real(). */
	if (r->where.device[0] && !fault_rule_is_on_port(f, &r->where, f->hca->cq[cq].dev, 0))
		return false;
	return fault_rule_is_on_client(f, &r->where, client);
}

int fault_hold_request(struct fabric *f, const struct client *cl, struct proto_msg *m)
{
	struct faults *t = f->faults;
	struct fault_rule *r;
	u64 longest = 0;
	u32 i;

	if (!f->real && m->hold.cq >= HCA_MAX_CQ)
		return -EINVAL;
	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->on == FAULT_ON_CQ && hold_rule_is_on_cq(f, r, cl->id, m->hold.cq) &&
		    fault_rule_count(f, r, mix64(r->seen)) && r->what.delay_ns > longest)
			longest = r->what.delay_ns;
	}
	m->hold.ns = longest;
	return 0;
}
