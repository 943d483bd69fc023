/* SPDX-License-Identifier: MIT */
/* What an HCA does with posted work, in the fewest words. See tests/walk_verbs.h. */
#include "tests/walk_verbs.h"

#include <string.h>

#define RNR_FOR_EVER 7

struct vobj *mr_by_key(int actor, uint32_t key)
{
	for (int i = 0; i < VMAX; i++)
		if (wd->obj[actor][V_MR][i].live && wd->obj[actor][V_MR][i].mr.key == key)
			return &wd->obj[actor][V_MR][i];
	return NULL;
}

static bool in_range(const struct vobj *mr, uint64_t addr, uint64_t len)
{
	return addr >= mr->mr.iova && len <= mr->mr.len && addr - mr->mr.iova <= mr->mr.len - len;
}

int vmodel_local(const struct vobj *qp, const struct ibv_sge *sge, int n, unsigned int need,
		 uint64_t used)
{
	uint64_t total = 0;

	for (int i = 0; i < n; i++) {
		const struct vobj *mr;

		if (!sge[i].length)
			continue;
		if (total >= used)
			break;
		mr = mr_by_key(qp->actor, sge[i].lkey);
		if (!mr || mr->uses[0] != qp->uses[0] || (mr->mr.access & need) != need ||
		    !in_range(mr, sge[i].addr, sge[i].length))
			return IBV_WC_LOC_PROT_ERR;
		total += sge[i].length;
	}
	return IBV_WC_SUCCESS;
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void expect(struct vlist *l, const struct vwc *wc)
{
	if (l->tail - l->head >= VEXPECT)
		vfail("the model expects too much at once");
	l->wc[l->tail++ % VEXPECT] = *wc;
}

static void release(const struct vobj *qp, const struct vwr *w)
{
	for (int i = 0; i < w->n; i++) {
		struct vobj *mr = mr_by_key(qp->actor, w->sge[i].lkey);

		if (mr)
			mr->busy--;
	}
}

struct vqueue *vrq(struct vobj *qp)
{
	return qp->uses[3] ? &qp->uses[3]->srq : &qp->qp.rq;
}

void vmodel_drop(struct vobj *o, struct vqueue *q)
{
	while (q->done != q->posted)
		release(o, &q->wr[q->done++ % VDEPTH]);
	q->posted = q->done = q->freed = 0;
}

/* The oldest request of a queue is done. */
static void complete(struct vobj *o, struct vqueue *q, struct vlist *l, const struct vwc *how,
		     bool shown)
{
	const struct vwr *w = &q->wr[q->done++ % VDEPTH];
	struct vwc wc = *how;

	wc.id = w->id;
	release(o, w);
	if (shown)
		expect(l, &wc);
}

static void send_done(struct vobj *o, int status)
{
	static const int opcodes[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
	};
	struct vqueue *q = &o->qp.sq;
	const struct vwr *w = &q->wr[q->done % VDEPTH];
	struct vwc wc = { .status = status, .opcode = opcodes[w->op] };

	complete(o, q, &o->qp.send, &wc, status || o->qp.sig_all || (w->flags & IBV_SEND_SIGNALED));
}

void vmodel_error(struct vobj *o)
{
	struct vwc flush = { .status = IBV_WC_WR_FLUSH_ERR };

	o->qp.state = IBV_QPS_ERR;
	while (o->qp.sq.done != o->qp.sq.posted)
		send_done(o, IBV_WC_WR_FLUSH_ERR);
	while (o->qp.rq.done != o->qp.rq.posted)
		complete(o, &o->qp.rq, &o->qp.recv, &flush, true);
	/* A shared queue keeps what it has; that no more is taken is said once. */
	if (o->uses[3] && !o->qp.last) {
		o->qp.last = true;
		o->qp.ev_last++;
	}
}

void vmodel_reset(struct vobj *o)
{
	struct vqueue *queues[] = { &o->qp.sq, &o->qp.rq };

	for (int k = 0; k < 2; k++) {
		vmodel_drop(o, queues[k]);
	}
	o->qp.state = IBV_QPS_RESET;
	o->qp.last = false;
	o->qp.peer = NULL;
	o->qp.send.head = o->qp.send.tail = o->qp.recv.head = o->qp.recv.tail = 0;
}

/*
 * Both ends of a connection end in error. Where they are one and the same QP, the responder takes it
 * to ERR before the requester hears why.
 */
static void both_fail(struct vobj *a, int a_status, struct vobj *b, int recv_status)
{
	struct vwc wc = { .status = recv_status };

	if (a != b)
		send_done(a, a_status);
	if (recv_status)
		complete(b, vrq(b), &b->qp.recv, &wc, true);
	vmodel_error(a);
	vmodel_error(b);
}

static struct vcheck *new_check(const struct vwr *w, uint32_t len)
{
	struct vcheck *c = &wd->check[wd->n_check++ % 8];

	memset(c, 0, sizeof(*c));
	c->len = len;
	c->id = w->id;
	c->op = w->op;
	return c;
}

static void add_src(struct vcheck *c, const struct ibv_sge *sge, int n)
{
	memcpy(c->src, sge, (size_t)n * sizeof(*sge));
	c->n_src = n;
}

/* Where a list lies in its owner's memory: regions may have addresses of their own. */
static int real_list(int actor, const struct ibv_sge *sge, int n, struct ibv_sge *out)
{
	for (int i = 0; i < n; i++) {
		const struct vobj *mr = mr_by_key(actor, sge[i].lkey);

		out[i] = sge[i];
		if (mr)
			out[i].addr = sge[i].addr - mr->mr.iova + mr->mr.addr;
	}
	return n;
}

static void data_moves(const struct vobj *a, const struct vwr *w, int dst_actor,
		       const struct ibv_sge *dst, int n_dst)
{
	struct vcheck *c = new_check(w, w->len);
	struct ibv_sge src[VSGE] = { 0 };

	if (w->flags & IBV_SEND_INLINE)
		add_src(c, w->sge, w->n);
	else
		add_src(c, src, real_list(a->actor, w->sge, w->n, src));
	c->n_dst = real_list(dst_actor, dst, n_dst, c->dst);
}

/* The receive that a message takes is there and fits. False: the request has been dealt with. */
static bool take_recv(struct vobj *a, const struct vwr *w, struct vobj *b)
{
	struct vqueue *q = vrq(b);
	const struct vwr *r = &q->wr[q->done % VDEPTH];
	uint64_t room = 0;

	for (int i = 0; i < r->n; i++)
		room += r->sge[i].length;
	if (vmodel_local(b->uses[3] ? b->uses[3] : b, r->sge, r->n, IBV_ACCESS_LOCAL_WRITE,
			 w->len)) {
		both_fail(a, IBV_WC_REM_OP_ERR, b, IBV_WC_LOC_PROT_ERR);
		return false;
	}
	if (w->len > room) {
		both_fail(a, IBV_WC_REM_INV_REQ_ERR, b, IBV_WC_LOC_LEN_ERR);
		return false;
	}
	return true;
}

/* Return: false when the requester must wait for a receive. */
static bool recv_ready(struct vobj *a, struct vobj *b, bool *failed)
{
	if (vrq(b)->done != vrq(b)->posted)
		return true;
	if (a->qp.rnr_retry != RNR_FOR_EVER) {
		send_done(a, IBV_WC_RNR_RETRY_EXC_ERR);
		vmodel_error(a);
		*failed = true;
	}
	return false;
}

static void recv_done(struct vobj *b, const struct vwr *w, bool imm)
{
	struct vwc wc = { .opcode = IBV_WC_RECV, .len = w->len };

	if (w->op == IBV_WR_RDMA_WRITE_WITH_IMM)
		wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (imm) {
		wc.flags = IBV_WC_WITH_IMM;
		wc.imm = w->imm;
	}
	complete(b, vrq(b), &b->qp.recv, &wc, true);
}

static bool run_send(struct vobj *a, const struct vwr *w, struct vobj *b)
{
	const struct vwr *r = &vrq(b)->wr[vrq(b)->done % VDEPTH];
	bool failed = false;

	if (!recv_ready(a, b, &failed))
		return failed;
	if (!take_recv(a, w, b))
		return true;
	data_moves(a, w, b->actor, r->sge, r->n);
	recv_done(b, w, w->op == IBV_WR_SEND_WITH_IMM);
	send_done(a, IBV_WC_SUCCESS);
	return true;
}

/* The responder's end of a request with a remote address. 0, or the requester's status. */
static int remote_check(const struct vobj *b, const struct vwr *w, unsigned int need, uint32_t len)
{
	const struct vobj *mr = mr_by_key(b->actor, w->rkey);
	bool rd = need != IBV_ACCESS_REMOTE_WRITE;

	if (!(b->qp.access & need) || (rd && !b->qp.max_dest_rd))
		return IBV_WC_REM_INV_REQ_ERR;
	if (is_atomic(w->op) && (w->addr & 7))
		return IBV_WC_REM_INV_REQ_ERR;
	if (len && (!mr || mr->uses[0] != b->uses[0] || !(mr->mr.access & need) ||
		    !in_range(mr, w->addr, len)))
		return IBV_WC_REM_ACCESS_ERR;
	return IBV_WC_SUCCESS;
}

static void do_atomic(struct vobj *a, const struct vwr *w, struct vobj *b)
{
	const struct vobj *mr = mr_by_key(b->actor, w->rkey);
	uint64_t at = w->addr - mr->mr.iova + mr->mr.addr;
	uint64_t *word = &wd->words[b->actor][(at - (uintptr_t)wd->area[b->actor] - AREA_WORD) / 8];
	struct vcheck *c = new_check(w, 8);

	c->is_word = true;
	c->word = *word;
	c->n_dst = real_list(a->actor, w->sge, w->n, c->dst);
	if (w->op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		*word += w->compare_add;
	else if (*word == w->compare_add)
		*word = w->swap;
}

static bool run_rdma(struct vobj *a, const struct vwr *w, struct vobj *b)
{
	static const unsigned int needs[] = {
		[IBV_WR_RDMA_WRITE] = IBV_ACCESS_REMOTE_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_ACCESS_REMOTE_WRITE,
		[IBV_WR_RDMA_READ] = IBV_ACCESS_REMOTE_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_ACCESS_REMOTE_ATOMIC,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_ACCESS_REMOTE_ATOMIC,
	};
	struct ibv_sge there = { w->addr, w->len, w->rkey };
	int status = remote_check(b, w, needs[w->op], is_atomic(w->op) ? 8 : w->len);
	struct ibv_sge real[VSGE];
	bool failed = false;

	if (status) {
		b->qp.ev_req += status == IBV_WC_REM_INV_REQ_ERR;
		b->qp.ev_access += status == IBV_WC_REM_ACCESS_ERR;
		both_fail(a, status, b, 0);
		return true;
	}
	if (w->op == IBV_WR_RDMA_WRITE_WITH_IMM && !recv_ready(a, b, &failed))
		return failed;
	if (is_atomic(w->op)) {
		do_atomic(a, w, b);
	} else if (w->op == IBV_WR_RDMA_READ) {
		struct vcheck *c = new_check(w, w->len);

		add_src(c, real, real_list(b->actor, &there, 1, real));
		c->n_dst = real_list(a->actor, w->sge, w->n, c->dst);
	} else {
		data_moves(a, w, b->actor, &there, 1);
	}
	if (w->op == IBV_WR_RDMA_WRITE_WITH_IMM)
		recv_done(b, w, true);
	send_done(a, IBV_WC_SUCCESS);
	return true;
}

static bool answers(const struct vobj *a, const struct vobj *b)
{
	return b && b->live && b->qp.qpn == a->qp.peer_qpn && b->qp.peer == a &&
	       b->qp.peer_qpn == a->qp.qpn &&
	       (b->qp.state == IBV_QPS_RTR || b->qp.state == IBV_QPS_RTS);
}

/* The oldest request, if anything can become of it. Return: whether something did. */
static bool run_one(struct vobj *a)
{
	const struct vwr *w = &a->qp.sq.wr[a->qp.sq.done % VDEPTH];
	bool rd = w->op == IBV_WR_RDMA_READ || is_atomic(w->op);
	int status = IBV_WC_SUCCESS;

	if (rd && !a->qp.max_rd)
		status = IBV_WC_LOC_QP_OP_ERR;
	else if (!(w->flags & IBV_SEND_INLINE))
		status = vmodel_local(a, w->sge, w->n, rd ? IBV_ACCESS_LOCAL_WRITE : 0, ~0ULL);
	if (!status && is_atomic(w->op) && w->len < 8)
		status = IBV_WC_LOC_LEN_ERR;
	if (!status && !answers(a, a->qp.peer))
		status = IBV_WC_RETRY_EXC_ERR;
	if (status) {
		send_done(a, status);
		vmodel_error(a);
		return true;
	}
	if (w->op == IBV_WR_SEND || w->op == IBV_WR_SEND_WITH_IMM)
		return run_send(a, w, a->qp.peer);
	return run_rdma(a, w, a->qp.peer);
}

void vmodel_run(void)
{
	bool again = true;

	while (again) {
		again = false;
		for (int c = 0; c < wd->actors; c++)
			for (int i = 0; i < VMAX; i++) {
				struct vobj *o = &wd->obj[wd->first + c][V_QP][i];

				if (!o->live)
					continue;
				if (o->qp.state == IBV_QPS_ERR)
					vmodel_error(o);
				while (o->qp.state == IBV_QPS_RTS &&
				       o->qp.sq.done != o->qp.sq.posted && run_one(o))
					again = true;
			}
	}
}
