/* SPDX-License-Identifier: MIT */
/**
 * DOC: reads the whole trace: how many threads and objects its programs have, which object each
 * recorded key and number belonged to, and the size of the shared memory.
 */
#include "traces/replay/trace_index.h"
#include "traces/replay/files.h"
#include "traces/replay/overlap.h"
#include "traces/replay/world.h"
#include "traces/vtrace/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Parses an object name such as "mr2". Returns its kind, or VOBJ_NONE. */
static enum vobj index_name_parse_object(const char *at, uint32_t *nth)
{
	unsigned long n;
	uint32_t kind;
	size_t len;
	char *end;

	for (kind = 1; kind < VOBJ_COUNT; kind++) {
		len = strlen(vobj_names[kind]);
		if (strncmp(at, vobj_names[kind], len) != 0 || at[len] < '1' || at[len] > '9')
			continue;
		n = strtoul(at + len, &end, 10);
		if ((*end && *end != ' ') || n > VT_MAX_OBJ)
			continue;
		*nth = (uint32_t)n;
		return kind;
	}
	return VOBJ_NONE;
}

/* Finds the highest ordinals in a program's lines. */
static void index_count_objects(struct rp_world *w, uint32_t prog)
{
	const struct vt_program *p = &w->dir.prog[prog];
	uint32_t *n = w->n_obj[prog], line, nth, kind;
	const char *at;

	for (kind = 0; kind < VOBJ_COUNT; kind++)
		n[kind] = 1;
	for (line = 0; line < p->n_lines; line++) {
		for (at = p->line[line]; *at; at++) {
			if (*at != ' ' && *at != '=')
				continue;
			kind = index_name_parse_object(at + 1, &nth);
			if (kind != VOBJ_NONE && nth >= n[kind])
				n[kind] = nth + 1;
		}
	}
}

static int index_add_num(struct rp_num **nums, size_t *n, const struct rp_num *one)
{
	struct rp_num *more;

	more = vt_array_room(*nums, *n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*nums = more;
	(*nums)[(*n)++] = *one;
	return 0;
}

uint32_t rp_line_object(const char *line, enum vobj kind, const char *arg)
{
	const char *out = strstr(line, " = "), *at;
	uint32_t nth = 0;

	if (out && index_name_parse_object(out + 3, &nth) == kind)
		return nth;
	at = strstr(line, arg);
	return at && index_name_parse_object(at + strlen(arg), &nth) == kind ? nth : 0;
}

/* Adds an object that other programs may import. Imported objects are not imported again. */
static int index_add_handle(struct rp_world *w, uint32_t prog, const struct vt_rec *rec)
{
	static const struct {
		enum rp_made_kind kind;
		enum vobj obj;
	} kinds[] = { { RP_PD, VOBJ_PD }, { RP_MR, VOBJ_MR }, { RP_DM, VOBJ_DM } };
	struct rp_num one = { .prog = prog, .from = rec->end };
	const struct vt_program *p = &w->dir.prog[prog];
	uint64_t handle;
	uint32_t i;
	size_t len;

	if (!vt_rec_fact(p, rec, true, "handle", &handle))
		return 0;
	one.num = (uint32_t)handle;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !one.ord; i++) {
		one.kind = kinds[i].kind;
		one.ord = rp_line_object(vt_rec_line(p, rec, &len), kinds[i].obj, " = ");
	}
	return one.ord ? index_add_num(&w->handle, &w->n_handle, &one) : 0;
}

static int index_add_port(struct rp_world *w, uint32_t prog, const struct vt_rec *rec)
{
	struct rp_num one = { .prog = prog, .from = rec->end, .kind = RP_PORT };
	const struct vt_program *p = &w->dir.prog[prog];
	uint64_t port;
	size_t len;

	if (!vt_rec_fact(p, rec, true, "id.src", &port) || !port)
		return 0;
	one.num = (uint32_t)port;
	one.ord = rp_line_object(vt_rec_line(p, rec, &len), VOBJ_ID, " id=");
	return one.ord ? index_add_num(&w->port, &w->n_port, &one) : 0;
}

