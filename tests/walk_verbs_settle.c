/* SPDX-License-Identifier: MIT */
/* Waiting for what the model expects, and comparing it. See tests/walk_verbs.h. */
#include "tests/walk_verbs.h"

#include <string.h>
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
	for (int i = 0; i < VMAX; i++)
		if (wd->obj[me][V_QP][i].live && wd->obj[me][V_QP][i].qp.qpn == qpn)
			return &wd->obj[me][V_QP][i];
	return NULL;
}

static bool outstanding(int actor)
{
	for (int i = 0; i < VMAX; i++) {
		const struct vobj *o = &wd->obj[actor][V_QP][i];

		if (o->live &&
		    (o->qp.send.head != o->qp.send.tail || o->qp.recv.head != o->qp.recv.tail ||
		     o->qp.ev_req || o->qp.ev_access || o->qp.ev_last))
			return true;
	}
	return false;
}

/* Which of a QP's queues an entry belongs to; in an error its opcode does not say. */
static struct vlist *list_of(struct vobj *o, const struct ibv_wc *wc)
{
	struct vlist *l = &o->qp.send;

	if (wc->status == IBV_WC_SUCCESS)
		return wc->opcode & IBV_WC_RECV ? &o->qp.recv : l;
	if (l->head != l->tail && l->wc[l->head % VEXPECT].id == wc->wr_id)
		return l;
	return &o->qp.recv;
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
	}
	note("access %#x, max_rd %u, max_dest_rd %u", o->qp.access, o->qp.max_rd,
	     o->qp.max_dest_rd);
	if (peer)
		note("peer %#x of actor %d, state %d: access %#x, max_dest_rd %u", peer->qp.qpn,
		     peer->actor, peer->qp.state, peer->qp.access, peer->qp.max_dest_rd);
}

