/* SPDX-License-Identifier: MIT */
/* Waiting for what the model expects, and comparing it. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <unistd.h>

#define PATIENCE_NS 60000000000ULL

static struct vobj *vlive(int actor, enum vkind kind)
{
	for (int i = 0; i < VMAX; i++)
		if (wd->obj[actor][kind][i].live)
			return &wd->obj[actor][kind][i];
	return NULL;
}

static struct vobj *qp_of(uint32_t qpn)
{
	for (int c = wd->first; c < wd->first + wd->actors; c++)
		for (int i = 0; i < VMAX; i++)
			if (wd->obj[c][V_QP][i].live && wd->obj[c][V_QP][i].qp.qpn == qpn)
				return &wd->obj[c][V_QP][i];
	return NULL;
}

static bool waits(const struct vlist *l)
{
	return l->head != l->tail;
}

static bool outstanding(int actor)
{
	for (int i = 0; i < VMAX; i++) {
		const struct vobj *o = &wd->obj[actor][V_QP][i];
		const struct vobj *srq = &wd->obj[actor][V_SRQ][i];
		const struct vobj *cq = &wd->obj[actor][V_CQ][i];

		if (o->live && (waits(&o->qp.send) || waits(&o->qp.recv) || o->qp.ev_req ||
				o->qp.ev_access || o->qp.ev_last || o->qp.ev_drained))
			return true;
		if ((srq->live && waits(&srq->srq.recv)) || (cq->live && cq->cq.events))
			return true;
	}
	return false;
}

/** struct place - the list in which to search for a completion, and its queue. */
struct place {
	struct vlist *list;
	struct vqueue *q;
	bool recv, shared;
};

static bool next_is(const struct vlist *l, uint64_t id)
{
	return waits(l) && l->wc[l->head % VEXPECT].id == id;
}

/* Completions of an XRC target appear on its SRQ's CQ, in the process that owns the SRQ. */
static struct place place_xrc(uint64_t id)
{
	for (int i = 0; i < VMAX; i++) {
		struct vobj *s = &wd->obj[me][V_SRQ][i];

		if (s->live && next_is(&s->srq.recv, id))
			return (struct place){ &s->srq.recv, &s->srq.q, true, true };
	}
	return (struct place){ 0 };
}

/* Which of a QP's queues an entry belongs to; in an error its opcode does not say. */
static struct place place_of(struct vobj *o, const struct ibv_wc *wc)
{
	struct vobj *srq = o->uses[U_SRQ];
	struct place send = { &o->qp.send, &o->qp.sq, false, false };
	struct place recv = { &o->qp.recv, srq ? &srq->srq.q : &o->qp.rq, true, srq };

	if (o->qp.type == IBV_QPT_XRC_RECV)
		return place_xrc(wc->wr_id);
	if (o->actor != me)
		return (struct place){ 0 };
	if (wc->status == IBV_WC_SUCCESS)
		return wc->opcode & IBV_WC_RECV ? recv : send;
	return next_is(&o->qp.send, wc->wr_id) ? send : recv;
}

/* The request that went wrong, for who reads the failure. */
static void tell(const struct vobj *o, const struct vqueue *q, uint64_t id)
{
	const struct vobj *peer = o->qp.peer;

	for (uint32_t i = 0; i < VDEPTH; i++) {
		const struct vwr *w = &q->wr[i];

		if (w->id != id)
			continue;
		note("opcode %d flags %#x, %u bytes in %d pieces, to %#lx rkey %#x", w->op,
		     w->flags, w->len, w->n, (unsigned long)w->addr, w->rkey);
		for (int k = 0; k < w->n; k++)
			note("  %u bytes at %#lx lkey %#x", w->sge[k].length,
			     (unsigned long)w->sge[k].addr, w->sge[k].lkey);
		if (w->mw)
			note("  window of type %d, %#x bound last, by QP %#x; %lu bytes of region "
			     "%#x, access %#x",
			     w->mw->mw.type, w->mw->mw.last, w->mw->mw.qpn,
			     (unsigned long)w->bind_len, w->mr->mr.key, w->bind_access);
	}
	note("access %#x, max_rd %u, max_dest_rd %u", o->qp.access, o->qp.max_rd,
	     o->qp.max_dest_rd);
	if (peer)
		note("peer %#x of actor %d, state %d: access %#x, max_dest_rd %u", peer->qp.qpn,
		     peer->actor, peer->qp.state, peer->qp.access, peer->qp.max_dest_rd);
}

/* The other fields of a successful completion. */
static void check_fields(const struct ibv_wc *wc, const struct vwc *want, bool recv)
{
	const unsigned int with = IBV_WC_WITH_IMM | IBV_WC_WITH_INV;

	if ((int)wc->opcode != want->opcode)
		vfail("QP %#x: opcode %d instead of %d", wc->qp_num, wc->opcode, want->opcode);
	if (!recv)
		return;
	if (wc->byte_len != want->len || wc->wc_flags != want->flags ||
	    ((want->flags & with) && wc->imm_data != want->imm))
		vfail("QP %#x: %u bytes, flags %#x, immediate %#x instead of %u, %#x, %#x",
		      wc->qp_num, wc->byte_len, wc->wc_flags, wc->imm_data, want->len, want->flags,
		      want->imm);
	if (want->src_qp && wc->src_qp != want->src_qp)
		vfail("QP %#x: a datagram from %#x instead of %#x", wc->qp_num, wc->src_qp,
		      want->src_qp);
}

