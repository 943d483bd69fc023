/* SPDX-License-Identifier: MIT */
/**
 * DOC: words of memory that peers modify by atomics, and when their recorded values can be
 * compared.
 *
 * The record does not say whether the contents of memory at some moment were written by the program
 * or by a peer. So a word is compared only where its value must be the result of the peers'
 * atomics: the trace has no other writes to it (RDMA WRITEs, receives, READs), the program is not
 * seen to write it before the first atomic, and all atomics on it have completed. Before that it
 * may contain the result of any number of them.
 *
 * For the same reason a recorded value must not be written to memory while the atomics here are
 * ahead of the record or behind: later additions would be added to it. If the final value of a word
 * is its first value plus all additions, only atomics have changed it, and the replay does not
 * write it. The program itself may have written other words, so they are written.
 */
#include "traces/replay/atomics.h"
#include "traces/replay/replay.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"
#include "traces/vtrace/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD 8u

static int word_compare(const void *a, const void *b)
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

/* Returns the first word of an MR at or after @addr. */
static struct rp_word *word_find_from(const struct rp_world *w, uint32_t prog, uint32_t mr,
				      uint64_t addr)
{
	struct rp_word key = { .prog = prog, .mr = mr, .addr = addr };
	size_t i = rp_lower_bound(w->word, w->n_words, sizeof(*w->word), &key, word_compare);

	return i < w->n_words && w->word[i].prog == prog && w->word[i].mr == mr ? &w->word[i]
										: NULL;
}

static bool wr_is_atomic(const struct vt_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || wr->opcode == IBV_WR_ATOMIC_WRITE;
}

/* Returns the MR of a remote key. NULL: none, or the key of a window. */
static const struct rp_num *wr_target_mr(const struct rp_world *w, const struct vt_rec *rec,
					 const struct vt_wr *wr)
{
	const struct rp_num *n = rp_num_find(w->key, w->n_key, wr->rkey, ~0u, rec->begin);

	return n && n->kind == RP_MR && !n->lkey ? n : NULL;
}

static int atomics_add(struct rp_world *w, const struct rp_word *one)
{
	struct rp_word *more;

	/* Programs usually post many atomics on one word in a row. */
	if (w->n_words && w->word[w->n_words - 1].prog == one->prog &&
	    w->word[w->n_words - 1].mr == one->mr && w->word[w->n_words - 1].addr == one->addr)
		return 0;
	more = vt_array_room(w->word, w->n_words, sizeof(*more));
	if (!more)
		return -ENOMEM;
	w->word = more;
	w->word[w->n_words++] = *one;
	return 0;
}

static int atomics_add_wr(void *arg, uint32_t prog, const struct vt_rec *rec,
			  const struct vt_wr *wr)
{
	struct rp_world *w = arg;
	const struct rp_num *n;

	(void)prog;
	n = vt_is_send(rec->kind) && wr_is_atomic(wr) ? wr_target_mr(w, rec, wr) : NULL;
	return n ? atomics_add(w, &(struct rp_word){ .prog = n->prog,
						     .mr = n->ord,
						     .addr = wr->remote_addr,
						     .first = rec->begin,
						     .off = UINT64_MAX })
		 : 0;
}

static void atomics_unique(struct rp_world *w)
{
	size_t i, to = 0;

	rp_sort_array(w->word, w->n_words, sizeof(*w->word), word_compare);
	for (i = 1; i < w->n_words; i++)
		if (w->word[i].prog != w->word[to].prog || w->word[i].mr != w->word[to].mr ||
		    w->word[i].addr != w->word[to].addr)
			w->word[++to] = w->word[i];
	w->n_words = to + 1;
}

/* --- other writes to the words --- */

static void atomics_spoil(struct rp_world *w, uint32_t prog, uint32_t mr, uint64_t addr,
			  uint64_t len)
{
	struct rp_word *word = word_find_from(w, prog, mr, addr < WORD ? 0 : addr - WORD + 1);

	for (; word && word < w->word + w->n_words && word->prog == prog && word->mr == mr;
	     word++) {
		if (word->addr >= addr && word->addr - addr >= len)
			return;
		word->settled = UINT64_MAX;
	}
}

