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
 * The send may need such a later call to come to its receiver at all, as one does that stands in
 * its queue behind others. So the wait is bounded by the time that the record had from the post to
 * the poll, and a multiple for a busy machine. After that the replay goes on without it.
 *
 * A live program decides by itself when it posts its receives: its peer's replay does not wait.
 */
#include "traces/replay/unreceived.h"
#include "traces/replay/objects.h"
#include "traces/replay/poll.h"
#include "traces/replay/shared.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"

#include <errno.h>
#include <stdlib.h>

#define WAIT_TIMES  4u
#define WAIT_MIN_NS 1000000000ULL
#define WAIT_MAX_NS 10000000000ULL

/**
 * struct rp_unreceived - such a send, sorted by these fields down to @polled.
 * @polled: begin of the poll that found it failed, a number of the trace's order
 * @polled_ns: when that was
 * @post: begin of its post, or 0
 * @came: the replay has its completion
 */
struct rp_unreceived {
	uint64_t wr_id;
	uint32_t qp;
	uint64_t polled;
	uint64_t polled_ns;
	uint64_t post;
	bool came;
};

static int unreceived_compare(const void *a, const void *b)
{
	const struct rp_unreceived *x = a, *y = b;

	if (x->wr_id != y->wr_id)
		return x->wr_id < y->wr_id ? -1 : 1;
	if (x->qp != y->qp)
		return x->qp < y->qp ? -1 : 1;
	return x->polled < y->polled ? -1 : x->polled > y->polled;
}

static int unreceived_add(struct rp_prog *g, const struct rp_unreceived *one)
{
	struct rp_unreceived *more;

	/* A power of two: the array is full. */
	if (!(g->n_unreceived & (g->n_unreceived - 1))) {
		more = realloc(g->unreceived,
			       (g->n_unreceived ? 2 * g->n_unreceived : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		g->unreceived = more;
	}
	g->unreceived[g->n_unreceived++] = *one;
	return 0;
}

static int unreceived_read_polls(struct rp_prog *g)
{
	const struct vt_wc *wc;
	const struct vt_rec *rec;
	uint64_t off = 0;
	uint32_t i;
	int ret;

	while ((rec = vt_rec_next(g->p, &off))) {
		if (rec->kind != VT_POLL)
			continue;
		wc = vt_poll_wcs(rec);
		for (i = 0; i < VT_BODY(vt_poll, rec)->n; i++, wc++) {
			struct rp_unreceived one = { .wr_id = wc->wr_id,
						     .qp = wc->qp,
						     .polled = rec->begin,
						     .polled_ns = rec->t_end };

			if (wc->status != IBV_WC_RNR_RETRY_EXC_ERR || !wc->qp)
				continue;
			ret = unreceived_add(g, &one);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Returns the first poll after @after that found this work request failed so, or NULL. */
static struct rp_unreceived *unreceived_find(const struct rp_prog *g, uint32_t qp, uint64_t wr_id,
					     uint64_t after)
{
	const struct rp_unreceived want = { .wr_id = wr_id, .qp = qp, .polled = after };
	size_t low = 0, high = g->n_unreceived, mid;
	struct rp_unreceived *u;

	while (low < high) {
		mid = (low + high) / 2;
		if (unreceived_compare(&g->unreceived[mid], &want) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	u = g->unreceived + low;
	return low < g->n_unreceived && u->qp == qp && u->wr_id == wr_id ? u : NULL;
}

static bool rec_posts_sends(const struct vt_rec *rec)
{
	return rec->kind == VT_POST_SEND || rec->kind == VT_WR;
}

/* The last post of a work request before the poll is the one that failed. */
static int unreceived_learn_post(void *arg, uint32_t prog, const struct vt_rec *rec,
				 const struct vt_wr *wr)
{
	struct rp_prog *g = arg;
	struct rp_unreceived *u;

	if (prog != g->nth || !rec_posts_sends(rec))
		return 0;
	u = unreceived_find(g, VT_BODY(vt_post, rec)->obj, wr->wr_id, rec->begin);
	if (u && u->post < rec->begin)
		u->post = rec->begin;
	return 0;
}

int rp_unreceived_init(struct rp_prog *g)
{
	int ret = unreceived_read_polls(g);

	if (ret || !g->n_unreceived)
		return ret;
	rp_sort_array(g->unreceived, g->n_unreceived, sizeof(*g->unreceived), unreceived_compare);
	return rp_for_each_wr(g->w, unreceived_learn_post, g);
}

void rp_unreceived_note(struct rp_prog *g, uint32_t qp, const struct ibv_wc *wc)
{
	struct rp_unreceived *u, *end = g->unreceived + g->n_unreceived;

	if (wc->status != IBV_WC_RNR_RETRY_EXC_ERR)
		return;
	for (u = unreceived_find(g, qp, wc->wr_id, 0);
	     u && u < end && u->qp == qp && u->wr_id == wc->wr_id; u++) {
		if (u->came)
			continue;
		u->came = true;
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
static bool unreceived_has_failed(struct rp_prog *g, const struct rp_unreceived *u)
{
	struct rp_cq *cq;
	bool over;

	pthread_mutex_lock(&g->lock);
	cq = send_cq_of(g, u->qp);
	over = u->came || !cq || rp_cq_drain(g, cq, 1) < 0 || u->came;
	pthread_mutex_unlock(&g->lock);
	return over || rp_is_failed(g->w);
}

static void unreceived_wait(struct rp_thread *t, const struct vt_rec *rec,
			    const struct rp_unreceived *u)
{
	uint64_t bound = WAIT_TIMES * (u->polled_ns - rec->t_begin), began = vt_now();
	unsigned int rest = 0;

	if (bound < WAIT_MIN_NS)
		bound = WAIT_MIN_NS;
	if (bound > WAIT_MAX_NS)
		bound = WAIT_MAX_NS;
	while (!unreceived_has_failed(t->prog, u) && vt_now() - began < bound)
		rp_wait_step(&rest);
}

void rp_unreceived_await(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	const struct rp_unreceived *u;
	uint32_t i;

	if (!t->prog->n_unreceived || t->prog->w->live)
		return;
	for (i = 0; i < post->bad; i++, wr = vt_wr_next(wr)) {
		u = unreceived_find(t->prog, post->obj, wr->wr_id, rec->begin);
		if (u && u->post == rec->begin)
			unreceived_wait(t, rec, u);
	}
}
