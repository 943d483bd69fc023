/* SPDX-License-Identifier: MIT */
/**
 * DOC: sends of the record that failed because their receiver had posted no receive.
 *
 * Theory of operation
 * -------------------
 * Whether a send finds a receive, or runs out of RNR retries, depends on how much time passes until
 * its receiver posts one. In the record that was more than the retries take; a replay makes the
 * next call as soon as its turn has come. So the thread that posts such a send keeps its turn until
 * the send has failed: calls that came after the post in the record wait, the receiver's among
 * them. Completions that this takes off the CQ are kept for the record's polls.
 *
 * Other sends of the queue pair may need those calls: a send that was posted before, completes
 * later, and succeeds may wait for a receive as well. The record does not say when the failed one
 * had its turn then, so the replay does not wait.
 *
 * Nor does it if the peer is a live program, which posts receives when it likes. The wait has a
 * bound, after which the replay goes on: the time that the record had from the post to the poll, a
 * multiple for a busy machine, and less than other threads take to report that nothing comes.
 */
#include "traces/replay/unreceived.h"
#include "traces/replay/objects.h"
#include "traces/replay/poll.h"
#include "traces/replay/shared.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"
#include "traces/vtrace/array.h"

#include <errno.h>
#include <stdlib.h>

#define WAIT_TIMES  4u
#define WAIT_MIN_NS 1000000000ULL

/**
 * struct rp_sent - a completion of a queue pair that has such sends, of its send queue. Sorted by
 * the first three fields.
 * @polled: begin of its poll, a number of the trace's order
 * @polled_ns: when the poll ended
 * @post: of one that ran out of RNR retries: begin of its post if the replay waits there, or 0
 * @status: enum ibv_wc_status
 * @came: the replay has it
 */
struct rp_sent {
	uint64_t wr_id;
	uint32_t qp;
	uint64_t polled;
	uint64_t polled_ns;
	uint64_t post;
	uint32_t status;
	bool came;
};

/* @of: by ordinal: the queue pairs with such sends. @latest: by ordinal: poll of a success */
struct reader {
	struct rp_prog *g;
	bool *of;
	uint64_t *latest;
};

static int sent_compare(const void *a, const void *b)
{
	const struct rp_sent *x = a, *y = b;

	if (x->wr_id != y->wr_id)
		return x->wr_id < y->wr_id ? -1 : 1;
	if (x->qp != y->qp)
		return x->qp < y->qp ? -1 : 1;
	return x->polled < y->polled ? -1 : x->polled > y->polled;
}

/* Returns the first completion of a work request that was polled after @after, or NULL. */
static struct rp_sent *sent_find(const struct rp_prog *g, uint32_t qp, uint64_t wr_id,
				 uint64_t after)
{
	const struct rp_sent want = { .wr_id = wr_id, .qp = qp, .polled = after };
	size_t i = rp_lower_bound(g->sent, g->n_sent, sizeof(*g->sent), &want, sent_compare);

	return i < g->n_sent && g->sent[i].qp == qp && g->sent[i].wr_id == wr_id ? &g->sent[i]
										 : NULL;
}

static int reader_mark_qp(struct reader *r, const struct vt_rec *rec, const struct vt_wc *wc)
{
	(void)rec;
	if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR)
		r->of[wc->qp] = true;
	return 0;
}

static int reader_add_sent(struct reader *r, const struct vt_rec *rec, const struct vt_wc *wc)
{
	struct rp_prog *g = r->g;
	struct rp_sent *more;

	if (!r->of[wc->qp] || (wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV))
		return 0;
	more = vt_array_room(g->sent, g->n_sent, sizeof(*more));
	if (!more)
		return -ENOMEM;
	g->sent = more;
	g->sent[g->n_sent++] = (struct rp_sent){ .wr_id = wc->wr_id,
						 .qp = wc->qp,
						 .polled = rec->begin,
						 .polled_ns = rec->t_end,
						 .status = wc->status };
	return 0;
}

static int reader_polls(struct reader *r, int (*fn)(struct reader *r, const struct vt_rec *rec,
						    const struct vt_wc *wc))
{
	const struct vt_rec *rec;
	const struct vt_wc *wc;
	uint64_t off = 0;
	uint32_t i;
	int ret = 0;

	while (!ret && (rec = vt_rec_next(r->g->p, &off))) {
		if (rec->kind != VT_POLL)
			continue;
		wc = vt_poll_wcs(rec);
		for (i = 0; i < VT_BODY(vt_poll, rec)->n && !ret; i++, wc++)
			if (wc->qp && wc->qp < r->g->n_obj[VOBJ_QP])
				ret = fn(r, rec, wc);
	}
	return ret;
}

