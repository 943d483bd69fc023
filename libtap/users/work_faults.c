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
 * marks. `cq delay` marks requests, too, whose completions late_faults.c then keeps back. A request
 * that `defer` names is not posted here, but given to defer_faults.c, as are those after it.
 */
#include "libtap/users/work_faults.h"
#include "libtap/users/defer_faults.h"
#include "libtap/users/fabric.h"
#include "libtap/users/held_request.h"
#include "libtap/users/late_faults.h"
#include "libtap/users/object_counts.h"
#include "libtap/users/port_counters.h"
#include "libtap/users/work_hits.h"

#define PART 32u /* work requests of a chain that are posted at once */

/*
 * Ask about a request that is being posted, of which @w has what the queue pair has not.
 * Return: the ordinal of its hit, or 0
 */
static u64 hit_ask(struct tap_obj *o, struct proto_work *w)
{
	const struct ibv_qp *qp = (const struct ibv_qp *)(uintptr_t)o->key;
	struct work_qp *q = work_qp_of(o);
	struct work_key key;
	u64 hit;

	w->ordinal = __atomic_fetch_add(&q->posted[w->recv], 1, __ATOMIC_RELAXED);
	w->qp = o->ord;
	w->qpn = qp->qp_num;
	w->type = qp->qp_type;
	key = work_key_of(w);
	if (!tap_fabric_has_work() || !work_filter_matches(tap_fabric_filter, &key))
		return 0;
	tap_fabric_work(w);
	hit = w->status || w->delay_ns ? work_hit_add(o, w) : 0;
	if (hit && w->status && !w->recv)
		q->sends_signaled = true;
	return hit;
}

/* Whether a send with these flags completes only if it fails. */
static bool send_is_quiet(const struct work_qp *q, unsigned int flags)
{
	return !(flags & IBV_SEND_SIGNALED) && !q->sig_all && !q->sends_signaled;
}

/* --- posting ---------------------------------------------------------------------------------- */

/**
 * struct work_part - a part of a chain: copies, and what they are copies of.
 * @hold_ns, @hold_posts: a rule defers the last one: struct proto_work
 */
struct work_part {
	union work_wr copy[PART];
	void *of[PART];
	u64 hit[PART];
	u64 hold_ns;
	u32 hold_posts;
	u32 n;
};

