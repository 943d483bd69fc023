// SPDX-License-Identifier: MIT
/**
 * DOC: words of memory that peers do atomics on, and when the record's value of one can be compared.
 *
 * What lies in memory at some moment of the record was written by the program or by a peer, and the record does not say by
 * whom. A word is compared where it can only be the peers' atomics: where nothing else that the trace knows of
 * is written there (RDMA WRITEs, receives, READs), where the program itself is not seen to write it before
 * the first atomic came, and when all atomics on it have completed, because a look in between may see any number of
 * them.
 */
#include "replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD 8u

static int by_place(const void *a, const void *b)
{
	const struct rp_word *x = a, *y = b;

	if (x->prog != y->prog)
		return x->prog < y->prog ? -1 : 1;
	if (x->mr != y->mr)
		return x->mr < y->mr ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* The first word of an MR at @addr or behind it. */
static struct rp_word *word_from(const struct rp_world *w, uint32_t prog, uint32_t mr,
				 uint64_t addr)
{
	struct rp_word key = { .prog = prog, .mr = mr, .addr = addr };
	size_t low = 0, high = w->n_words, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (by_place(&w->word[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < w->n_words && w->word[low].prog == prog && w->word[low].mr == mr
		       ? &w->word[low]
		       : NULL;
}

static bool is_atomic(const struct vt_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || wr->opcode == IBV_WR_ATOMIC_WRITE;
}

/* The MR that a remote key is of; NULL: none, or it is that of a window. */
static const struct rp_num *target(const struct rp_world *w, const struct vt_rec *rec,
				   const struct vt_wr *wr)
{
	const struct rp_num *n = rp_world_find(w->key, w->n_key, wr->rkey, ~0u, rec->begin);

	return n && n->kind == RP_MR && !n->lkey ? n : NULL;
}

static int add(struct rp_world *w, const struct rp_word *one)
{
	struct rp_word *more;

	/* A row of atomics on one word is the rule. */
	if (w->n_words && w->word[w->n_words - 1].prog == one->prog &&
	    w->word[w->n_words - 1].mr == one->mr && w->word[w->n_words - 1].addr == one->addr)
		return 0;
	if (!(w->n_words & (w->n_words - 1))) {
		more = realloc(w->word, (w->n_words ? 2 * w->n_words : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		w->word = more;
	}
	w->word[w->n_words++] = *one;
	return 0;
}

static int find_atomic(void *arg, uint32_t prog, const struct vt_rec *rec, const struct vt_wr *wr)
{
	struct rp_world *w = arg;
	const struct rp_num *n;

	(void)prog;
	n = vt_is_send(rec->kind) && is_atomic(wr) ? target(w, rec, wr) : NULL;
	return n ? add(w, &(struct rp_word){ .prog = n->prog,
					     .mr = n->ord,
					     .addr = wr->remote_addr,
					     .first = rec->end })
		 : 0;
}

static void unique(struct rp_world *w)
{
	size_t i, to = 0;

	qsort(w->word, w->n_words, sizeof(*w->word), by_place);
	for (i = 1; i < w->n_words; i++)
		if (w->word[i].prog != w->word[to].prog || w->word[i].mr != w->word[to].mr ||
		    w->word[i].addr != w->word[to].addr)
			w->word[++to] = w->word[i];
	w->n_words = to + 1;
}

/* --- what else is written there ----------------------------------------------------------- */

static void spoil(struct rp_world *w, uint32_t prog, uint32_t mr, uint64_t addr, uint64_t len)
{
	struct rp_word *word = word_from(w, prog, mr, addr < WORD ? 0 : addr - WORD + 1);

	for (; word && word < w->word + w->n_words && word->prog == prog && word->mr == mr;
	     word++) {
		if (word->addr >= addr && word->addr - addr >= len)
			return;
		word->settled = UINT64_MAX;
	}
}

static void spoil_by_wr(struct rp_world *w, uint32_t prog, const struct vt_rec *rec,
			const struct vt_wr *wr)
{
	const struct vt_sge *sge = vt_wr_sge(wr);
	const struct rp_num *n;
	uint32_t i;

	if (vt_is_send(rec->kind) &&
	    (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)) {
		n = target(w, rec, wr);
		if (n)
			spoil(w, n->prog, n->ord, wr->remote_addr, wr->payload);
	} else if (!vt_is_send(rec->kind) || is_atomic(wr) || wr->opcode == IBV_WR_RDMA_READ) {
		for (i = 0; i < wr->n_sge; i++)
			spoil(w, prog, sge[i].mr, sge[i].addr, sge[i].len);
	}
}

/* --- when they are done ------------------------------------------------------------------- */

/** struct out - an atomic under way. */
struct out {
	uint64_t wr_id;
	struct rp_word *word;
	bool signaled;
};

/** struct sendq - those of a QP, in order: @first to @n. */
struct sendq {
	struct out *out;
	size_t first, n, cap;
};

static int begun(struct sendq *q, const struct out *one)
{
	struct out *more;

	if (q->first == q->n)
		q->first = q->n = 0;
	if (q->n == q->cap) {
		more = realloc(q->out, (2 * q->cap + 64) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		q->out = more;
		q->cap = 2 * q->cap + 64;
	}
	q->out[q->n++] = *one;
	return 0;
}

/* Those before it on its queue are done as well; those that were not signaled have no completion of their own. */
static void completed(struct sendq *q, const struct vt_wc *wc, uint64_t when)
{
	size_t i, until = q->n;

	if (wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV)
		return;
	for (i = q->first; i < q->n; i++) {
		if (q->out[i].wr_id != wc->wr_id)
			continue;
		if (q->out[i].signaled || until == q->n)
			until = i;
		if (q->out[i].signaled)
			break;
	}
	for (; until < q->n && q->first <= until; q->first++)
		if (q->out[q->first].word->settled < when)
			q->out[q->first].word->settled = when;
}

static int follow_post(struct rp_world *w, uint32_t prog, struct sendq *queue,
		       const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	const struct rp_num *n;
	struct out one;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < post->bad && !ret; i++, wr = vt_wr_next(wr)) {
		spoil_by_wr(w, prog, rec, wr);
		n = vt_is_send(rec->kind) && is_atomic(wr) ? target(w, rec, wr) : NULL;
		if (!n || post->obj >= w->n_obj[prog][VOBJ_QP])
			continue;
		one = (struct out){ .wr_id = wr->wr_id,
				    .word = word_from(w, n->prog, n->ord, wr->remote_addr),
				    .signaled = wr->send_flags & IBV_SEND_SIGNALED };
		ret = begun(&queue[post->obj], &one);
	}
	return ret;
}

static int follow(struct rp_world *w, uint32_t prog, struct sendq *queue, const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	const struct vt_wc *wc;
	uint32_t i;

	switch ((enum vt_kind)rec->kind) {
	case VT_POST_SEND:
	case VT_POST_RECV:
	case VT_POST_SRQ:
	case VT_POST_WQ:
	case VT_POST_OPS:
	case VT_WR:
		return follow_post(w, prog, queue, rec);
	case VT_POLL:
		for (i = 0, wc = vt_wcs(rec); i < poll->n; i++)
			if (wc[i].qp && wc[i].qp < w->n_obj[prog][VOBJ_QP])
				completed(&queue[wc[i].qp], &wc[i], rec->end);
		return 0;
	default:
		return 0;
	}
}

static int follow_all(struct rp_world *w, uint32_t prog)
{
	uint32_t n = w->n_obj[prog][VOBJ_QP], i;
	struct sendq *queue = calloc(n, sizeof(*queue));
	const struct vt_rec *rec;
	uint64_t off = 0;
	int ret = queue ? 0 : -ENOMEM;

	while (!ret && (rec = vt_next(&w->dir.prog[prog], &off)))
		ret = follow(w, prog, queue, rec);
	for (i = 0; queue && i < n; i++) {
		/* Nobody knows when these were done. */
		for (; queue[i].first < queue[i].n; queue[i].first++)
			queue[i].out[queue[i].first].word->settled = UINT64_MAX;
		free(queue[i].out);
	}
	free(queue);
	return ret;
}

int rp_words_init(struct rp_world *w)
{
	uint32_t prog;
	int ret = rp_each_wr(w, find_atomic, w);

	if (ret || !w->n_words)
		return ret;
	unique(w);
	for (prog = 0; prog < w->dir.n_progs && !ret; prog++)
		ret = follow_all(w, prog);
	return ret;
}

struct rp_word *rp_word_at(const struct rp_world *w, uint32_t prog, uint32_t mr, uint64_t addr)
{
	struct rp_word *word = word_from(w, prog, mr, addr < WORD ? 0 : addr - WORD + 1);

	return word && word->addr <= addr ? word : NULL;
}
