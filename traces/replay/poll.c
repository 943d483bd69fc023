/* SPDX-License-Identifier: MIT */
/**
 * DOC: VT_POLL: compares completions one by one.
 *
 * Completions are kept in the CQ's pool until the record consumes them. Completions of one side of
 * a QP come in order, so the first one of that QP and side is the one that the record means.
 * Completions of different QPs may come in any order, and the program may have polled them in other
 * batches.
 */
#include "traces/replay/poll.h"
#include "traces/replay/identity.h"
#include "traces/replay/live.h"
#include "traces/replay/memory.h"
#include "traces/replay/objects.h"
#include "traces/replay/play.h"
#include "traces/replay/policy.h"
#include "traces/replay/recv_place.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/replay/turn.h"
#include "traces/replay/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Receives have this bit in enum ibv_wc_opcode. */
#define RECV_SIDE IBV_WC_RECV
/* Flags that describe a receive on any QP; the device chooses the others. */
#define WC_FLAGS                                                                                   \
	(IBV_WC_WITH_IMM | IBV_WC_WITH_INV | IBV_WC_TM_SYNC_REQ | IBV_WC_TM_MATCH |                \
	 IBV_WC_TM_DATA_VALID)

static bool wc_same_side(const struct ibv_wc *a, const struct vt_wc *b)
{
	/* The opcode of a failed completion is undefined. */
	if (a->status != IBV_WC_SUCCESS || b->status != IBV_WC_SUCCESS)
		return a->wr_id == b->wr_id;
	return !(a->opcode & RECV_SIDE) == !(b->opcode & RECV_SIDE);
}

/* Returns the place in the pool of the completion that the record means. */
static struct rp_cqe **cqe_match(struct rp_thread *t, const struct vt_rec *rec, struct rp_cq *cq,
				 const struct vt_wc *want)
{
	struct rp_cqe **at;
	bool same;

	for (at = &cq->first; *at; at = &(*at)->next) {
		/* A QP of another program (XRC) may be unknown to one side: compare the numbers. */
		same = want->qp && (*at)->qp
			       ? want->qp == (*at)->qp
			       : rp_qpn_map(t->prog, want->qp_num, rec->begin) == (*at)->wc.qp_num;
		if (same && wc_same_side(&(*at)->wc, want))
			return at;
	}
	return NULL;
}

static struct rp_cqe *cqe_take(struct rp_cq *cq, struct rp_cqe **at)
{
	struct rp_cqe *e = *at;

	*at = e->next;
	if (cq->last == &e->next)
		cq->last = at;
	return e;
}

static struct rp_queue *recv_queue_of_qp(struct rp_prog *g, uint32_t qp)
{
	uint32_t srq = qp && qp < g->n_obj[VOBJ_QP] ? g->qp_srq[qp] : 0;

	if (!qp || qp >= g->n_obj[VOBJ_QP])
		return NULL;
	return srq ? &g->srq[srq] : &g->rq[qp];
}

/* Returns the receive that a completion belongs to, or NULL. The caller holds the lock. */
static struct rp_recv **recv_find(struct rp_prog *g, uint32_t qp, uint64_t wr_id)
{
	struct rp_queue *q = recv_queue_of_qp(g, qp);
	struct rp_recv **at;

	if (!q)
		return NULL;
	for (at = &q->first; *at && (*at)->wr_id != wr_id; at = &(*at)->next)
		;
	return *at ? at : NULL;
}

/* Takes a receive off its queue. */
static struct rp_recv *recv_take(struct rp_prog *g, uint32_t qp, struct rp_recv **at)
{
	struct rp_queue *q = recv_queue_of_qp(g, qp);
	struct rp_recv *r = *at;

	*at = r->next;
	if (q->last == &r->next)
		q->last = at;
	return r;
}

/* @skip: bytes before the payload */
static uint32_t recv_payload_crc(const struct rp_prog *g, const struct vt_wr *wr, uint32_t skip,
				 uint32_t len, bool *known)
{
	const struct vt_sge *sge = vt_wr_sge(wr);
	uint32_t i, part, crc = 0;
	const uint8_t *at;

	for (i = 0; i < wr->n_sge && len; i++) {
		part = sge[i].len < len ? sge[i].len : len;
		len -= part;
		if (skip >= part) {
			skip -= part;
			continue;
		}
		at = rp_mr_at(g, sge[i].mr, sge[i].addr, part);
		if (!at)
			*known = false;
		else
			crc = vt_crc(crc, at + skip, part - skip);
		skip = 0;
	}
	return crc;
}

