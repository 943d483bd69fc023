/* SPDX-License-Identifier: MIT */
/* VT_POST_OPS: tag matching. A tag is removed by the handle that adding it returned in this run. */
#include "traces/replay/objects.h"
#include "traces/replay/play.h"
#include "traces/replay/post.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"

#include <stdlib.h>
#include <string.h>

/* Returns the place of a recorded handle. The caller holds the lock. */
static struct rp_tag **tag_entry_find(struct rp_prog *g, uint32_t srq, uint32_t was)
{
	struct rp_tag **at = &g->tag[was % RP_TAG_LISTS];

	while (*at && ((*at)->srq != srq || (*at)->was != was))
		at = &(*at)->next;
	return at;
}

static bool tag_entry_add(struct rp_prog *g, uint32_t srq, uint32_t was, uint32_t handle)
{
	struct rp_tag **at;

	pthread_mutex_lock(&g->lock);
	at = tag_entry_find(g, srq, was);
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

static uint32_t tag_entry_handle(struct rp_prog *g, uint32_t srq, uint32_t was)
{
	const struct rp_tag *tag;

	pthread_mutex_lock(&g->lock);
	tag = *tag_entry_find(g, srq, was);
	pthread_mutex_unlock(&g->lock);
	return tag ? tag->handle : was;
}

static void tag_op_make(struct rp_prog *g, uint32_t srq, const struct vt_wr *wr,
			struct ibv_sge *sge, struct ibv_ops_wr *to)
{
	memset(to, 0, sizeof(*to));
	to->wr_id = wr->wr_id;
	to->opcode = wr->opcode;
	to->flags = (int)wr->send_flags;
	to->tm.unexpected_cnt = wr->imm;
	if (wr->opcode == VT_TAG_DEL)
		to->tm.handle = tag_entry_handle(g, srq, wr->rkey);
	to->tm.add.recv_wr_id = wr->remote_addr;
	to->tm.add.sg_list = sge;
	to->tm.add.num_sge = (int)wr->n_sge;
	to->tm.add.tag = wr->compare_add;
	to->tm.add.mask = wr->swap;
}

bool rp_play_post_ops(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	struct ibv_srq *srq = rp_obj(t->prog, VOBJ_SRQ, post->obj);
	struct ibv_ops_wr *op = calloc(post->n + 1, sizeof(*op)), *bad = NULL;
	const struct vt_wr *wr = vt_wr_first(rec);
	bool same = op && rp_scratch_reserve(t, rec);
	struct ibv_sge *sge = t->scratch.sge;
	uint8_t *room = t->scratch.bytes;
	uint32_t i, done;
	int ret;

	if (!srq || !same) {
		free(op);
		return srq ? rp_fail_rec(t, rec, "no memory for %u operations", post->n)
			   : rp_fail_rec(t, rec, "operations on srq%u, which does not exist",
					 post->obj);
	}
	for (i = 0; i < post->n; i++, sge += wr->n_sge, wr = vt_wr_next(wr)) {
		rp_sges_make(t, rec, wr, sge, &room);
		tag_op_make(t->prog, post->obj, wr, sge, &op[i]);
		op[i].next = i + 1 < post->n ? &op[i + 1] : NULL;
	}
	ret = ibv_post_srq_ops(srq, op, &bad);
	done = ret && bad ? (uint32_t)(bad - op) : post->n;
	for (i = 0, wr = vt_wr_first(rec); i < done && same; i++, wr = vt_wr_next(wr))
		if (wr->opcode == VT_TAG_ADD)
			same = tag_entry_add(t->prog, post->obj, wr->rkey, op[i].tm.handle);
	free(op);
	if (!same)
		return rp_fail_rec(t, rec, "no memory for a tag");
	return rp_post_compare(t, rec, ret, done);
}
