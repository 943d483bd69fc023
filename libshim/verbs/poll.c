/* SPDX-License-Identifier: MIT */
/**
 * DOC: polling and arming completion queues.
 *
 * Theory of operation
 * -------------------
 * An entry is valid if its sequence number matches its place in the stream. So polling reads one
 * cache line that the engine writes, and no other shared memory. Consuming an entry
 *
 *  - copies the data of a small receive, which travels in the entry, to the receive's buffers
 *    before the entry is reported; the last byte comes last, since programs poll it;
 *  - frees the work request's slot and, on a send queue, all slots before it: work requests
 *    complete in order, and unsignalled ones have no entry of their own.
 *
 * Most polls find nothing. They look without the CQ's lock: one word, @look, holds the number of
 * the next entry and its place. If @look is the same before and after a look at that place, and the
 * entry is not there, the queue was empty. Every 32nd empty poll, and each one while a doorbell of
 * this process is pending, does pending work of the engine, as far as the token is free.
 */
#include "emulator/ib.h"
#include "emulator/seg.h"
#include "libshim/client/call_fault.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/helper.h"
#include "libshim/client/poll_idle.h"
#include "libshim/memory/pages.h"
#include "libshim/memory/shadow.h"
#include "libshim/verbs/cq.h"
#include "libshim/verbs/cq_arm.h"
#include "libshim/verbs/objects.h"
#include "libshim/verbs/qp.h"
#include "libshim/verbs/queue.h"
#include "libshim/verbs/recv_place.h"
#include "libshim/verbs/srq.h"

#define IDLE_POLLS   32 /* empty polls between two reads of the token's cache line */
#define IDLE_TICK    (1u << 27) /* IDLE_POLLS of them are 2^32 */
#define SHARED_POLLS 512 /* empty polls between two reads of the clock: some microseconds */

/* The entry with that ordinal, or NULL if the engine has not written it. */
static inline struct cqe *cq_entry(const struct shim_cq *cq, u32 i)
{
	struct cqe *e = &cq->entries[i & cq->mask];

	return load_acquire(&e->seq) == i + 1 ? e : NULL;
}

const struct cqe *shim_cq_peek(const struct shim_cq *cq)
{
	return cq_entry(cq, cq->cons);
}

/*
 * The receive of an entry that carries data, or NULL.
 * @qp: the entry's QP, if it exists in this process
 * @srq: the SRQ of an entry with CQE_SRQ
 */
static inline const struct rq_wqe *cqe_recv_slot(const struct shim_qp *qp,
						 const struct shim_srq *srq, const struct cqe *e,
						 u32 *max_sge)
{
	if (!(e->flags & (CQE_HAS_DATA | CQE_GRH)))
		return NULL;
	if (unlikely(srq)) {
		*max_sge = srq->max_sge;
		return shim_srq_slot(srq, e->slot);
	}
	if (unlikely(!qp || !qp->rq.depth || e->flags & CQE_SRQ))
		return NULL;
	*max_sge = qp->rq.max_sge;
	return shim_rq_slot(&qp->rq, e->slot);
}

static inline void cqe_place_data(const struct shim_qp *qp, const struct shim_srq *srq,
				  const struct cqe *e)
{
	u32 max_sge = 0;
	const struct rq_wqe *w = cqe_recv_slot(qp, srq, e, &max_sge);

	if (likely(w))
		recv_place_data(w, max_sge, e);
}

static void cqe_place_wq_data(const struct cqe *e)
{
	const struct rq_wqe *w;
	u32 max_sge;

	if (!(e->flags & CQE_HAS_DATA))
		return;
	w = shim_wq_recv(e, &max_sge);
	if (w)
		recv_place_data(w, max_sge, e);
}

