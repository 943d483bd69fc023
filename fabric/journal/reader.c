/* SPDX-License-Identifier: MIT */
/**
 * DOC: reading the journal, in the fabric process.
 */
#include "fabric/journal/reader.h"

#include <stdio.h>

/* The first position of which the ring still has the entry; *lost grows by those overwritten. */
static u64 log_ring_start(u64 from, u64 end, u64 size, u64 *lost)
{
	u64 oldest = end > size ? end - size : 0;

	if (from > end)
		return end;
	if (from && from < oldest)
		*lost += oldest - from;
	return from > oldest ? from : oldest;
}

void log_start(struct log_cursor *c, struct fabric *f, struct proto_log *q)
{
	struct hca *hca = f->hca;

	memset(c, 0, sizeof(*c));
	q->lost = 0;
	c->f = f;
	c->q = q;
	q->program[sizeof(q->program) - 1] = '\0';
	q->node[sizeof(q->node) - 1] = '\0';
	c->errors.ring = hca->error;
	c->errors.size = JOURNAL_ERRORS;
	c->errors.end = load_acquire(&hca->error_seq);
	c->errors.at = log_ring_start(q->errors, c->errors.end, JOURNAL_ERRORS, &q->lost);
	c->notices.ring = hca->notice;
	c->notices.size = JOURNAL_NOTICES;
	c->notices.end = load_acquire(&hca->notice_seq);
	c->notices.at = log_ring_start(q->notices, c->notices.end, JOURNAL_NOTICES, &q->lost);
	c->note_end = f->notes.n;
	c->note = log_ring_start(q->notes, c->note_end, NOTES, &q->lost);
	q->errors = c->errors.end;
	q->notices = c->notices.end;
	q->notes = c->note_end;
}

static const struct journal_entry *log_reader_peek(struct reader *r)
{
	const struct journal_entry *e;

	while (!r->have && r->at < r->end) {
		e = &r->ring[r->at % r->size];
		if (load_acquire(&e->seq) == r->at + 1) {
			r->j = *e;
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			r->have = load_relaxed(&e->seq) == r->at + 1;
		}
		r->at++;
	}
	return r->have ? &r->j : NULL;
}

/* The ring whose next entry is older; NULL: there is none. */
static struct reader *log_cursor_reader(struct log_cursor *c)
{
	const struct journal_entry *e = log_reader_peek(&c->errors),
				   *n = log_reader_peek(&c->notices);

	if (!e || !n)
		return e ? &c->errors : n ? &c->notices : NULL;
	return e->nth < n->nth ? &c->errors : &c->notices;
}

/*
 * The next entry or note in the order in which they were written: *j or *n is set. Return: false
 * at the end.
 */
static bool log_reader_next(struct log_cursor *c, const struct journal_entry **j,
			    const struct note **n)
{
	struct reader *r = log_cursor_reader(c);

	*j = NULL;
	*n = c->note < c->note_end ? &c->f->notes.ring[c->note % NOTES] : NULL;
	if (r && (!*n || r->j.nth <= (*n)->nth)) {
		*j = &r->j;
		*n = NULL;
		r->have = false;
		return true;
	}
	c->note++;
	return *n != NULL;
}

/* --- filter --- */

static bool log_query_wants_side(const struct fabric *f, const struct journal_who *w,
				 const struct proto_log *q)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", w->pid);
	if (q->program[0] && strncmp(w->name, q->program, sizeof(w->name)) != 0 &&
	    (!w->name[0] || strcmp(pid, q->program) != 0))
		return false;
	if (q->node[0] &&
	    (w->node >= f->hca->n_nodes || strcmp(f->hca->node[w->node].name, q->node) != 0))
		return false;
	if (q->qpn && w->qpn != q->qpn)
		return false;
	return !q->run || w->run == q->run;
}

/*
 * Whether either side of the entry has all that the query asks for. The first of a flood stands for
 * all of it.
 */
static bool log_query_wants(const struct fabric *f, const struct journal_entry *j,
			    const struct proto_log *q)
{
	if (j->counted_in)
		return false;
	/* A query for a run excludes actions of others on its programs, except for drops. */
	return log_query_wants_side(f, &j->who, q) ||
	       ((!q->run || j->kind == JRN_DROP) && log_query_wants_side(f, &j->peer, q));
}

static bool log_query_wants_notes(const struct proto_log *q)
{
	return !q->program[0] && !q->node[0] && !q->qpn && !q->run;
}

bool log_next(struct log_cursor *c, const struct journal_entry **j, const struct note **n)
{
	while (log_reader_next(c, j, n))
		if (*j ? log_query_wants(c->f, *j, c->q) : log_query_wants_notes(c->q))
			return true;
	return false;
}
