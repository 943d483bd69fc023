/* SPDX-License-Identifier: MIT */
/**
 * DOC: decides which received data can be compared (VT_WC_CRC).
 *
 * Received data stays in memory until its completion is polled, unless something else lands in the
 * same memory: another receive posted at the same time, an RDMA WRITE, a READ. Nothing defines
 * which of them comes last. So all memory where data lands is divided into places that do not
 * overlap. The data of a receive is compared if only receives land in its places, and no other
 * receive was posted there at the same time.
 */
#include "traces/replay/recv_place.h"
#include "traces/replay/replay.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"
#include "traces/vtrace/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* @lo to @hi: in the program's memory. @wr: the receive; NULL: other data lands there */
struct span {
	uint64_t lo, hi;
	const struct vt_wr *wr;
};

/** struct place - @busy: receives posted there. @shared: several since it was last free */
struct place {
	uint64_t lo, hi;
	uint32_t busy;
	bool shared;
	bool other;
};

/** struct use - a receive uses a place. */
struct use {
	const struct vt_wr *wr;
	uint32_t place;
};

struct rp_places {
	struct place *place;
	struct use *use; /* sorted by receive */
	size_t n, n_use;
};

struct builder {
	const struct rp_prog *g;
	struct span *span;
	size_t n;
	uint64_t *delta; /* by MR: memory address minus address in work requests */
	bool *moved; /* by MR: @delta has changed */
	bool lost;
};

static void places_add_span(struct builder *b, uint32_t mr, uint64_t addr, uint64_t len,
			    const struct vt_wr *wr)
{
	struct span *more;

	if (!len)
		return;
	if (mr >= b->g->n_obj[VOBJ_MR] || b->moved[mr]) {
		b->lost = true;
		return;
	}
	more = vt_array_room(b->span, b->n, sizeof(*more));
	if (!more) {
		b->lost = true;
		return;
	}
	b->span = more;
	addr += b->delta[mr];
	b->span[b->n++] = (struct span){ .lo = addr, .hi = addr + len, .wr = wr };
}

/* Finds out where the addresses of an MR point to. */
static void places_learn_mr(struct builder *b, const struct vt_rec *rec)
{
	const struct vt_program *p = b->g->p;
	uint64_t addr, iova, delta = 0;
	const char *line;
	uint32_t ord;
	size_t len;

	line = vt_rec_line(p, rec, &len);
	ord = rp_line_object(line, VOBJ_MR, " mr=");
	if (!ord || !vt_rec_fact(p, rec, true, "addr", &addr))
		return;
	if (vt_rec_fact(p, rec, false, "iova", &iova))
		delta = addr - iova;
	else if (strstr(line, "IBV_ACCESS_ZERO_BASED"))
		delta = addr;
	b->moved[ord] |= b->delta[ord] && b->delta[ord] != delta;
	b->delta[ord] = delta;
}

/* Returns other than 0: nothing can be compared. */
static int places_add_wr(void *arg, uint32_t prog, const struct vt_rec *rec, const struct vt_wr *wr)
{
	struct builder *b = arg;
	const struct rp_world *w = b->g->w;
	bool send = vt_is_send(rec->kind), own = prog == b->g->nth;
	const struct vt_sge *sge = vt_wr_sge(wr);
	const struct rp_num *n;
	uint32_t i;

	if (own && (!send || !wr->payload))
		for (i = 0; i < wr->n_sge; i++)
			places_add_span(b, sge[i].mr, sge[i].addr, sge[i].len,
					send || rec->kind == VT_POST_OPS ? NULL : wr);
	if (!send || !wr->rkey || wr->opcode == IBV_WR_RDMA_READ || wr->opcode == VT_IBV_WR_FLUSH)
		return b->lost;
	n = rp_num_find(w->key, w->n_key, wr->rkey, ~0u, rec->begin);
	if (n && n->kind == RP_MR && n->prog == b->g->nth)
		places_add_span(b, n->ord, wr->remote_addr, wr->payload > 8 ? wr->payload : 8,
				NULL);
	else if (!n || n->kind != RP_MR)
		b->lost = true;
	return b->lost;
}

static void places_add_all(struct builder *b)
{
	const struct vt_rec *rec;
	uint64_t off;

	for (off = 0; (rec = vt_rec_next(b->g->p, &off));)
		if (rec->kind == VT_CALL)
			places_learn_mr(b, rec);
	rp_for_each_wr(b->g->w, places_add_wr, b);
}

