/* SPDX-License-Identifier: MIT */
/* Queues and completions: what an HCA does with posted work, in the fewest words. See
 * tests/model/walk_verbs.h.
 */
#include "tests/model/walk_verbs.h"

#include <string.h>

#define FRAME_ETH 14u
#define FRAME_MAX                                                                                  \
	9022u /* with an MTU of more than 1024; frames between that and 1522 are not sent */

static void expect(struct vlist *l, const struct vwc *wc, struct vobj *cq, bool solicited)
{
	if (l->tail - l->head >= VEXPECT)
		vfail("the model expects too much at once");
	l->wc[l->tail++ % VEXPECT] = *wc;
	if (!cq->cq.chan || cq->cq.armed == ARM_NONE ||
	    (cq->cq.armed == ARM_SOLICITED && !solicited))
		return;
	cq->cq.armed = ARM_NONE;
	cq->cq.events++;
}

void vmodel_hold(const struct vobj *o, const struct vwr *w, int by)
{
	struct vobj *named[] = { w->ah, w->mw, w->mr };

	for (int i = 0; i < w->n; i++) {
		struct vobj *mr = mr_by_key(o->actor, w->sge[i].lkey);

		if (mr)
			mr->busy += by;
	}
	for (int i = 0; i < 3; i++)
		if (named[i])
			named[i]->busy += by;
}

void vmodel_drop(struct vobj *o, struct vqueue *q)
{
	while (q->done != q->posted)
		vmodel_hold(o, &q->wr[q->done++ % VDEPTH], -1);
	q->posted = q->done = q->freed = 0;
}

/* --- sends */

