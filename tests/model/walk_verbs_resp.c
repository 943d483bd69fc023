/* SPDX-License-Identifier: MIT */
/* Effects of a request at its target, for connected queue pairs. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <string.h>

#define RNR_FOR_EVER 7

bool vmodel_answers(const struct vobj *a, const struct vobj *b)
{
	enum ibv_qp_state s;

	if (!b || !b->live || b->qp.qpn != a->qp.peer_qpn || b->qp.peer != a ||
	    b->qp.peer_qpn != a->qp.qpn)
		return false;
	s = b->qp.state;
	return s == IBV_QPS_RTR || s == IBV_QPS_RTS || s == IBV_QPS_SQD || s == IBV_QPS_SQE;
}

/*
 * Both ends of a connection end in error. Where they are one and the same QP, the responder takes
 * it to ERR before the requester hears why.
 */
static void both_fail(struct vobj *a, int a_status, const struct vrx *rx, int recv_status)
{
	struct vwc wc = { .status = recv_status };

	if (a != rx->qp)
		vmodel_sent(a, a_status);
	if (recv_status)
		vmodel_received(rx, &wc, true);
	vmodel_error(a);
	vmodel_error(rx->qp);
}

static struct vcheck *new_check(const struct vwr *w, uint32_t len)
{
	struct vcheck *c = &wd->check[wd->n_check++ % VCHECKS];

	memset(c, 0, sizeof(*c));
	c->len = len;
	c->id = w->id;
	c->op = w->op;
	return c;
}

static void add_payload(struct vcheck *c, const struct vobj *a, const struct vwr *w)
{
	if (w->flags & IBV_SEND_INLINE)
		memcpy(c->src, w->sge, sizeof(w->sge));
	else
		vreal_list(a->actor, w->sge, w->n, c->src);
	c->n_src = w->n;
}

/* The first @at bytes of a list go from @to to @head. */
static void split_list(struct vcheck *to, struct vcheck *head, uint32_t at)
{
	for (int i = 0; i < to->n_dst && at; i++) {
		uint32_t n = to->dst[i].length < at ? to->dst[i].length : at;

		head->dst[head->n_dst] = to->dst[i];
		head->dst[head->n_dst++].length = n;
		to->dst[i].addr += n;
		to->dst[i].length -= n;
		at -= n;
	}
}

/* Let @c's bytes go to the first @len of a list of @actor's. */
static void add_place(struct vcheck *c, int actor, const struct vwr *r, uint32_t len)
{
	c->n_dst = vreal_list(actor, r->sge, r->n, c->dst);
	for (int i = 0; i < c->n_dst; i++) {
		if (c->dst[i].length > len)
			c->dst[i].length = len;
		len -= c->dst[i].length;
	}
}

void vmodel_moves(struct vobj *a, const struct vwr *w, const struct vrx *rx, uint32_t at)
{
	const struct vwr *r = &rx->q->wr[rx->q->done % VDEPTH];
	struct vcheck *c = new_check(w, w->len);

	add_payload(c, a, w);
	add_place(c, rx->owner->actor, r, at + w->len);
	if (at) /* a header, of which no more is known than where it is */
		split_list(c, new_check(w, 0), at);
}

/* A message that is refused may have filled the list up to the packet that is at fault. */
static void fill_in_part(int actor, const struct vwr *r, uint32_t len)
{
	add_place(new_check(r, 0), actor, r, len);
}

int vmodel_fits(const struct vrx *rx, uint32_t len)
{
	const struct vwr *r = &rx->q->wr[rx->q->done % VDEPTH];
	int actor = rx->owner->actor, status;
	uint64_t room = 0;

	for (int i = 0; i < r->n; i++)
		room += r->sge[i].length;
	status = vmodel_local(actor, rx->owner->uses[U_PD], r, IBV_ACCESS_LOCAL_WRITE, len);
	if (!status && len > room)
		status = IBV_WC_LOC_LEN_ERR;
	if (status)
		fill_in_part(actor, r, len);
	return status;
}

/* Return: false when the requester must wait for a receive. */
static bool recv_ready(struct vobj *a, const struct vrx *rx, bool *failed)
{
	if (rx->q->done != rx->q->posted)
		return true;
	if (a->qp.rnr_retry != RNR_FOR_EVER) {
		vmodel_send_failed(a, IBV_WC_RNR_RETRY_EXC_ERR);
		*failed = true;
	}
	return false;
}

static void recv_done(const struct vrx *rx, const struct vwr *w)
{
	struct vwc wc = { .opcode = IBV_WC_RECV, .len = w->len };

	if (w->op == IBV_WR_RDMA_WRITE_WITH_IMM)
		wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (w->op == IBV_WR_SEND_WITH_INV) {
		wc.flags = IBV_WC_WITH_INV;
		wc.imm = w->rkey;
	} else if (w->op != IBV_WR_SEND) {
		wc.flags = IBV_WC_WITH_IMM;
		wc.imm = w->imm;
	}
	vmodel_received(rx, &wc, w->flags & IBV_SEND_SOLICITED);
}

