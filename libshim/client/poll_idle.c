/* SPDX-License-Identifier: MIT */
/**
 * DOC: pollers that wait for deliveries by the fabric process.
 *
 * Theory of operation
 * -------------------
 * The fabric process delivers what crosses a link with a delay or a rate, or comes from another
 * fabric. If as many programs poll as there are CPUs, the fabric process gets a CPU only at the
 * scheduler's next tick, and every delivery takes milliseconds. So a poller that found nothing
 * gives up its CPU:
 *
 *  - First by sched_yield(). If only the fabric process, which runs for microseconds, wants the
 *    CPU, the poller continues at once. If other threads are busy, each yield costs the time slices
 *    of all of them; so a yield that took long stops yielding for a while (emulator/yield.h).
 *  - Then by sleeping until the next delivery, or for a fifth of a millisecond: short enough for
 *    programs that do other things between polls.
 *  - A poller whose last wait was twice as long sleeps at once: large messages take the fabric
 *    processes all the CPU time, and polling only slows them down.
 *
 * Only programs that poll in a tight loop do so, and only without a connection on which the peer
 * itself delivers: such a peer wakes no poller.
 *
 * @brought in the segment is incremented after each delivery (fabric/core/poller_wake.c) and is
 * the futex that pollers sleep on, so that none sleeps over a delivery that it has not seen.
 *
 * What comes by a wire of RoCE v2, a poller receives itself (wire_receive.c). Once the fabric
 * process leaves that to it, it is like one whose peer delivers.
 *
 * A lossless capture blocks senders while its ring is full. The thread that drains the ring needs a
 * CPU; while it lags, pollers that find nothing sleep.
 *
 * A poller whose peer delivers by itself only polls, as on hardware: the peer answers within
 * microseconds. But where the poller keeps the peer off the CPU, each answer would take a time
 * slice of both. So a poller that was preempted for long takes its CPU for shared for a while. In
 * that time it sleeps, shortly, when the answer takes longer than one of a running peer.
 *
 * Two pollers that sleep for each other, with a CPU each, never meet: each sleeps when the other
 * answers. So a poller stays awake for longer than a sleep from time to time. Then its peer wakes
 * up, finds it polling, and neither of them has a reason to sleep any more.
 *
 * A poller that has just received a stream of messages does not sleep, and its gaps count for
 * nothing: it looks rarely, since it finds entries. If the sender meets an empty receive queue it
 * waits for the RNR timer, and a poller that slept meanwhile would have the queue run empty again.
 */
#include "libshim/client/poll_idle.h"

#include "emulator/doorbell.h"
#include "emulator/hca.h"
#include "emulator/ib.h"
#include "emulator/limits.h"
#include "emulator/obj.h"
#include "emulator/seg.h"
#include "libshim/client/client.h"
#include "libshim/client/command.h"
#include "libshim/client/own_paths.h"
#include "libshim/client/wire_receive.h"
#include "libshim/interpose/syscall.h"

#define SPIN_NS	     20000ull /* how long a poller only polls */
#define YIELD_NS     200000ull /* the same where yields are short */
#define WIRE_SPIN_NS 300000ull /* of a poller that receives by itself */
#define LARGE_NS     400000ull /* after a wait of this length the next one is expected to be long */
#define SLEEP_NS     200000ull
#define TIGHT_NS     100000ull /* time between two looks, of 32 polls each, of a tight loop */
#define LAG_BYTES    (CAP_RING / 4) /* bytes in the capture ring that count as lagging */
#define LAG_SLEEP_NS 300000ull
#define LOST_NS	     500000ull /* a gap between two looks that may be another's time slice */
#define SHARED_NS    50000000ull /* for how long a CPU counts as shared after one */
#define SHARED_SLEEP 50000ull /* ns */
#define AWAKE_EACH   16u /* sleeps */
#define AWAKE_NS     200000ull /* longer than a sleep, of which timers make up to 100 us */
#define STREAM	     16u /* entries between two looks: more than a ping-pong has */
#define STREAM_NS    1000000ull /* a pause of a stream is no longer: an RNR wait, as a rule */

