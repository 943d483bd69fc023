/* SPDX-License-Identifier: MIT */
/**
 * DOC: device limits that rules lower. Queries report them, and requests beyond them are refused as
 * on a device with these limits; existing objects stay.
 *
 * Programs on real devices count their objects themselves, and ask for the limits:
 * libtap/users/limit_faults.c.
 *
 * The devices' own limits are saved when the first such rule is added. After each change the limits
 * of all devices are computed again from those and from the rules in force.
 */
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/parse.h"
#include "fabric/fault/table.h"
#include "fabric/core/fabric.h"
#include "fabric/fault/capability.h"

#include <stdlib.h>

static bool limit_is_on_dev(const struct fabric *f, const struct fault_rule *r, u32 dev)
{
	return r->id && r->act == FA_LIMIT && r->phase == 1 &&
	       fault_rule_is_on_port(f, &r->where, dev, 0);
}

u32 fault_limit_rule(const struct fabric *f)
{
	const struct faults *t = f->faults;
	u32 i;

	for (i = 0; i < t->high; i++)
		if (t->rule[i].id && t->rule[i].act == FA_LIMIT && t->rule[i].phase == 1)
			return t->rule[i].id;
	return 0;
}

/* Devices of programs on real ones are not told apart: fault_check_real(). */
int fault_limits_request(struct fabric *f, struct proto_msg *m)
{
	struct faults *t = f->faults;
	struct fault_rule *r;
	u32 i, k;

	if (!f->real)
		return -EOPNOTSUPP;
	memset(&m->limits, 0xff, sizeof(m->limits));
	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (!r->id || r->act != FA_LIMIT || r->phase != 1)
			continue;
		r->hits = 1;
		for (k = 0; k < r->what.n_limits; k++)
			fault_limit_shrink(&m->limits, r->what.limit[k].name,
					   r->what.limit[k].value);
	}
	return 0;
}

/* Lower *l by all rules in force on the device. */
static void limit_apply_rules(struct fabric *f, u32 dev, struct hca_limits *l)
{
	struct faults *t = f->faults;
	struct fault_rule *r;
	u32 i, k;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		for (k = 0; limit_is_on_dev(f, r, dev) && k < r->what.n_limits; k++)
			if (fault_limit_shrink(l, r->what.limit[k].name, r->what.limit[k].value))
				r->hits = r->hits ? r->hits : 1;
	}
}

void fault_limit_update(struct fabric *f)
{
	struct hca *hca = f->hca;
	struct hca_limits l;
	u32 d;

	if (f->real)
		fault_call_update_masks(f, NULL);
	if (!f->faults->own_limits)
		return;
	for (d = f->faults->n_own_limits; d < hca->n_devs; d++)
		f->faults->own_limits[d] = hca->dev[d].lim;
	f->faults->n_own_limits = hca->n_devs;
	for (d = 0; d < hca->n_devs; d++) {
		if (hca->dev[d].member)
			continue;
		l = f->faults->own_limits[d];
		limit_apply_rules(f, d, &l);
		hca->dev[d].lim = l;
	}
}

static bool limit_is_lower(const struct fabric *f, const struct fault_rule *r, u32 dev)
{
	struct hca_limits l =
		dev < f->faults->n_own_limits ? f->faults->own_limits[dev] : f->hca->dev[dev].lim;
	bool lower = false;
	u32 k;

	for (k = 0; k < r->what.n_limits; k++)
		lower |= fault_limit_shrink(&l, r->what.limit[k].name, r->what.limit[k].value);
	return lower;
}

int fault_limit_check(const struct fabric *f, const struct fault_rule *r, struct fault_bad *bad)
{
	bool any = false;
	u32 d;

	for (d = 0; d < f->hca->n_devs; d++) {
		if (f->hca->dev[d].member || !fault_rule_is_on_port(f, &r->where, d, 0))
			continue;
		if (limit_is_lower(f, r, d))
			return 0;
		any = true;
	}
	return any ? fault_refuse(
			     bad, r->what.limit[0].name,
			     "a value below the limit that the device has: rules only lower it")
		   : 0;
}

void fault_limit_added(struct fabric *f, struct fault_rule *r)
{
	if (!f->faults->own_limits)
		f->faults->own_limits = calloc(HCA_MAX_DEVS, sizeof(*f->faults->own_limits));
	if (!f->faults->own_limits)
		fabric_note(f, "fault %s: out of memory", r->name);
	fault_limit_update(f);
}

void fault_limit_removed(struct fabric *f, struct fault_rule *r)
{
	r->phase = 2;
	fault_limit_update(f);
}