/* --- reliable */

static bool rc_send(struct vobj *a, const struct vwr *w, const struct vrx *rx)
{
	const struct vobj *pd = rx->owner->uses[U_PD];
	bool failed = false, inv = w->op == IBV_WR_SEND_WITH_INV;
	int status;

	/* The PD of windows is that of the QP, or of the SRQ that an XRC request names. */
	if (rx->qp->qp.type != IBV_QPT_XRC_RECV)
		pd = rx->qp->uses[U_PD];
	if (!recv_ready(a, rx, &failed))
		return failed;
	status = vmodel_fits(rx, w->len);
	if (status) {
		both_fail(a,
			  status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR,
			  rx, status);
		return true;
	}
	if (inv && !vmodel_invalidate(rx->owner->actor, pd, rx->qp, w->rkey, false)) {
		/* The key comes with the last packet: the payload is in the receive by then. */
		fill_in_part(rx->owner->actor, &rx->q->wr[rx->q->done % VDEPTH], w->len);
		both_fail(a, IBV_WC_RETRY_EXC_ERR, rx, IBV_WC_REM_INV_REQ_ERR);
		return true;
	}
	vmodel_moves(a, w, rx, 0);
	if (inv)
		vmodel_invalidate(rx->owner->actor, pd, rx->qp, w->rkey, true);
	recv_done(rx, w);
	vmodel_sent(a, IBV_WC_SUCCESS);
	return true;
}

/** struct target - whose memory a request with a remote address means. */
struct target {
	struct vobj *qp;
	const struct vobj *pd;
	int actor;
};

/* The responder's end of such a request. 0, or the requester's status. */
static int remote_check(const struct target *t, const struct vwr *w)
{
	const unsigned int need = remote_need(w);
	const bool flush = w->op == VB_WR_FLUSH;
	uint64_t len = flush ? w->compare_add : is_word(w->op) ? 8 : w->len;
	struct vregion r;

	if ((t->qp->qp.access & need) != need || (takes_rd(w->op) && !t->qp->qp.max_dest_rd))
		return IBV_WC_REM_INV_REQ_ERR;
	if (is_word(w->op) && (w->addr & 7))
		return IBV_WC_REM_INV_REQ_ERR;
	if (!len && !flush)
		return IBV_WC_SUCCESS;
	if (!vregion_of(t->actor, w->rkey, &r) || r.pd != t->pd || (r.access & need) != need ||
	    (r.qpn && r.qpn != t->qp->qp.qpn))
		return IBV_WC_REM_ACCESS_ERR;
	if (flush && (w->swap & FLUSH_MR))
		return IBV_WC_SUCCESS;
	return vregion_has(&r, w->addr, len) ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
}

/* The word that an ATOMIC_WRITE writes, from the part of the area that nobody writes to. */
static uint64_t word_of(const struct vobj *a, const struct vwr *w)
{
	struct ibv_sge src = w->sge[0];
	uint64_t word;

	if (!(w->flags & IBV_SEND_INLINE))
		vreal_list(a->actor, w->sge, 1, &src);
	memcpy(&word, (void *)(uintptr_t)src.addr, sizeof(word));
	return word;
}

