/* SPDX-License-Identifier: MIT */
/* Matches rules: where and when. See rule.h. */
#include "emulator/mad.h"
#include "fabric/common/nodes.h"
#include "fabric/core/fabric.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"

static bool range_has(const struct fault_range *r, u64 v)
{
	return !r->has || (v >= r->min && v <= r->max);
}

/* Whether the node has that name; NODE_NAME always names the host's node. */
static bool node_has_name(const struct fabric *f, u32 node, const char *name)
{
	return node < f->hca->n_nodes &&
	       (!strcmp(f->hca->node[node].name, name) || (!node && !strcmp(name, NODE_NAME)));
}

bool fault_rule_is_on_client(const struct fabric *f, const struct fault_where *w, u32 client)
{
	const struct hca_client *c;

	if (!w->node[0] && !w->program[0] && !w->pid)
		return true;
	if (client >= HCA_MAX_CLIENTS || f->hca->client[client].state == CLIENT_FREE)
		return false;
	c = &f->hca->client[client];
	if (w->node[0] && !node_has_name(f, c->node, w->node))
		return false;
	if (w->program[0] && strncmp(w->program, c->name, sizeof(c->name)) != 0)
		return false;
	return !w->pid || w->pid == (u32)c->fabric_pid || w->pid == (u32)c->pid;
}

bool fault_rule_is_on_port(const struct fabric *f, const struct fault_where *w, u32 dev, u32 port)
{
	const struct hca_dev *d = &f->hca->dev[dev];

	if (dev >= f->hca->n_devs)
		return false;
	if (w->node[0] && !node_has_name(f, d->node, w->node))
		return false;
	if (w->device[0] && strncmp(w->device, d->name, sizeof(d->name)) != 0)
		return false;
	return !w->port || (port ? w->port == port : w->port <= d->n_ports);
}

static bool rule_is_on_end(const struct fabric *f, const struct fault_where *w,
			   const struct fault_end *e)
{
	struct fault_where who = *w;

	if (!fault_rule_is_on_port(f, w, e->dev, e->port))
		return false;
	if (w->has_qpn && w->qpn != e->qpn)
		return false;
	if (!w->program[0] && !w->pid)
		return true;
	who.node[0] = '\0';
	return e->client && fault_rule_is_on_client(f, &who, e->client - 1);
}

/* Whether @link is "A-B" with A the name of node @a and B that of node @b. */
static bool link_is_between(const struct fabric *f, const char *link, u32 a, u32 b)
{
	char name[sizeof(((struct fault_where *)0)->link)];
	const char *dash = link;

	while ((dash = strchr(dash, '-'))) {
		memcpy(name, link, (size_t)(dash - link));
		name[dash - link] = '\0';
		dash++;
		if (node_has_name(f, a, name) && node_has_name(f, b, dash))
			return true;
	}
	return false;
}

static bool rule_is_on_link(const struct fabric *f, const struct fault_where *w,
			    const struct fault_pkt *p)
{
	if (w->dir != DIR_RX && (node_has_name(f, p->src.node, w->link) ||
				 link_is_between(f, w->link, p->src.node, p->dst.node)))
		return true;
	return w->dir != DIR_TX && (node_has_name(f, p->dst.node, w->link) ||
				    link_is_between(f, w->link, p->dst.node, p->src.node));
}

static bool rule_is_on_ends(const struct fabric *f, const struct fault_where *w,
			    const struct fault_pkt *p)
{
	bool tx = w->dir != DIR_RX && rule_is_on_end(f, w, &p->src) &&
		  (!w->peer[0] || node_has_name(f, p->dst.node, w->peer));
	bool rx = w->dir != DIR_TX && rule_is_on_end(f, w, &p->dst) &&
		  (!w->peer[0] || node_has_name(f, p->src.node, w->peer));

	return tx || rx;
}

