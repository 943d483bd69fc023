/* SPDX-License-Identifier: MIT */
/*
 * Habits that cost speed (--check=perf). Once is no habit: each is reported when it has been seen
 * many times in a row or in all, at the call that reaches that number.
 */
#include "libtap/check/checks.h"
#include "libtap/next_symbol.h"

#define PERFORMANCE_TIMES	  256u
#define PERFORMANCE_REGISTRATIONS 64u
#define PERFORMANCE_CONTENDED	  16u
#define PERFORMANCE_LARGE	  4096u
#define PERFORMANCE_LINE	  64u

/* struct performance_run - @n calls of a thread for the same object, which follow each other. */
struct performance_run {
	const void *obj;
	u32 n;
};

static __thread struct performance_run performance_run __attribute__((tls_model("initial-exec")));

static const struct check_other none = { NULL, 0 };

/* Return: whether this call is the one to report. */
static bool performance_run_add(const void *obj)
{
	struct performance_run *r = &performance_run;

	r->n = r->obj == obj ? r->n + 1 : 1;
	r->obj = obj;
	return r->n == PERFORMANCE_TIMES;
}

void check_performance_break(void)
{
	performance_run.obj = NULL;
}

/* --- send requests --- */

static void performance_check_signal(struct check_obj *qp, const struct check_wr *wr)
{
	struct check_performance *p = &qp->qp.performance;

	if (!wr->signaled)
		p->signaled = 0;
	else if (qp->qp.sq.n_signaled > 1 && ++p->signaled == PERFORMANCE_TIMES)
		check_report(FINDING_QP_SIGNAL_EACH, none,
			     "qp%u: %u signaled requests one after the other, with others "
			     "outstanding",
			     qp->ord, p->signaled);
}

/* The figure of the profile, which only a device of the emulator has. */
static u32 performance_qp_cache(const struct check_obj *qp)
{
	const struct ibv_qp *ibqp = (void *)(uintptr_t)qp->tap->key;
	static void *slot;
	u32 (*figure)(const struct ibv_device *) =
		(__typeof__(figure))tap_next_symbol_loaded(&slot, "rdmaemu_qp_cache");

	return figure ? figure(ibqp->context->device) : 0;
}

static void performance_count_qp(struct check_obj *qp)
{
	struct check_obj *ctx = check_obj_of(qp->tap->ctx_obj);
	u32 cache, n;

	if (likely(qp->qp.performance.used) || !ctx)
		return;
	qp->qp.performance.used = true;
	n = __atomic_add_fetch(&ctx->ctx.qps_used, 1, __ATOMIC_RELAXED);
	cache = performance_qp_cache(qp);
	if (cache && n == cache + 1)
		check_report(FINDING_QP_CACHE_EXCEEDED, none,
			     "qp%u is queue pair %u of ctx%u that is in use, and its device keeps "
			     "%u at hand",
			     qp->ord, n, ctx->ord, cache);
}

void check_performance_unused(struct check_obj *qp)
{
	struct check_obj *ctx = check_obj_of(qp->tap->ctx_obj);

	if (ctx && qp->qp.performance.used)
		__atomic_fetch_sub(&ctx->ctx.qps_used, 1, __ATOMIC_RELAXED);
	qp->qp.performance.used = false;
}

void check_performance_added(struct check_obj *qp, const struct check_wr *wr)
{
	if (check_report_is_on(FINDING_QP_CACHE_EXCEEDED))
		performance_count_qp(qp);
	if (check_report_is_on(FINDING_QP_SIGNAL_EACH))
		performance_check_signal(qp, wr);
}

void check_performance_payload(struct check_obj *qp, const struct check_wr *wr)
{
	struct check_performance *p = &qp->qp.performance;
	u32 i;

	if (wr->bytes && wr->bytes <= qp->qp.cap.max_inline_data && ++p->small == PERFORMANCE_TIMES)
		check_report(FINDING_WR_INLINE_UNUSED, none,
			     "qp%u: %u requests without IBV_SEND_INLINE, this one of %llu bytes, "
			     "fit into max_inline_data %u",
			     qp->ord, p->small, (unsigned long long)wr->bytes,
			     qp->qp.cap.max_inline_data);
	for (i = 0; i < wr->n_sge; i++)
		if (wr->sge[i].length >= PERFORMANCE_LARGE && wr->sge[i].addr % PERFORMANCE_LINE &&
		    ++p->unaligned == PERFORMANCE_TIMES)
			check_report(FINDING_WR_PAYLOAD_UNALIGNED, none,
				     "qp%u: %u data segments of %u bytes or more, this one at "
				     "0x%llx, are not aligned to %u bytes",
				     qp->ord, p->unaligned, PERFORMANCE_LARGE,
				     (unsigned long long)wr->sge[i].addr, PERFORMANCE_LINE);
}

void check_performance_post(const struct check_obj *qp, bool single)
{
	if (!single)
		check_performance_break();
	else if (performance_run_add(qp) && check_report_is_on(FINDING_WR_POST_SINGLE))
		check_report(FINDING_WR_POST_SINGLE, none,
			     "qp%u: %u posts of one request each follow each other", qp->ord,
			     PERFORMANCE_TIMES);
}

/* --- polls --- */

void check_performance_poll(const struct check_obj *cq, int room, int found)
{
	if (room != 1 || found != 1)
		check_performance_break();
	else if (performance_run_add(cq))
		check_report(FINDING_CQ_POLL_SINGLE, none,
			     "cq%u: %u polls for one completion follow each other, and each found "
			     "one",
			     cq->ord, PERFORMANCE_TIMES);
}

void check_performance_contended(struct check_obj *cq)
{
	u32 n = __atomic_add_fetch(&cq->cq.contended, 1, __ATOMIC_RELAXED);

	if (n == PERFORMANCE_CONTENDED)
		check_report(FINDING_CQ_POLL_CONTENDED,
			     (struct check_other){ "created", cq->stack },
			     "cq%u: %u polls began while another thread polled it", cq->ord, n);
}

/* --- regions --- */

void check_performance_registered(const struct check_obj *mr)
{
	struct check_other other = { "deregistered before", 0 };
	static u32 times;

	if (!check_report_is_on(FINDING_MR_REG_REPEATED) ||
	    !check_mr_was_registered(mr->mr.addr, mr->mr.len, &other.stack) ||
	    __atomic_add_fetch(&times, 1, __ATOMIC_RELAXED) != PERFORMANCE_REGISTRATIONS)
		return;
	check_report(FINDING_MR_REG_REPEATED, other,
		     "memory that was registered before is registered again, %u times by now, here "
		     "[0x%llx, 0x%llx)",
		     PERFORMANCE_REGISTRATIONS, (unsigned long long)mr->mr.addr,
		     (unsigned long long)mr->mr.addr + mr->mr.len);
}
