/* SPDX-License-Identifier: MIT */
/**
 * DOC: work requests of an export: from the post to the poll that found the completion.
 *
 * Completions of a queue pair come in the order of its posts, and those before one that is signaled
 * have completed without one of their own: they end at the same poll. Receives of an SRQ are taken
 * in any order.
 */
#include "fabric/cli/trace/export.h"
#include "fabric/cli/trace/chrome.h"

#include <errno.h>
#include <stdlib.h>

/* --- queues ----------------------------------------------------------------------------------- */

static int queue_push(struct export_queue *q, const struct export_wr *wr)
{
	void *more = trace_queue_room(q->wr, sizeof(*q->wr), &q->first, &q->n, &q->cap);

	if (!more)
		return -ENOMEM;
	q->wr = more;
	q->wr[q->n++] = *wr;
	return 0;
}

static struct export_queue *queue_make(struct export_program *p, enum export_queue_kind kind, u32 i)
{
	struct export_queue *bigger;

	if (i >= VT_MAX_OBJ)
		return NULL;
	bigger = export_at(p->queue[kind], &p->n_queues[kind], i, sizeof(*bigger));
	if (!bigger)
		return NULL;
	p->queue[kind] = bigger;
	return &bigger[i];
}

/* Find a work request under way. Return: its place; q->n: there is none. */
static size_t queue_find(const struct export_queue *q, u64 wr_id)
{
	size_t i;

	for (i = q->first; i < q->n && q->wr[i].wr_id != wr_id; i++)
		;
	return i;
}

/* Take one out of the middle. */
static void queue_remove(struct export_queue *q, size_t i)
{
	memmove(q->wr + q->first + 1, q->wr + q->first, (i - q->first) * sizeof(*q->wr));
	q->first++;
}

static struct export_queue *queue_of(const struct export_program *p, enum export_queue_kind kind,
				     u32 i)
{
	return i < p->n_queues[kind] ? &p->queue[kind][i] : NULL;
}

static u32 queue_tid(enum export_queue_kind kind, u32 i)
{
	return i + (kind == EXPORT_SRQ	? EXPORT_TID_SRQ
		    : kind == EXPORT_WQ ? EXPORT_TID_WQ
					: EXPORT_TID_QP);
}