static void atomics_spoil_by_wr(struct rp_world *w, uint32_t prog, const struct vt_rec *rec,
				const struct vt_wr *wr)
{
	const struct vt_sge *sge = vt_wr_sge(wr);
	const struct rp_num *n;
	uint32_t i;

	if (vt_is_send(rec->kind) &&
	    (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)) {
		n = wr_target_mr(w, rec, wr);
		if (n)
			atomics_spoil(w, n->prog, n->ord, wr->remote_addr, wr->payload);
	} else if (!vt_is_send(rec->kind) || wr_is_atomic(wr) || wr->opcode == IBV_WR_RDMA_READ) {
		for (i = 0; i < wr->n_sge; i++)
			atomics_spoil(w, prog, sge[i].mr, sge[i].addr, sge[i].len);
	}
}

/* --- when the atomics complete --- */

/** struct out - an atomic under way. */
struct out {
	uint64_t wr_id;
	struct rp_word *word;
	bool signaled;
};

/** struct sendq - the atomics of a QP in order, entries @first to @n. */
struct sendq {
	struct out *out;
	size_t first, n, cap;
};

static int sendq_push(struct sendq *q, const struct out *one)
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

/* Earlier atomics of the queue have completed as well; unsignaled ones have no completion. */
static void sendq_complete(struct sendq *q, const struct vt_wc *wc, uint64_t when)
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
	for (; until < q->n && q->first <= until; q->first++) {
		if (q->out[q->first].word->settled < when)
			q->out[q->first].word->settled = when;
		q->out[q->first].word->mixed |= wc->status != IBV_WC_SUCCESS;
	}
}

static int sendq_follow_post(struct rp_world *w, uint32_t prog, struct sendq *queue,
			     const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	const struct rp_num *n;
	struct rp_word *word;
	struct out one;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < post->bad && !ret; i++, wr = vt_wr_next(wr)) {
		atomics_spoil_by_wr(w, prog, rec, wr);
		n = vt_is_send(rec->kind) && wr_is_atomic(wr) ? wr_target_mr(w, rec, wr) : NULL;
		word = n ? word_find_from(w, n->prog, n->ord, wr->remote_addr) : NULL;
		if (!word || post->obj >= w->n_obj[prog][VOBJ_QP])
			continue;
		one = (struct out){ .wr_id = wr->wr_id,
				    .word = word,
				    .signaled = wr->send_flags & IBV_SEND_SIGNALED };
		word->sum += wr->compare_add;
		word->mixed |= wr->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD;
		ret = sendq_push(&queue[post->obj], &one);
	}
	return ret;
}

static int sendq_follow_rec(struct rp_world *w, uint32_t prog, struct sendq *queue,
			    const struct vt_rec *rec)
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
		return sendq_follow_post(w, prog, queue, rec);
	case VT_POLL:
		for (i = 0, wc = vt_poll_wcs(rec); i < poll->n; i++)
			if (wc[i].qp && wc[i].qp < w->n_obj[prog][VOBJ_QP])
				sendq_complete(&queue[wc[i].qp], &wc[i], rec->end);
		return 0;
	default:
		return 0;
	}
}

static int sendq_follow_program(struct rp_world *w, uint32_t prog)
{
	uint32_t n = w->n_obj[prog][VOBJ_QP], i;
	struct sendq *queue = calloc(n, sizeof(*queue));
	const struct vt_rec *rec;
	uint64_t off = 0;
	int ret = queue ? 0 : -ENOMEM;

	while (!ret && (rec = vt_rec_next(&w->dir.prog[prog], &off)))
		ret = sendq_follow_rec(w, prog, queue, rec);
	for (i = 0; queue && i < n; i++) {
		/* It is unknown when these completed. */
		for (; queue[i].first < queue[i].n; queue[i].first++)
			queue[i].out[queue[i].first].word->settled = UINT64_MAX;
		free(queue[i].out);
	}
	free(queue);
	return ret;
}

/* --- recorded values --- */