static int span_compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static int use_compare(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return x->wr < y->wr ? -1 : x->wr > y->wr;
}

static bool places_make(struct builder *b, struct rp_places *p)
{
	struct place *at = NULL;
	size_t i;

	p->place = calloc(b->n, sizeof(*p->place));
	p->use = calloc(b->n, sizeof(*p->use));
	if (!p->place || !p->use)
		return false;
	rp_sort_array(b->span, b->n, sizeof(*b->span), span_compare);
	for (i = 0; i < b->n; i++) {
		if (!at || b->span[i].lo >= at->hi) {
			at = &p->place[p->n++];
			at->lo = b->span[i].lo;
		}
		if (b->span[i].hi > at->hi)
			at->hi = b->span[i].hi;
		if (b->span[i].wr)
			p->use[p->n_use++] = (struct use){ b->span[i].wr, (uint32_t)(p->n - 1) };
		else
			at->other = true;
	}
	rp_sort_array(p->use, p->n_use, sizeof(*p->use), use_compare);
	return true;
}

/*
 * Whether a program sends from memory of another one, whose contents at that time the trace does
 * not have.
 */
static bool trace_imports_mr(const struct rp_world *w)
{
	uint32_t prog, i;

	for (prog = 0; prog < w->dir.n_progs; prog++)
		for (i = 0; i < w->dir.prog[prog].n_lines; i++)
			if (!strncmp(w->dir.prog[prog].line[i], "ibv_import_mr ", 14))
				return true;
	return false;
}

/* Whether the record has CRCs of received data. */
static bool program_has_recv_crc(const struct rp_prog *g)
{
	const struct vt_rec *rec;
	const struct vt_wc *wc;
	uint64_t off = 0;
	uint32_t i;

	while ((rec = vt_rec_next(g->p, &off))) {
		if (rec->kind != VT_POLL)
			continue;
		for (i = 0, wc = vt_poll_wcs(rec); i < VT_BODY(vt_poll, rec)->n; i++)
			if (wc[i].flags & VT_WC_CRC)
				return true;
	}
	return false;
}

int rp_places_init(struct rp_prog *g)
{
	struct builder b = { .g = g };
	int ret = 0;

	/* A live program uses its own addresses and keys. */
	if (!g->w->full || g->w->live || trace_imports_mr(g->w) || !program_has_recv_crc(g))
		return 0;
	b.delta = calloc(g->n_obj[VOBJ_MR], sizeof(*b.delta));
	b.moved = calloc(g->n_obj[VOBJ_MR], sizeof(*b.moved));
	g->places = calloc(1, sizeof(*g->places));
	if (!b.delta || !b.moved || !g->places)
		ret = -ENOMEM;
	else
		places_add_all(&b);
	if (!ret && !b.lost && b.n && !places_make(&b, g->places))
		ret = -ENOMEM;
	free(b.span);
	free(b.delta);
	free(b.moved);
	return ret;
}

/* Returns the first place of a receive; the others follow. NULL: none. */
static const struct use *places_find_use(const struct rp_places *p, const struct vt_wr *wr)
{
	size_t low = 0, high = p ? p->n_use : 0, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (p->use[mid].wr < wr)
			low = mid + 1;
		else
			high = mid;
	}
	return p && low < p->n_use && p->use[low].wr == wr ? &p->use[low] : NULL;
}

void rp_place_taken(struct rp_prog *g, const struct vt_wr *wr)
{
	const struct use *u = places_find_use(g->places, wr);
	struct place *at;

	for (; u && u < g->places->use + g->places->n_use && u->wr == wr; u++) {
		at = &g->places->place[u->place];
		at->shared |= at->busy++ > 0;
	}
}

bool rp_place_left(struct rp_prog *g, const struct vt_wr *wr)
{
	const struct use *u = places_find_use(g->places, wr);
	struct place *at;
	bool alone = u != NULL;

	for (; u && u < g->places->use + g->places->n_use && u->wr == wr; u++) {
		at = &g->places->place[u->place];
		alone = alone && !at->shared && !at->other;
		if (at->busy && !--at->busy)
			at->shared = false;
	}
	return alone;
}

void rp_place_written(struct rp_prog *g, uint64_t addr, uint64_t len)
{
	struct rp_places *p = g->places;
	size_t low = 0, high = p ? p->n : 0, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (p->place[mid].hi <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (; p && low < p->n && p->place[low].lo < addr + len; low++)
		p->place[low].shared |= p->place[low].busy != 0;
}
