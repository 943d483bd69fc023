/* SPDX-License-Identifier: MIT */
/**
 * DOC: calls that fail on purpose, the fabric process's side: see fabric/proto/calls.h and
 * libshim/client/call_fault.c.
 *
 * Every client has a bit per call in its segment that says whether a rule is about that call; only
 * those calls ask the fabric process. It answers without the token, because the client that asks
 * may hold it. A call that failed is put into the journal as soon as the token can be taken.
 */
#include "emulator/journal/writer.h"
#include "emulator/journal/text.h"
#include "fabric/proto/calls.h"
#include "fabric/fault/action.h"
#include "fabric/fault/match.h"
#include "fabric/fault/table.h"
#include "fabric/core/fabric.h"

#include <ctype.h>

/* Too many entries wait for the token: write this one to the log file only. */
static void call_note_failed(struct fabric *f, const struct journal_entry *j)
{
	char line[2048];

	journal_entry_text(f->hca, j, f->started, fault_rule_text(f, j->rule), line, sizeof(line));
	fabric_note(f, "%s", line);
}

void fault_call_journal(struct fabric *f, const struct journal_entry *j)
{
	struct faults *t = f->faults;

	if (t->n_calls == FAULT_CALLS) {
		call_note_failed(f, j);
		return;
	}
	t->call[t->n_calls++] = *j;
	/*
	 * Try the token now: the client may end, and its parent may read the journal, before the
	 * loop comes back here.
	 */
	if (!engine_try(&f->engine))
		return;
	fault_call_flush_journal(f);
	engine_leave(&f->engine);
}

void fault_program_text(char to[PROTO_ARGS], const char from[PROTO_ARGS])
{
	u32 i;

	for (i = 0; i < PROTO_ARGS - 1 && from[i]; i++)
		to[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	to[i] = '\0';
}

/* @rule: that made it fail, 0: none */
static void call_journal_failed(struct fabric *f, u32 client, const struct proto_call *call,
				u32 rule)
{
	char args[PROTO_ARGS];
	struct journal_entry j;

	fault_program_text(args, call->args);
	j = journal_of_call(f->hca, client, call_descs[call->id].name, args, call->err, rule);

	fault_call_journal(f, &j);
}

void fault_call_flush_journal(struct fabric *f)
{
	struct faults *t = f->faults;
	u32 i;

	for (i = 0; i < t->n_calls; i++)
		journal_add(&f->engine, &t->call[i]);
	t->n_calls = 0;
}

_Static_assert(sizeof(((struct seg_hdr *)0)->fail_calls) == SEG_CALL_WORDS * sizeof(u64), "mask");

int fault_call_request(struct fabric *f, const struct client *cl, struct proto_msg *m)
{
	const struct fault_rule *r;
	u32 id = m->call.id;

	if (id >= CALL_COUNT)
		return -EINVAL;
	r = fault_match_call(f, cl->id, id);
	m->call.err = 0;
	m->call.event = 0;
	if (!r)
		return 0;
	/* The event is put into the journal when it is raised. */
	if (r->act == FA_EVENT) {
		m->call.event = ETIMEDOUT;
	} else {
		m->call.err = (u32)r->what.err;
		call_journal_failed(f, cl->id, &m->call, r->id);
	}
	return 0;
}

int fault_call_failed(struct fabric *f, const struct client *cl, const struct proto_msg *m)
{
	if (!f->real)
		return -EOPNOTSUPP;
	if (m->call.id >= CALL_COUNT || !m->call.err || !strerrorname_np((int)m->call.err))
		return -EINVAL;
	call_journal_failed(f, cl->id, &m->call, m->call.limited ? fault_limit_rule(f) : 0);
	return 0;
}

/* Which bit a rule sets. Return: false: none */
static bool call_mask_bit(const struct fault_rule *r, u32 *bit)
{
	switch (r->on) {
	case FAULT_ON_CALL:
		*bit = r->what.call_id;
		return true;
	case FAULT_ON_WR:
		*bit = CALLS_WORK;
		return true;
	case FAULT_ON_CQ:
		*bit = CALLS_HOLD;
		return true;
	case FAULT_ON_WIRE:
		*bit = CALLS_CM;
		return r->where.mads;
	case FAULT_ON_TIME:
		*bit = CALLS_EVENT;
		return r->act == FA_EVENT;
	default:
		return false;
	}
}

/* Whether a rule may be about calls of that client. The words of one on messages name ports. */
static bool call_rule_is_on_client(const struct fabric *f, const struct fault_rule *r, u32 client)
{
	return r->on == FAULT_ON_WIRE || fault_rule_is_on_client(f, &r->where, client);
}

static bool call_posts(u32 id)
{
	switch (id) {
	case CALLS_WORK:
	case CALL_ibv_post_send:
	case CALL_ibv_post_recv:
	case CALL_ibv_post_srq_recv:
	case CALL_ibv_post_wq_recv:
	case CALL_ibv_post_srq_ops:
		return true;
	default:
		return false;
	}
}

static void call_mask(const struct fabric *f, u32 client, u64 mask[SEG_CALL_WORDS])
{
	const struct faults *t = f->faults;
	u32 i, id;

	memset(mask, 0, SEG_CALL_WORDS * sizeof(*mask));
	for (i = 0; i < t->high; i++) {
		if (!t->rule[i].id || !call_mask_bit(&t->rule[i], &id) ||
		    !call_rule_is_on_client(f, &t->rule[i], client))
			continue;
		mask[id / 64] |= BIT64(id % 64);
		if (id == CALLS_HOLD || id == CALL_ibv_poll_cq)
			mask[CALLS_POLL / 64] |= BIT64(CALLS_POLL % 64);
		if (call_posts(id))
			mask[CALLS_POST / 64] |= BIT64(CALLS_POST % 64);
	}
	if (f->real && fault_limit_rule(f))
		mask[CALLS_LIMIT / 64] |= BIT64(CALLS_LIMIT % 64);
}

static void call_mask_publish(const struct fabric *f, struct client *cl)
{
	u64 mask[SEG_CALL_WORDS];
	u32 i;

	if (!cl->seg)
		return;
	if (f->real)
		fault_work_publish_filter(f, cl);
	call_mask(f, cl->id, mask);
	for (i = 0; i < SEG_CALL_WORDS; i++)
		store_relaxed(&cl->seg->fail_calls[i], mask[i]);
}

void fault_call_update_masks(struct fabric *f, struct client *cl)
{
	if (cl) {
		call_mask_publish(f, cl);
		return;
	}
	for (cl = f->clients.list; cl; cl = cl->next)
		call_mask_publish(f, cl);
}
