/* SPDX-License-Identifier: MIT */
/* VT_POST_OPS: tag matching. A tag is removed by the handle that adding it gave, which is this run's own. */
#include "traces/replay/post.h"

#include <stdlib.h>
#include <string.h>

/* The place of a recorded handle. With the lock. */
static struct rp_tag **tag_at(struct rp_prog *g, uint32_t srq, uint32_t was)
{
	struct rp_tag **at = &g->tag[was % RP_TAG_LISTS];

	while (*at && ((*at)->srq != srq || (*at)->was != was))
		at = &(*at)->next;
	return at;
}

static bool remember(struct rp_prog *g, uint32_t srq, uint32_t was, uint32_t handle)
{
	struct rp_tag **at;

	pthread_mutex_lock(&g->lock);
	at = tag_at(g, srq, was);
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (*at) {
			(*at)->srq = srq;
			(*at)->was = was;
		}
	}
	if (*at)
		(*at)->handle = handle;
	pthread_mutex_unlock(&g->lock);
	return *at;
}

static uint32_t handle_of(struct rp_prog *g, uint32_t srq, uint32_t was)
{
	const struct rp_tag *tag;

	pthread_mutex_lock(&g->lock);
	tag = *tag_at(g, srq, was);
	pthread_mutex_unlock(&g->lock);
	return tag ? tag->handle : was;
}

static void make_op(struct rp_prog *g, uint32_t srq, const struct vt_wr *wr, struct ibv_sge *sge,
		    struct ibv_ops_wr *to)
{
	memset(to, 0, sizeof(*to));
	to->wr_id = wr->wr_id;
	to->opcode = wr->opcode;
	to->flags = (int)wr->send_flags;
	to->tm.unexpected_cnt = wr->imm;
	if (wr->opcode == VT_TAG_DEL)
		to->tm.handle = handle_of(g, srq, wr->rkey);
	to->tm.add.recv_wr_id = wr->remote_addr;
	to->tm.add.sg_list = sge;
	to->tm.add.num_sge = (int)wr->n_sge;
	to->tm.add.tag = wr->compare_add;
	to->tm.add.mask = wr->swap;
}

bool rp_post_ops(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	struct ibv_srq *srq = rp_obj(t->prog, VOBJ_SRQ, post->obj);
	struct ibv_ops_wr *op = calloc(post->n + 1, sizeof(*op)), *bad = NULL;
	const struct vt_wr *wr = vt_wr_first(rec);
	bool same = op && rp_scratch(t, rec);
	struct ibv_sge *sge = t->scratch.sge;
	uint8_t *room = t->scratch.bytes;
	uint32_t i, done;
	int ret;

	if (!srq || !same) {
		free(op);
		return srq ? rp_trouble(t, rec, "no memory for %u operations", post->n)
			   : rp_trouble(t, rec, "operations on srq%u, which there is not",
					post->obj);
	}
	for (i = 0; i < post->n; i++, sge += wr->n_sge, wr = vt_wr_next(wr)) {
		rp_sges(t, rec, wr, sge, &room);
		make_op(t->prog, post->obj, wr, sge, &op[i]);
		op[i].next = i + 1 < post->n ? &op[i + 1] : NULL;
	}
	ret = ibv_post_srq_ops(srq, op, &bad);
	done = ret && bad ? (uint32_t)(bad - op) : post->n;
	for (i = 0, wr = vt_wr_first(rec); i < done && same; i++, wr = vt_wr_next(wr))
		if (wr->opcode == VT_TAG_ADD)
			same = remember(t->prog, post->obj, wr->rkey, op[i].tm.handle);
	free(op);
	if (!same)
		return rp_trouble(t, rec, "no memory for a tag");
	return rp_posted(t, rec, ret, done);
}