/* Consume an entry of a WQ or an SRQ, or one that is to be skipped. */
static __attribute__((noinline)) void cqe_consume_other(const struct cqe *e)
{
	struct shim_srq *srq;

	if (e->flags & CQE_WQ) {
		if (e->flags & CQE_SKIP)
			return;
		cqe_place_wq_data(e);
		shim_wq_consume(e);
	} else if ((e->flags & CQE_SRQ) && (e->flags & CQE_RECV)) {
		srq = shim_cqe_srq(e);
		cqe_place_data(NULL, srq, e);
		if (srq)
			shim_srq_slot_free(srq, e->slot);
	} else if ((e->flags & CQE_SRQ) && !(e->flags & CQE_SKIP)) {
		shim_tag_consume(e);
	}
}

/* The peer has read a receive's slot: a post may write it soon, and then waits for its line. */
static inline void cqe_free_slot(struct shim_qp *qp, const struct cqe *e)
{
	if (e->flags & CQE_RECV) {
		store_release(&qp->rq.tail, e->slot + 1);
		prefetch_write(shim_rq_slot(&qp->rq, e->slot));
	} else {
		store_release(&qp->sq.tail, e->slot + 1);
	}
}

static inline __attribute__((always_inline)) void cqe_consume(const struct cqe *e)
{
	struct shim_qp *qp = shim_qp_find(e->qpn);

	if (unlikely(e->flags & (CQE_WQ | CQE_SRQ | CQE_SKIP))) {
		cqe_consume_other(e);
	} else if (likely(qp)) {
		cqe_place_data(qp, NULL, e);
		cqe_free_slot(qp, e);
	}
	if (unlikely(e->status != WCS_SUCCESS) && qp && !(e->flags & (CQE_WQ | CQE_SKIP)))
		shim_qp_saw_error(qp);
}

void shim_cqe_consume(const struct cqe *e)
{
	cqe_consume(e);
}

/* Once in SHARED_POLLS empty polls: look whether the peer has no CPU. */
static bool cq_poll_shared(struct shim_cq *cq)
{
	u32 idle = load_relaxed(&cq->empty_polls);

	/* A doorbell is pending: this poll is none of those that are counted below. */
	if (load_relaxed(&cq->idle_tick))
		return false;
	store_relaxed(&cq->empty_polls, idle + IDLE_POLLS);
	return !(idle % SHARED_POLLS) &&
	       shim_poll_shared(&cq->shared, load_relaxed(&cq->ctl->cons));
}

/* The part of shim_cq_idle() that is not due at each empty poll. */
static __attribute__((noinline)) bool cq_idle_due(struct shim_cq *cq)
{
	bool again;

	if (shim.isolated)
		return cq_poll_shared(cq);
	if (shim_engine_poke() ||
	    (unlikely(load_relaxed(&shim.hca->watched)) && shim_poll_give_way()))
		return true;
	if (unlikely(load_relaxed(&shim.hca->n_via)) && shim_poll_via(&cq->idle, &again))
		return again;
	return cq_poll_shared(cq);
}

/* Count an empty poll. Return: whether cq_idle_due() has something to do at this one. */
static inline bool cq_idle_is_due(struct shim_cq *cq, const struct seg_hdr *seg)
{
	/* Without the lock: a lost update by two threads does no harm. */
	u32 tick = load_relaxed(&cq->idle_tick) + IDLE_TICK;

	store_relaxed(&cq->idle_tick, tick);
	return unlikely(!tick || load_relaxed(&seg->db_any));
}

bool shim_cq_idle(struct shim_cq *cq)
{
	return cq_idle_is_due(cq, shim.seg) && cq_idle_due(cq);
}

/* Whether the next entry is missing. Any thread, without the lock. */
static inline bool cq_is_empty(const struct shim_cq *cq, const struct seg_hdr *seg)
{
	u64 look = load_acquire(&cq->look);
	const struct cqe *e = (const struct cqe *)((const char *)seg + (look >> 32 << 6));

	return load_acquire(&e->seq) != (u32)look && load_relaxed(&cq->look) == look;
}

static inline void wc_fill_success(struct ibv_wc *wc, const struct cqe *e)
{
	wc->wr_id = e->wr_id;
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = e->opcode;
	wc->vendor_err = 0;
	wc->byte_len = e->byte_len;
	wc->imm_data = e->imm;
	wc->qp_num = e->qpn & IB_QPN_MASK;
	wc->src_qp = e->src_qp;
	wc->wc_flags = e->wc_flags;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = 0;
	wc->dlid_path_bits = 0;
}

