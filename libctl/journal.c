/* SPDX-License-Identifier: MIT */
/**
 * DOC: the journal, entry by entry.
 */
#include "libctl/ctl.h"

#include <stdio.h>

/* Return: -1; 0: m->ret is 0 or -ENOENT. */
static int ctl_journal_ask(struct rdmaemu *r, struct rdmaemu_mark *mark, u32 flags,
			   struct proto_msg *m)
{
	*m = (struct proto_msg){
		.op = PROTO_JOURNAL,
		.flags = flags,
		.journal = { .errors = mark->errors, .notices = mark->notices },
	};
	if (ctl_handle_ask(r, m, NULL))
		return -1;
	if (m->ret && m->ret != -ENOENT)
		return ctl_refused(r, "journal", m->ret);
	mark->errors = m->journal.errors;
	mark->notices = m->journal.notices;
	return 0;
}

int rdmaemu_journal_end(struct rdmaemu *r, struct rdmaemu_mark *mark)
{
	struct proto_msg m;

	*mark = (struct rdmaemu_mark){ .errors = 0 };
	return ctl_journal_ask(r, mark, PROTO_F_END, &m);
}

int rdmaemu_journal_next(struct rdmaemu *r, struct rdmaemu_mark *mark, struct rdmaemu_entry *out)
{
	struct proto_journal *j;
	struct proto_msg m;

	if (ctl_journal_ask(r, mark, 0, &m))
		return -1;
	if (m.ret)
		return 0;
	j = &m.journal;
	*out = (struct rdmaemu_entry){
		.time_ns = j->ts,
		.wr_id = j->wr_id,
		.pid = j->pid,
		.peer_pid = j->peer_pid,
		.qpn = j->qpn,
		.peer_qpn = j->peer_qpn,
		.psn = j->psn,
		.attempt = j->attempt,
		.rule = j->rule,
		.is_error = j->is_error,
		.has_psn = j->has_psn,
		.has_wr_id = j->has_wr_id,
	};
	snprintf(out->kind, sizeof(out->kind), "%.*s", (int)sizeof(j->kind), j->kind);
	snprintf(out->what, sizeof(out->what), "%.*s", (int)sizeof(j->what), j->what);
	snprintf(out->program, sizeof(out->program), "%.*s", (int)sizeof(j->program), j->program);
	snprintf(out->peer, sizeof(out->peer), "%.*s", (int)sizeof(j->peer), j->peer);
	snprintf(out->text, sizeof(out->text), "%.*s", (int)sizeof(j->text), j->text);
	return 1;
}