/* Fields that differ, as bits. */
enum {
	D_WR_ID = 1,
	D_STATUS = 2,
	D_OPCODE = 4,
	D_LEN = 8,
	D_IMM = 16,
	D_FLAGS = 32,
	D_PAYLOAD = 64,
	D_SRC = 128,
};

static const char *const field_names[] = { "wr_id", "status",	"opcode",  "byte_len",
					   "imm",   "wc_flags", "payload", "src_qp" };

bool rp_policy_ignore(struct rp_world *w, char *list)
{
	char *save = NULL, *name;
	unsigned int i, n = sizeof(field_names) / sizeof(field_names[0]);

	for (name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		for (i = 0; i < n && strcmp(field_names[i], name) != 0; i++)
			;
		if (i < n)
			w->ignore |= 1u << i;
		else if (!strcmp(name, "memory"))
			w->ignore_memory = true;
		else
			return false;
	}
	return w->ignore || w->ignore_memory;
}

static bool qp_is_ud(const struct rp_prog *g, uint32_t qp)
{
	const struct ibv_qp *obj = rp_obj(g, VOBJ_QP, qp);

	return obj && obj->qp_type == IBV_QPT_UD;
}

/* Whether a completion names the sender: UD, and SRD (driver_qp.h). */
static bool qp_has_senders(const struct rp_prog *g, uint32_t qp)
{
	const struct ibv_qp *obj = rp_obj(g, VOBJ_QP, qp);

	return obj && (obj->qp_type == IBV_QPT_UD || obj->qp_type == IBV_QPT_DRIVER);
}

/*
 * Returns the differing fields among those that are defined for successful receives only: some
 * devices set flags and an immediate in completions of sends, too. ibv_poll_cq(3) defines src_qp
 * and IBV_WC_GRH for UD only; SRD is alike. For connected QPs, some devices report the peer's
 * number and others 0, and rxe reports a GRH.
 */
static unsigned int wc_diff_recv(struct rp_thread *t, const struct vt_rec *rec,
				 const struct vt_wc *want, const struct rp_cqe *got)
{
	const struct ibv_wc *wc = &got->wc;
	bool datagram = qp_has_senders(t->prog, got->qp);
	unsigned int d = 0;
	int64_t delta;

	if (want->byte_len != wc->byte_len)
		d |= D_LEN;
	if ((want->wc_flags ^ wc->wc_flags) & (datagram ? WC_FLAGS | IBV_WC_GRH : WC_FLAGS))
		d |= D_FLAGS;
	/* A datagram's immediate may be its sender's QP number, which is different in this run. */
	if (want->wc_flags & IBV_WC_WITH_IMM && want->imm != wc->imm_data &&
	    !(want->src_qp && ntohl(want->imm) == want->src_qp &&
	      ntohl(wc->imm_data) == wc->src_qp))
		d |= D_IMM;
	if (want->wc_flags & IBV_WC_WITH_INV &&
	    rp_key_map(t->prog, want->imm, rec->begin, &delta) != wc->invalidated_rkey)
		d |= D_IMM;
	/* An extended CQ without IBV_WC_EX_WITH_SRC_QP has no sender. */
	if (datagram && want->src_qp && rp_qpn_map(t->prog, want->src_qp, rec->begin) != wc->src_qp)
		d |= D_SRC;
	return d;
}

static unsigned int wc_diff(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wc *want,
			    const struct rp_cqe *got, bool srq)
{
	const struct ibv_wc *wc = &got->wc;
	unsigned int d = 0;

	if (want->wr_id != wc->wr_id &&
	    !(wc->opcode & RECV_SIDE && (srq || t->prog->rq[got->qp].loose)))
		d |= D_WR_ID;
	if (want->status != (uint32_t)wc->status)
		return d | D_STATUS;
	if (want->status != IBV_WC_SUCCESS)
		return d;
	if (want->opcode != (uint32_t)wc->opcode)
		d |= D_OPCODE;
	if (wc->opcode & RECV_SIDE)
		d |= wc_diff_recv(t, rec, want, got);
	return d & ~t->prog->w->ignore;
}

static void wc_describe(char *text, size_t cap, const struct vt_wc *wc, uint32_t qp, uint32_t src)
{
	snprintf(text, cap,
		 "qp%u wr_id=%#llx status=%s opcode=%u byte_len=%u imm=%#x wc_flags=%#x src_qp=%u "
		 "crc=%08x",
		 qp, (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status), wc->opcode,
		 wc->byte_len, wc->imm, wc->wc_flags, src, wc->crc);
}