bool fault_rule_is_on_pkt(const struct fabric *f, const struct fault_rule *r,
			  const struct fault_pkt *p)
{
	const struct fault_where *w = &r->where;

	if (!(w->ops >> p->op & 1) || (w->types && !(w->types & p->types)))
		return false;
	if (p->op == OP_MAD && w->mads && !(w->mads >> ((p->mad - MAD_REQ) & 31) & 1))
		return false;
	if (w->conn && w->conn != p->conn)
		return false;
	if (w->psn.has && (w->psn_rel && !p->conn))
		return false;
	if (!range_has(&w->psn, w->psn_rel ? p->rel : p->psn) || !range_has(&w->round, p->round) ||
	    !range_has(&w->size, p->size))
		return false;
	if (w->link[0] && !rule_is_on_link(f, w, p))
		return false;
	return rule_is_on_ends(f, w, p);
}

/*
 * Which of a connection's two directions, decided by values that do not change between runs if
 * possible.
 */
static bool pkt_is_backward(const struct fault_pkt *p)
{
	if (p->src.dev != p->dst.dev)
		return p->src.dev > p->dst.dev;
	if (p->src.client != p->dst.client)
		return p->src.client > p->dst.client;
	return p->src.qpn > p->dst.qpn;
}

u64 fault_pkt_key(const struct fault_pkt *p)
{
	/* A packet without a connection is identified by its sender. */
	u64 who = p->conn ? p->conn : BIT64(63) | (u64)p->src.dev << 24 | p->src.qpn;

	/* SRD: PSNs are those of the flow to one of its peers. */
	if (p->types & 1u << QPT_SRD)
		who ^= mix64((u64)p->dst.dev << 24 | p->dst.qpn);
	return mix64(mix64(mix64(who) ^ pkt_is_backward(p)) ^
		     ((u64)p->rel << 32 | (u64)p->round << 6 | p->op));
}

u64 fault_rule_random(const struct fabric *f, const struct fault_rule *r, u64 key, u32 n)
{
	u64 seed = r->when.has_seed ? r->when.seed : f->hca->seed;

	return mix64(mix64(mix64(seed) ^ ((u64)r->id << 8 | n)) ^ key);
}

bool fault_rule_is_open(const struct fabric *f, const struct fault_rule *r)
{
	u64 now;

	if (!r->from && r->until == FAULT_NEVER)
		return true;
	now = fabric_engine_now(f);
	return now >= r->from && now < r->until;
}

bool fault_rule_count(struct fabric *f, struct fault_rule *r, u64 key)
{
	const struct fault_when *w = &r->when;
	u64 n;

	if (!fault_rule_is_open(f, r))
		return false;
	n = r->seen++;
	if (n < w->after || (w->count && r->hits >= w->count))
		return false;
	if (w->every && (n - w->after) % w->every)
		return false;
	if (w->prob != FAULT_PROB_ONE) {
		f->faults->random = true;
		if (fault_rule_random(f, r, key, 0) >> 32 >= w->prob)
			return false;
	}
	r->hits++;
	return true;
}

struct fault_rule *fault_match_wire(struct fabric *f, const struct fault_pkt *p, u32 acts, u32 *at)
{
	struct faults *t = f->faults;
	struct fault_rule *r;

	while (*at < t->high) {
		r = &t->rule[(*at)++];
		if (!r->id || !(acts & FAULT_ACT(r->act)) || r->on != FAULT_ON_WIRE)
			continue;
		if (fault_rule_is_on_pkt(f, r, p) && fault_rule_count(f, r, fault_pkt_key(p)))
			return r;
	}
	return NULL;
}

struct fault_rule *fault_match_call(struct fabric *f, u32 client, u32 call)
{
	struct faults *t = f->faults;
	struct fault_rule *r, *hit = NULL;
	u32 i;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->on == FAULT_ON_CALL && r->what.call_id == call &&
		    fault_rule_is_on_client(f, &r->where, client) &&
		    fault_rule_count(f, r, mix64(r->seen)) && !hit)
			hit = r;
	}
	return hit;
}

struct fault_rule *fault_match_cm(struct fabric *f, u32 client, u32 attr)
{
	struct faults *t = f->faults;
	struct fault_rule *r, *hit = NULL;
	u32 i;

