/* SPDX-License-Identifier: MIT */
/**
 * DOC: reads the trace of a live program that replaces a recorded one.
 *
 * The live program runs under the recorder. While its trace is being written, the replay reads from
 * it that the program listens, the keys and addresses of its MRs, and the numbers of its QPs. Its
 * nth MR replaces the recorded program's nth, and the same holds for QPs.
 */
#include "traces/replay/live.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/world.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool line_begins_with(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && line[n] == ' ';
}

bool rp_line_is_listen(const char *line)
{
	return line_begins_with(line, "rdma_listen");
}

bool rp_line_is_request(const char *line)
{
	return (line_begins_with(line, "rdma_get_cm_event") &&
		strstr(line, " event.event=RDMA_CM_EVENT_CONNECT_REQUEST")) ||
	       (line_begins_with(line, "rdma_get_request") && strstr(line, " = 0"));
}

bool rp_line_is_any(const char *line)
{
	(void)line;
	return true;
}

uint32_t rp_count_calls(const struct vt_program *p, bool (*is)(const char *line), uint64_t *first,
			uint64_t *last)
{
	const struct vt_rec *rec;
	uint64_t off, end = 0;
	uint32_t n = 0;
	size_t len;

	for (off = 0; (rec = vt_rec_next(p, &off));) {
		if (rec->kind != VT_CALL || !is(vt_rec_line(p, rec, &len)))
			continue;
		if (!n++ && first)
			*first = rec->end;
		end = rec->end > end ? rec->end : end;
	}
	if (n && last)
		*last = end;
	return n;
}

/* Players and the real program are marked in the live trace by "as". */
static bool program_is_played(const struct vt_program *p)
{
	return vt_info_get(&p->about, "as") != NULL;
}

/* Whether @has returns true for a program of the trace that is being written. */
static bool live_any_program(const char *dir, bool (*has)(const struct vt_program *p, void *arg),
			     void *arg)
{
	struct vt_dir d;
	struct vt_error err;
	bool found = false;
	unsigned int i;

	/* The trace may not exist yet. */
	if (vt_dir_open(&d, dir, &err))
		return false;
	for (i = 0; i < d.n_progs && !found; i++)
		found = has(&d.prog[i], arg);
	vt_dir_close(&d);
	return found;
}

static bool program_is_running(const struct vt_program *p, void *arg)
{
	const char *pid = vt_info_get(&p->about, "pid");
	long n = pid ? strtol(pid, NULL, 10) : 0;

	(void)arg;
	return !program_is_played(p) && !p->ended && n > 0 && n <= INT_MAX && !kill((pid_t)n, 0);
}

bool rp_live_is_running(const char *dir)
{
	return live_any_program(dir, program_is_running, NULL);
}

struct count {
	bool played;
	bool (*is)(const char *line);
	uint32_t n;
};

static bool program_count_calls(const struct vt_program *p, void *arg)
{
	struct count *c = arg;

	if (program_is_played(p) == c->played)
		c->n += rp_count_calls(p, c->is, NULL, NULL);
	return false;
}

uint32_t rp_live_count(const char *dir, bool played, bool (*is)(const char *line))
{
	struct count c = { .played = played, .is = is };

	live_any_program(dir, program_count_calls, &c);
	return c.n;
}

/* Returns the call of a program that created the object @name (" = mr3"), or first returned it. */
static const struct vt_rec *program_find_made(const struct vt_program *p, const char *name)
{
	const struct vt_rec *rec;
	size_t len, n = strlen(name);
	const char *at;
	uint64_t off;

	for (off = 0; (rec = vt_rec_next(p, &off));) {
		if (rec->kind != VT_CALL)
			continue;
		at = strstr(vt_rec_line(p, rec, &len), name);
		if (at && (at[n] == ' ' || !at[n]))
			return rec;
	}
	return NULL;
}

/*
 * struct made - an object that a program has created: its key or number, and the address of an MR.
 */
struct made {
	uint32_t kind; /* enum rp_made_kind */
	uint32_t ord;
	uint32_t rank; /* programs with such an object to skip */
	uint64_t num;
	uint64_t addr;
};

static bool program_has_made(const struct vt_program *p, struct made *m)
{
	const struct vt_rec *rec;
	char name[24];

	if (m->kind == RP_MR) {
		snprintf(name, sizeof(name), " = mr%u", m->ord);
		rec = program_find_made(p, name);
		return rec && vt_rec_fact(p, rec, true, "rkey", &m->num) &&
		       vt_rec_fact(p, rec, true, "addr", &m->addr);
	}
	if (m->kind != RP_QP)
		return false;
	snprintf(name, sizeof(name), " = qp%u", m->ord);
	rec = program_find_made(p, name);
	if (rec)
		return vt_rec_fact(p, rec, true, "qp_num", &m->num);
	snprintf(name, sizeof(name), " id.qp=qp%u", m->ord);
	rec = program_find_made(p, name);
	return rec && vt_rec_fact(p, rec, true, "id.qp.qp_num", &m->num);
}

static bool live_program_has_made(const struct vt_program *p, void *arg)
{
	struct made *m = arg;

	return !program_is_played(p) && program_has_made(p, m) && !m->rank--;
}

/*
 * A live command may consist of several programs. The one that replaces a recorded program has the
 * same rank among the programs with such an object as the recorded program had among those that
 * were live.
 */
static uint32_t live_rank(const struct rp_prog *g, const struct rp_num *n)
{
	const struct vt_dir *d = &g->w->dir;
	uint32_t nth = vt_program_episode(&d->prog[n->prog]);
	bool played = program_is_played(&d->prog[n->prog]);
	struct made m = { .kind = n->kind, .ord = n->ord };
	uint32_t i, rank = 0;

	for (i = 0; i < n->prog; i++)
		rank += i != g->nth && program_is_played(&d->prog[i]) == played &&
			vt_program_episode(&d->prog[i]) == nth && program_has_made(&d->prog[i], &m);
	return rank;
}

static void live_fail_unmade(const struct rp_prog *g, const struct rp_num *n)
{
	const char *name = vt_info_get(&g->p->about, "name");
	char text[1024];

	snprintf(text, sizeof(text), "p%u (%.100s): waits for %s%u of the live program; %s",
		 g->p->num, name ? name : "?", n->kind == RP_MR ? "mr" : "qp", n->ord,
		 g->w->share->gone);
	rp_fail(g->w, text);
}

uint32_t rp_live_find_num(const struct rp_prog *g, const struct rp_num *n)
{
	struct rp_made *made = &g->w->made[n->prog][n->kind][n->ord];
	struct made was = { .kind = n->kind, .ord = n->ord }, now = was;
	uint64_t since = vt_now();
	unsigned int rest = 0;
	bool gone = false;

	if (!program_has_made(&g->w->dir.prog[n->prog], &was))
		return 0;
	do {
		if (rp_is_failed(g->w) || vt_now() - since > g->timeout)
			return 0;
		/* The trace was complete when it was searched last. */
		if (gone) {
			live_fail_unmade(g, n);
			return 0;
		}
		gone = __atomic_load_n(&g->w->share->gone_at, __ATOMIC_SEQ_CST) != 0;
		rp_wait_step(&rest);
		now.rank = live_rank(g, n);
	} while (!live_any_program(g->w->live, live_program_has_made, &now));
	made->delta = (int64_t)(now.addr - was.addr);
	__atomic_store_n(&made->num, (uint32_t)now.num, __ATOMIC_RELEASE);
	return (uint32_t)now.num;
}
