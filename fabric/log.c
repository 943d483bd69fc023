/* SPDX-License-Identifier: MIT */
/**
 * DOC: what happened: the HCA's journal and the fabric process's own notes, merged by time.
 */
#include "fabric/fabric.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_MAX	     (256u << 10) /* bytes of the log file, which then starts anew */
#define LINE_MAX_LEN 512

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

/**
 * struct cursor - the journal as it was copied, and the notes, both from the oldest on.
 * The journal is written by others meanwhile: an entry that changes under the copy is left out.
 */
struct cursor {
	struct fabric *f;
	u64 jrn, jrn_end;
	u64 note, note_end;
	struct journal_entry j;
	bool have_j;
};

static void cursor_start(struct cursor *c, struct fabric *f)
{
	memset(c, 0, sizeof(*c));
	c->f = f;
	c->jrn_end = load_acquire(&f->hca->journal_seq);
	c->jrn = c->jrn_end > JOURNAL_DEPTH ? c->jrn_end - JOURNAL_DEPTH : 0;
	c->note_end = f->n_notes;
	c->note = c->note_end > NOTES ? c->note_end - NOTES : 0;
}

static bool peek_journal(struct cursor *c)
{
	const struct journal_entry *e;

	while (!c->have_j && c->jrn < c->jrn_end) {
		e = &c->f->hca->journal[c->jrn % JOURNAL_DEPTH];
		if (load_acquire(&e->seq) == c->jrn + 1) {
			c->j = *e;
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			c->have_j = load_relaxed(&e->seq) == c->jrn + 1;
		}
		c->jrn++;
	}
	return c->have_j;
}

/* The next thing that happened: *j or *n is set. Return: false at the end. */
static bool cursor_next(struct cursor *c, struct journal_entry *j, const struct note **n)
{
	const struct note *t = c->note < c->note_end ? &c->f->notes[c->note % NOTES] : NULL;

	*n = NULL;
	if (peek_journal(c) && (!t || c->j.ts <= t->ts)) {
		*j = c->j;
		c->have_j = false;
		return true;
	}
	c->note++;
	*n = t;
	return t != NULL;
}

static struct json_object *json_entry(const struct journal_entry *j, const char *line)
{
	static const char *const kinds[] = {
		[JRN_COMPLETION] = "completion",
		[JRN_EVENT] = "event",
		[JRN_CM] = "cm",
	};
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "ts", json_object_new_int64((int64_t)j->ts));
	json_object_object_add(o, "kind",
			       json_object_new_string(kinds[j->kind % ARRAY_SIZE(kinds)]));
	json_object_object_add(o, "client", json_object_new_int64(j->client));
	json_object_object_add(o, "qpn", json_object_new_int64(j->qpn));
	json_object_object_add(o, "peer_qpn", json_object_new_int64(j->peer_qpn));
	json_object_object_add(o, "psn", json_object_new_int64(j->psn));
	json_object_object_add(o, "status", json_object_new_string(journal_what(j)));
	json_object_object_add(o, "info", json_object_new_int64(j->info));
	json_object_object_add(o, "text", json_object_new_string(line));
	return o;
}

static struct json_object *json_note(const struct note *n)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "ts", json_object_new_int64((int64_t)n->ts));
	json_object_object_add(o, "kind", json_object_new_string("fabric"));
	json_object_object_add(o, "text", json_object_new_string(n->text));
	return o;
}

static void print_note(FILE *out, const struct note *n)
{
	fprintf(out, "%llu.%09llu fabric: %s\n", (unsigned long long)(n->ts / NSEC_PER_SEC),
		(unsigned long long)(n->ts % NSEC_PER_SEC), n->text);
}

int log_make(struct fabric *f, bool json)
{
	struct json_object *all = json ? json_object_new_array() : NULL;
	char line[LINE_MAX_LEN], *buf = NULL;
	const struct note *n;
	struct journal_entry j;
	struct cursor c;
	size_t len = 0;
	FILE *out = open_memstream(&buf, &len);
	int fd;

	if (!out) {
		json_object_put(all);
		return -ENOMEM;
	}
	cursor_start(&c, f);
	while (cursor_next(&c, &j, &n)) {
		if (!n)
			journal_text(&j, line, sizeof(line));
		if (json)
			json_object_array_add(all, n ? json_note(n) : json_entry(&j, line));
		else if (n)
			print_note(out, n);
		else
			fprintf(out, "%s\n", line);
	}
	if (json)
		fprintf(out, "%s\n", json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY));
	json_object_put(all);
	fclose(out);
	fd = text_memfd(buf, len);
	free(buf);
	return fd;
}
