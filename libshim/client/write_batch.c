/* SPDX-License-Identifier: MIT */
/**
 * DOC: write combining: small RDMA WRITEs in a stream wait a moment for each other.
 *
 * Theory of operation
 * -------------------
 * Reaching into another process costs about the same for one small piece as for several, and the
 * engine carries those that wait together (emulator/transport/write_batch.c). A program that posts WRITEs one by
 * one, back to back, with many of them not yet polled, is after rate, not latency: its doorbell is
 * left pending for up to BATCH of them. The next post beyond that, any other post, or a poll that
 * finds nothing runs them; should none of these come, the fabric process does, a fraction of a
 * millisecond later.
 *
 * That last case is what a program must not be made to wait for again and again (one that keeps many
 * WRITEs unpolled by intent and then watches memory for the answer): when the fabric process had to
 * step in, combining rests for a number of posts that doubles each time.
 */
#include "libshim/verbs/objects.h"
#include "libshim/verbs/queues.h"
#include "libshim/interpose/syscall.h"

#define FROM_IN_FLIGHT 16u
#define BATCH	       32u
#define GAP_CYCLES     8192u /* a few microseconds without a post end a stream */
#define PENALTY_MIN    256u
#define PENALTY_MAX    (1u << 20)

/* Any clock that is cheap and roughly steady will do. */
static u64 cpu_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return sys_now();
#endif
}

/*
 * When this thread's last post of small WRITEs ended. Not in the QP, which may be gone by then. The
 * shim is there when the program starts, so that static thread storage is to be had.
 */
static __thread u64 last_end __attribute__((tls_model("initial-exec")));

bool shim_write_batch_wait(struct shim_qp *qp)
{
	struct shim_combine *c = &qp->combine;
	u32 runs;

	if (qp->sq.head - load_relaxed(&qp->sq.tail) < FROM_IN_FLIGHT || !shim.engine.hca)
		return false;
	/* The fabric process takes all that waits when it has time. */
	if (unlikely(shim.hca->qp[qp->slot].path.via))
		return false;
	if (c->rest) {
		c->rest--;
		return false;
	}
	if (cpu_cycles() - last_end > GAP_CYCLES || qp->sq.head - c->rung >= BATCH)
		return false;
	runs = load_relaxed(&shim.hca->qp[qp->slot].n_fabric);
	if (unlikely(runs != c->fabric_runs)) {
		c->fabric_runs = runs;
		c->penalty = min_u32(max_u32(2 * c->penalty, PENALTY_MIN), PENALTY_MAX);
		c->rest = c->penalty;
		return false;
	}
	last_end = cpu_cycles();
	return true;
}

void shim_write_batch_rung(struct shim_qp *qp)
{
	qp->combine.rung = qp->sq.head;
}

void shim_write_batch_end(void)
{
	last_end = cpu_cycles();
}
