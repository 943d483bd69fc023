/* SPDX-License-Identifier: MIT */
/* Makes work requests from the record, with the addresses, keys and numbers of this run. */
#include "traces/replay/post.h"
#include "traces/replay/identity.h"
#include "traces/replay/memory.h"
#include "traces/replay/objects.h"
#include "traces/replay/play.h"
#include "traces/replay/recv_place.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/trace_index.h"
#include "traces/replay/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool scratch_grow(void **at, size_t *have, size_t need, size_t size)
{
	void *more;

	if (need <= *have)
		return true;
	more = realloc(*at, need * size);
	if (!more)
		return false;
	*at = more;
	*have = need;
	return true;
}

bool rp_scratch_reserve(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	struct rp_scratch *s = &t->scratch;
	const struct vt_wr *wr = vt_wr_first(rec);
	size_t n_sge = 1, n_bytes = 1, n_recv = s->n_wr, i;

	for (i = 0; i < post->n; i++, wr = vt_wr_next(wr)) {
		n_sge += wr->n_sge;
		n_bytes += wr->payload + wr->tso_hdr;
	}
	if (scratch_grow((void **)&s->recv, &n_recv, post->n + 1, sizeof(*s->recv)) &&
	    scratch_grow((void **)&s->send, &s->n_wr, post->n + 1, sizeof(*s->send)) &&
	    scratch_grow((void **)&s->sge, &s->n_sge, n_sge, sizeof(*s->sge)) &&
	    scratch_grow((void **)&s->bytes, &s->n_bytes, n_bytes, 1))
		return true;
	return rp_fail_rec(t, rec, "no memory for %u work requests", post->n);
}

/* Equal bytes are not written again: an earlier work request may still be sending them. */
void rp_sges_make(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wr *wr,
		  struct ibv_sge *to, uint8_t **room)
{
	const struct vt_sge *from = vt_wr_sge(wr);
	const uint8_t *bytes = vt_wr_bytes(wr);
	const struct rp_made *made = t->prog->w->made[t->prog->nth][RP_MR];
	uint64_t left = wr->payload, part;
	uint32_t i, j;
	int64_t delta;
	uint8_t *at;

	for (i = 0; i < wr->n_sge; i++) {
		to[i].length = from[i].len;
		if (from[i].mr && from[i].mr < t->prog->n_obj[VOBJ_MR]) {
			to[i].lkey = made[from[i].mr].lkey;
			at = rp_mr_at(t->prog, from[i].mr, from[i].addr, from[i].len);
			to[i].addr = t->prog->mr[from[i].mr].implicit
					     ? rp_addr_map(t->prog, from[i].addr)
					     : from[i].addr + (uint64_t)made[from[i].mr].delta;
		} else if (bytes && left) {
			/* Inline data is in no MR. */
			to[i].lkey = from[i].lkey;
			to[i].addr = (uintptr_t)*room;
			at = *room;
			*room += from[i].len < left ? from[i].len : left;
		} else {
			to[i].lkey = rp_key_map(t->prog, from[i].lkey, rec->begin, &delta);
			to[i].addr = rp_addr_map(t->prog, from[i].addr);
			at = NULL;
		}
		part = from[i].len < left ? from[i].len : left;
		for (j = 0; bytes && at && j < part && at[j] == bytes[j]; j++)
			;
		if (bytes && at && j < part)
			memcpy(at + j, bytes + j, part - j);
		if (bytes)
			bytes += part;
		left -= part;
	}
}

__be32 rp_imm_map(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wr *wr)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct rp_num *n;

	if (!wr->ah && !wr->remote_qpn)
		return wr->imm;
	n = rp_num_find(t->prog->w->qpn, t->prog->w->n_qpn, ntohl(wr->imm), ~0u, rec->begin);
	return n && n->prog == t->prog->nth && n->kind == RP_QP && n->ord == post->obj
		       ? htonl(rp_qpn_map(t->prog, n->num, rec->begin))
		       : wr->imm;
}

static void send_make_rdma(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wr *wr,
			   struct ibv_send_wr *to)
{
	int64_t delta;