/* @answered: the requester's list takes the result. */
static void do_atomic(struct vobj *a, const struct vwr *w, const struct target *t, bool answered)
{
	struct vregion r = { 0 };
	struct vcheck *c;
	uint64_t *word, at;

	if (!vregion_of(t->actor, w->rkey, &r))
		vfail("an atomic without a region");
	at = w->addr - r.iova + r.addr - (uintptr_t)wd->area[t->actor] - AREA_WORD;
	word = &wd->words[t->actor][at / 8];
	if (answered) {
		c = new_check(w, 8);
		c->is_word = true;
		c->word = *word;
		c->n_dst = vreal_list(a->actor, w->sge, w->n, c->dst);
	}
	if (w->op == IBV_WR_ATOMIC_WRITE)
		*word = word_of(a, w);
	else if (w->op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		*word += w->compare_add;
	else if (*word == w->compare_add)
		*word = w->swap;
}

static void rdma_moves(struct vobj *a, const struct vwr *w, const struct target *t)
{
	struct ibv_sge there = { w->addr, w->len, w->rkey };
	struct vcheck *c = new_check(w, w->len);

	if (w->op == IBV_WR_RDMA_READ) {
		c->n_src = vreal_list(t->actor, &there, 1, c->src);
		c->n_dst = vreal_list(a->actor, w->sge, w->n, c->dst);
	} else {
		add_payload(c, a, w);
		c->n_dst = vreal_list(t->actor, &there, 1, c->dst);
	}
}

/* How the receive ends when the memory is refused: only the packet with immediate has one. */
static int named_receive(const struct vwr *w, const struct vrx *rx, int status)
{
	bool named = w->op == IBV_WR_RDMA_WRITE_WITH_IMM && w->len <= rx->qp->qp.mtu &&
		     rx->q->done != rx->q->posted;

	return named && status == IBV_WC_REM_ACCESS_ERR ? IBV_WC_LOC_ACCESS_ERR : 0;
}

/* The requester checks the list of a READ or atomic when the response comes. */
static bool list_refused(const struct vobj *a, const struct vwr *w)
{
	return vmodel_local(a->actor, a->uses[U_PD], w, IBV_ACCESS_LOCAL_WRITE,
			    is_atomic(w->op) ? 8 : ~0ULL);
}

static bool rc_rdma(struct vobj *a, const struct vwr *w, const struct vrx *rx,
		    const struct target *t)
{
	int status = remote_check(t, w);
	bool failed = false;

	if (status) {
		t->qp->qp.ev_req += status == IBV_WC_REM_INV_REQ_ERR;
		t->qp->qp.ev_access += status == IBV_WC_REM_ACCESS_ERR;
		both_fail(a, status, rx, named_receive(w, rx, status));
		return true;
	}
	if (is_rd(w->op) && list_refused(a, w)) {
		if (is_atomic(w->op))
			do_atomic(a, w, t, false);
		else
			fill_in_part(a->actor, w, w->len);
		vmodel_send_failed(a, IBV_WC_LOC_PROT_ERR);
		return true;
	}
	if (w->op == IBV_WR_RDMA_WRITE_WITH_IMM && !recv_ready(a, rx, &failed))
		return failed;
	if (is_word(w->op))
		do_atomic(a, w, t, is_atomic(w->op));
	else if (w->op != VB_WR_FLUSH)
		rdma_moves(a, w, t);
	if (w->op == IBV_WR_RDMA_WRITE_WITH_IMM)
		recv_done(rx, w);
	vmodel_sent(a, IBV_WC_SUCCESS);
	return true;
}

/* The SRQ that an XRC request names, in the target's domain. */
static struct vobj *xrc_srq(const struct vobj *b, uint32_t srqn)
{
	for (int c = wd->first; c < wd->first + wd->actors; c++)
		for (int i = 0; i < VMAX; i++) {
			struct vobj *s = &wd->obj[c][V_SRQ][i];

			if (s->live && s->srq.xrc && s->srq.srqn == srqn &&
			    same_domain(s->uses[U_XRCD], b->uses[U_XRCD]))
				return s;
		}
	return NULL;
}

bool vmodel_rc(struct vobj *a, const struct vwr *w)
{
	struct vobj *b = a->qp.peer, *srq = NULL;
	struct target t = { b, NULL, 0 };
	struct vrx rx;

	if (!vmodel_answers(a, b)) {
		vmodel_send_failed(a, IBV_WC_RETRY_EXC_ERR);
		return true;
	}
	t.pd = b->uses[U_PD];
	t.actor = b->actor;
	if (b->qp.type == IBV_QPT_XRC_RECV) {
		srq = xrc_srq(b, w->to);
		if (srq) {
			t.pd = srq->uses[U_PD];
			t.actor = srq->actor;
		}
	}
	rx = vmodel_rx(b, srq);
	if (b->qp.type == IBV_QPT_XRC_RECV && !srq) {
		b->qp.ev_req++;
		both_fail(a, IBV_WC_REM_INV_REQ_ERR, &rx, 0);
		return true;
	}
	return is_send(w->op) ? rc_send(a, w, &rx) : rc_rdma(a, w, &rx, &t);
}

/* --- UC: what cannot be served is dropped, the requester hears of nothing */

static int uc_send(struct vobj *a, const struct vwr *w, const struct vrx *rx)
{
	const struct vobj *b = rx->qp;
	bool inv = w->op == IBV_WR_SEND_WITH_INV;
	int status;

	if (rx->q->done == rx->q->posted ||
	    (inv && !vmodel_invalidate(b->actor, b->uses[U_PD], b, w->rkey, false)))
		return IBV_WC_SUCCESS;
	status = vmodel_fits(rx, w->len);
	if (status)
		return status;
	vmodel_moves(a, w, rx, 0);
	if (inv)
		vmodel_invalidate(b->actor, b->uses[U_PD], b, w->rkey, true);
	recv_done(rx, w);
	return IBV_WC_SUCCESS;
}

void vmodel_uc(struct vobj *a, const struct vwr *w)
{
	struct vobj *b = a->qp.peer;
	struct vwc wc = { 0 };
	struct target t;
	struct vrx rx;

	vmodel_sent(a, IBV_WC_SUCCESS);
	if (!vmodel_answers(a, b))
		return;
	rx = vmodel_rx(b, NULL);
	t = (struct target){ b, b->uses[U_PD], b->actor };
	if (is_send(w->op)) {
		wc.status = uc_send(a, w, &rx);
		if (!wc.status)
			return;
		vmodel_received(&rx, &wc, true);
		vmodel_error(b);
		return;
	}
	if (remote_check(&t, w) ||
	    (w->op == IBV_WR_RDMA_WRITE_WITH_IMM && rx.q->done == rx.q->posted))
		return;
	rdma_moves(a, w, &t);
	if (w->op == IBV_WR_RDMA_WRITE_WITH_IMM)
		recv_done(&rx, w);
}
