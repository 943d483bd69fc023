// SPDX-License-Identifier: MIT
/**
 * DOC: a live program in the place of a recorded one.
 *
 * It runs under the recorder, and what it has made is read from that trace while it is written: that it listens, and
 * the keys and addresses of its regions. Its n-th region stands for the recorded program's n-th.
 */
#include "replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the line of a call begins with that call. */
static bool is_call(const struct vt_program *p, const struct vt_rec *rec, const char *name)
{
	size_t len, n = strlen(name);
	const char *line;

	if (rec->kind != VT_CALL)
		return false;
	line = vt_rec_line(p, rec, &len);
	return !strncmp(line, name, n) && line[n] == ' ';
}

uint64_t rp_called(const struct vt_program *p, const char *name)
{
	const struct vt_rec *rec;
	uint64_t off;

	for (off = 0; (rec = vt_next(p, &off));)
		if (is_call(p, rec, name))
			return rec->end;
	return 0;
}

/* Whether @has finds what it looks for in a program of the trace that the live one writes. */
static bool live_has(const char *dir, bool (*has)(const struct vt_program *p, void *arg), void *arg)
{
	struct vt_dir d;
	struct vt_error err;
	bool found = false;
	unsigned int i;

	/* It may not be there yet. */
	if (vt_open(&d, dir, &err))
		return false;
	for (i = 0; i < d.n_progs && !found; i++)
		found = has(&d.prog[i], arg);
	vt_shut(&d);
	return found;
}

static bool has_called(const struct vt_program *p, void *name)
{
	return rp_called(p, name) != 0;
}

bool rp_live_called(const char *dir, const char *name)
{
	return live_has(dir, has_called, (void *)name);
}

/* struct region - a registration: of the @ord-th region, its key and where it is. */
struct region {
	uint32_t ord;
	uint64_t key;
	uint64_t addr;
};

static bool has_region(const struct vt_program *p, void *arg)
{
	struct region *r = arg;
	const struct vt_rec *rec;
	char made[24];
	const char *at;
	uint64_t off;
	size_t len;

	snprintf(made, sizeof(made), " = mr%u", r->ord);
	for (off = 0; (rec = vt_next(p, &off));) {
		if (rec->kind != VT_CALL)
			continue;
		at = strstr(vt_rec_line(p, rec, &len), made);
		if (at && (at[strlen(made)] == ' ' || !at[strlen(made)]) &&
		    rp_fact(p, rec, true, "rkey", &r->key) &&
		    rp_fact(p, rec, true, "addr", &r->addr))
			return true;
	}
	return false;
}

uint32_t rp_live_key(const struct rp_prog *g, const struct rp_num *n)
{
	struct rp_made *made = &g->w->made[n->prog][n->kind][n->ord];
	struct region was = { .ord = n->ord }, now = was;
	uint64_t since = vt_now();
	unsigned int rest = 0;

	if (n->kind != RP_MR || !has_region(&g->w->dir.prog[n->prog], &was))
		return 0;
	while (!live_has(g->w->live, has_region, &now)) {
		if (rp_failed(g->w) || vt_now() - since > g->timeout)
			return 0;
		rp_rest(&rest);
	}
	made->delta = (int64_t)(now.addr - was.addr);
	__atomic_store_n(&made->num, (uint32_t)now.key, __ATOMIC_RELEASE);
	return (uint32_t)now.key;
}
