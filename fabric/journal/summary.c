/* SPDX-License-Identifier: MIT */
/**
 * DOC: the journal in short: entries that differ only in time, PSN and work request are one, the
 * first of them, with the number of the others.
 */
#include "emulator/journal/text.h"
#include "fabric/common/json.h"
#include "fabric/journal/log.h"
#include "fabric/journal/reader.h"

#include <json-c/json.h>
#include <stdlib.h>

#define KINDS_MAX 64u /* entries; further kinds are only counted */

/** struct alike - entries of one kind. @first: the first of them */
struct alike {
	struct journal_entry first;
	u64 n;
	u64 last;
};

/** struct sum - all kinds. @more: entries of kinds that had no room */
struct sum {
	struct alike kind[KINDS_MAX];
	u32 n;
	u64 more;
	u64 errors, notices;
};

static bool log_summary_is_same_side(const struct journal_who *a, const struct journal_who *b)
{
	return a->client == b->client && a->pid == b->pid && a->node == b->node &&
	       !memcmp(a->name, b->name, sizeof(a->name));
}

static bool log_summary_is_alike(const struct journal_entry *a, const struct journal_entry *b)
{
	return a->kind == b->kind && a->status == b->status && a->cause == b->cause &&
	       a->why == b->why && (a->why != WHY_PEER_STATE || a->why_info == b->why_info) &&
	       a->why_cause == b->why_cause && a->rule == b->rule && a->optype == b->optype &&
	       (a->opcode & 0xff) == (b->opcode & 0xff) &&
	       log_summary_is_same_side(&a->who, &b->who) &&
	       log_summary_is_same_side(&a->peer, &b->peer) &&
	       !memcmp(a->call, b->call, sizeof(a->call));
}

static void log_summary_add(struct sum *s, const struct journal_entry *j)
{
	u32 i;

	if (journal_is_error(j))
		s->errors++;
	else
		s->notices += 1 + j->more;
	for (i = 0; i < s->n && !log_summary_is_alike(&s->kind[i].first, j); i++)
		;
	if (i == KINDS_MAX) {
		s->more++;
		return;
	}
	if (i == s->n) {
		s->kind[s->n].first = *j;
		s->kind[s->n++].first.more = 0;
		s->kind[i].n = 0;
	}
	s->kind[i].n += 1 + j->more;
	s->kind[i].last = j->more ? j->until : j->ts;
}

static void log_summary_print(FILE *out, struct fabric *f, const struct alike *a)
{
	struct journal_entry first = a->first;
	struct json_object *o;

	first.more = a->n - 1 < UINT32_MAX ? (u32)(a->n - 1) : UINT32_MAX;
	first.until = a->last;
	o = log_json(f, &first);
	fprintf(out, "%s\n", json_text(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

static u64 log_summary_count_clients(const struct fabric *f, u32 run)
{
	const struct client *cl;
	u64 n = 0;

	for (cl = f->clients.list; cl; cl = cl->next)
		n += !cl->freed && f->hca->client[cl->id].run == run;
	return n;
}

void log_summary(FILE *out, struct fabric *f, struct proto_log *q)
{
	struct sum *s = calloc(1, sizeof(*s));
	const struct journal_entry *j;
	const struct note *n;
	struct log_cursor c;
	u32 i, errors;

	if (!s)
		return;
	log_start(&c, f, q);
	while (log_next(&c, &j, &n))
		if (j)
			log_summary_add(s, j);
	for (errors = 2; errors--;)
		for (i = 0; i < s->n; i++)
			if (journal_is_error(&s->kind[i].first) == (errors == 1))
				log_summary_print(out, f, &s->kind[i]);
	q->errors = s->errors;
	q->notices = s->notices;
	q->lost = s->more;
	q->clients = log_summary_count_clients(f, q->run);
	free(s);
}