static void check_wc(const struct ibv_wc *wc)
{
	struct vobj *o = qp_of(wc->qp_num);
	struct place p = o ? place_of(o, wc) : (struct place){ 0 };
	const struct vwc *want;

	wd->completions++;
	wd->errors += wc->status != IBV_WC_SUCCESS;
	wd->flushes += !wc->status && wc->opcode == VB_WC_FLUSH;
	wd->word_writes += !wc->status && wc->opcode == IBV_WC_ATOMIC_WRITE;
	if (o && (!p.list || !waits(p.list)))
		note("a QP of type %d, state %d; its peer is %s; from %#x, %u bytes", o->qp.type,
		     o->qp.state,
		     !o->qp.peer       ? "none"
		     : o->qp.peer == o ? "itself"
				       : "another",
		     wc->src_qp, wc->byte_len);
	if (!p.list || !waits(p.list))
		vfail("unexpected completion: QP %#x wr_id %lu %s opcode %d", wc->qp_num,
		      (unsigned long)wc->wr_id, ibv_wc_status_str(wc->status), wc->opcode);
	want = &p.list->wc[p.list->head++ % VEXPECT];
	if (wc->wr_id != want->id || (int)wc->status != want->status || wc->qp_num != want->qpn) {
		tell(o, p.q, wc->wr_id);
		vfail("QP %#x: wr_id %lu %s instead of QP %#x: %lu %s", wc->qp_num,
		      (unsigned long)wc->wr_id, ibv_wc_status_str(wc->status), want->qpn,
		      (unsigned long)want->id, ibv_wc_status_str((enum ibv_wc_status)want->status));
	}
	/* Receives of a shared queue end in any order. */
	while (!p.shared && p.q->wr[p.q->freed % VDEPTH].id != wc->wr_id)
		if (++p.q->freed == p.q->posted)
			vfail("QP %#x: wr_id %lu was not posted", wc->qp_num,
			      (unsigned long)wc->wr_id);
	p.q->freed++;
	if (!wc->status)
		check_fields(wc, want, p.recv);
}

static int poll_all(void)
{
	struct ibv_wc wc[4];
	int n, sum = 0;

	for (int i = 0; i < VMAX; i++) {
		if (!wd->obj[me][V_CQ][i].live)
			continue;
		do {
			n = ibv_poll_cq(wd->obj[me][V_CQ][i].ptr, 4, wc);
			if (n < 0)
				vfail("ibv_poll_cq: %d", n);
			for (int k = 0; k < n; k++)
				check_wc(&wc[k]);
			sum += n;
		} while (n);
	}
	return sum;
}

static void read_events(void)
{
	struct ibv_async_event ev;

	while (!ibv_get_async_event(ctx, &ev)) {
		struct vobj *o = NULL;

		for (int i = 0; i < VMAX; i++)
			if (wd->obj[me][V_QP][i].live && wd->obj[me][V_QP][i].ptr == ev.element.qp)
				o = &wd->obj[me][V_QP][i];
		if (!o)
			vfail("event %s of no QP", ibv_event_type_str(ev.event_type));
		if (ev.event_type == IBV_EVENT_QP_REQ_ERR && o->qp.ev_req)
			o->qp.ev_req--;
		else if (ev.event_type == IBV_EVENT_QP_ACCESS_ERR && o->qp.ev_access)
			o->qp.ev_access--;
		else if (ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && o->qp.ev_last)
			o->qp.ev_last--;
		else if (ev.event_type == IBV_EVENT_SQ_DRAINED && o->qp.ev_drained)
			o->qp.ev_drained--;
		else
			vfail("unexpected event %s of QP %#x", ibv_event_type_str(ev.event_type),
			      o->qp.qpn);
		ibv_ack_async_event(&ev);
	}
}

/* A command waits for the engine, which serves all doorbells before it answers the next one. */
static void barrier(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct vobj *o = vlive(me, V_QP);

	if (o)
		expect_ret("ibv_query_qp", ibv_query_qp(o->ptr, &attr, IBV_QP_STATE, &init), 0);
}

static void __attribute__((noreturn)) nothing_comes(void)
{
	for (int i = 0; i < VMAX; i++) {
		const struct vobj *q = &wd->obj[me][V_QP][i], *c = &wd->obj[me][V_CQ][i];
		const struct vqp *p = &q->qp;

		if (q->live)
			note("QP %#x type %d state %d: sends to come %u, receives %u, events %d %d "
			     "%d %d",
			     p->qpn, p->type, p->state, p->send.tail - p->send.head,
			     p->recv.tail - p->recv.head, p->ev_req, p->ev_access, p->ev_last,
			     p->ev_drained);
		if (c->live && c->cq.events)
			note("CQ %d: %u completion events", i, c->cq.events);
	}
	vfail("what is expected does not come");
}

static void settle_me(struct vobj *o, struct vobj *other)
{
	uint64_t end = 0;

	(void)o;
	(void)other;
	for (;;) {
		int n = poll_all();

		read_events();
		vcq_events();
		if (!n && !outstanding(me)) {
			barrier();
			return;
		}
		if (n)
			continue;
		if (!end)
			end = now_ns() + PATIENCE_NS;
		if (now_ns() > end)
			nothing_comes();
		usleep(50);
	}
}

void settle(void)
{
	vmodel_run();
	settle_me(NULL, NULL);
	for (int a = 0; a < wd->actors; a++)
		if (wd->first + a != me && outstanding(wd->first + a))
			run_on(wd->first + a, settle_me, NULL, NULL);
	check_data();
}