static void wc_fill(const struct shim_cq *cq, struct ibv_wc *wc, const struct cqe *e)
{
	wc_fill_success(wc, e);
	if (unlikely(e->status != WCS_SUCCESS)) {
		wc->status = e->status;
		wc->vendor_err = shim_vendor_err(cq, e);
		wc->opcode = 0;
		wc->byte_len = 0;
		wc->imm_data = 0;
		wc->src_qp = 0;
		wc->wc_flags = 0;
	} else if (unlikely(e->flags & CQE_EXT)) {
		wc->pkey_index = e->pkey_index;
		wc->slid = shim_cqe_slid(cq, e);
		wc->sl = e->sl;
		wc->dlid_path_bits = e->dlid_path_bits;
	}
}

/* Report an entry that is not plain, if it is reported at all. Return: entries reported. */
static __attribute__((noinline)) int cq_poll_other(const struct shim_cq *cq, const struct cqe *e,
						   struct ibv_wc *wc)
{
	cqe_consume(e);
	if (unlikely(e->flags & CQE_SKIP))
		return 0;
	wc_fill(cq, wc, e);
	return 1;
}

/* A success of a QP's own queue, of two lines at most. */
static inline bool cqe_is_plain(const struct cqe *e)
{
	return !((e->flags & (u8) ~(CQE_RECV | CQE_HAS_DATA)) | e->status);
}

static __attribute__((noinline)) int cq_poll_ready(struct shim_cq *cq, int n, struct ibv_wc *wc)
{
	const struct cqe *e;
	struct shim_qp *qp;
	u32 cons;
	int found = 0, other;

	shim_lock(&cq->lock);
	for (cons = cq->cons; found < n; cons++) {
		e = &cq->entries[cons & cq->mask];
		if (load_acquire(&e->seq) != cons + 1)
			break;
		qp = shim_qp_find(e->qpn);
		if (unlikely(!qp || !cqe_is_plain(e))) {
			other = cq_poll_other(cq, e, wc);
			wc += other;
			found += other;
			continue;
		}
		if (e->flags & CQE_HAS_DATA)
			cqe_place_data(qp, NULL, e);
		wc_fill_success(wc++, e);
		found++;
		cqe_free_slot(qp, e);
	}
	shim_cq_publish(cq, cons);
	shim_unlock(&cq->lock);
	return found;
}

static __attribute__((noinline)) int cq_poll_idle(struct shim_cq *cq, int n, struct ibv_wc *wc)
{
	return n && cq_idle_due(cq) ? cq_poll_ready(cq, n, wc) : 0;
}

/* A rule may be about polls. */
static __attribute__((noinline)) int cq_poll_fault(struct shim_cq *cq, int n, struct ibv_wc *wc)
{
	const bool holds = call_holds();
	int found;

	if (call_fails(CALL_ibv_poll_cq))
		return -1;
	if (holds && shim_cq_withholds(cq))
		return 0;
	found = cq_poll_ready(cq, n, wc);
	if (!found && cq_idle_is_due(cq, shim.seg))
		found = cq_poll_idle(cq, n, wc);
	if (holds && found < n)
		cq_hold_drained(&cq->hold);
	return found;
}

/* Whatever is rare is called last, so that an empty poll saves no registers. */
int shim_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct shim_cq *cq = to_cq(ibcq);
	const struct seg_hdr *seg = shim_seg_at(0);

	if (call_has_rule(seg->fail_calls, CALLS_POLL))
		return cq_poll_fault(cq, n, wc);
	if (!cq_is_empty(cq, seg))
		return cq_poll_ready(cq, n, wc);
	return cq_idle_is_due(cq, seg) ? cq_poll_idle(cq, n, wc) : 0;
}