static int index_add_call(struct rp_world *w, uint32_t prog, const struct vt_rec *rec)
{
	const struct vt_program *p = &w->dir.prog[prog];
	struct rp_num one = { .prog = prog, .from = rec->end };
	size_t len;
	const char *line = vt_rec_line(p, rec, &len);
	uint64_t rkey, lkey, qpn;
	int ret = index_add_handle(w, prog, rec);

	if (!ret)
		ret = index_add_port(w, prog, rec);
	if (ret)
		return ret;
	if (vt_rec_fact(p, rec, true, "rkey", &rkey)) {
		one.kind = RP_MR;
		one.ord = rp_line_object(line, VOBJ_MR, " mr=");
		if (!one.ord) {
			one.kind = RP_MW;
			one.ord = rp_line_object(line, VOBJ_MW, " mw=");
		}
		one.num = (uint32_t)rkey;
		ret = one.ord ? index_add_num(&w->key, &w->n_key, &one) : 0;
		if (!ret && one.ord && vt_rec_fact(p, rec, true, "lkey", &lkey) && lkey != rkey) {
			one.num = (uint32_t)lkey;
			one.lkey = true;
			ret = index_add_num(&w->key, &w->n_key, &one);
		}
	} else if (vt_rec_fact(p, rec, true, "qp_num", &qpn) ||
		   vt_rec_fact(p, rec, true, "id.qp.qp_num", &qpn)) {
		one.kind = RP_QP;
		one.ord = rp_line_object(line, VOBJ_QP, " id.qp=");
		one.num = (uint32_t)qpn;
		ret = one.ord ? index_add_num(&w->qpn, &w->n_qpn, &one) : 0;
	} else if (vt_rec_fact(p, rec, true, "srq_num", &qpn)) {
		one.kind = RP_SRQ;
		one.ord = rp_line_object(line, VOBJ_SRQ, " srq=");
		one.num = (uint32_t)qpn;
		ret = one.ord ? index_add_num(&w->qpn, &w->n_qpn, &one) : 0;
	}
	return ret;
}

static int index_num_compare(const void *a, const void *b)
{
	const struct rp_num *x = a, *y = b;

	if (x->num != y->num)
		return x->num < y->num ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

const struct rp_num *rp_num_find(const struct rp_num *num, size_t n, uint32_t value, uint32_t mask,
				 uint64_t when)
{
	const struct rp_num key = { .num = value & mask }, *best = NULL;
	size_t i = rp_lower_bound(num, n, sizeof(*num), &key, index_num_compare);

	for (; i < n && (num[i].num & mask) == key.num; i++)
		if (num[i].from <= when && (!best || num[i].from > best->from))
			best = &num[i];
	return best;
}

int rp_for_each_wr(const struct rp_world *w,
		   int (*fn)(void *arg, uint32_t prog, const struct vt_rec *rec,
			     const struct vt_wr *wr),
		   void *arg)
{
	const struct vt_rec *rec;
	const struct vt_wr *wr;
	uint32_t prog, i;
	uint64_t off;
	int ret = 0;

	for (prog = 0; prog < w->dir.n_progs; prog++)
		for (off = 0; !ret && (rec = vt_rec_next(&w->dir.prog[prog], &off));) {
			if (!vt_is_post(rec->kind))
				continue;
			wr = vt_wr_first(rec);
			for (i = 0; i < VT_BODY(vt_post, rec)->bad && !ret;
			     i++, wr = vt_wr_next(wr))
				ret = fn(arg, prog, rec, wr);
		}
	return ret;
}

int rp_index_read(struct rp_world *w)
{
	const struct vt_rec *rec;
	uint32_t prog;
	uint64_t off;
	int ret;

	w->first_t = UINT64_MAX;
	for (prog = 0; prog < w->dir.n_progs; prog++) {
		index_count_objects(w, prog);
		for (off = 0; (rec = vt_rec_next(&w->dir.prog[prog], &off));) {
			if (rec->t_begin < w->first_t)
				w->first_t = rec->t_begin;
			ret = 0;
			if (rec->kind == VT_POLL)
				ret = rp_overlap_learn(w, prog, rec);
			else if (rec->kind == VT_CALL)
				ret = index_add_call(w, prog, rec);
			if (!ret && rec->kind == VT_CALL)
				ret = rp_files_learn(w, prog, rec);
			if (ret)
				return ret;
		}
	}
	rp_sort_array(w->key, w->n_key, sizeof(*w->key), index_num_compare);
	rp_sort_array(w->qpn, w->n_qpn, sizeof(*w->qpn), index_num_compare);
	rp_sort_array(w->port, w->n_port, sizeof(*w->port), index_num_compare);
	return 0;
}