void vmodel_sent(struct vobj *o, int status)
{
	static const int opcodes[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
		[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
		[IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
		[IBV_WR_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE,
		[VB_WR_FLUSH] = VB_WC_FLUSH,
	};
	struct vqueue *q = &o->qp.sq;
	const struct vwr *w = &q->wr[q->done++ % VDEPTH];
	struct vwc wc = { .id = w->id, .status = status, .opcode = opcodes[w->op] };

	wc.qpn = o->qp.qpn;
	vmodel_hold(o, w, -1);
	if (status || o->qp.sig_all || (w->flags & IBV_SEND_SIGNALED))
		expect(&o->qp.send, &wc, o->uses[U_CQ], status);
}

static bool is_reliable(const struct vobj *o)
{
	return o->qp.type == IBV_QPT_RC || vqp_is_xrc(o);
}

static void flush_sends(struct vobj *o)
{
	while (o->qp.sq.done != o->qp.sq.posted)
		vmodel_sent(o, IBV_WC_WR_FLUSH_ERR);
}

void vmodel_send_failed(struct vobj *o, int status)
{
	vmodel_sent(o, status);
	if (is_reliable(o)) {
		vmodel_error(o);
		return;
	}
	o->qp.state = IBV_QPS_SQE;
	flush_sends(o);
}

/* --- receives */

struct vrx vmodel_rx(struct vobj *qp, struct vobj *srq)
{
	struct vobj *basic = qp->uses[U_SRQ];

	if (srq)
		return (struct vrx){ qp, srq, srq->uses[U_CQ], &srq->srq.q, &srq->srq.recv };
	if (basic)
		return (struct vrx){ qp, basic, qp->uses[U_RCQ], &basic->srq.q, &qp->qp.recv };
	return (struct vrx){ qp, qp, qp->uses[U_RCQ], &qp->qp.rq, &qp->qp.recv };
}

void vmodel_received(const struct vrx *rx, const struct vwc *how, bool solicited)
{
	const struct vwr *r = &rx->q->wr[rx->q->done++ % VDEPTH];
	struct vwc wc = *how;

	wc.id = r->id;
	wc.qpn = rx->qp->qp.qpn;
	vmodel_hold(rx->owner, r, -1);
	expect(rx->list, &wc, rx->cq, solicited || wc.status);
}

/* --- states */

void vmodel_error(struct vobj *o)
{
	struct vwc flush = { .status = IBV_WC_WR_FLUSH_ERR };
	struct vrx rx = vmodel_rx(o, NULL);

	o->qp.state = IBV_QPS_ERR;
	o->qp.notify = false;
	flush_sends(o);
	while (rx.q == &o->qp.rq && rx.q->done != rx.q->posted)
		vmodel_received(&rx, &flush, true);
	/* A shared queue keeps what it has; that no more is taken is said once. */
	if (o->uses[U_SRQ] && !o->qp.last) {
		o->qp.last = true;
		o->qp.ev_last++;
	}
}

void vmodel_reset(struct vobj *o)
{
	vmodel_drop(o, &o->qp.sq);
	vmodel_drop(o, &o->qp.rq);
	o->qp.state = IBV_QPS_RESET;
	o->qp.last = o->qp.notify = false;
	o->qp.peer = NULL;
	o->qp.send.head = o->qp.send.tail = o->qp.recv.head = o->qp.recv.tail = 0;
}

/* --- the requester */

static bool length_right(const struct vobj *a, const struct vwr *w)
{
	if (a->qp.type == IBV_QPT_UD)
		return w->len <= wd->mtu;
	if (a->qp.type == IBV_QPT_RAW_PACKET)
		return w->len >= FRAME_ETH && w->len <= FRAME_MAX;
	if (w->op == IBV_WR_ATOMIC_WRITE)
		return w->len == 8;
	return !is_atomic(w->op) || w->len >= 8;
}

/* Checks a request as the requester does. Return: a completion status. */
static int check(struct vobj *a, const struct vwr *w)
{
	int status = IBV_WC_SUCCESS;

	if (w->op == IBV_WR_BIND_MW || w->op == IBV_WR_LOCAL_INV)
		return vmodel_window(a, w);
	if (takes_rd(w->op) && !a->qp.max_rd)
		return IBV_WC_LOC_QP_OP_ERR;
	if (!(w->flags & IBV_SEND_INLINE) && !is_rd(w->op))
		status = vmodel_local(a->actor, a->uses[U_PD], w, 0, ~0ULL);
	if (!status && !length_right(a, w))
		status = IBV_WC_LOC_LEN_ERR;
	if (!status && w->ah && w->ah->uses[U_PD] != a->uses[U_PD])
		status = IBV_WC_LOC_QP_OP_ERR;
	return status;
}

/* The oldest request, if anything can become of it. Return: whether something did. */
static bool run_one(struct vobj *a)
{
	const struct vwr *w = &a->qp.sq.wr[a->qp.sq.done % VDEPTH];
	int status = check(a, w);

	if (status)
		vmodel_send_failed(a, status);
	else if (w->op == IBV_WR_BIND_MW || w->op == IBV_WR_LOCAL_INV)
		vmodel_sent(a, IBV_WC_SUCCESS);
	else if (is_reliable(a))
		return vmodel_rc(a, w);
	else if (a->qp.type == IBV_QPT_UC)
		vmodel_uc(a, w);
	else if (a->qp.type == IBV_QPT_UD)
		vmodel_ud(a, w);
	else
		vmodel_raw(a, w);
	return true;
}

/* SQD: what was begun goes on. */
static bool may_run(const struct vobj *o)
{
	const struct vqp *q = &o->qp;

	return q->sq.done != q->sq.posted &&
	       (q->state == IBV_QPS_RTS || (q->state == IBV_QPS_SQD && q->sq.done != q->begun));
}

static bool run_qp(struct vobj *o)
{
	bool moved = false;

	if (o->qp.state == IBV_QPS_ERR)
		vmodel_error(o);
	if (o->qp.state == IBV_QPS_SQE)
		flush_sends(o);
	while (may_run(o) && run_one(o))
		moved = true;
	if (o->qp.state == IBV_QPS_SQD && o->qp.notify && o->qp.sq.done == o->qp.begun) {
		o->qp.notify = false;
		o->qp.ev_drained++;
	}
	return moved;
}

void vmodel_run(void)
{
	bool again = true;

	while (again) {
		again = false;
		for (int c = 0; c < wd->actors; c++)
			for (int i = 0; i < VMAX; i++) {
				struct vobj *o = &wd->obj[wd->first + c][V_QP][i];

				if (o->live)
					again |= run_qp(o);
			}
	}
}
