/* SPDX-License-Identifier: MIT */
/*
 * Posting in the walk through the verbs, and the verb's own errors. See tests/model/walk_verbs.h.
 */
#include "tests/model/walk_verbs.h"

#include <errno.h>
#include <string.h>

/* --- sends */

static bool has_reads(const struct vobj *o)
{
	return o->qp.type == IBV_QPT_RC || o->qp.type == IBV_QPT_XRC_SEND;
}

static bool takes_inline(const struct vwr *w)
{
	return is_send(w->op) || w->op == IBV_WR_RDMA_WRITE ||
	       w->op == IBV_WR_RDMA_WRITE_WITH_IMM || w->op == IBV_WR_ATOMIC_WRITE;
}

/* Binds with access flags that are not allowed, or no window. The index in the key is ignored. */
static int spoil_bind(struct ibv_send_wr *wr)
{
	switch (vpick(3)) {
	case 0:
		wr->bind_mw.rkey ^= 1u << (8 + vpick(20));
		return 0;
	case 1:
		wr->bind_mw.bind_info.mw_access_flags |= 1u << 15;
		break;
	default:
		wr->bind_mw.mw = NULL;
	}
	return EINVAL;
}

/* Maybe makes it a request that the verb must refuse. Return: the errno expected, or 0. */
static int spoil(const struct vobj *o, const struct vwr *w, struct ibv_send_wr *wr)
{
	if (w->op == IBV_WR_BIND_MW && vchance(2))
		return spoil_bind(wr);
	switch (vpick(6)) {
	case 0:
		if (w->op == IBV_WR_BIND_MW || w->op == IBV_WR_LOCAL_INV)
			return 0;
		wr->num_sge = (int)o->qp.sq.max_sge + 1 + (int)vpick(100);
		return EINVAL;
	case 1:
		/* ibv_post_send() has no FLUSH. */
		wr->opcode = vchance(3) ? VB_WR_FLUSH : (enum ibv_wr_opcode)(20 + vpick(1000));
		return EINVAL;
	case 2:
		wr->send_flags |= 1u << 20;
		return EINVAL;
	case 3:
		if (w->op != IBV_WR_RDMA_READ && !is_atomic(w->op))
			return 0;
		wr->send_flags |= IBV_SEND_INLINE;
		return EINVAL;
	case 4: /* one that other types have */
		if (has_reads(o))
			return 0;
		wr->opcode = o->qp.type == IBV_QPT_UC ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
		return EINVAL;
	default:
		if (!takes_inline(w) || !w->n)
			return 0;
		wr->send_flags |= IBV_SEND_INLINE;
		wr->sg_list[0].length = o->qp.max_inline + 1;
		return EINVAL;
	}
}

static void to_ib(const struct vobj *o, const struct vwr *w, struct vwr *keep,
		  struct ibv_send_wr *wr)
{
	*keep = *w;
	*wr = (struct ibv_send_wr){
		.wr_id = w->id,
		.sg_list = keep->sge,
		.num_sge = w->n,
		.opcode = w->op,
		.send_flags = w->flags,
		.imm_data = w->imm,
	};
	if (w->op == IBV_WR_SEND_WITH_INV || w->op == IBV_WR_LOCAL_INV)
		wr->invalidate_rkey = w->rkey;
	if (w->op == IBV_WR_BIND_MW) {
		wr->bind_mw.mw = w->mw->ptr;
		wr->bind_mw.rkey = w->rkey;
		wr->bind_mw.bind_info = (struct ibv_mw_bind_info){ w->mr->ptr, w->addr, w->bind_len,
								   w->bind_access };
	} else if (o->qp.type == IBV_QPT_UD) {
		wr->wr.ud.ah = w->ah ? w->ah->ptr : NULL;
		wr->wr.ud.remote_qpn = w->to;
		wr->wr.ud.remote_qkey = w->qkey;
	} else if (is_atomic(w->op)) {
		wr->wr.atomic.remote_addr = w->addr;
		wr->wr.atomic.rkey = w->rkey;
		wr->wr.atomic.compare_add = w->compare_add;
		wr->wr.atomic.swap = w->swap;
	} else {
		wr->wr.rdma.remote_addr = w->addr;
		wr->wr.rdma.rkey = w->rkey;
	}
	if (o->qp.type == IBV_QPT_XRC_SEND)
		wr->qp_type.xrc.remote_srqn = w->to;
}

/* Inline data are the program's own memory, whatever the keys are. */
static void make_inline(struct vwr *w)
{
	struct ibv_sge real[VSGE];

	vreal_list(me, w->sge, w->n, real);
	for (int k = 0; k < w->n; k++) {
		if (w->sge[k].length)
			w->sge[k].addr = real[k].addr;
		w->sge[k].lkey = 0;
	}
	w->flags |= IBV_SEND_INLINE;
}

void vaccept(struct vobj *o, struct vqueue *q, const struct vwr *w)
{
	q->wr[q->posted++ % VDEPTH] = *w;
	vmodel_hold(o, w, 1);
	if (w->op != IBV_WR_BIND_MW || !w->mw)
		return;
	/* The program keeps account of the key. */
	((struct ibv_mw *)w->mw->ptr)->rkey = w->mw->mw.rkey = w->rkey;
}

/* The error that the post of a request after @n others must return. */
static int refusal(const struct vobj *o, const struct vwr *w, uint32_t n)
{
	const struct vqueue *q = &o->qp.sq;

	if (o->qp.state < IBV_QPS_RTS)
		return EINVAL;
	if (q->posted + n - q->freed >= q->depth)
		return ENOMEM;
	return o->qp.type == IBV_QPT_UD && !w->ah ? EINVAL : 0;
}

