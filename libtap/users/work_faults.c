/* SPDX-License-Identifier: MIT */
/**
 * DOC: completions in error, made of work requests that were posted.
 *
 * Theory of operation
 * -------------------
 * While a rule is about work requests, each one that is posted asks the fabric process. One that is
 * hit is posted all the same, as a copy that is signaled and has a wr_id of ours, the mark. Its
 * completion therefore arrives in its place, after those of earlier work requests, and is known by
 * the mark, however many requests the program gives the same wr_id. Then
 *
 *  1. the program's wr_id and the status of the rule replace those of the completion;
 *  2. ibv_modify_qp() moves the queue pair to ERR, so that the device flushes what is outstanding;
 *  3. requests of that queue that the device has completed after that one count as flushed, too:
 *     the peer may have got them, as it may on any device. Sends are signaled from the hit on,
 *     since a flushed one completes in any case.
 *
 * A completion that the device itself has failed keeps the device's status. work_hits.c knows the
 * marks.
 */
#include "libtap/users/work_faults.h"
#include "libtap/users/fabric.h"
#include "libtap/users/object_counts.h"
#include "libtap/users/work_hits.h"

#define PART 32u /* work requests of a chain that are posted at once */

bool work_fault_is_due(void)
{
	return tap_fabric_has_work() || work_hits_are_due();
}

/* Ask about a request that is being posted. Return: the ordinal of its hit, or 0 */
static u64 hit_ask(struct tap_obj *o, bool recv, u32 opcode, u64 wr_id, u64 size)
{
	const struct ibv_qp *qp = (const struct ibv_qp *)(uintptr_t)o->key;
	struct work_qp *q = work_qp_of(o);
	struct proto_work w = {
		.wr_id = wr_id,
		.size = size,
		.ordinal = __atomic_fetch_add(&q->posted[recv], 1, __ATOMIC_RELAXED),
		.qp = o->ord,
		.qpn = qp->qp_num,
		.opcode = opcode,
		.type = qp->qp_type,
		.recv = recv,
	};
	u32 status = tap_fabric_has_work() ? tap_fabric_work(&w) : 0;
	u64 hit = status ? work_hit_add(o, recv, wr_id, status) : 0;

	if (hit && !recv)
		q->sends_signaled = true;
	return hit;
}

/* --- posting ---------------------------------------------------------------------------------- */

/* A receive has the members that a send begins with. */
union work_wr {
	struct ibv_recv_wr recv;
	struct ibv_send_wr send;
};