static bool wc_diverge(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wc *want,
		       const struct rp_cqe *got, unsigned int d, uint32_t crc)
{
	struct vt_wc here = { .wr_id = got->wc.wr_id,
			      .status = got->wc.status,
			      .opcode = got->wc.opcode,
			      .byte_len = got->wc.byte_len,
			      .imm = got->wc.imm_data,
			      .wc_flags = got->wc.wc_flags,
			      .crc = crc };
	char a[320], b[320], what[80];

	snprintf(what, sizeof(what), "the completion's %s", field_names[__builtin_ctz(d)]);
	wc_describe(a, sizeof(a), want, want->qp, want->src_qp);
	wc_describe(b, sizeof(b), &here, got->qp, got->wc.src_qp);
	return rp_diverge(t, rec, what, a, b);
}

/* Returns the bytes before the payload. */
static uint32_t qp_grh_len(const struct rp_prog *g, uint32_t qp)
{
	return qp_is_ud(g, qp) ? VT_GRH : 0;
}

/*
 * Returns the fields that differ; computes the CRC of the received data. @r: its receive, or NULL.
 * The caller holds the lock.
 */
static unsigned int wc_diff_payload(struct rp_thread *t, const struct vt_rec *rec,
				    const struct vt_wc *want, const struct rp_cqe *got,
				    struct rp_recv **r, uint32_t *crc)
{
	struct rp_prog *g = t->prog;
	bool srq = got->qp < g->n_obj[VOBJ_QP] && g->qp_srq[got->qp], known = true;
	unsigned int d = wc_diff(t, rec, want, got, srq);

	*crc = 0;
	if (d || !r || g->w->live || g->w->ignore & D_PAYLOAD || !(want->flags & VT_WC_CRC) ||
	    !(got->wc.opcode & RECV_SIDE) || !g->w->full)
		return d;
	*crc = recv_payload_crc(g, (*r)->wr, qp_grh_len(g, got->qp), got->wc.byte_len, &known);
	if (known)
		__atomic_add_fetch(&g->w->share->count.payloads, 1, __ATOMIC_RELAXED);
	return known && *crc != want->crc ? D_PAYLOAD : 0;
}

static bool cqe_takes_recv(const struct rp_cqe *e)
{
	return e->wc.status != IBV_WC_SUCCESS || e->wc.opcode & RECV_SIDE;
}

/* The caller holds the lock. */
static bool cqe_compare(struct rp_thread *t, const struct vt_rec *rec, const struct vt_wc *want,
			const struct rp_cqe *got)
{
	struct rp_prog *g = t->prog;
	struct rp_recv **r = cqe_takes_recv(got) ? recv_find(g, got->qp, got->wc.wr_id) : NULL,
		       *taken;
	struct rp_queue *q = recv_queue_of_qp(g, got->qp);
	bool alone = r && rp_place_left(g, (*r)->wr) && !q->unsure;
	uint32_t crc;
	unsigned int d = wc_diff_payload(t, rec, want, got, alone ? r : NULL, &crc);

	if (q && got->wc.status != IBV_WC_SUCCESS)
		q->unsure = true;
	if (r && qp_grh_len(g, got->qp))
		rp_grh_mark_mrs(g, (*r)->wr);
	if (r) {
		taken = recv_take(g, got->qp, r);
		taken->next = g->free_recv;
		g->free_recv = taken;
	}
	return !d || wc_diverge(t, rec, want, got, d, crc);
}

/*
 * Handles a message that the record does not have here. Returns the next place in the pool. The
 * caller holds the lock.
 */
static struct rp_cqe **cqe_unexpected(struct rp_thread *t, const struct vt_rec *rec,
				      struct rp_cq *cq, const struct vt_wc *want,
				      struct rp_cqe **at, struct rp_recv **r)
{
	struct rp_prog *g = t->prog;
	struct rp_cqe *e = *at;
	char a[320], b[320];

	if (!e->reported) {
		wc_describe(a, sizeof(a), want, want->qp, want->src_qp);
		wc_describe(b, sizeof(b),
			    &(struct vt_wc){ .wr_id = e->wc.wr_id,
					     .status = e->wc.status,
					     .opcode = e->wc.opcode,
					     .byte_len = e->wc.byte_len,
					     .imm = e->wc.imm_data,
					     .wc_flags = e->wc.wc_flags },
			    e->qp, e->wc.src_qp);
		rp_policy_note(t, rec, a, b);
		e->reported = true;
		g->rq[e->qp].loose = true;
	}
	if (g->w->unexpected == RP_WAIT)
		return &e->next;
	if (r)
		rp_recv_repost(t, rec, e->qp, recv_take(g, e->qp, r));
	e = cqe_take(cq, at);
	e->next = g->free_cqe;
	g->free_cqe = e;
	return at;
}

