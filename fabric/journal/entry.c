/* SPDX-License-Identifier: MIT */
/* The journal entry by entry, for librdmaemu-ctl. */
#include "emulator/journal/text.h"
#include "fabric/journal/reader.h"

/* Entries that were overwritten are skipped. */
static u64 log_reader_position(const struct reader *r)
{
	return r->at - r->have;
}

static void log_entry_fill(struct fabric *f, const struct journal_entry *j, struct proto_journal *p)
{
	char line[LOG_LINE_MAX];

	p->ts = j->ts - f->started;
	p->wr_id = j->wr_id;
	p->pid = j->who.pid;
	p->peer_pid = j->peer.pid;
	p->qpn = j->who.qpn & IB_QPN_MASK;
	p->peer_qpn = j->peer.qpn & IB_QPN_MASK;
	p->psn = j->psn;
	p->attempt = j->attempt;
	p->rule = j->rule;
	p->has_psn = j->has_psn;
	p->has_wr_id = j->has_wr_id;
	p->is_error = journal_is_error(j);
	snprintf(p->kind, sizeof(p->kind), "%s", journal_kind_name(j));
	snprintf(p->what, sizeof(p->what), "%s", journal_status_name(j));
	snprintf(p->program, sizeof(p->program), "%.*s", (int)JOURNAL_NAME - 1, j->who.name);
	snprintf(p->peer, sizeof(p->peer), "%.*s", (int)JOURNAL_NAME - 1, j->peer.name);
	log_line(f, j, line, sizeof(line));
	snprintf(p->text, sizeof(p->text), "%.*s", (int)sizeof(p->text) - 1, line);
}

int log_entry(struct fabric *f, struct proto_msg *m)
{
	struct proto_log q = { .errors = m->journal.errors, .notices = m->journal.notices };
	static struct log_cursor c;
	const struct journal_entry *j = NULL;
	const struct note *n;

	/* The fabric process's own notes are left out. */
	q.notes = f->notes.n;
	log_start(&c, f, &q);
	m->journal = (struct proto_journal){ .errors = q.errors, .notices = q.notices };
	if (m->flags & PROTO_F_END)
		return 0;
	while (!j)
		if (!log_next(&c, &j, &n))
			return -ENOENT;
	m->journal.errors = log_reader_position(&c.errors);
	m->journal.notices = log_reader_position(&c.notices);
	log_entry_fill(f, j, &m->journal);
	return 0;
}
