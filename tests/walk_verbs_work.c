/* SPDX-License-Identifier: MIT */
/* Posting of the walk through the verbs: good requests and bad ones. See tests/walk_verbs.h. */
#include "tests/walk_verbs.h"

#include <errno.h>
#include <string.h>

#define CHAIN 3

/* A region of @actor's that a QP with that PD may use so. */
static struct vobj *some_mr(const struct vobj *qp, unsigned int need, uint64_t from, uint64_t to)
{
	uint64_t base = (uintptr_t)wd->area[qp->actor];
	uint32_t start = vpick(VMAX);

	for (uint32_t i = 0; i < VMAX; i++) {
		struct vobj *mr = &wd->obj[qp->actor][V_MR][(start + i) % VMAX];

		if (mr->live && mr->uses[0] == qp->uses[0] && !(need & ~mr->mr.access) &&
		    mr->mr.addr <= base + from && mr->mr.addr + mr->mr.len >= base + to)
			return mr;
	}
	return NULL;
}

/* @len bytes in a part of the area, under a key; sometimes what must be refused. */
static struct ibv_sge some_sge(const struct vobj *qp, unsigned int need, bool dst, uint32_t len)
{
	uint64_t part = dst ? AREA_SRC : 0, size = dst ? AREA_DST : AREA_SRC, off;
	struct vobj *mr = NULL;
	struct ibv_sge s = { 0 };

	off = part + vpick((uint32_t)(size - len + 1));
	for (int i = 0; i < 2 && !mr; i++)
		mr = some_mr(qp, need, off, off + len);
	if (!mr)
		return s;
	s.lkey = mr->mr.key;
	s.addr = (uintptr_t)wd->area[qp->actor] + off - mr->mr.addr + mr->mr.iova;
	s.length = len;
	if (!vchance(250))
		return s;
	switch (vpick(3)) {
	case 0:
		s.lkey ^= vpick(1 << 28);
		break;
	case 1:
		s.addr = mr->mr.iova + mr->mr.len - (len ? len - 1 : 0);
		break;
	default:
		mr = vany(qp->actor, V_MR);
		s.lkey = mr->mr.key;
	}
	return s;
}

static uint32_t some_length(void)
{
	return vpick(vchance(2) ? 80 : vchance(4) ? 20000 : 2000);
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void some_target(const struct vobj *o, struct vwr *w)
{
	static const unsigned int needs[] = {
		[IBV_WR_RDMA_WRITE] = IBV_ACCESS_REMOTE_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_ACCESS_REMOTE_WRITE,
		[IBV_WR_RDMA_READ] = IBV_ACCESS_REMOTE_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_ACCESS_REMOTE_ATOMIC,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_ACCESS_REMOTE_ATOMIC,
	};
	const struct vobj *peer = o->qp.peer && o->qp.peer->live ? o->qp.peer : o, *mr;
	struct ibv_sge s;
	uint64_t at;

	if (w->op == IBV_WR_SEND || w->op == IBV_WR_SEND_WITH_IMM)
		return;
	if (!is_atomic(w->op)) {
		s = some_sge(peer, needs[w->op], w->op != IBV_WR_RDMA_READ, w->len);
		w->addr = s.addr;
		w->rkey = s.lkey;
		return;
	}
	at = AREA_WORD + 8 * vpick(N_WORDS);
	mr = some_mr(peer, needs[w->op], at, at + 8);
	if (!mr)
		return;
	w->rkey = mr->mr.key;
	w->addr = (uintptr_t)wd->area[peer->actor] + at - mr->mr.addr + mr->mr.iova;
	if (vchance(150))
		w->addr += 1 + vpick(7);
}

static bool all_good(const struct vobj *o, const struct vwr *w)
{
	return vmodel_local(o, w->sge, w->n, 0, ~0ULL) == IBV_WC_SUCCESS;
}

static void make_send(struct vobj *o, struct vwr *w)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND,
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	bool rd, dst;

	memset(w, 0, sizeof(*w));
	w->id = ++wd->next_id;
	w->op = ops[vpick(sizeof(ops) / sizeof(*ops))];
	rd = w->op == IBV_WR_RDMA_READ || is_atomic(w->op);
	dst = rd;
	w->flags = vchance(3) ? 0 : IBV_SEND_SIGNALED;
	w->flags |= vchance(4) ? IBV_SEND_FENCE : 0;
	w->flags |= vchance(4) ? IBV_SEND_SOLICITED : 0;
	w->imm = (uint32_t)rnd(&wd->rnd);
	w->compare_add = vpick(3);
	w->swap = vpick(3);
	if (is_atomic(w->op)) {
		w->n = 1;
		w->sge[0] = some_sge(o, IBV_ACCESS_LOCAL_WRITE, true, vchance(150) ? 7 : 8);
	} else {
		w->n = (int)vpick(o->qp.sq.max_sge + 1);
		for (int i = 0; i < w->n; i++)
			w->sge[i] = some_sge(o, rd ? IBV_ACCESS_LOCAL_WRITE : 0, dst,
					     some_length() / (uint32_t)w->n);
	}
	for (int i = 0; i < w->n; i++)
		w->len += w->sge[i].length;
	some_target(o, w);
}

