/* SPDX-License-Identifier: MIT */
/**
 * DOC: faults of links and ports: link down|up|flap, partition, heal, and port events.
 *
 * A port's link goes down as with `rdmaemu port down`: the port raises its event and drops packets
 * in both directions. A link between two nodes, and a partition, drop packets silently: tx.c asks
 * fault_match_cut() about each packet.
 */
#include "emulator/verbs/port.h"
#include "fabric/nodes/ports.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"

#include <stdio.h>

/** fault_rule.state of a link rule: the rule has taken the link down. */
#define LINK_IS_DOWN 1u

/* NODE_NAME names the host's node, even if that has another name. */
static void rule_name_ports(const struct fabric *f, const struct fault_where *w,
			    struct proto_port *q)
{
	const char *node = w->link[0] ? w->link : w->node;

	if (!strcmp(node, NODE_NAME))
		node = f->hca->node[0].name;
	snprintf(q->node, sizeof(q->node), "%.*s", (int)NODE_NAME_MAX, node);
	snprintf(q->dev, sizeof(q->dev), "%s", w->device);
	q->port = w->port;
}

static bool rule_is_node_pair(const struct fabric *f, const struct fault_rule *r)
{
	return r->where.link[0] && strcmp(r->where.link, NODE_NAME) != 0 &&
	       hca_node_find(f->hca, r->where.link) < 0;
}

/* Return: whether the link exists. */
static bool rule_set_link(struct fabric *f, struct fault_rule *r, bool down)
{
	struct proto_port q = { .what = PORT_CHANGE_STATE,
				.value = down ? PORT_DOWN : PORT_ACTIVE };

	r->state = down ? LINK_IS_DOWN : 0;
	if (rule_is_node_pair(f, r))
		return strchr(r->where.link, '-');
	rule_name_ports(f, &r->where, &q);
	if (fabric_port_change(f, &q))
		return false;
	fabric_ports_publish(f);
	return true;
}

bool fault_link_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	u64 now = fabric_engine_now(f), end;
	bool first = !r->phase, down, done;

	(void)p;
	if (first)
		r->until = r->when.for_ns ? now + r->when.for_ns : FAULT_NEVER;
	end = r->until;
	down = r->what.link != LINK_UP && now < end &&
	       (first || (r->what.link == LINK_FLAP && !r->state));
	done = rule_set_link(f, r, down);
	if (!done && first)
		return false;
	r->phase = 1;
	if (now >= end)
		r->phase = 0; /* a packet may trigger it again */
	else if (r->what.link == LINK_FLAP)
		fault_rule_set_due(f, r, min_u64(now + r->what.period_ns, end));
	else if (end != FAULT_NEVER)
		fault_rule_set_due(f, r, end);
	return down || r->what.link == LINK_UP;
}

void fault_link_removed(struct fabric *f, struct fault_rule *r)
{
	if (r->state)
		rule_set_link(f, r, false);
}

/* --- partitions ------------------------------------------------------------------------------- */

/* The group of "a,b|c|*" that a node is in; 0: none. */
static u32 group_index(const char *groups, const char *name, const char *other)
{
	u32 group = 1, star = 0;
	const char *p = groups;
	size_t n;

	for (;;) {
		n = strcspn(p, ",|");
		if ((strlen(name) == n && !strncmp(p, name, n)) ||
		    (other && strlen(other) == n && !strncmp(p, other, n)))
			return group;
		if (n == 1 && *p == '*')
			star = group;
		if (!p[n])
			return star;
		group += p[n] == '|';
		p += n + 1;
	}
}

static u32 node_group_index(const struct fabric *f, const char *groups, u32 node)
{
	return group_index(groups, f->hca->node[node].name, node ? NULL : NODE_NAME);
}

static bool rule_is_cutting(const struct fabric *f, const struct fault_rule *r,
			    const struct fault_pkt *p)
{
	u32 a, b;

	if (r->act == FA_LINK)
		return r->state && r->where.link[0] && rule_is_node_pair(f, r) &&
		       fault_rule_is_on_pkt(f, r, p);
	if (r->act != FA_PARTITION || !r->state)
		return false;
	a = node_group_index(f, r->what.groups, p->src.node);
	b = node_group_index(f, r->what.groups, p->dst.node);
	return a && b && a != b;
}

struct fault_rule *fault_match_cut(struct fabric *f, const struct fault_pkt *p)
{
	struct faults *t = f->faults;
	u32 i;

	for (i = 0; i < t->high; i++)
		if (t->rule[i].id && rule_is_cutting(f, &t->rule[i], p)) {
			t->rule[i].seen++;
			t->rule[i].hits++;
			return &t->rule[i];
		}
	return NULL;
}

void fault_partition_added(struct fabric *f, struct fault_rule *r)
{
	r->state = 1;
	fabric_note(f, "partition %s: %s", r->name, r->what.groups);
}

void fault_partition_removed(struct fabric *f, struct fault_rule *r)
{
	if (r->state)
		fabric_note(f, "partition %s is healed", r->name);
	r->state = 0;
}

bool fault_heal_fire(struct fabric *f, struct fault_rule *r, const struct fault_pkt *p)
{
	struct faults *t = f->faults;
	bool any = false;
	u32 i;

	(void)p;
	for (i = 0; i < t->high; i++) {
		struct fault_rule *o = &t->rule[i];

		if (!o->id || o->act != FA_PARTITION || !o->state ||
		    (r->what.heal[0] && strcmp(r->what.heal, o->name) != 0))
			continue;
		fault_partition_removed(f, o);
		any = true;
	}
	return any;
}

/* --- events of ports -------------------------------------------------------------------------- */

bool fault_port_event_fire(struct fabric *f, struct fault_rule *r)
{
	u32 ev = r->what.event, d, p, n = 0;
	struct proto_port q = { .what = PORT_CHANGE_STATE,
				.value = ev == EV_PORT_ERR ? PORT_DOWN : PORT_ACTIVE };

	if (ev == EV_PORT_ERR || ev == EV_PORT_ACTIVE) {
		rule_name_ports(f, &r->where, &q);
		if (fabric_port_change(f, &q))
			return false;
		fabric_ports_publish(f);
		return true;
	}
	for (d = 0; d < f->hca->n_devs; d++)
		for (p = 1; p <= f->hca->dev[d].n_ports && !f->hca->dev[d].member; p++)
			if (fault_rule_is_on_port(f, &r->where, d, p)) {
				port_event(&f->engine, d, p, ev);
				n++;
			}
	return n;
}