bool shim_cq_has_entry(struct shim_cq *cq)
{
	bool found;

	shim_lock(&cq->arm_lock);
	found = cq_entry(cq, load_relaxed(&cq->ctl->cons));
	shim_unlock(&cq->arm_lock);
	return found;
}

/* Tell the HCA that the CQ was armed while it holds an entry. */
static void cq_arm_tell(struct shim_cq *cq)
{
	struct shim_context *ctx = shim_context_of(cq->cq.context);
	struct hca_cmd cmd = { .op = CMD_NOTIFY_CQ, .handle = cq->cq.handle };

	if (ctx)
		shim_obj_cmd(ctx, &cmd);
}

int shim_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct shim_cq *cq = to_cq(ibcq);
	bool tell;

	if (unlikely(cq->magic != MAGIC_CQ))
		return EINVAL;
	if (call_fails(CALL_ibv_req_notify_cq))
		return errno;
	shim_cq_hold_arm(cq);
	shim_lock(&cq->arm_lock);
	cq_arm(cq->ctl, solicited_only);
	tell = unlikely(cq->arm_pending) && cq_entry(cq, load_relaxed(&cq->ctl->cons));
	shim_unlock(&cq->arm_lock);
	if (tell)
		cq_arm_tell(cq);
	/* The caller may sleep in poll(2) next and then does no pending work. */
	shim_poll_end();
	return 0;
}

/*
 * Lock a CQ, unless this thread has locked it by start_poll: programs destroy objects in the middle
 * of a batch. @first: the first entry that was not consumed yet. Return: whether it was locked
 * here.
 */
static bool cq_lock_outside(struct shim_cq *cq, u32 *first)
{
	bool mine = load_acquire(&cq->in_batch) && pthread_equal(cq->owner, pthread_self());

	if (!mine)
		shim_lock(&cq->lock);
	*first = cq->cons + (cq->cur ? 1 : 0);
	return !mine;
}

/*
 * The same outside of a poll. The program may have taken its own rights away, which does not hinder
 * a device. Some programs (UCX) unmap registered memory before they destroy their QPs and regions:
 * as with pinned pages, that must do no harm.
 */
static void sge_write_early(const struct wq_sge *sge, u32 at, const u8 *from, u32 n)
{
	u8 *to = shim_mr_shadow_find(sge->lkey, ~0u, ACC_LOCAL_WRITE, sge->addr + at, n);

	if (to && !shim_mem_prefault(to, n, true))
		memcpy(to, from, n);
	else if (to)
		(void)shim_helper_write(to, from, n);
}

/* Place the data of an entry that was not polled. */
static void cqe_place_early(const struct shim_qp *qp, struct cqe *e)
{
	const struct rq_wqe *w = NULL;
	u32 max_sge = 0;

	if (!(e->flags & CQE_WQ))
		w = cqe_recv_slot(qp, e->flags & CQE_SRQ ? shim_cqe_srq(e) : NULL, e, &max_sge);
	else if (e->flags & CQE_HAS_DATA)
		w = shim_wq_recv(e, &max_sge);
	if (w)
		recv_place_parts(w, max_sge, e, sge_write_early);
	e->flags &= (u8) ~(CQE_HAS_DATA | CQE_GRH);
}

void shim_cq_forget(struct shim_cq *cq, u32 qpn, const struct shim_qp *qp)
{
	struct cqe *e;
	bool locked;
	u32 i;

	for (locked = cq_lock_outside(cq, &i); (e = cq_entry(cq, i)); i++) {
		if (e->qpn != qpn || (e->flags & CQE_SKIP))
			continue;
		cqe_place_early(qp, e);
		e->flags |= CQE_SKIP;
	}
	if (locked)
		shim_unlock(&cq->lock);
}

void shim_cq_place_all(struct shim_cq *cq)
{
	struct cqe *e;
	bool locked;
	u32 i;

	for (locked = cq_lock_outside(cq, &i); (e = cq_entry(cq, i)); i++) {
		if (!(e->flags & CQE_SKIP))
			cqe_place_early(shim_qp_find(e->qpn), e);
	}
	if (locked)
		shim_unlock(&cq->lock);
}
