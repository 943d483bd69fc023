/* SPDX-License-Identifier: MIT */
/**
 * DOC: programs that poll read what arrives, and the fabric process lets them.
 *
 * A program that polls for completions looks at the wires' sockets as well, and delivers what it
 * finds (libshim/client/wire_receive.c). A datagram that also woke the fabric process would cost
 * two switches of a CPU, more than all the rest of its way. So as long as a program looks, often,
 * the loop does not wait for datagrams: they are *deferred*. It checks from time to time that
 * somebody still looks: often at first, and more rarely the longer it was so.
 *
 * Programs stop looking without notice: they compute, poll memory, sleep, are stopped, or have lost
 * their CPU. What then arrives waits until the next check. That was worth it if programs have read
 * many datagrams before. Otherwise they are of a kind that cannot be relied on, and nothing is
 * deferred for a while: PAUSE_NS, and twice as long after each further failure, so that little of
 * the time goes into such waits. A program of another kind, which follows, is
 * tried at the end of that pause.
 */
#include "fabric/roce/wire.h"

#define FRESH_NS     (2 * NSEC_PER_MSEC) /* a program looks: its latest look is no older */
#define CHECK_MIN_NS (2 * NSEC_PER_MSEC)
#define CHECK_MAX_NS (10 * NSEC_PER_MSEC)
#define CHECK_SHARE  16u /* of the time since it was deferred, until the next check */
#define PAUSE_NS     (100 * NSEC_PER_MSEC)
#define PAUSE_MAX_NS NSEC_PER_SEC
#define WORTH	     128u /* datagrams that programs have read: worth a wait */

/* How long ago a program looked last. */
static u64 look_age(const struct fabric *f, u64 now)
{
	u64 looked = load_relaxed(&f->hca->wires.looked);

	return looked < now ? now - looked : 0;
}

static void inbox_defer(struct fabric *f, struct roce_inbox *box, bool defer)
{
	box->deferred = defer;
	loop_watch_events(f, &box->w, roce_inbox_events(box));
}

/* Datagrams of all wires so far. */
static u64 wires_received(const struct fabric *f)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < f->roce->n; i++)
		sum += load_relaxed(&f->hca->wires.n_received[i]);
	return sum;
}

bool roce_defer_begin(struct fabric *f, struct roce_inbox *box)
{
	struct roce_defer *d = &f->roce->defer;
	u64 now = real_ns();

	if (now < d->not_before || roce_inbox_has_left(box) ||
	    !load_relaxed(&f->hca->wires.looked) || look_age(f, now) > FRESH_NS)
		return false;
	if (d->check_at == NEVER) {
		d->began = now;
		d->received = wires_received(f);
		d->check_at = now + CHECK_MIN_NS;
	}
	store_relaxed(&f->hca->wires.deferred, 1);
	inbox_defer(f, box, true);
	return true;
}

/* Datagrams have waited. @n: those that programs have read before */
static void defer_failed(struct roce_defer *d, u64 n, u64 now)
{
	if (n >= WORTH)
		d->pause = 0;
	else
		d->pause = d->pause ? min_u64(2 * d->pause, PAUSE_MAX_NS) : PAUSE_NS;
	d->not_before = now + d->pause;
}

/* Whether something waits in a socket that was deferred. All are read from now on. */
static bool defer_end(struct fabric *f)
{
	struct roce *r = f->roce;
	struct roce_inbox *box;
	bool waits = false;
	u32 i;

	for (i = 0; i < r->n; i++) {
		box = &r->wire[i].box;
		if (!box->deferred)
			continue;
		inbox_defer(f, box, false);
		ingress_recover(box->got);
		if (!roce_inbox_has_left(box))
			roce_inbox_read(f, box);
		waits |= roce_inbox_has_left(box);
	}
	return waits;
}

/* Until the next check. */
static u64 defer_interval(u64 age)
{
	u64 ns = age / CHECK_SHARE;

	return ns < CHECK_MIN_NS ? CHECK_MIN_NS : min_u64(ns, CHECK_MAX_NS);
}

bool roce_defer_ends(struct fabric *f, u64 now)
{
	struct roce_defer *d = &f->roce->defer;

	if (d->check_at == NEVER)
		return false;
	/* A program that is about to stop, or needs this process, says so, and kicks. */
	if (!load_relaxed(&f->hca->wires.looked) || roce_has_left(f))
		return true;
	if (now < d->check_at)
		return false;
	if (look_age(f, now) > FRESH_NS)
		return true;
	d->check_at = now + defer_interval(now - d->began);
	return false;
}

void roce_defer_check(struct fabric *f)
{
	struct roce_defer *d = &f->roce->defer;
	u64 now = real_ns(), n = wires_received(f) - d->received;

	if (!roce_defer_ends(f, now))
		return;
	d->check_at = NEVER;
	store_relaxed(&f->hca->wires.deferred, 0);
	if (defer_end(f))
		defer_failed(d, n, now);
}
