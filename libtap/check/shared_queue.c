/* SPDX-License-Identifier: MIT */
/*
 * Receives of SRQs, whose buffers have guards (--check=buffers). They complete in any order, so a
 * completion is of the receive with its wr_id. If two outstanding ones have the same, or none has
 * it, the checker says nothing more about the SRQ.
 *
 * Only SRQs of ibv_create_srq() and its successor, without a type, are followed: completions of
 * XRC and of tags do not tell whose receive it was.
 */
#include "libtap/check/checks.h"
#include "libtap/check/guard.h"

#include <stdlib.h>

/*
 * struct check_shared - @cap: entries of @wr, of which the first @n are outstanding receives
 * @lost: which ones are is not known
 */
struct check_shared {
	pthread_mutex_t lock;
	u32 cap;
	u32 n;
	bool lost;
	struct check_wr wr[];
};

static bool shared_is_wanted(void)
{
	return check_guard_wants() || check_report_is_on(FINDING_WR_RECEIVE_OVERLAP);
}

void check_srq_new(struct check_obj *c)
{
	struct ibv_srq_attr attr;
	struct check_shared *s;

	if (!shared_is_wanted() || ibv_query_srq((void *)(uintptr_t)c->tap->key, &attr) ||
	    attr.max_wr > CHECK_DEPTH)
		return;
	s = calloc(1, sizeof(*s) + attr.max_wr * sizeof(s->wr[0]));
	if (!s)
		return;
	pthread_mutex_init(&s->lock, NULL);
	s->cap = attr.max_wr;
	c->srq.shared = s;
}

static void shared_forget(struct check_shared *s, u32 i)
{
	check_guard_remove(&s->wr[i]);
	s->wr[i] = s->wr[--s->n];
}

static void shared_lose(struct check_shared *s)
{
	s->lost = true;
	while (s->n)
		shared_forget(s, s->n - 1);
}

void check_srq_lose(struct check_obj *c)
{
	struct check_shared *s = c->srq.shared;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	shared_lose(s);
	pthread_mutex_unlock(&s->lock);
}

void check_srq_gone(struct check_obj *c)
{
	check_srq_lose(c);
	free(c->srq.shared);
	c->srq.shared = NULL;
}

static void shared_check_overlap(const struct check_obj *c, const struct check_shared *s,
				 const struct check_wr *wr)
{
	u32 i;

	for (i = 0; i < s->n; i++) {
		if (&s->wr[i] == wr || !check_request_overlaps(wr, &s->wr[i]))
			continue;
		check_report(FINDING_WR_RECEIVE_OVERLAP,
			     (struct check_other){ "posted before", s->wr[i].stack },
			     "srq%u: receive wr_id 0x%llx has memory of wr_id 0x%llx, which is "
			     "outstanding",
			     c->ord, (unsigned long long)wr->wr_id,
			     (unsigned long long)s->wr[i].wr_id);
		return;
	}
}

static void shared_add(const struct check_obj *c, struct check_shared *s,
		       const struct ibv_recv_wr *wr, check_stack stack)
{
	struct check_wr *to;

	if (s->lost)
		return;
	if (s->n == s->cap) {
		shared_lose(s);
		return;
	}
	to = &s->wr[s->n++];
	*to = (struct check_wr){ .wr_id = wr->wr_id, .stack = stack };
	to->n_sge = (u8)min_u64((u64)wr->num_sge, CHECK_SGES);
	memcpy(to->sge, wr->sg_list, to->n_sge * sizeof(to->sge[0]));
	check_queue_find_guardable(c, to);
	if (check_report_is_on(FINDING_WR_RECEIVE_OVERLAP))
		shared_check_overlap(c, s, to);
	check_guard_add(c, to, true);
}

void check_srq_posted(struct check_obj *c, const struct ibv_recv_wr *wr, check_stack stack)
{
	struct check_shared *s = c->srq.shared;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	for (; wr; wr = wr->next)
		shared_add(c, s, wr, stack);
	pthread_mutex_unlock(&s->lock);
}

void check_srq_completed(const struct check_obj *qp, u64 wr_id, bool known)
{
	const struct ibv_qp *ibqp = (void *)(uintptr_t)qp->tap->key;
	struct check_obj *c = ibqp->srq ? check_obj_find(VOBJ_SRQ, ibqp->srq) : NULL;
	struct check_shared *s = c ? c->srq.shared : NULL;
	u32 i, at = 0, found = 0;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	for (i = 0; i < s->n; i++)
		if (s->wr[i].wr_id == wr_id) {
			at = i;
			found++;
		}
	if (found == 1 && known)
		shared_forget(s, at);
	else if (found || known)
		shared_lose(s);
	pthread_mutex_unlock(&s->lock);
}