/* Finds out for each failed send of a post whether the replay waits for it. */
static void reader_post(struct reader *r, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	uint64_t *latest = &r->latest[post->obj];
	struct rp_sent *s;
	uint32_t i;

	for (i = 0; i < post->bad; i++, wr = vt_wr_next(wr)) {
		s = sent_find(r->g, post->obj, wr->wr_id, rec->begin);
		if (s && s->status == IBV_WC_SUCCESS && s->polled > *latest)
			*latest = s->polled;
	}
	for (i = 0, wr = vt_wr_first(rec); i < post->bad; i++, wr = vt_wr_next(wr)) {
		s = sent_find(r->g, post->obj, wr->wr_id, rec->begin);
		/* The last post of a work request before the poll is the one that failed. */
		if (s && s->status == IBV_WC_RNR_RETRY_EXC_ERR)
			s->post = *latest < rec->begin ? rec->begin : 0;
	}
}

static bool rec_posts_sends(const struct vt_rec *rec)
{
	return rec->kind == VT_POST_SEND || rec->kind == VT_WR;
}

static int reader_run(struct reader *r)
{
	struct rp_prog *g = r->g;
	const struct vt_rec *rec;
	uint64_t off = 0;
	int ret = reader_polls(r, reader_mark_qp);

	if (!ret)
		ret = reader_polls(r, reader_add_sent);
	if (ret || !g->n_sent)
		return ret;
	rp_sort_array(g->sent, g->n_sent, sizeof(*g->sent), sent_compare);
	while ((rec = vt_rec_next(g->p, &off)))
		if (rec_posts_sends(rec) && VT_BODY(vt_post, rec)->obj < g->n_obj[VOBJ_QP])
			reader_post(r, rec);
	return 0;
}

int rp_unreceived_init(struct rp_prog *g)
{
	struct reader r = { .g = g };
	uint32_t n = g->n_obj[VOBJ_QP];
	int ret = -ENOMEM;

	r.of = calloc(n, sizeof(*r.of));
	r.latest = calloc(n, sizeof(*r.latest));
	if (r.of && r.latest)
		ret = reader_run(&r);
	free(r.of);
	free(r.latest);
	return ret;
}

void rp_unreceived_note(struct rp_prog *g, uint32_t qp, const struct ibv_wc *wc)
{
	struct rp_sent *s, *end = g->sent + g->n_sent;

	if (wc->status != IBV_WC_RNR_RETRY_EXC_ERR)
		return;
	for (s = sent_find(g, qp, wc->wr_id, 0);
	     s && s < end && s->qp == qp && s->wr_id == wc->wr_id; s++) {
		if (s->status != IBV_WC_RNR_RETRY_EXC_ERR || s->came)
			continue;
		s->came = true;
		return;
	}
}

static struct rp_cq *send_cq_of(struct rp_prog *g, uint32_t qp)
{
	const struct ibv_qp *obj = rp_obj(g, VOBJ_QP, qp);
	uint32_t cq = obj ? rp_obj_find(g, VOBJ_CQ, obj->send_cq) : 0;

	return cq ? &g->cq[cq] : NULL;
}

/* Returns whether the send has failed by now, or never will. */
static bool sent_is_over(struct rp_prog *g, const struct rp_sent *s)
{
	struct rp_cq *cq;
	bool over;

	pthread_mutex_lock(&g->lock);
	cq = send_cq_of(g, s->qp);
	over = s->came || !cq || rp_cq_drain(g, cq, 1) < 0 || s->came;
	pthread_mutex_unlock(&g->lock);
	return over || rp_is_failed(g->w);
}

static void sent_await(struct rp_thread *t, const struct vt_rec *rec, const struct rp_sent *s)
{
	uint64_t bound = WAIT_TIMES * (s->polled_ns - rec->t_begin), began = vt_now();
	unsigned int rest = 0;

	if (bound < WAIT_MIN_NS)
		bound = WAIT_MIN_NS;
	if (bound > t->prog->timeout / 2)
		bound = t->prog->timeout / 2;
	while (!sent_is_over(t->prog, s) && vt_now() - began < bound)
		rp_wait_step(&rest);
}

void rp_unreceived_await(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	const struct rp_sent *s;
	uint32_t i;

	if (!t->prog->n_sent || t->prog->w->live)
		return;
	for (i = 0; i < post->bad; i++, wr = vt_wr_next(wr)) {
		s = sent_find(t->prog, post->obj, wr->wr_id, rec->begin);
		if (s && s->post == rec->begin)
			sent_await(t, rec, s);
	}
}