/* Finds the offsets of the words in a registered MR. */
static void atomics_locate(struct rp_world *w, uint32_t prog, const struct vt_rec *rec)
{
	const struct vt_program *p = &w->dir.prog[prog];
	struct rp_word *word;
	const char *line;
	uint64_t base;
	uint32_t mr;
	size_t len;

	line = vt_rec_line(p, rec, &len);
	if (strncmp(line, "ibv_reg_mr", 10) != 0)
		return;
	mr = rp_line_object(line, VOBJ_MR, " = ");
	word = mr ? word_find_from(w, prog, mr, 0) : NULL;
	if (!word || (!vt_rec_fact(p, rec, false, "iova", &base) &&
		      !vt_rec_fact(p, rec, true, "addr", &base)))
		return;
	for (; word < w->word + w->n_words && word->prog == prog && word->mr == mr; word++)
		if (word->addr >= base)
			word->off = word->addr - base;
}

static void atomics_read_mem(struct rp_world *w, uint32_t prog, const struct vt_rec *rec)
{
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	const uint8_t *bytes = mem->what == VT_MEM_FINAL ? NULL : vt_mem_bytes(rec);
	struct rp_word *word = bytes ? word_find_from(w, prog, mem->mr, 0) : NULL;
	uint64_t from, to;

	for (; word && word < w->word + w->n_words && word->prog == prog && word->mr == mem->mr;
	     word++) {
		from = word->off < mem->off ? mem->off : word->off;
		to = word->off + WORD < mem->off + mem->len ? word->off + WORD
							    : mem->off + mem->len;
		if (word->off == UINT64_MAX || from >= to)
			continue;
		memcpy((uint8_t *)&word->value + (from - word->off), bytes + (from - mem->off),
		       to - from);
		if (rec->begin < word->first)
			word->start = word->value;
	}
}

static void atomics_read_program(struct rp_world *w, uint32_t prog)
{
	const struct vt_rec *rec;
	uint64_t off;

	for (off = 0; (rec = vt_rec_next(&w->dir.prog[prog], &off));)
		if (rec->kind == VT_CALL)
			atomics_locate(w, prog, rec);
	for (off = 0; (rec = vt_rec_next(&w->dir.prog[prog], &off));)
		if (rec->kind == VT_MEM)
			atomics_read_mem(w, prog, rec);
}

int rp_words_init(struct rp_world *w)
{
	struct rp_word *word;
	uint32_t prog;
	int ret = rp_for_each_wr(w, atomics_add_wr, w);

	if (ret || !w->n_words)
		return ret;
	atomics_unique(w);
	for (prog = 0; prog < w->dir.n_progs && !ret; prog++)
		ret = sendq_follow_program(w, prog);
	for (prog = 0; prog < w->dir.n_progs && !ret; prog++)
		atomics_read_program(w, prog);
	for (word = w->word; word < w->word + w->n_words; word++)
		word->sums = !word->mixed && word->settled != UINT64_MAX &&
			     word->value - word->start == word->sum;
	return ret;
}

struct rp_word *rp_word_find(const struct rp_world *w, uint32_t prog, uint32_t mr, uint64_t addr)
{
	struct rp_word *word = word_find_from(w, prog, mr, addr < WORD ? 0 : addr - WORD + 1);

	return word && word->addr <= addr ? word : NULL;
}

/* Equal bytes are not written: a peer may be writing there. */
static void atomics_put_bytes(uint8_t *at, const uint8_t *bytes, uint64_t len)
{
	if (memcmp(at, bytes, len) != 0)
		memcpy(at, bytes, len);
}

void rp_words_put(const struct rp_world *w, uint32_t prog, const struct vt_rec *rec, uint64_t addr,
		  uint8_t *at)
{
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	const uint8_t *bytes = vt_mem_bytes(rec);
	const struct rp_word *word =
		word_find_from(w, prog, mem->mr, addr < WORD ? 0 : addr - WORD + 1);
	uint64_t done = 0, from;

	for (; word && word < w->word + w->n_words && word->prog == prog && word->mr == mem->mr &&
	       word->addr < addr + mem->len;
	     word++) {
		if (!word->sums || word->first > rec->begin)
			continue;
		from = word->addr > addr ? word->addr - addr : 0;
		if (from > done)
			atomics_put_bytes(at + done, bytes + done, from - done);
		done = word->addr + WORD - addr;
	}
	if (done < mem->len)
		atomics_put_bytes(at + done, bytes + done, mem->len - done);
}