static enum export_queue_kind queue_kind(u32 rec_kind)
{
	switch (rec_kind) {
	case VT_POST_RECV:
		return EXPORT_RQ;
	case VT_POST_SRQ:
		return EXPORT_SRQ;
	case VT_POST_WQ:
		return EXPORT_WQ;
	default:
		return EXPORT_SQ;
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static void wr_event(struct export *x, const struct export_program *p, char ph,
		     enum export_queue_kind kind, u32 queue, const struct export_wr *wr, u64 ns)
{
	static const char *const names[] = { "qp", "qp", "srq", "wq" };
	struct chrome_at at = { p->p->num, queue_tid(kind, queue), ns - x->begin };
	char name[64];

	/* Viewers put pairs of one name in one place. */
	snprintf(name, sizeof(name), "%s%u %s", names[kind], queue, wr->opcode);
	chrome_begin(x->out, ph, "wr", name, &at);
	chrome_id(x->out, wr->id);
	if (ph == 'b') {
		chrome_arg_hex(x->out, "wr_id", wr->wr_id);
		chrome_arg(x->out, "bytes", wr->bytes);
	}
}

static void wr_end(struct export *x, const struct export_program *p, enum export_queue_kind kind,
		   u32 queue, const struct export_wr *wr, u64 ns, const char *status)
{
	wr_event(x, p, 'e', kind, queue, wr, ns);
	chrome_arg_text(x->out, "status", status);
	chrome_end(x->out);
}

/* Work requests of a queue pair that are under way, and the bytes of its messages so far. */
static void qp_counters(struct export *x, const struct export_program *p, u32 ordinal, u64 ns)
{
	const struct export_queue *q = queue_of(p, EXPORT_SQ, ordinal);
	const struct export_qp *qp = export_qp_of(p, ordinal);
	struct chrome_at at = { p->p->num, EXPORT_TID_QP + ordinal, ns - x->begin };
	char name[32];

	if (!q || !qp)
		return;
	snprintf(name, sizeof(name), "qp%u in flight", ordinal);
	chrome_begin(x->out, 'C', "qp", name, &at);
	chrome_arg(x->out, "work requests", q->n - q->first);
	chrome_end(x->out);
	snprintf(name, sizeof(name), "qp%u bytes", ordinal);
	chrome_begin(x->out, 'C', "qp", name, &at);
	chrome_arg(x->out, "posted", qp->bytes);
	chrome_end(x->out);
}

/*
 * A flow begins and ends in slices: those of the calls that post and poll. The end of a slice is no
 * longer in it.
 */
static void flow_event(struct export *x, const struct export_program *p, char ph, u64 flow,
		       const struct vt_rec *rec)
{
	struct chrome_at at = { p->p->num, EXPORT_TID_THREAD + rec->thread,
				rec->t_begin - x->begin };

	if (ph == 'f' && rec->t_end > rec->t_begin)
		at.ns = rec->t_end - 1 - x->begin;
	chrome_begin(x->out, ph, "message", "message", &at);
	chrome_id(x->out, flow);
	if (ph == 'f')
		chrome_member(x->out, "bp", "e");
	chrome_end(x->out);
}

/* --- posts ------------------------------------------------------------------------------------ */

/* The flow of the @nth message from @from to @to, from 1; 0: it has none. */
static u64 flow_of(const struct export_qp *from, const struct export_qp *to, u64 nth)
{
	if (!from || !to || from->reused || to->reused)
		return 0;
	return nth <= from->messages && nth <= to->received ? to->flows + nth : 0;
}

static void post_count(struct export *x, const struct export_program *p, const struct vt_rec *rec,
		       const struct vt_wr *wr, struct export_wr *w)
{
	struct export_qp *qp = export_qp_of(p, VT_BODY(vt_post, rec)->obj);
	u64 flow;

	if (!vt_is_send(rec->kind) || !qp)
		return;
	qp->bytes += w->bytes;
	if (!export_consumes_receive(wr->opcode))
		return;
	flow = flow_of(qp, qp->peer, ++qp->sent);
	if (flow)
		flow_event(x, p, 's', flow, rec);
}

int export_post(struct export *x, struct export_program *p, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	enum export_queue_kind kind = queue_kind(rec->kind);
	struct export_queue *q = queue_make(p, kind, post->obj);
	const struct vt_wr *wr = vt_wr_first(rec);
	struct export_wr w;
	u32 i;

	if (!q)
		return -ENOMEM;
	for (i = 0; i < post->bad; i++, wr = vt_wr_next(wr)) {
		w = (struct export_wr){
			.wr_id = wr->wr_id,
			.id = ++x->wrs,
			.bytes = trace_wr_bytes(wr),
			.opcode = trace_wr_opcode_name(rec, wr),
		};
		wr_event(x, p, 'b', kind, post->obj, &w, rec->t_begin);
		chrome_end(x->out);
		post_count(x, p, rec, wr, &w);
		if (queue_push(q, &w))
			return -ENOMEM;
	}
	if (kind == EXPORT_SQ)
		qp_counters(x, p, post->obj, rec->t_end);
	return 0;
}

/* --- completions ------------------------------------------------------------------------------ */

/* End a send, and those before it. Return: whether the queue has it. */
static bool poll_end_send(struct export *x, const struct export_program *p, const struct vt_wc *wc,
			  u64 ns)
{
	struct export_queue *q = queue_of(p, EXPORT_SQ, wc->qp);
	size_t at = q ? queue_find(q, wc->wr_id) : 0;

	if (!q || at == q->n)
		return false;
	for (; q->first < at; q->first++)
		wr_end(x, p, EXPORT_SQ, wc->qp, &q->wr[q->first], ns, "unsignaled");
	wr_end(x, p, EXPORT_SQ, wc->qp, &q->wr[q->first++], ns, ib_wc_status_name(wc->status));
	qp_counters(x, p, wc->qp, ns);
	return true;
}

static bool poll_end_receive_of(struct export *x, const struct export_program *p,
				enum export_queue_kind kind, u32 queue, const struct vt_wc *wc,
				u64 ns)
{
	struct export_queue *q = queue_of(p, kind, queue);
	size_t at = q ? queue_find(q, wc->wr_id) : 0;

	if (!q || at == q->n)
		return false;
	wr_end(x, p, kind, queue, &q->wr[at], ns, ib_wc_status_name(wc->status));
	queue_remove(q, at);
	return true;
}

/* The queue pair's own queue has the receive, or a shared one. */
static void poll_end_receive(struct export *x, const struct export_program *p,
			     const struct vt_wc *wc, u64 ns)
{
	u32 i;

	if (poll_end_receive_of(x, p, EXPORT_RQ, wc->qp, wc, ns))
		return;
	for (i = 1; i < p->n_queues[EXPORT_SRQ]; i++)
		if (poll_end_receive_of(x, p, EXPORT_SRQ, i, wc, ns))
			return;
	for (i = 1; i < p->n_queues[EXPORT_WQ]; i++)
		if (poll_end_receive_of(x, p, EXPORT_WQ, i, wc, ns))
			return;
}

static void poll_error(struct export *x, const struct export_program *p, const struct vt_wc *wc,
		       u64 ns)
{
	struct chrome_at at = { p->p->num, EXPORT_TID_QP + wc->qp, ns - x->begin };

	chrome_begin(x->out, 'i', "error", ib_wc_status_name(wc->status), &at);
	chrome_member(x->out, "s", "t");
	chrome_arg_hex(x->out, "wr_id", wc->wr_id);
	chrome_arg(x->out, "vendor_err", wc->vendor_err);
	chrome_end(x->out);
}

void export_poll(struct export *x, struct export_program *p, const struct vt_rec *rec)
{
	const struct vt_wc *wc = vt_poll_wcs(rec);
	struct export_qp *qp;
	u64 flow;
	u32 i;

	for (i = 0; i < VT_BODY(vt_poll, rec)->n; i++, wc++) {
		if (wc->status != WCS_SUCCESS) {
			/* Its opcode is undefined: the wr_id says in which queue it was. */
			poll_error(x, p, wc, rec->t_end);
			if (!poll_end_send(x, p, wc, rec->t_end))
				poll_end_receive(x, p, wc, rec->t_end);
			continue;
		}
		if (!(wc->opcode & WCO_RECV)) {
			poll_end_send(x, p, wc, rec->t_end);
			continue;
		}
		poll_end_receive(x, p, wc, rec->t_end);
		qp = export_qp_of(p, wc->qp);
		flow = qp ? flow_of(qp->peer, qp, ++qp->got) : 0;
		if (flow)
			flow_event(x, p, 'f', flow, rec);
	}
}

void export_unfinished(struct export *x, struct export_program *p)
{
	struct export_queue *q;
	u32 kind, i;

	for (kind = 0; kind < EXPORT_QUEUES; kind++)
		for (i = 0; i < p->n_queues[kind]; i++) {
			q = &p->queue[kind][i];
			for (; q->first < q->n; q->first++)
				wr_end(x, p, (enum export_queue_kind)kind, i, &q->wr[q->first],
				       x->end, "no completion");
		}
}