/* Maybe sleep, until the fabric process delivers. Return: whether to look again. */
static bool poll_idle(struct poll_idle *idle)
{
	struct seg_hdr *seg = shim.seg;
	u32 brought = load_acquire(&seg->brought);
	u64 now = sys_now(), spun = now - idle->since;
	bool tight = spun / (idle->looks + 1) <= TIGHT_NS;

	/* If two threads poll one CQ, either may restart the wait: then both sleep later. */
	if (brought != idle->brought || !tight) {
		idle->patient = tight && now - idle->began > LARGE_NS;
		idle->began = idle->since = now;
		idle->brought = brought;
		idle->looks = 0;
		return false;
	}
	idle->looks++;
	if (!idle->patient &&
	    spun < (yield_adaptive(&idle->crowd, sys_now, CROWD_NS) ? YIELD_NS : SPIN_NS))
		return false;
	poller_nap_begin(seg);
	sys_futex_wait(&seg->brought, brought, SLEEP_NS, 0);
	/* The next look follows at once. */
	idle->since = sys_now() - YIELD_NS;
	idle->looks = YIELD_NS / TIGHT_NS;
	return true;
}

/* Nothing has come by a wire for some time: the sender may need this CPU. */
static void poll_wire_yield(struct poll_idle *idle)
{
	u32 brought = load_acquire(&shim.seg->brought);
	u64 now = sys_now();

	if (brought != idle->brought) {
		idle->began = now;
		idle->brought = brought;
	}
	if (now - idle->began > WIRE_SPIN_NS)
		(void)yield_adaptive(&idle->crowd, sys_now, CROWD_NS);
}

bool shim_poll_via(struct poll_idle *idle, bool *again)
{
	const u64 now = sys_now();
	const u32 paths = shim_own_paths(now);
	const enum wire_look look = shim_wire_look(paths, now);

	*again = look == WIRE_FOUND;
	if (*again)
		return true;
	/* A delivery by the fabric process ends a sleep; the peer's own does not. */
	if (paths & OWN_PATH_DIRECT)
		return false;
	if (look != WIRE_OFF && load_relaxed(&shim.hca->wires.deferred)) {
		poll_wire_yield(idle);
		return false;
	}
	*again = poll_idle(idle);
	return true;
}

void shim_poll_end(void)
{
	if (shim.isolated)
		return;
	if (load_relaxed(&shim.seg->db_any))
		shim_engine_drain();
	shim_wire_look_end();
}

bool shim_poll_give_way(void)
{
	const struct hca_capture *c = &shim.hca->capture;

	if (!load_relaxed(&c->on) || load_relaxed(&c->head) - load_relaxed(&c->tail) < LAG_BYTES)
		return false;
	sys_sleep(LAG_SLEEP_NS);
	return true;
}

/* Whether this thread was preempted since the last long gap. */
static bool is_preempted_again(struct poll_shared *s)
{
	u64 before = load_relaxed(&s->preempted), now = sys_preempted();

	store_relaxed(&s->preempted, now);
	return now != before;
}

/* Count a sleep, unless it is time to be awake for longer than the peer's sleeps. */
static bool shared_may_sleep(struct poll_shared *s, u64 now)
{
	u32 sleeps = load_relaxed(&s->sleeps);

	if (sleeps >= AWAKE_EACH && now - load_relaxed(&s->since) < AWAKE_NS)
		return false;
	store_relaxed(&s->sleeps, sleeps >= AWAKE_EACH ? 0 : sleeps + 1);
	return true;
}

/* If two threads poll one CQ, each may take the other's preemptions for its own: both sleep. */
bool shim_poll_shared(struct poll_shared *s, u32 cons)
{
	u64 now = sys_now(), looked = load_relaxed(&s->looked);
	u32 found = cons - load_relaxed(&s->cons);

	store_relaxed(&s->looked, now);
	store_relaxed(&s->cons, cons);
	if (found || !looked)
		store_relaxed(&s->since, now);
	if (found >= STREAM)
		store_relaxed(&s->streamed, now);
	if (now - looked > LOST_NS) {
		if (is_preempted_again(s) && found < STREAM)
			store_relaxed(&s->until, now + SHARED_NS);
		return false;
	}
	if (found || !looked || now >= load_relaxed(&s->until) ||
	    now - load_relaxed(&s->streamed) < STREAM_NS || !shared_may_sleep(s, now))
		return false;
	sys_sleep(SHARED_SLEEP);
	now = sys_now();
	store_relaxed(&s->looked, now);
	store_relaxed(&s->since, now);
	return true;
}
