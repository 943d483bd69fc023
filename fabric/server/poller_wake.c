/* SPDX-License-Identifier: MIT */
/**
 * DOC: programs that sleep until the fabric process has brought them something: libshim/client/poll_idle.c.
 */
#include "fabric/server/fabric.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAUSE_NS NSEC_PER_MSEC /* what comes later has nothing to do with what was before */

void poller_wake_add(struct fabric *f, const struct hca_qp *qp)
{
	struct client *cl = qp && qp->client ? f->by_id[qp->client - 1] : NULL;

	if (!cl || cl->brought)
		return;
	cl->brought = true;
	cl->brought_next = f->brought;
	f->brought = cl;
}

/* Behind the entries that were brought. Who naps has said so before he compares the count. */
static void poller_wake_seg(struct seg_hdr *seg)
{
	__atomic_fetch_add(&seg->brought, 1, __ATOMIC_SEQ_CST);
	if (load_relaxed(&seg->napping) && exchange(&seg->napping, 0))
		syscall(SYS_futex, &seg->brought, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void poller_wake_all(struct fabric *f)
{
	struct client *cl;
	u64 now;

	if (f->brought) {
		now = real_ns();
		f->brought_often = now - f->brought_at < PAUSE_NS ? f->brought_often + 1 : 0;
		f->brought_at = now;
	}
	while ((cl = f->brought)) {
		f->brought = cl->brought_next;
		cl->brought = false;
		if (cl->seg)
			poller_wake_seg(cl->seg);
	}
}
