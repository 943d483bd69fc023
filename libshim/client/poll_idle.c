/* SPDX-License-Identifier: MIT */
/**
 * DOC: pollers that wait for what comes over links.
 *
 * Theory of operation
 * -------------------
 * What crosses a link with a delay or a rate, or comes from another fabric, is brought by the fabric
 * process. Where programs that poll are as many as CPUs, it gets none of them before the scheduler's next
 * tick, and everything takes milliseconds. So who has polled and was brought nothing gives its CPU away. First
 * with sched_yield(), after which it goes on at once when the fabric process, which runs for microseconds,
 * is the only one. Who yields often where others are busy, however, waits for the time slices of all of them,
 * once for each time that he has yielded. So when a yield has taken long there are none for a while
 * (emulator/yield.h), and who polls sleeps instead, until he is brought something, or a fifth of a
 * millisecond: short enough for who has other things to do than to poll. Whose last wait was twice as
 * long as that sleeps at once: what comes in large pieces takes the fabric processes all the CPU that there is,
 * and polls only slow it down.
 *
 * Only who polls in a tight loop does so, and nobody who has a connection without such links: what comes
 * there is brought by its peer, who wakes nobody.
 *
 * @brought in the segment counts up behind each delivery (fabric/server/poller_wake.c), so that nobody sleeps over one
 * that he has not seen: a futex compares it.
 *
 * Captures that must not lose anything hold everybody up when their ring is full. Who drains it needs a CPU, which
 * pollers that find nothing leave to him while he is behind.
 */
#include "libshim/verbs/queues.h"
#include "libshim/interpose/syscall.h"

#define SPIN_NS	  20000ull /* that long a poller only polls */
#define YIELD_NS  200000ull /* and so long if the others let him */
#define LARGE_NS  400000ull /* a wait after which the next one is taken to be long, too */
#define NAP_NS	  200000ull
#define TIGHT_NS  100000ull /* between two looks, of 32 polls each */
#define BEHIND	  (CAP_RING / 4) /* bytes that captures have not looked at */
#define WAY_NS	  300000ull
#define DIRECT_NS 10000000ull /* so long it is not looked again who is connected how */

static bool is_direct_qp(const struct hca_qp *qp)
{
	return qp->client == shim.engine.self + 1 && !qp->path.via && qp->type != QPT_UD &&
	       (qp->state == QPS_RTR || qp->state == QPS_RTS || qp->state == QPS_SQD);
}

/* Whether this process has a connection that needs no fabric process, as of some milliseconds ago. */
static bool has_direct_qp(u64 now)
{
	static u64 looked;
	static bool found;
	u32 i, high = load_relaxed(&shim.hca->tab[TAB_QP].high);
	bool any = false;

	if (now - load_relaxed(&looked) < DIRECT_NS)
		return load_relaxed(&found);
	for (i = 0; i < high && i < HCA_MAX_QP && !any; i++)
		any = is_direct_qp(&shim.hca->qp[i]);
	store_relaxed(&found, any);
	store_relaxed(&looked, now);
	return any;
}

bool shim_poll_idle(struct shim_cq *cq)
{
	struct seg_hdr *seg = shim.seg;
	struct nap *n = &cq->nap;
	u32 brought = load_acquire(&seg->brought);
	u64 now = sys_now(), spun = now - n->since;
	bool tight = spun / (n->looks + 1) <= TIGHT_NS;

	/* Of two threads that poll one CQ, either may begin anew: then they sleep later. */
	if (brought != n->brought || !tight) {
		n->patient = tight && now - n->began > LARGE_NS;
		n->began = n->since = now;
		n->brought = brought;
		n->looks = 0;
		return false;
	}
	n->looks++;
	if (has_direct_qp(now))
		return false;
	if (!n->patient && spun < (crowd_yield(&n->crowd, sys_now, CROWD_NS) ? YIELD_NS : SPIN_NS))
		return false;
	exchange(&seg->napping, 1);
	sys_futex_wait(&seg->brought, brought, NAP_NS, 0);
	/* The next look follows at once. */
	n->since = sys_now() - YIELD_NS;
	n->looks = YIELD_NS / TIGHT_NS;
	return true;
}

bool shim_poll_give_way(void)
{
	const struct hca_capture *c = &shim.hca->capture;

	if (!load_relaxed(&c->on) || load_relaxed(&c->head) - load_relaxed(&c->tail) < BEHIND)
		return false;
	sys_nap(WAY_NS);
	return true;
}
