/* SPDX-License-Identifier: MIT */
/**
 * DOC: counts of what a recorded program did, for `rdmaemu trace stat`.
 */
#include "fabric/cli/trace/trace.h"

#include <errno.h>
#include <stdlib.h>

/* A posted work request and its time. In order, for each QP. */
struct posted {
	u64 wr_id;
	u64 at;
	u32 opcode;
};

struct sendq {
	struct posted *wr;
	size_t n, first, cap;
};

struct queues {
	struct sendq *q;
	u32 n;
};

void *trace_queue_room(void *entries, size_t size, size_t *first, size_t *n, size_t *cap)
{
	char *all = entries;
	size_t more = (*cap + 64) * 2;

	if (*n < *cap)
		return all;
	if (*first)
		memmove(all, all + *first * size, (*n - *first) * size);
	*n -= *first;
	*first = 0;
	if (*n * 2 < *cap)
		return all;
	all = realloc(all, more * size);
	if (all)
		*cap = more;
	return all;
}

static int trace_sum_posted(struct queues *all, u32 qp, const struct posted *wr)
{
	struct sendq *q;
	void *more;

	if (qp >= all->n) {
		more = realloc(all->q, (qp + 64) * sizeof(*all->q));
		if (!more)
			return -ENOMEM;
		all->q = more;
		memset(all->q + all->n, 0, (qp + 64 - all->n) * sizeof(*all->q));
		all->n = qp + 64;
	}
	q = &all->q[qp];
	more = trace_queue_room(q->wr, sizeof(*q->wr), &q->first, &q->n, &q->cap);
	if (!more)
		return -ENOMEM;
	q->wr = more;
	q->wr[q->n++] = *wr;
	return 0;
}

static u32 trace_latency_bucket(u64 ns)
{
	u32 bit;

	if (ns < 16)
		return (u32)ns;
	bit = 63 - (u32)__builtin_clzll(ns);
	return (bit - 3) * 16 + (u32)((ns >> (bit - 4)) & 15);
}

u64 trace_latency_bucket_begin(u32 i)
{
	return i < 16 ? i : (16ULL + i % 16) << (i / 16 - 1);
}

u64 trace_latency_at(const struct vt_lat *l, u32 of_1000)
{
	u64 left = l->n * of_1000 / 1000, top;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(l->bucket); i++) {
		if (l->bucket[i] > left) {
			top = trace_latency_bucket_begin(i);
			return top < l->min ? l->min : top > l->max ? l->max : top;
		}
		left -= l->bucket[i];
	}
	return l->max;
}

static void trace_latency_add(struct vt_lat *l, u64 ns)
{
	if (!l->n || ns < l->min)
		l->min = ns;
	if (ns > l->max)
		l->max = ns;
	l->n++;
	l->sum += ns;
	l->bucket[trace_latency_bucket(ns)]++;
}

/* Work requests before it on its queue completed unsignaled. */
static void trace_sum_completion(struct vt_sum *s, struct queues *all, const struct vt_wc *wc,
				 u64 at)
{
	struct sendq *q;
	size_t i;

	if (wc->qp >= all->n || (wc->status == WCS_SUCCESS && wc->opcode & WCO_RECV))
		return;
	q = &all->q[wc->qp];
	for (i = q->first; i < q->n; i++) {
		if (q->wr[i].wr_id != wc->wr_id)
			continue;
		if (at >= q->wr[i].at) {
			trace_latency_add(&s->lat, at - q->wr[i].at);
			if (q->wr[i].opcode < WR_COUNT)
				trace_latency_add(&s->op_lat[q->wr[i].opcode], at - q->wr[i].at);
		}
		q->first = i + 1;
		return;
	}
}

static int trace_sum_post(struct vt_sum *s, struct queues *all, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	u32 i;

	s->posts++;
	for (i = 0; i < post->bad; i++, wr = vt_wr_next(wr)) {
		if (vt_is_recv(rec->kind)) {
			s->recv_wrs++;
			continue;
		}
		s->wrs[wr->opcode & 255]++;
		s->wr_bytes[wr->opcode & 255] += trace_wr_bytes(wr);
		s->bytes += trace_wr_bytes(wr);
		if (trace_sum_posted(all, post->obj,
				     &(struct posted){ wr->wr_id, rec->t_begin, wr->opcode }))
			return -ENOMEM;
	}
	return 0;
}

static void trace_sum_dm(struct vt_sum *s, const struct vt_dm *dm)
{
	s->dm_copies++;
	s->dm_bytes += dm->ret ? 0 : dm->len;
}

static void trace_sum_poll(struct vt_sum *s, struct queues *all, const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	const struct vt_wc *wc = vt_poll_wcs(rec);
	u32 i;

	s->polls++;
	s->empty += poll->empty;
	s->wcs += poll->n;
	for (i = 0; i < poll->n; i++) {
		s->status[wc[i].status & 63]++;
		trace_sum_completion(s, all, &wc[i], rec->t_end);
	}
}

bool trace_call_has_failed(const char *line)
{
	const char *out = strstr(line, " = ");

	return out && (!strncmp(out, " = NULL", 7) || !strncmp(out, " = -1", 5) ||
		       !strncmp(out, " = E", 4));
}

static int trace_sum_rec(const struct vt_program *p, struct vt_sum *s, struct queues *all,
			 const struct vt_rec *rec)
{
	size_t len;

	switch ((enum vt_kind)rec->kind) {
	case VT_CALL:
		s->calls++;
		s->failed_calls += trace_call_has_failed(vt_rec_line(p, rec, &len));
		return 0;
	case VT_POST_SEND:
	case VT_POST_RECV:
	case VT_POST_SRQ:
	case VT_POST_WQ:
	case VT_WR:
		return trace_sum_post(s, all, rec);
	case VT_POST_OPS:
		s->posts++;
		s->tag_ops += VT_BODY(vt_post, rec)->bad;
		return 0;
	case VT_DM:
		trace_sum_dm(s, VT_BODY(vt_dm, rec));
		return 0;
	case VT_POLL:
		trace_sum_poll(s, all, rec);
		return 0;
	case VT_EMPTY:
		s->empty += VT_BODY(vt_cqop, rec)->n;
		return 0;
	case VT_NOTIFY:
		s->notifies++;
		return 0;
	case VT_CQ_EVENT:
		s->events++;
		return 0;
	case VT_NOTE:
		s->notes++;
		return 0;
	case VT_MEM:
		s->mem_bytes += VT_BODY(vt_mem, rec)->stored;
		return 0;
	default:
		return 0;
	}
}

int trace_sum_program(const struct vt_program *p, struct vt_sum *s)
{
	struct queues all = { 0 };
	const struct vt_rec *rec;
	u64 off = 0;
	int ret = 0;
	u32 i;

	memset(s, 0, sizeof(*s));
	s->unfinished = p->unfinished;
	while (!ret && (rec = vt_rec_next(p, &off)))
		ret = trace_sum_rec(p, s, &all, rec);
	for (i = 0; i < all.n; i++)
		free(all.q[i].wr);
	free(all.q);
	return ret;
}