/*
 * Requests that may be dropped, or that change the results of other verbs, must be done before the
 * next step: the last request of a chain that has such ones is signaled. If others keep the engine
 * busy, that applies to all requests: it may process one after the next command.
 */
static void make_known(const struct vobj *o, struct vwr *w, uint32_t n)
{
	bool known = wd->actors > 1 && (o->qp.type == IBV_QPT_RC || o->qp.type == IBV_QPT_XRC_SEND);

	for (uint32_t i = 0; i < n; i++)
		known = known && w[i].op != IBV_WR_BIND_MW && w[i].op != IBV_WR_LOCAL_INV;
	if (n && !known)
		w[n - 1].flags |= IBV_SEND_SIGNALED;
}

static void post_list(struct vobj *o, struct vwr *w, uint32_t n, uint32_t bad_at, int want)
{
	static struct vwr keep[VSENDS];
	struct ibv_send_wr wr[VSENDS], *bad = NULL;
	uint32_t good = bad_at;
	int ret;

	for (uint32_t i = 0; i < n; i++) {
		to_ib(o, &w[i], &keep[i], &wr[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	for (uint32_t i = 0; i < n && !want; i++)
		if (vchance(40)) {
			want = spoil(o, &w[i], &wr[i]);
			good = want ? i : n;
		}
	make_known(o, w, good);
	if (good)
		wr[good - 1].send_flags |= w[good - 1].flags;
	for (uint32_t i = 0; i < good; i++)
		vaccept(o, &o->qp.sq, &w[i]);
	ret = ibv_post_send(o->ptr, wr, &bad);
	expect_ret("ibv_post_send", ret, want);
	if (want && bad != &wr[good])
		vfail("ibv_post_send: bad_wr is number %d, not %u", (int)(bad - wr), good);
}

/*
 * Some have their data in the request; a builder of ATOMIC_WRITE knows no other way. One that
 * cannot is a SEND of nothing.
 */
static void some_inline(struct vobj *o, struct vwr *w, bool build)
{
	bool must = build && w->op == IBV_WR_ATOMIC_WRITE;
	bool can = (must ? w->len == 8 : w->len <= o->qp.max_inline) && takes_inline(w) &&
		   !vmodel_local(me, o->uses[U_PD], w, 0, ~0ULL);

	if (can && (must || vchance(6))) {
		make_inline(w);
	} else if (must) {
		w->op = IBV_WR_SEND;
		w->n = 0;
		w->len = 0;
	}
}

void vpost_send(struct vobj *o)
{
	struct vwr w[VSENDS];
	uint32_t n = vchance(3) ? 1 + vpick(VSENDS) : 1, bad = n;
	bool build = o->qp.builder && vchance(2);
	int want = 0;

	for (uint32_t i = 0; i < n; i++) {
		make_send(o, &w[i], build);
		/* One key is bound once. */
		if (i && w[i].op == IBV_WR_BIND_MW) {
			n = i;
			bad = want ? bad : n;
			break;
		}
		some_inline(o, &w[i], build);
		if (!want) {
			want = refusal(o, &w[i], i);
			bad = want ? i : n;
		}
	}
	if (!build) {
		post_list(o, w, n, bad, want);
		return;
	}
	make_known(o, w, n);
	if (vpost_built(o, w, n, bad, want))
		for (uint32_t i = 0; i < n; i++)
			vaccept(o, &o->qp.sq, &w[i]);
}

/* --- receives */

void vpost_recv(struct vobj *o)
{
	struct ibv_recv_wr wr[VSENDS], *bad = NULL;
	bool shared = o->kind == V_SRQ;
	struct vqueue *q = shared ? &o->srq.q : &o->qp.rq;
	uint32_t n = vchance(2) ? 1 + vpick(VSENDS) : 1, good = 0;
	struct vwr w[VSENDS];
	int want = 0, ret;

	for (uint32_t i = 0; i < n; i++) {
		memset(&w[i], 0, sizeof(w[i]));
		w[i].id = ++wd->next_id;
		w[i].n = vchance(60) ? 0 : (int)q->max_sge;
		for (int k = 0; k < w[i].n; k++) {
			w[i].sge[k] = some_sge(o, IBV_ACCESS_LOCAL_WRITE, true,
					       vchance(60) ? some_length() : 20000);
			if (vchance(20))
				stretch_sge(o->actor, &w[i].sge[k]);
		}
		wr[i] = (struct ibv_recv_wr){ .wr_id = w[i].id,
					      .sg_list = w[i].sge,
					      .num_sge = w[i].n,
					      .next = i + 1 < n ? &wr[i + 1] : NULL };
		if (want)
			continue;
		if (!shared && o->qp.state == IBV_QPS_RESET) {
			want = EINVAL;
		} else if (q->posted - q->freed >= q->depth) {
			want = ENOMEM;
		} else if (vchance(60)) {
			wr[i].num_sge = (int)q->max_sge + 1;
			want = EINVAL;
		} else {
			vaccept(o, q, &w[i]);
			good++;
		}
	}
	ret = shared ? ibv_post_srq_recv(o->ptr, wr, &bad) : ibv_post_recv(o->ptr, wr, &bad);
	expect_ret("ibv_post_recv", ret, want);
	if (want && bad != &wr[good])
		vfail("ibv_post_recv: bad_wr is number %d, not %u", (int)(bad - wr), good);
}
