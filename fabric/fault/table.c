/* SPDX-License-Identifier: MIT */
/* The table of fault rules: adds, removes and carries them out when they are due. See rule.h. */
#include "emulator/transport/path.h"
#include "fabric/link/link.h"
#include "fabric/nodes/nodes.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"

#include <stdio.h>
#include <stdlib.h>

int fault_table_make(struct fabric *f)
{
	f->faults = calloc(1, sizeof(*f->faults));
	if (!f->faults)
		return -ENOMEM;
	f->faults->due = FAULT_NEVER;
	return 0;
}

struct fault_rule *fault_rule_find(struct faults *t, const char *name, u32 id)
{
	u32 i;

	for (i = 0; i < t->high; i++)
		if (t->rule[i].id &&
		    (name[0] ? !strcmp(t->rule[i].name, name) : t->rule[i].id == id))
			return &t->rule[i];
	return NULL;
}

const char *fault_rule_text(struct fabric *f, u32 rule)
{
	static char text[FAULT_NAME + FAULT_TEXT + FAULT_PLACE + 16];
	const struct fault_rule *r = fault_rule_find(f->faults, "", rule);
	u32 i;

	/* A removed rule stays in its slot until another rule needs that. */
	for (i = 0; !r && rule && i < f->faults->high; i++)
		if (f->faults->rule[i].old_id == rule)
			r = &f->faults->rule[i];
	if (!r)
		snprintf(text, sizeof(text), "%u, which was removed", rule);
	else
		snprintf(text, sizeof(text), "%s: %s%s%s%s", r->name, r->text,
			 r->place[0] ? " (" : "", r->place, r->place[0] ? ")" : "");
	return text;
}

/* --- ports that rules are about --------------------------------------------------------------- */

/* Whether the rule may match packets of that port, or work requests sent there. */
static bool rule_is_about_port(const struct fabric *f, const struct fault_rule *r, u32 dev,
			       u32 port)
{
	const struct fault_where *w = &r->where;

	if (r->act == FA_PARTITION || r->triggered || w->link[0] || w->peer[0])
		return true;
	if (r->on != FAULT_ON_WIRE && r->on != FAULT_ON_WR)
		return false;
	return fault_rule_is_on_port(f, w, dev, port);
}

/* Return: the number of ports whose mark has changed. */
static u32 fault_mark_ports(struct fabric *f)
{
	const struct faults *t = f->faults;
	struct hca *hca = f->hca;
	u32 d, p, i, look, changed = 0;

	for (d = 0; d < hca->n_devs; d++)
		for (p = 1; p <= hca->dev[d].n_ports && !hca->dev[d].member; p++) {
			for (look = i = 0; i < t->high && !look; i++)
				look = t->rule[i].id && rule_is_about_port(f, &t->rule[i], d, p);
			changed += hca->dev[d].port[p].fault != look;
			hca->dev[d].port[p].fault = look;
		}
	return changed;
}

static void fault_update_ports(struct fabric *f)
{
	if (fault_mark_ports(f) || f->faults->stale)
		relay_update_paths(f->hca);
	f->faults->stale = false;
}

void fault_node_added(struct fabric *f)
{
	struct faults *t = f->faults;
	u32 i, n = t && t->n ? fault_mark_ports(f) : 0;

	/* No QP has a path there yet, so the recount can wait for the token. */
	if (n) {
		store_relaxed(&f->hca->n_via, f->hca->n_via + n);
		t->stale = true;
	}
	if (t)
		fault_limit_update(f);
	/* Rules that were due on a node that did not exist yet are carried out now. */
	for (i = 0; t && i < t->high; i++)
		if (t->rule[i].id && t->rule[i].waits)
			fault_rule_set_due(f, &t->rule[i], fabric_engine_now(f));
}

static void fault_count_rules(struct faults *t)
{
	const struct fault_rule *r;
	u32 i;

	t->n = 0;
	t->wire = false;
	memset(t->n_on, 0, sizeof(t->n_on));
	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (!r->id)
			continue;
		t->n++;
		t->n_on[r->on]++;
		t->wire |= r->on == FAULT_ON_WIRE || r->act == FA_PARTITION || r->triggered ||
			   (r->act == FA_LINK && r->where.link[0]);
	}
}

/* --- time ------------------------------------------------------------------------------------- */

void fault_rule_set_due(struct fabric *f, struct fault_rule *r, u64 at)
{
	r->due = at;
	if (at < f->faults->due)
		f->faults->due = at;
}

bool fault_table_is_due(const struct fabric *f)
{
	const struct faults *t = f->faults;

	return t->n_jobs || t->n_calls || t->stale || t->has_ended ||
	       (t->due != FAULT_NEVER && fabric_ns(f) >= t->due);
}