/* Like cqe_match(), but skips messages that were not recorded. The caller holds the lock. */
static struct rp_cqe **cqe_match_any(struct rp_thread *t, const struct vt_rec *rec,
				     struct rp_cq *cq, const struct vt_wc *want)
{
	struct rp_cqe **at = cqe_match(t, rec, cq, want);
	struct rp_recv **r;
	uint32_t crc;

	if (!at || t->prog->w->unexpected == RP_FAIL || want->status != IBV_WC_SUCCESS ||
	    !(want->opcode & RECV_SIDE))
		return at;
	while (*at) {
		if ((*at)->qp != want->qp || (*at)->wc.status != IBV_WC_SUCCESS ||
		    !((*at)->wc.opcode & RECV_SIDE)) {
			at = &(*at)->next;
			continue;
		}
		r = recv_find(t->prog, (*at)->qp, (*at)->wc.wr_id);
		if (!wc_diff_payload(t, rec, want, *at, r, &crc))
			return at;
		at = cqe_unexpected(t, rec, cq, want, at, r);
	}
	return NULL;
}

/* Waits until the pool has the recorded completion, and compares it. */
static bool poll_await_wc(struct rp_thread *t, const struct vt_rec *rec, struct rp_cq *cq,
			  const struct vt_wc *want)
{
	struct rp_prog *g = t->prog;
	unsigned int rest = 0;
	struct rp_cqe **at, *e;
	char text[320];
	int ret = 0;
	bool same;
	size_t n;

	__atomic_store_n(&t->awaited, want, __ATOMIC_RELEASE);
	for (;;) {
		pthread_mutex_lock(&g->lock);
		at = cqe_match_any(t, rec, cq, want);
		if (!at) {
			ret = rp_cq_drain(g, cq, 1);
			at = cqe_match_any(t, rec, cq, want);
		}
		if (at) {
			e = cqe_take(cq, at);
			same = cqe_compare(t, rec, want, e);
			e->next = g->free_cqe;
			g->free_cqe = e;
			pthread_mutex_unlock(&g->lock);
			return same;
		}
		pthread_mutex_unlock(&g->lock);
		if (ret < 0)
			return rp_fail_rec(t, rec, "the poll of the CQ failed: %d", ret);
		if (rp_is_failed(g->w))
			return false;
		if (rp_live_is_over(t)) {
			wc_describe(text, sizeof(text), want, want->qp, want->src_qp);
			n = strlen(text);
			snprintf(text + n, sizeof(text) - n, "%s",
				 cq->first ? " (others came)" : "");
			return rp_live_fail_wait(t, rec, text);
		}
		if (vt_now() - t->slot->since > g->timeout) {
			wc_describe(text, sizeof(text), want, want->qp, want->src_qp);
			if (!cq->first || cq->first->reported)
				return rp_diverge(t, rec, "a completion", text,
						  cq->first ? "others came" : "none came");
			return wc_diverge(t, rec, want, cq->first, D_WR_ID, 0);
		}
		if (!rp_turn_yield(t, rec))
			rp_wait_step(&rest);
	}
}

bool rp_play_poll(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	const struct vt_wc *wc = vt_poll_wcs(rec);
	struct rp_prog *g = t->prog;
	char want[32], got[32];
	struct rp_cq *cq;
	uint32_t i;
	int ret;

	if (!rp_obj(g, VOBJ_CQ, poll->cq))
		return rp_fail_rec(t, rec, "a poll of cq%u, which does not exist", poll->cq);
	cq = &g->cq[poll->cq];
	pthread_mutex_lock(&g->lock);
	cq->by_start = poll->ex;
	pthread_mutex_unlock(&g->lock);
	for (i = 0; i < poll->n; i++) {
		if (!poll_await_wc(t, rec, cq, &wc[i]))
			return false;
		__atomic_add_fetch(&g->w->share->count.wcs, 1, __ATOMIC_RELAXED);
	}
	if (poll->ret >= 0)
		return true;
	pthread_mutex_lock(&g->lock);
	/* Poll attributes are not recorded; unknown ones are refused with EINVAL. */
	ret = cq->ex && poll->ex && poll->ret == -EINVAL ? rp_cqex_refused(cq)
							 : rp_cq_drain(g, cq, 1);
	pthread_mutex_unlock(&g->lock);
	if (ret < 0)
		return true;
	snprintf(want, sizeof(want), "%d", poll->ret);
	snprintf(got, sizeof(got), "%d", ret);
	return rp_diverge(t, rec, "the result", want, got);
}
