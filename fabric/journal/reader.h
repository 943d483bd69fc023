/* SPDX-License-Identifier: MIT */
/**
 * DOC: reading the journal: both rings and the fabric process's own notes, in the order of time.
 */
#ifndef FABRIC_JOURNAL_READER_H
#define FABRIC_JOURNAL_READER_H

#include "fabric/core/fabric.h"

#include <stdio.h>

#define LOG_LINE_MAX 2048

/** struct reader - one ring of the journal, and a copy of its next entry. */
struct reader {
	const struct journal_entry *ring;
	u64 size, at, end;
	struct journal_entry j;
	bool have;
};

/**
 * struct log_cursor - both rings and the notes, from the positions of a query on.
 * Other processes write the journal meanwhile: an entry that changes while it is copied is left
 * out.
 */
struct log_cursor {
	struct fabric *f;
	struct reader errors, notices;
	u64 note, note_end;
	struct proto_log *q;
};

/** log_start() - begin at the positions in *q, which advance to the end. *q must stay valid. */
void log_start(struct log_cursor *c, struct fabric *f, struct proto_log *q);
/**
 * log_next() - the next entry that matches the query: *j, valid until the next call, or *n is set.
 * Return: false at the end.
 */
bool log_next(struct log_cursor *c, const struct journal_entry **j, const struct note **n);

/* --- log.c, summary.c --- */

/** log_time() - a time as seconds since the fabric's start. */
void log_time(const struct fabric *f, u64 ts, char *buf, size_t size);
/** log_line() - an entry as text, without its time. */
void log_line(struct fabric *f, const struct journal_entry *j, char *buf, size_t size);
/** log_summary() - print equal entries as one, errors first. *q receives their numbers. */
void log_summary(FILE *out, struct fabric *f, struct proto_log *q);

#endif
