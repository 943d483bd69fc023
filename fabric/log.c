/* SPDX-License-Identifier: MIT */
/**
 * DOC: what happened: the HCA's journal and the fabric process's own notes, merged by time.
 */
#include "fabric/fabric.h"
#include "fabric/fault.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_MAX	     (256u << 10) /* bytes of the log file, which then starts anew */
#define LINE_MAX_LEN 2048

int text_memfd(const char *text, size_t len)
{
	int fd = memfd_create("rdmaemu-text", MFD_CLOEXEC);
	size_t done = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (done < len) {
		n = write(fd, text + done, len - done);
		if (n < 0 && errno != EINTR) {
			n = -errno;
			close(fd);
			return (int)n;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return fd;
}

void note(struct fabric *f, const char *fmt, ...)
{
	struct note *t = &f->notes[f->n_notes++ % NOTES];
	struct stat st;
	va_list ap;

	t->ts = fabric_ns(f);
	va_start(ap, fmt);
	vsnprintf(t->text, sizeof(t->text), fmt, ap);
	va_end(ap);
	if (!fstat(STDERR_FILENO, &st) && S_ISREG(st.st_mode) && st.st_size > LOG_MAX &&
	    ftruncate(STDERR_FILENO, 0))
		return;
	dprintf(STDERR_FILENO, "%llu.%09llu %s\n", (unsigned long long)(t->ts / NSEC_PER_SEC),
		(unsigned long long)(t->ts % NSEC_PER_SEC), t->text);
}

/* Positions from which on the rings still have everything; *lost gets what they do not have any more. */
static u64 ring_start(u64 from, u64 end, u64 size, u64 *lost)
{
	u64 oldest = end > size ? end - size : 0;

	if (from > end)
		return end;
	if (from && from < oldest)
		*lost += oldest - from;
	return from > oldest ? from : oldest;
}

/** struct reader - one ring of the journal, and a copy of its next entry. */
struct reader {
	const struct journal_entry *ring;
	u64 size, at, end;
	struct journal_entry j;
	bool have;
};

/**
 * struct cursor - both rings and the notes, from the positions of a query on.
 * The journal is written by others meanwhile: an entry that changes under the copy is left out.
 */
struct cursor {
	struct fabric *f;
	struct reader errors, notices;
	u64 note, note_end;
};

static void cursor_start(struct cursor *c, struct fabric *f, struct proto_log *q)
{
	struct hca *hca = f->hca;

	memset(c, 0, sizeof(*c));
	q->lost = 0;
	c->f = f;
	c->errors.ring = hca->error;
	c->errors.size = JOURNAL_ERRORS;
	c->errors.end = load_acquire(&hca->error_seq);
	c->errors.at = ring_start(q->errors, c->errors.end, JOURNAL_ERRORS, &q->lost);
	c->notices.ring = hca->notice;
	c->notices.size = JOURNAL_NOTICES;
	c->notices.end = load_acquire(&hca->notice_seq);
	c->notices.at = ring_start(q->notices, c->notices.end, JOURNAL_NOTICES, &q->lost);
	c->note_end = f->n_notes;
	c->note = ring_start(q->notes, c->note_end, NOTES, &q->lost);
	q->errors = c->errors.end;
	q->notices = c->notices.end;
	q->notes = c->note_end;
}

static const struct journal_entry *peek(struct reader *r)
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

/* The older of the two rings' next entries; NULL: there is none. */
static struct reader *next_reader(struct cursor *c)
{
	const struct journal_entry *e = peek(&c->errors), *n = peek(&c->notices);

	if (!e || !n)
		return e ? &c->errors : n ? &c->notices : NULL;
	return e->nth < n->nth ? &c->errors : &c->notices;
}

/* The next thing that happened: *j or *n is set. Return: false at the end. */
static bool cursor_next(struct cursor *c, const struct journal_entry **j, const struct note **n)
{
	struct reader *r = next_reader(c);

	*j = NULL;
	*n = c->note < c->note_end ? &c->f->notes[c->note % NOTES] : NULL;
	if (r && (!*n || r->j.ts <= (*n)->ts)) {
		*j = &r->j;
		*n = NULL;
		r->have = false;
		return true;
	}
	c->note++;
	return *n != NULL;
}

/* --- which of them are wanted --- */

static bool side_wanted(const struct fabric *f, const struct journal_who *w,
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

/* One side is to have all that is asked for. */
static bool wanted(const struct fabric *f, const struct journal_entry *j, const struct proto_log *q)
{
	return side_wanted(f, &j->who, q) || side_wanted(f, &j->peer, q);
}

static bool notes_wanted(const struct proto_log *q)
{
	return !q->program[0] && !q->node[0] && !q->qpn && !q->run;
}

/* --- how they look --- */

static struct json_object *json_note(const struct fabric *f, const struct note *n)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "ts", json_object_new_int64((int64_t)(n->ts - f->started)));
	json_object_object_add(o, "kind", json_object_new_string("fabric"));
	json_object_object_add(o, "text", json_object_new_string(n->text));
	return o;
}

static void print_line(FILE *out, const struct fabric *f, u64 ts, const char *text)
{
	u64 us = (ts > f->started ? ts - f->started : 0) / NSEC_PER_USEC;

	fprintf(out, "%llu.%06llu %s\n", (unsigned long long)(us / 1000000),
		(unsigned long long)(us % 1000000), text);
}

static void print_text(FILE *out, struct fabric *f, const struct journal_entry *j,
		       const struct note *n)
{
	char line[LINE_MAX_LEN];

	if (j)
		journal_text(f->hca, j, f->started, j->rule ? fault_rule_text(f, j->rule) : NULL,
			     line, sizeof(line));
	else
		snprintf(line, sizeof(line), "fabric: %s", n->text);
	print_line(out, f, j ? j->ts : n->ts, line);
}

/* An array is begun with the first of them, and ended by the caller. */
static void print_json(FILE *out, struct fabric *f, const struct journal_entry *j,
		       const struct note *n, const char *before)
{
	struct json_object *o = j ? log_json(f, j) : json_note(f, n);

	fprintf(out, "%s%s", before, json_object_to_json_string_ext(o, JSON_C_TO_STRING_SPACED));
	json_object_put(o);
}

static void print_all(FILE *out, struct fabric *f, struct proto_log *q, u32 flags)
{
	bool array = (flags & PROTO_F_JSON) && !(flags & PROTO_F_LINES), any = false;
	const struct journal_entry *j;
	const struct note *n;
	struct cursor c;

	cursor_start(&c, f, q);
	while (cursor_next(&c, &j, &n)) {
		if (j ? !wanted(f, j, q) : !notes_wanted(q))
			continue;
		if (!(flags & PROTO_F_JSON))
			print_text(out, f, j, n);
		else if (array)
			print_json(out, f, j, n, any ? ",\n  " : "[\n  ");
		else
			print_json(out, f, j, n, any ? "\n" : "");
		any = true;
	}
	if (array)
		fprintf(out, "%s", any ? "\n]\n" : "[]\n");
	else if (any && (flags & PROTO_F_JSON))
		fprintf(out, "\n");
}

int log_make(struct fabric *f, struct proto_log *q, u32 flags)
{
	char *buf = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&buf, &len);
	int fd;

	if (!out)
		return -ENOMEM;
	q->program[sizeof(q->program) - 1] = '\0';
	q->node[sizeof(q->node) - 1] = '\0';
	print_all(out, f, q, flags);
	fclose(out);
	fd = text_memfd(buf, len);
	free(buf);
	return fd;
}
