/* SPDX-License-Identifier: MIT */
/**
 * DOC: see core/poller_wake.h.
 */
#include "fabric/core/poller_wake.h"
#include "emulator/doorbell.h"
#include "fabric/core/fabric.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAUSE_NS NSEC_PER_MSEC /* deliveries further apart have nothing to do with each other */

void poller_wake_add(struct fabric *f, const struct hca_qp *qp)
{
	struct client *cl = qp && qp->client ? f->clients.by_id[qp->client - 1] : NULL;

	f->wake.received = true;
	if (!cl || cl->wake)
		return;
	cl->wake = true;
	cl->wake_next = f->wake.list;
	f->wake.list = cl;
}

void poller_wake_later(struct fabric *f)
{
	f->wake.received = true;
}

/* After the delivery. */
static void poller_wake_seg(struct seg_hdr *seg)
{
	if (poller_brought(seg))
		syscall(SYS_futex, &seg->brought, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void poller_wake_all(struct fabric *f)
{
	struct client *cl;
	u64 now;

	if (f->wake.received) {
		now = real_ns();
		f->wake.often = now - f->wake.at < PAUSE_NS ? f->wake.often + 1 : 0;
		f->wake.at = now;
		f->wake.received = false;
	}
	while ((cl = f->wake.list)) {
		f->wake.list = cl->wake_next;
		cl->wake = false;
		if (cl->seg)
			poller_wake_seg(cl->seg);
	}
}