#define SAME_PLACE(member)                                                                         \
	_Static_assert(offsetof(struct ibv_recv_wr, member) ==                                     \
			       offsetof(struct ibv_send_wr, member),                               \
		       #member)
SAME_PLACE(wr_id);
SAME_PLACE(next);
SAME_PLACE(sg_list);
SAME_PLACE(num_sge);

/** struct work_part - a part of a chain: copies, and what they are copies of. */
struct work_part {
	union work_wr copy[PART];
	void *of[PART];
	u64 hit[PART];
	u32 n;
};

static u64 sges_size(const struct ibv_sge *sge, int n)
{
	u64 size = 0;
	int i;

	for (i = 0; i < n; i++)
		size += sge[i].length;
	return size;
}

/* Return: the request after @wr */
static void *part_add(struct work_part *part, const struct tap_post *p, void *wr)
{
	const bool recv = p->queue == TAP_RECV;
	union work_wr *copy = &part->copy[part->n];
	void *next;
	u64 hit;

	if (recv)
		copy->recv = *(struct ibv_recv_wr *)wr;
	else
		copy->send = *(struct ibv_send_wr *)wr;
	next = copy->recv.next;
	copy->recv.next = NULL;
	hit = hit_ask(p->obj, recv, recv ? 0 : copy->send.opcode, copy->recv.wr_id,
		      sges_size(copy->recv.sg_list, copy->recv.num_sge));
	if (hit)
		copy->recv.wr_id = work_hit_mark(hit);
	if (!recv && work_qp_of(p->obj)->sends_signaled)
		copy->send.send_flags |= IBV_SEND_SIGNALED;
	if (part->n)
		part->copy[part->n - 1].recv.next = &copy->recv;
	part->of[part->n] = wr;
	part->hit[part->n++] = hit;
	return next;
}

/* The place of a copy that the library has refused. */
static u32 part_index(const struct work_part *part, const void *bad)
{
	u32 i;

	for (i = 0; i + 1 < part->n; i++)
		if (bad == &part->copy[i])
			break;
	return i;
}

static void part_post(struct work_part *part, struct tap_post *p)
{
	void *bad = NULL;
	u32 i;

	p->ret = p->low(p->handle, part->copy, &bad);
	if (!p->ret)
		return;
	i = part_index(part, bad);
	p->bad = part->of[i];
	for (; i < part->n; i++)
		work_hit_cancel(part->hit[i]);
}

enum tap_verdict work_fault_post(struct tap_post *p)
{
	struct work_part part;
	void *wr = p->chain;
	int err = errno;

	if (!work_qp_of(p->obj) || !wr)
		return TAP_PASS;
	p->ret = 0;
	while (wr && !p->ret) {
		/* A part ends with a hit: what comes later may be refused, and be posted again. */
		for (part.n = 0; wr && part.n < PART && !(part.n && part.hit[part.n - 1]);)
			wr = part_add(&part, p, wr);
		/* Posts return errors; most libraries leave errno as it was. */
		errno = err;
		part_post(&part, p);
		err = errno;
	}
	errno = err;
	return TAP_ANSWER;
}

/*
 * Give the program back what it has written into the queue pair.
 * @flags: it cannot have written new flags yet
 */
static void batch_restore(struct work_qp *q, struct ibv_qp_ex *ex, bool flags)
{
	if (!q->lent)
		return;
	if (ex->wr_id == q->lent_wr_id)
		ex->wr_id = q->wr_id;
	if (flags && ex->wr_flags == (q->wr_flags | IBV_SEND_SIGNALED))
		ex->wr_flags = q->wr_flags;
	q->lent = false;
}

void work_fault_wr(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op)
{
	struct work_qp *q = work_qp_of(o);
	u64 hit;

	if (!q)
		return;
	batch_restore(q, ex, op->what != TAP_WR_OP);
	if (op->what == TAP_WR_START)
		q->batch = work_hits_latest();
	if (op->what != TAP_WR_OP || !work_fault_is_due())
		return;
	/* The length of the message comes after the opcode. */
	hit = hit_ask(o, false, op->opcode, ex->wr_id, PROTO_NO_SIZE);
	if (!q->sends_signaled)
		return;
	q->lent = true;
	q->wr_id = ex->wr_id;
	q->wr_flags = ex->wr_flags;
	if (hit)
		ex->wr_id = work_hit_mark(hit);
	q->lent_wr_id = ex->wr_id;
	ex->wr_flags |= IBV_SEND_SIGNALED;
}

void work_fault_batch_end(struct tap_batch *b)
{
	struct work_qp *q = work_qp_of(b->obj);

	if (!q)
		return;
	batch_restore(q, b->ex, true);
	if (b->abort || b->ret)
		work_hits_cancel_later(b->obj, q->batch);
}

/* --- completions ------------------------------------------------------------------------------ */

static bool is_unexpected(enum ibv_wc_status status)
{
	return status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR;
}

static void work_report(const struct tap_obj *cq, u32 qpn, u64 wr_id, enum ibv_wc_status status)
{
	const struct tap_obj *o = cq && qpn ? tap_obj_find_qpn(cq->ctx_obj, qpn) : NULL;
	struct proto_work w = {
		.wr_id = wr_id,
		.size = PROTO_NO_SIZE,
		.qpn = qpn,
		.type = o ? ((const struct ibv_qp *)(uintptr_t)o->key)->qp_type : 0,
		.status = status,
		.unknown = true,
	};

	object_counts_qp_failed(o);
	tap_fabric_report_work(&w);
}

void work_fault_poll(struct tap_poll *p)
{
	bool change = work_hits_are_due();
	enum ibv_wc_status device;
	struct ibv_wc *wc;
	int i;

	for (i = 0; i < p->ret; i++) {
		wc = &p->wc[i];
		device = wc->status;
		if (unlikely(change))
			work_hits_complete(p->obj, wc->qp_num,
					   device == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV,
					   &wc->wr_id, &wc->status);
		if (unlikely(is_unexpected(device)))
			work_report(p->obj, wc->qp_num, wc->wr_id, device);
		else if (unlikely(wc->status != device))
			wc->vendor_err = 0;
	}
}

void work_fault_cqex(struct tap_cqex *p)
{
	enum ibv_wc_status device;
	struct ibv_wc wc;
	u64 ts;

	if (p->what == TAP_CQEX_END || p->ret)
		return;
	device = p->ex->status;
	if (likely(!work_hits_are_due() && !is_unexpected(device)))
		return;
	tap_cqex_read(p->obj, p->ex, &wc, &ts);
	work_hits_complete(p->obj, wc.qp_num, device == IBV_WC_SUCCESS && wc.opcode & IBV_WC_RECV,
			   &p->ex->wr_id, &p->ex->status);
	if (is_unexpected(device))
		work_report(p->obj, wc.qp_num, p->ex->wr_id, device);
}