static void check_wc(const struct ibv_wc *wc)
{
	struct vobj *o = qp_of(wc->qp_num);
	struct vlist *l = o ? list_of(o, wc) : NULL;
	const struct vwc *want;
	struct vqueue *q;

	wd->completions++;
	wd->errors += wc->status != IBV_WC_SUCCESS;
	if (!l || l->head == l->tail)
		vfail("unexpected completion: QP %#x wr_id %lu %s opcode %d", wc->qp_num,
		      (unsigned long)wc->wr_id, ibv_wc_status_str(wc->status), wc->opcode);
	want = &l->wc[l->head++ % VEXPECT];
	q = l == &o->qp.send ? &o->qp.sq : vrq(o);
	if (wc->wr_id != want->id || (int)wc->status != want->status) {
		tell(o, q, wc->wr_id);
		vfail("QP %#x: wr_id %lu %s instead of %lu %s", wc->qp_num,
		      (unsigned long)wc->wr_id, ibv_wc_status_str(wc->status),
		      (unsigned long)want->id, ibv_wc_status_str((enum ibv_wc_status)want->status));
	}
	/* Receives of a shared queue end in any order. */
	while (!(l == &o->qp.recv && o->uses[3]) && q->wr[q->freed % VDEPTH].id != wc->wr_id)
		if (++q->freed == q->posted)
			vfail("QP %#x: wr_id %lu was not posted", wc->qp_num,
			      (unsigned long)wc->wr_id);
	q->freed++;
	if (wc->status)
		return;
	if ((int)wc->opcode != want->opcode)
		vfail("QP %#x: opcode %d instead of %d", wc->qp_num, wc->opcode, want->opcode);
	if (l == &o->qp.recv && (wc->byte_len != want->len || wc->wc_flags != want->flags ||
				 ((want->flags & IBV_WC_WITH_IMM) && wc->imm_data != want->imm)))
		vfail("QP %#x: %u bytes, flags %#x, immediate %#x instead of %u, %#x, %#x",
		      wc->qp_num, wc->byte_len, wc->wc_flags, wc->imm_data, want->len, want->flags,
		      want->imm);
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
	struct vobj *o = NULL;

	while (!ibv_get_async_event(ctx, &ev)) {
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

static void settle_me(struct vobj *o, struct vobj *other)
{
	uint64_t end = 0;

	(void)o;
	(void)other;
	for (;;) {
		int n = poll_all();

		read_events();
		if (!n && !outstanding(me)) {
			barrier();
			return;
		}
		if (n)
			continue;
		if (!end)
			end = now_ns() + PATIENCE_NS;
		if (now_ns() > end) {
			for (int i = 0; i < VMAX; i++) {
				const struct vobj *q = &wd->obj[me][V_QP][i];

				if (q->live)
					note("QP %#x state %d: sends to come %u, receives %u, "
					     "events "
					     "%d %d",
					     q->qp.qpn, q->qp.state,
					     q->qp.send.tail - q->qp.send.head,
					     q->qp.recv.tail - q->qp.recv.head, q->qp.ev_req,
					     q->qp.ev_access);
			}
			vfail("what is expected does not come");
		}
		usleep(50);
	}
}

static uint64_t lay(const struct ibv_sge *sge, int n, uint8_t *buf, uint64_t room)
{
	uint64_t at = 0;

	for (int i = 0; i < n && at < room; i++) {
		uint64_t len = sge[i].length < room - at ? sge[i].length : room - at;

		memcpy(buf + at, (void *)(uintptr_t)sge[i].addr, len);
		at += len;
	}
	return at;
}

static bool overlap(const struct vcheck *a, const struct vcheck *b)
{
	for (int i = 0; i < a->n_dst; i++)
		for (int k = 0; k < b->n_dst; k++)
			if (a->dst[i].addr < b->dst[k].addr + b->dst[k].length &&
			    b->dst[k].addr < a->dst[i].addr + a->dst[i].length)
				return true;
	return false;
}

/* Pieces of a list that lie over each other hold what came last: no telling. */
static bool tangled(const struct vcheck *c)
{
	for (int i = 0; i < c->n_dst; i++)
		for (int k = 0; k < i; k++)
			if (c->dst[i].addr < c->dst[k].addr + c->dst[k].length &&
			    c->dst[k].addr < c->dst[i].addr + c->dst[i].length)
				return true;
	return false;
}

static void __attribute__((noreturn)) bad_data(const struct vcheck *c, uint32_t n)
{
	for (int i = 0; i < c->n_src; i++)
		note("from %#lx, %u bytes", (unsigned long)c->src[i].addr, c->src[i].length);
	for (int i = 0; i < c->n_dst; i++)
		note("to   %#lx, %u bytes", (unsigned long)c->dst[i].addr, c->dst[i].length);
	for (int a = 0; a < ACTORS; a++)
		note("area of actor %d: %#lx", a, (unsigned long)(uintptr_t)wd->area[a]);
	vfail("wrong data, %u bytes: request %lu, opcode %d; %u looked at", c->len,
	      (unsigned long)c->id, c->op, n);
}

static bool data_there(const struct vcheck *c)
{
	static uint8_t want[2 * AREA_DST], got[2 * AREA_DST];

	memcpy(want, &c->word, 8);
	if (!c->is_word)
		lay(c->src, c->n_src, want, c->len);
	lay(c->dst, c->n_dst, got, c->len);
	return !memcmp(got, want, c->len);
}

static bool words_right(void)
{
	for (int a = wd->first; a < wd->first + wd->actors; a++)
		if (memcmp(wd->area[a] + AREA_WORD, wd->words[a], sizeof(wd->words[0])) != 0)
			return false;
	return true;
}

/* Nothing says when a request is done that asked for no completion: soon. */
static bool soon(bool (*there)(const struct vcheck *c), const struct vcheck *c)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	while (!there(c)) {
		if (now_ns() > end)
			return false;
		usleep(50);
	}
	return true;
}

static bool words_there(const struct vcheck *c)
{
	(void)c;
	return words_right();
}

static void check_data(void)
{
	uint32_t n = wd->n_check < 8 ? wd->n_check : 8;

	for (uint32_t i = 0; i < n; i++) {
		const struct vcheck *c = &wd->check[(wd->n_check - 1 - i) % 8];
		bool covered = false;

		/*
		 * Others of this step may have gone over it; and what a receive holds is laid
		 * out when it is polled, which may be later than a WRITE after it.
		 */
		for (uint32_t k = 0; k < n; k++)
			covered |= k != i && overlap(c, &wd->check[(wd->n_check - 1 - k) % 8]);
		if (covered || !c->len || tangled(c))
			continue;
		if (!soon(data_there, c))
			bad_data(c, n);
	}
	wd->n_check = 0;
	if (!soon(words_there, NULL))
		vfail("the words are not what atomics should have made of them");
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