u64 fault_table_next_due(const struct fabric *f)
{
	return f->faults->due;
}

/* A FAULT_ON_STATE rule: its window opens, and at the second call closes. */
static void rule_turn_window(struct fabric *f, struct fault_rule *r)
{
	const struct fault_action *b = &fault_actions[r->act];

	if (r->phase++) {
		if (b->removed)
			b->removed(f, r);
		return;
	}
	if (b->added)
		b->added(f, r);
	if (r->until != FAULT_NEVER)
		fault_rule_set_due(f, r, r->until);
}

static void rule_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	bool done = fault_actions[r->act].fire(f, r, p);

	/* A link rule whose node does not exist yet is carried out when the node comes. */
	r->waits = !done && !p && r->act == FA_LINK && !r->phase;
	if (done && !p)
		r->hits++;
}

static void fault_run_due(struct fabric *f)
{
	struct faults *t = f->faults;
	u64 now = fabric_engine_now(f);
	u32 i;

	if (now < t->due)
		return;
	t->due = FAULT_NEVER;
	for (i = 0; i < t->high; i++) {
		struct fault_rule *r = &t->rule[i];

		if (r->id && r->due <= now) {
			r->due = FAULT_NEVER;
			if (r->on == FAULT_ON_STATE)
				rule_turn_window(f, r);
			else
				rule_fire(f, r, NULL);
		}
		if (r->id && r->due < t->due)
			t->due = r->due;
	}
}

void fault_trigger_rules(struct fabric *f, const struct fault_pkt *p)
{
	struct faults *t = f->faults;
	struct fault_rule *r;
	u32 i;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->triggered && fault_rule_is_on_pkt(f, r, p) &&
		    fault_rule_count(f, r, fault_pkt_key(p)))
			rule_fire(f, r, p);
	}
}

/* --- adding and removing ---------------------------------------------------------------------- */

void fault_rule_remove(struct fabric *f, struct fault_rule *r)
{
	const struct fault_action *b = &fault_actions[r->act];

	/* Before its window opens the rule has done nothing; after it closes all is undone. */
	if (b->removed && (r->on != FAULT_ON_STATE || r->phase == 1))
		b->removed(f, r);
	fabric_note(f, "fault %s removed: %s: %llu hits", r->name, r->text,
		    (unsigned long long)r->hits);
	r->old_id = r->id;
	r->id = 0;
	r->due = FAULT_NEVER;
}

static void rule_set_window(const struct fabric *f, struct fault_rule *r)
{
	const struct fault_when *w = &r->when;

	r->from = w->has_at ? f->started + w->at_ns : w->for_ns ? fabric_engine_now(f) : 0;
	r->until = w->for_ns ? r->from + w->for_ns : FAULT_NEVER;
	/* For an action that happens once, for= is its duration, not the end of its window. */
	if (r->on == FAULT_ON_TIME)
		r->until = FAULT_NEVER;
	if (r->triggered && !w->count)
		r->when.count = 1;
}

struct fault_rule *fault_rule_insert(struct fabric *f, const struct fault_rule *new)
{
	struct faults *t = f->faults;
	struct fault_rule *r;
	u32 i;

	for (i = 0; i < t->high && t->rule[i].id; i++)
		;
	t->high = i == t->high ? i + 1 : t->high;
	r = &t->rule[i];
	*r = *new;
	r->id = ++t->last_id;
	if (!r->name[0])
		snprintf(r->name, sizeof(r->name), "f%u", r->id);
	rule_set_window(f, r);
	return r;
}

void fault_rule_add(struct fabric *f, const struct fault_rule *new)
{
	struct fault_rule *r = fault_rule_insert(f, new);

	if (r->on == FAULT_ON_STATE || (r->on == FAULT_ON_TIME && !r->triggered))
		fault_rule_set_due(f, r, r->from ? r->from : fabric_engine_now(f));
	else if (fault_actions[r->act].added)
		fault_actions[r->act].added(f, r);
	fabric_note(f, "fault %s added: %s%s%s", r->name, r->text, r->place[0] ? ", " : "",
		    r->place);
}

void fault_table_changed(struct fabric *f)
{
	fault_count_rules(f->faults);
	link_enable_rules(f, f->faults->wire);
	fault_update_ports(f);
	fault_call_update_masks(f, NULL);
	fault_run_due(f);
}

void fault_table_work(struct fabric *f)
{
	struct faults *t = f->faults;

	if (t->stale)
		fault_update_ports(f);
	fault_call_flush_journal(f);
	fault_run_due(f);
	if (fault_scenario_remove_ended(f))
		fault_table_changed(f);
	fault_requests_serve(f);
}