/* What the verb itself must refuse. Return: its answer, or 0 when it is left as it was. */
static int spoil(const struct vobj *o, struct ibv_send_wr *wr)
{
	switch (vpick(4)) {
	case 0:
		wr->num_sge = (int)o->qp.sq.max_sge + 1 + (int)vpick(100);
		return EINVAL;
	case 1:
		wr->opcode = (enum ibv_wr_opcode)(20 + vpick(1000));
		return EINVAL;
	case 2:
		wr->send_flags |= 1u << 20;
		return EINVAL;
	default:
		if (wr->opcode != IBV_WR_RDMA_READ && !is_atomic(wr->opcode))
			return 0;
		wr->send_flags |= IBV_SEND_INLINE;
		return EINVAL;
	}
}

static void to_ib(const struct vwr *w, struct vwr *keep, struct ibv_send_wr *wr)
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
	if (is_atomic(w->op)) {
		wr->wr.atomic.remote_addr = w->addr;
		wr->wr.atomic.rkey = w->rkey;
		wr->wr.atomic.compare_add = w->compare_add;
		wr->wr.atomic.swap = w->swap;
	} else {
		wr->wr.rdma.remote_addr = w->addr;
		wr->wr.rdma.rkey = w->rkey;
	}
}

static void hold(const struct vobj *o, const struct vwr *w, int by)
{
	for (int i = 0; i < w->n; i++) {
		struct vobj *mr = mr_by_key(o->actor, w->sge[i].lkey);

		if (mr)
			mr->busy += by;
	}
}

static void accept(struct vobj *o, struct vqueue *q, const struct vwr *w)
{
	q->wr[q->posted++ % VDEPTH] = *w;
	hold(o, w, 1);
}

void vpost_send(struct vobj *o)
{
	static struct vwr keep[CHAIN];
	struct ibv_send_wr wr[CHAIN], *bad = NULL;
	struct vqueue *q = &o->qp.sq;
	uint32_t n = vchance(3) ? 1 + vpick(CHAIN) : 1, good = 0;
	int want = 0, ret;

	for (uint32_t i = 0; i < n; i++) {
		struct vwr w;

		make_send(o, &w);
		to_ib(&w, &keep[i], &wr[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		if (want)
			continue;
		if (o->qp.state < IBV_QPS_RTS)
			want = EINVAL;
		else if (q->posted - q->freed >= q->depth)
			want = ENOMEM;
		else if (vchance(40))
			want = spoil(o, &wr[i]);
		if (want)
			continue;
		if (vchance(6) && w.len <= o->qp.max_inline && w.op != IBV_WR_RDMA_READ &&
		    !is_atomic(w.op) && all_good(o, &w)) {
			/* Inline data is the program's own memory, whatever the keys are. */
			w.flags |= IBV_SEND_INLINE;
			wr[i].send_flags |= IBV_SEND_INLINE;
			for (int k = 0; k < w.n; k++) {
				const struct vobj *mr = mr_by_key(me, w.sge[k].lkey);

				if (mr && w.sge[k].length)
					w.sge[k].addr += mr->mr.addr - mr->mr.iova;
				keep[i].sge[k].addr = w.sge[k].addr;
				w.sge[k].lkey = keep[i].sge[k].lkey = 0;
			}
		}
		accept(o, q, &w);
		good++;
	}
	ret = ibv_post_send(o->ptr, wr, &bad);
	expect_ret("ibv_post_send", ret, want);
	if (want && bad != &wr[good])
		vfail("ibv_post_send: bad_wr is number %d, not %u", (int)(bad - wr), good);
}

void vpost_recv(struct vobj *o)
{
	struct ibv_recv_wr wr[CHAIN], *bad = NULL;
	bool shared = o->kind == V_SRQ;
	struct vqueue *q = shared ? &o->srq : &o->qp.rq;
	uint32_t n = vchance(2) ? 1 + vpick(CHAIN) : 1, good = 0;
	struct vwr w[CHAIN];
	int want = 0, ret;

	for (uint32_t i = 0; i < n; i++) {
		memset(&w[i], 0, sizeof(w[i]));
		w[i].id = ++wd->next_id;
		w[i].n = vchance(60) ? 0 : (int)q->max_sge;
		for (int k = 0; k < w[i].n; k++)
			w[i].sge[k] = some_sge(o, IBV_ACCESS_LOCAL_WRITE, true,
					       vchance(60) ? some_length() : 20000);
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
			accept(o, q, &w[i]);
			good++;
		}
	}
	ret = shared ? ibv_post_srq_recv(o->ptr, wr, &bad) : ibv_post_recv(o->ptr, wr, &bad);
	expect_ret("ibv_post_recv", ret, want);
	if (want && bad != &wr[good])
		vfail("ibv_post_recv: bad_wr is number %d, not %u", (int)(bad - wr), good);
}
