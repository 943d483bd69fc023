/* SPDX-License-Identifier: MIT */
/**
 * DOC: work requests on real devices: which are to begin late, or to complete late or with an
 * error, and those that have failed.
 *
 * While a rule is about work requests, the process of the program asks when it posts one, and makes
 * the completion itself (libtap/users/work_faults.c). Nobody here sees its packets.
 */
#include "emulator/journal/writer.h"
#include "fabric/core/fabric.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"
#include "fabric/proto/work_filter.h"

#include <stdio.h>

#define WORK_TYPES                                                                                 \
	(BIT64(QPT_RC) | BIT64(QPT_UC) | BIT64(QPT_UD) | BIT64(QPT_RAW_PACKET) |                   \
	 BIT64(QPT_XRC_SEND) | BIT64(QPT_XRC_RECV))

/* --- which requests ask --- */

static void work_filter_add(struct work_filter *new, const struct work_rule *rule)
{
	new->ops |= rule->ops;
	if (new->n >= WORK_FILTER_RULES)
		new->n = WORK_FILTER_ALL;
	else
		new->rule[new->n++] = *rule;
}

static void work_rule_store(struct work_rule *at, const struct work_rule *rule)
{
	store_relaxed(&at->wr_id, rule->wr_id);
	store_relaxed(&at->size_min, rule->size_min);
	store_relaxed(&at->size_max, rule->size_max);
	store_relaxed(&at->ops, rule->ops);
	store_relaxed(&at->types, rule->types);
	store_relaxed(&at->qpn, rule->qpn);
	store_relaxed(&at->has, rule->has);
}

/* The seq is this process's: what the client has written there does not matter. */
static void work_filter_store(struct work_filter *at, const struct work_filter *new, u32 seq)
{
	u32 i;

	exchange(&at->seq, seq | 1);
	fence_after_atomic();
	store_relaxed(&at->n, new->n);
	store_relaxed(&at->ops, new->ops);
	for (i = 0; i < WORK_FILTER_RULES; i++)
		work_rule_store(&at->rule[i], &new->rule[i]);
	store_release(&at->seq, (seq | 1) + 1);
}

void fault_work_publish_filter(const struct fabric *f, struct client *cl)
{
	struct work_filter new = { 0 }, *at = (void *)((char *)cl->seg + WORK_FILTER_OFF);
	const struct faults *t = f->faults;
	const struct fault_rule *r;
	struct work_rule rule;
	u32 i;

	for (i = 0; i < t->high; i++) {
		r = &t->rule[i];
		if (!r->id || r->on != FAULT_ON_WR ||
		    !fault_rule_is_on_client(f, &r->where, cl->id))
			continue;
		rule = fault_work_rule(&r->where);
		work_filter_add(&new, &rule);
	}
	work_filter_store(at, &new, load_relaxed(&at->seq));
}

/* --- requests --- */

/* Whether a program has described its work request in words that exist. */
static bool work_is_valid(const struct proto_work *w)
{
	return w->qpn <= IB_QPN_MASK && (!w->type || (w->type < 64 && WORK_TYPES >> w->type & 1)) &&
	       (w->recv || w->unknown || w->opcode < WR_COUNT);
}

/* @rule: that says so, 0: the device does */
static struct journal_entry work_entry(struct fabric *f, u32 client, const struct proto_work *w,
				       u32 status, u32 rule)
{
	struct journal_entry j =
		journal_of_client(f->hca, client, w->qpn, JRN_COMPLETION, status, rule);

	j.optype = w->unknown ? JOP_NONE : w->recv ? JOP_RECV : JOP_WR;
	j.opcode = (u16)w->opcode;
	j.qp_type = (u8)w->type;
	j.has_wr_id = 1;
	j.wr_id = w->wr_id;
	return j;
}

static void work_journal_hit(struct fabric *f, u32 client, const struct proto_work *w, u32 rule)
{
	struct journal_entry j = work_entry(f, client, w, w->status, rule);

	if (w->size != PROTO_NO_SIZE)
		snprintf(j.args, sizeof(j.args), "bytes=%llu", (unsigned long long)w->size);
	fault_call_journal(f, &j);
}

int fault_work_request(struct fabric *f, const struct client *cl, struct proto_msg *m)
{
	struct proto_work *w = &m->work;
	const struct fault_rule *r, *late, *defer;

	if (!f->real)
		return -EOPNOTSUPP;
	if (!work_is_valid(w) || w->unknown)
		return -EINVAL;
	r = fault_match_work(f, cl->id, w, FA_WC);
	w->status = r ? r->what.status : 0;
	late = w->quiet ? NULL : fault_match_work(f, cl->id, w, FA_LATE);
	w->delay_ns = late ? late->what.delay_ns : 0;
	defer = fault_match_work(f, cl->id, w, FA_DEFER);
	w->hold_ns = defer ? defer->what.delay_ns : 0;
	w->hold_posts = defer ? defer->what.posts : 0;
	if (r)
		work_journal_hit(f, cl->id, w, r->id);
	return 0;
}

int fault_work_failed(struct fabric *f, const struct client *cl, const struct proto_msg *m)
{
	const struct proto_failed_work *failed = &m->failed;
	const struct proto_work *w = &failed->work;
	struct journal_entry j;

	if (!f->real)
		return -EOPNOTSUPP;
	if (!work_is_valid(w) || !w->status || w->status > WCS_TM_RNDV_INCOMPLETE ||
	    failed->peer > IB_QPN_MASK)
		return -EINVAL;
	j = work_entry(f, cl->id, w, w->status, 0);
	j.peer.qpn = failed->peer;
	fault_program_text(j.args, failed->request);
	fault_program_text(j.counters, failed->counters);
	fault_call_journal(f, &j);
	return 0;
}