	to->wr.rdma.rkey = rp_key_map(t->prog, wr->rkey, rec->begin, &delta);
	to->wr.rdma.remote_addr = wr->remote_addr + (uint64_t)delta;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		to->wr.atomic.rkey = to->wr.rdma.rkey;
		to->wr.atomic.remote_addr = wr->remote_addr + (uint64_t)delta;
		to->wr.atomic.compare_add = wr->compare_add;
		to->wr.atomic.swap = wr->swap;
	}
}

static void send_make_wr(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wr *wr,
			 struct ibv_send_wr *to)
{
	struct rp_prog *g = t->prog;
	int64_t delta;

	to->opcode = wr->opcode;
	to->send_flags = wr->send_flags;
	to->wr_id = wr->wr_id;
	to->imm_data = rp_imm_map(t, rec, wr);
	if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV)
		to->invalidate_rkey = rp_key_map(g, wr->imm, rec->begin, &delta);
	if (wr->rkey || wr->remote_addr)
		send_make_rdma(t, rec, wr, to);
	if (wr->ah || wr->remote_qpn) {
		to->wr.ud.ah = rp_obj(g, VOBJ_AH, wr->ah);
		to->wr.ud.remote_qpn = rp_qpn_map(g, wr->remote_qpn, rec->begin);
		to->wr.ud.remote_qkey = wr->remote_qkey;
	}
	if (wr->srqn)
		to->qp_type.xrc.remote_srqn = rp_qpn_map(g, wr->srqn, rec->begin);
	if (wr->opcode == IBV_WR_BIND_MW) {
		to->bind_mw.mw = rp_obj(g, VOBJ_MW, wr->mw);
		to->bind_mw.rkey = rp_key_map(g, wr->mw_rkey, rec->begin, &delta);
		to->bind_mw.bind_info.mr = rp_obj(g, VOBJ_MR, wr->mw_mr);
		to->bind_mw.bind_info.addr = rp_addr_map(g, wr->mw_addr);
		to->bind_mw.bind_info.length = wr->mw_len;
		to->bind_mw.bind_info.mw_access_flags = wr->mw_access;
	}
	if (wr->tso_hdr) {
		to->tso.hdr = (void *)vt_wr_tso(wr);
		to->tso.hdr_sz = wr->tso_hdr;
		to->tso.mss = wr->tso_mss;
	}
}

bool rp_post_compare(struct rp_thread *t, const struct vt_rec *rec, int ret, uint32_t bad)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	char want[64], got[64];

	__atomic_add_fetch(&t->prog->w->share->count.wrs, post->n, __ATOMIC_RELAXED);
	if (ret == post->ret && bad == post->bad)
		return true;
	snprintf(want, sizeof(want), "%d (%s), work request %u of %u", post->ret,
		 post->ret ? strerrorname_np(post->ret) : "posted", post->bad, post->n);
	snprintf(got, sizeof(got), "%d (%s), work request %u of %u", ret,
		 ret > 0 && strerrorname_np(ret) ? strerrorname_np(ret)
		 : ret				 ? "?"
						 : "posted",
		 bad, post->n);
	return rp_diverge(t, rec, "the result", want, got);
}

bool rp_play_post_send(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	struct ibv_qp *qp = rp_obj(t->prog, VOBJ_QP, post->obj);
	const struct vt_wr *wr = vt_wr_first(rec);
	struct rp_scratch *s = &t->scratch;
	struct ibv_send_wr *bad = NULL;
	struct ibv_sge *sge;
	uint64_t bytes = 0;
	uint8_t *room;
	uint32_t i;
	int ret;

	if (!qp)
		return rp_fail_rec(t, rec, "a post to qp%u, which does not exist", post->obj);
	if (!rp_scratch_reserve(t, rec))
		return false;
	sge = s->sge;
	room = s->bytes;
	for (i = 0; i < post->n; i++, wr = vt_wr_next(wr)) {
		memset(&s->send[i], 0, sizeof(s->send[i]));
		rp_sges_make(t, rec, wr, sge, &room);
		send_make_wr(t, rec, wr, &s->send[i]);
		s->send[i].sg_list = sge;
		s->send[i].num_sge = (int)wr->n_sge;
		s->send[i].next = i + 1 < post->n ? &s->send[i + 1] : NULL;
		sge += wr->n_sge;
		bytes += wr->payload;
	}
	ret = ibv_post_send(qp, post->n ? s->send : NULL, &bad);
	__atomic_add_fetch(&t->prog->w->share->count.bytes, bytes, __ATOMIC_RELAXED);
	return rp_post_compare(t, rec, ret, ret && bad ? (uint32_t)(bad - s->send) : post->n);
}