/* Return: the request after @wr */
static void *part_add(struct work_part *part, const struct tap_post *p, void *wr)
{
	union work_wr *copy = &part->copy[part->n];
	struct proto_work w = { .recv = p->queue == TAP_RECV };
	void *next;
	u64 hit;

	if (w.recv) {
		copy->recv = *(struct ibv_recv_wr *)wr;
	} else {
		copy->send = *(struct ibv_send_wr *)wr;
		w.opcode = copy->send.opcode;
		w.quiet = send_is_quiet(work_qp_of(p->obj), copy->send.send_flags);
	}
	next = copy->recv.next;
	copy->recv.next = NULL;
	w.wr_id = copy->recv.wr_id;
	w.size = sges_bytes(copy->recv.sg_list, copy->recv.num_sge);
	hit = hit_ask(p->obj, &w);
	part->hold_ns = w.hold_ns;
	part->hold_posts = w.hold_posts;
	if (hit)
		copy->recv.wr_id = work_hit_mark(hit);
	if (!w.recv && work_qp_of(p->obj)->sends_signaled)
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

/* Request @i, and those after it, were not posted. */
static void part_refuse(struct work_part *part, struct tap_post *p, u32 i)
{
	p->bad = part->of[i];
	for (; i < part->n; i++)
		work_hit_cancel(part->hit[i]);
}

/* Post the first @n requests of the part. */
static void part_post_now(struct work_part *part, struct tap_post *p, u32 n)
{
	void *bad = NULL;

	if (!n)
		return;
	part->copy[n - 1].recv.next = NULL;
	p->ret = p->low(p->handle, part->copy, &bad);
	if (p->ret)
		part_refuse(part, p, part_index(part, bad));
}

/* Request @i and those after it: a rule defers the last one, or the queue holds requests. */
static void part_post_later(struct work_part *part, struct tap_post *p, u32 i)
{
	struct defer_post later = { .qp = p->obj, .recv = p->queue == TAP_RECV, .low = p->low };

	for (; i < part->n && !p->ret; i++) {
		part->copy[i].recv.next = NULL;
		later.wr = &part->copy[i];
		later.hit = part->hit[i];
		later.hold_ns = i + 1 == part->n ? part->hold_ns : 0;
		later.hold_posts = part->hold_posts;
		p->ret = defer_fault_post(&later);
		if (p->ret)
			part_refuse(part, p, i);
	}
}

static void part_post(struct work_part *part, struct tap_post *p)
{
	u32 now = part->hold_ns ? part->n - 1 : part->n;

	if (unlikely(defer_faults_hold()) && defer_fault_holds(p->obj, p->queue == TAP_RECV))
		now = 0;
	part_post_now(part, p, now);
	if (now < part->n && !p->ret)
		part_post_later(part, p, now);
}

/* Whether the part ends here: after a hit. What comes later may be refused, and posted again. */
static bool part_is_full(const struct work_part *part)
{
	return part->n == PART || (part->n && (part->hit[part->n - 1] || part->hold_ns));
}

/* Whether no rule is about a request, which the library may therefore get as it is. */
static bool request_is_free(const struct ibv_qp *qp, bool recv, const union work_wr *wr)
{
	struct work_key key;

	key.op = recv ? work_op_bit(true, 0) : work_op_bit(false, wr->send.opcode);
	if (!work_filter_has_op(tap_fabric_filter, key.op))
		return true;
	key.wr_id = wr->recv.wr_id;
	key.size = sges_bytes(wr->recv.sg_list, wr->recv.num_sge);
	key.type = work_type_bit(qp->qp_type);
	key.qpn = qp->qp_num;
	return !work_filter_matches(tap_fabric_filter, &key);
}

bool work_fault_is_free(const struct tap_obj *o, bool recv, const void *chain)
{
	const struct ibv_qp *qp = (const struct ibv_qp *)(uintptr_t)o->key;
	struct work_qp *q = work_qp_of(o);
	const union work_wr *wr = chain;
	u64 n = 0;

	if (q->sends_signaled || work_hits_are_due() || defer_faults_hold())
		return false;
	for (; wr; wr = (const union work_wr *)wr->recv.next, n++)
		if (!request_is_free(qp, recv, wr))
			return false;
	/* Of threads that post at once, the order is unknown anyway. */
	store_relaxed(&q->posted[recv], load_relaxed(&q->posted[recv]) + n);
	return true;
}

enum tap_verdict work_fault_post(struct tap_post *p)
{
	struct work_part part;
	void *wr = p->chain;
	int err = errno;

	if (!work_qp_of(p->obj) || !wr || work_fault_is_free(p->obj, p->queue == TAP_RECV, wr))
		return TAP_PASS;
	p->ret = 0;
	while (wr && !p->ret) {
		for (part.n = 0; wr && !part_is_full(&part);)
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
	struct proto_work w = { .wr_id = ex->wr_id, .opcode = op->opcode, .size = PROTO_NO_SIZE };
	u64 hit;

	if (!q)
		return;
	request_log_wr(&q->requests, ex, op);
	if (op->what == TAP_WR_STARTING && unlikely(defer_faults_hold()))
		defer_fault_drain(o, false);
	batch_restore(q, ex, op->what != TAP_WR_OP);
	if (op->what == TAP_WR_START) {
		q->batch = work_hits_latest();
		q->batch_hold_ns = 0;
	}
	if (op->what != TAP_WR_OP || !work_fault_is_due())
		return;
	/* The length of the message comes after the opcode. */
	w.wr_id = ex->wr_id;
	w.quiet = send_is_quiet(q, ex->wr_flags);
	hit = hit_ask(o, &w);
	if (w.hold_ns > q->batch_hold_ns)
		q->batch_hold_ns = w.hold_ns;
	if (!hit && !q->sends_signaled)
		return;
	q->lent = true;
	q->wr_id = ex->wr_id;
	q->wr_flags = ex->wr_flags;
	if (hit)
		ex->wr_id = work_hit_mark(hit);
	q->lent_wr_id = ex->wr_id;
	if (q->sends_signaled)
		ex->wr_flags |= IBV_SEND_SIGNALED;
}

void work_fault_batch_begin(const struct tap_batch *b)
{
	const struct work_qp *q = work_qp_of(b->obj);

	if (q && unlikely(q->batch_hold_ns))
		late_fault_sleep(q->batch_hold_ns);
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

/* Adds the request, as far as known, and the counters of its device. */
static void work_report_describe(const struct tap_obj *o, struct proto_failed_work *failed)
{
	const struct ibv_qp *qp = (const struct ibv_qp *)(uintptr_t)o->key;
	struct proto_work *w = &failed->work;
	struct request_found found;

	w->type = qp->qp_type;
	failed->peer = object_counts_qp_peer(o);
	port_counters_text(qp->context->device, failed->counters, sizeof(failed->counters));
	if (!work_qp_of(o) || !request_log_find(&work_qp_of(o)->requests, w->wr_id, w->status,
						&found, failed->request, sizeof(failed->request)))
		return;
	w->unknown = false;
	w->recv = found.recv;
	w->opcode = found.opcode;
	w->size = found.bytes;
}

static void work_report(const struct tap_obj *cq, u32 qpn, u64 wr_id, enum ibv_wc_status status)
{
	const struct tap_obj *o = cq && qpn ? tap_obj_find_qpn(cq->ctx_obj, qpn) : NULL;
	struct proto_failed_work failed = { .work = { .wr_id = wr_id,
						      .size = PROTO_NO_SIZE,
						      .qpn = qpn,
						      .status = status,
						      .unknown = true } };

	object_counts_qp_failed(o);
	if (o)
		work_report_describe(o, &failed);
	tap_fabric_report_work(&failed);
}

void work_fault_poll(struct tap_poll *p)
{
	bool change = work_hits_are_due();
	struct late_poll late = { 0 };
	enum ibv_wc_status device;
	struct ibv_wc *wc;
	u64 delay;
	int i;

	for (i = 0; i < p->ret; i++) {
		wc = &p->wc[i];
		device = wc->status;
		delay = 0;
		if (unlikely(change))
			delay = work_hits_complete(p->obj, wc->qp_num,
						   device == IBV_WC_SUCCESS &&
							   wc->opcode & IBV_WC_RECV,
						   &wc->wr_id, &wc->status);
		if (unlikely(is_unexpected(device)))
			work_report(p->obj, wc->qp_num, wc->wr_id, device);
		else if (unlikely(wc->status != device))
			wc->vendor_err = 0;
		if (unlikely(delay || late.longest))
			late_fault_add(&late, p, i, delay);
	}
	late_fault_end(&late, p);
}

void work_fault_cqex(struct tap_cqex *p)
{
	enum ibv_wc_status device;
	struct ibv_wc wc;
	u64 ts, delay;

	if (p->what == TAP_CQEX_END || p->ret)
		return;
	device = p->ex->status;
	if (likely(!work_hits_are_due() && !is_unexpected(device)))
		return;
	tap_cqex_read(p->obj, p->ex, &wc, &ts);
	delay = work_hits_complete(p->obj, wc.qp_num,
				   device == IBV_WC_SUCCESS && wc.opcode & IBV_WC_RECV,
				   &p->ex->wr_id, &p->ex->status);
	if (delay)
		late_fault_sleep(delay);
	if (is_unexpected(device))
		work_report(p->obj, wc.qp_num, p->ex->wr_id, device);
}