	/* A fabric of real devices has no other rules about packets: fault_check_real(). */
	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->on == FAULT_ON_WIRE && r->where.mads >> (attr - MAD_REQ) & 1 &&
		    fault_rule_is_on_client(f, &r->where, client) &&
		    fault_rule_count(f, r, mix64(r->seen)) && !hit)
			hit = r;
	}
	return hit;
}

static bool rule_is_on_wr(const struct fabric *f, const struct fault_rule *r,
			  const struct hca_qp *qp, u32 opcode, u64 wr_id, u64 size)
{
	const struct fault_where *w = &r->where;
	struct fault_end e = { .node = f->hca->dev[qp->dev].node,
			       .dev = qp->dev,
			       .port = qp->attr.port_num,
			       .qpn = qp->qpn,
			       .client = qp->client };

	if ((w->types && !(w->types >> (qp->type & 31) & 1)) ||
	    (w->wr_ops && !(w->wr_ops >> (opcode & 31) & 1)) ||
	    (w->has_wr_id && w->wr_id != wr_id) || !range_has(&w->size, size) ||
	    (w->conn && w->conn != qp->conn))
		return false;
	if (w->peer[0] && (qp->path.dst_dev >= f->hca->n_devs ||
			   !node_has_name(f, f->hca->dev[qp->path.dst_dev].node, w->peer)))
		return false;
	return rule_is_on_end(f, w, &e);
}

struct fault_rule *fault_match_wr(struct fabric *f, const struct hca_work *work, u32 act)
{
	const struct hca_qp *qp = work->qp;
	const u32 opcode = work->recv ? WR_RECV : work->opcode;
	struct faults *t = f->faults;
	struct fault_rule *r, *hit = NULL;
	u64 who = qp->conn ? qp->conn : BIT64(63) | qp->qpn;
	/* Ordinal of the request, or of the receive, on its QP. */
	u64 nth = opcode == WR_RECV ? BIT64(63) ^ qp->resp.rx_pkts : qp->req.next;
	u32 i;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->act == act &&
		    rule_is_on_wr(f, r, qp, opcode, work->wr_id, work->len) &&
		    fault_rule_count(f, r, mix64(mix64(who) ^ (u64)qp->dev << 32 ^ nth)) && !hit)
			hit = r;
	}
	return hit;
}

_Static_assert(WR_RECV == WORK_RECV_OP, "the same word for receives");

struct work_rule fault_work_rule(const struct fault_where *w)
{
	return (struct work_rule){
		.wr_id = w->wr_id,
		.size_min = w->size.has ? w->size.min : 0,
		/* A request of unknown size is in no range. */
		.size_max = w->size.has ? min_u64(w->size.max, PROTO_NO_SIZE - 1) : PROTO_NO_SIZE,
		.ops = w->wr_ops ? w->wr_ops : ~0u,
		.types = w->types ? w->types : ~0u,
		.qpn = w->qpn,
		.has = (w->has_qpn ? WORK_RULE_HAS_QPN : 0) |
		       (w->has_wr_id ? WORK_RULE_HAS_WR_ID : 0),
	};
}

static bool rule_is_on_work(const struct fabric *f, const struct fault_rule *r, u32 client,
			    const struct proto_work *work)
{
	const struct work_rule rule = fault_work_rule(&r->where);
	const struct work_key key = work_key_of(work);

	return work_rule_matches(&rule, &key) && fault_rule_is_on_client(f, &r->where, client);
}

struct fault_rule *fault_match_work(struct fabric *f, u32 client, const struct proto_work *work,
				    u32 act)
{
	struct faults *t = f->faults;
	struct fault_rule *r, *hit = NULL;
	u64 nth = work->recv ? ~work->ordinal : work->ordinal;
	u32 i;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (r->id && r->act == act && rule_is_on_work(f, r, client, work) &&
		    fault_rule_count(f, r, mix64(mix64(BIT64(62) | work->qp) ^ nth)) && !hit)
			hit = r;
	}
	return hit;
}
