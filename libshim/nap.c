/* SPDX-License-Identifier: MIT */
/**
 * DOC: pollers that wait for what comes over links.
 *
 * Theory of operation
 * -------------------
 * What crosses a link with a delay or a rate, or comes from another fabric, is brought by the fabric
 * process. Where programs that poll are as many as CPUs, it gets none of them before the scheduler's next
 * tick, and everything takes milliseconds. So who has polled for some time, and was brought nothing, sleeps
 * until it is brought something, or a fifth of a millisecond: short enough for who has other things to
 * do than to poll. sched_yield() is no way out: who yields often waits for all others' time slices.
 *
 * Only who polls in a tight loop sleeps, and nobody who has a connection without such links: what comes
 * there is brought by its peer, who wakes nobody.
 *
 * @brought in the segment counts up behind each delivery (fabric/napping.c), so that nobody sleeps over one
 * that he has not seen: a futex compares it.
 */
#include "libshim/queues.h"
#include "libshim/sys.h"

#define SPIN_NS	  50000ull /* that long a poller only polls */
#define NAP_NS	  200000ull
#define TIGHT_NS  100000ull /* between two looks, of 32 polls each */
#define DIRECT_NS 10000000ull /* so long it is not looked again who is connected how */

static u64 real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

static bool is_direct(const struct hca_qp *qp)
{
	return qp->client == shim.engine.self + 1 && !qp->path.via && qp->type != QPT_UD &&
	       (qp->state == QPS_RTR || qp->state == QPS_RTS || qp->state == QPS_SQD);
}

/* Whether this process has a connection that needs no fabric process, as of some milliseconds ago. */
static bool has_direct(u64 now)
{
	static u64 looked;
	static bool found;
	u32 i, high = load_relaxed(&shim.hca->tab[TAB_QP].high);
	bool any = false;

	if (now - load_relaxed(&looked) < DIRECT_NS)
		return load_relaxed(&found);
	for (i = 0; i < high && i < HCA_MAX_QP && !any; i++)
		any = is_direct(&shim.hca->qp[i]);
	store_relaxed(&found, any);
	store_relaxed(&looked, now);
	return any;
}

bool cq_nap(struct shim_cq *cq)
{
	struct seg_hdr *seg = shim.seg;
	struct nap *n = &cq->nap;
	u32 brought = load_acquire(&seg->brought);
	u64 now = real_ns(), spun = now - n->since;

	/* Of two threads that poll one CQ, either may begin anew: then they sleep later. */
	if (brought != n->brought || spun / (n->looks + 1) > TIGHT_NS) {
		*n = (struct nap){ .since = now, .brought = brought };
		return false;
	}
	n->looks++;
	if (spun < SPIN_NS || has_direct(now))
		return false;
	exchange(&seg->napping, 1);
	sys_futex_wait(&seg->brought, brought, NAP_NS, 0);
	/* From now on a look follows at once, but the first of them is again without a wait. */
	n->since = real_ns() - SPIN_NS;
	n->looks = 1;
	return true;
}