/* Notes the receives, so that what arrives in them can be compared. */
static void recv_queue_add(struct rp_prog *g, struct rp_queue *q, const struct vt_wr *wr,
			   uint32_t n)
{
	struct rp_recv *r;

	for (; n; n--, wr = vt_wr_next(wr)) {
		r = g->free_recv;
		if (r)
			g->free_recv = r->next;
		else
			r = malloc(sizeof(*r));
		if (!r)
			return;
		r->wr_id = wr->wr_id;
		r->wr = wr;
		r->next = NULL;
		*q->last = r;
		q->last = &r->next;
		rp_place_taken(g, wr);
	}
}

/* Datagrams are preceded by a GRH. The caller holds the lock. */
static void post_mark_grh(struct rp_prog *g, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct ibv_qp *qp = rec->kind == VT_POST_RECV ? rp_obj(g, VOBJ_QP, post->obj) : NULL;
	const struct vt_wr *wr = vt_wr_first(rec);
	uint32_t i;

	for (i = 0; g->map && qp && qp->qp_type == IBV_QPT_UD && i < post->n; i++) {
		rp_grh_mark_mrs(g, wr);
		wr = vt_wr_next(wr);
	}
}

static int post_recv_to(struct rp_thread *t, const struct vt_rec *rec, struct ibv_recv_wr *first,
			struct ibv_recv_wr **bad)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	void *to;

	switch (rec->kind) {
	case VT_POST_RECV:
		to = rp_obj(t->prog, VOBJ_QP, post->obj);
		return to ? ibv_post_recv(to, first, bad) : -1;
	case VT_POST_SRQ:
		to = rp_obj(t->prog, VOBJ_SRQ, post->obj);
		return to ? ibv_post_srq_recv(to, first, bad) : -1;
	default:
		to = rp_obj(t->prog, VOBJ_WQ, post->obj);
		return to ? ibv_post_wq_recv(to, first, bad) : -1;
	}
}

bool rp_play_post_recv(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	const struct vt_wr *wr = vt_wr_first(rec);
	struct rp_scratch *s = &t->scratch;
	struct rp_prog *g = t->prog;
	struct ibv_recv_wr *bad = NULL;
	struct ibv_sge *sge;
	uint8_t *room;
	uint32_t i;
	int ret;

	if (!rp_scratch_reserve(t, rec))
		return false;
	sge = s->sge;
	room = s->bytes;
	for (i = 0; i < post->n; i++, wr = vt_wr_next(wr)) {
		rp_sges_make(t, rec, wr, sge, &room);
		s->recv[i] = (struct ibv_recv_wr){ .wr_id = wr->wr_id,
						   .next = i + 1 < post->n ? &s->recv[i + 1] : NULL,
						   .sg_list = sge,
						   .num_sge = (int)wr->n_sge };
		sge += wr->n_sge;
	}
	pthread_mutex_lock(&g->lock);
	post_mark_grh(g, rec);
	if (rec->kind == VT_POST_RECV && post->obj < g->n_obj[VOBJ_QP])
		recv_queue_add(g, &g->rq[post->obj], vt_wr_first(rec), post->bad);
	else if (rec->kind == VT_POST_SRQ && post->obj < g->n_obj[VOBJ_SRQ])
		recv_queue_add(g, &g->srq[post->obj], vt_wr_first(rec), post->bad);
	pthread_mutex_unlock(&g->lock);
	ret = post_recv_to(t, rec, post->n ? s->recv : NULL, &bad);
	if (ret < 0)
		return rp_fail_rec(t, rec, "a post to queue %u, which does not exist", post->obj);
	return rp_post_compare(t, rec, ret, ret && bad ? (uint32_t)(bad - s->recv) : post->n);
}
