/* SPDX-License-Identifier: MIT */
/**
 * DOC: batches of small RDMA WRITEs: the deferred doorbell that makes them.
 *
 * Theory of operation
 * -------------------
 * Copying one small piece into another process costs about as much as copying several, and the
 * engine carries out together the WRITEs that are pending (emulator/transport/write_batch.c). A
 * program that posts WRITEs one by one, back to back, with many not yet polled, wants throughput,
 * not latency. So its doorbell stays pending for up to BATCH WRITEs. The WRITEs run with
 *
 *  - the next post beyond BATCH,
 *  - any other post,
 *  - a poll that finds nothing,
 *  - or else the fabric process, a fraction of a millisecond later.
 *
 * Programs that keep many WRITEs unpolled and then watch memory for an answer must not meet the
 * last case repeatedly: after the fabric process had to run a batch, doorbells are not deferred for
 * a number of posts that doubles each time.
 */
#include "libshim/client/write_batch.h"

#include "libshim/client/client.h"
#include "libshim/interpose/syscall.h"

#define BATCH	    32u
#define GAP_CYCLES  8192u /* a gap of a few microseconds between posts ends a stream */
#define PENALTY_MIN 256u
#define PENALTY_MAX (1u << 20)

/* Any cheap and roughly steady clock serves. */
static u64 cpu_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return sys_now();
#endif
}

/*
 * When this thread's last post of small WRITEs ended. It is not in the QP, which may be destroyed
 * by then. The shim is loaded at program start, so static thread storage is available.
 */
static __thread u64 last_end __attribute__((tls_model("initial-exec")));

bool shim_write_batch_wait(struct write_batch *b, u32 slot, u32 head, u32 in_flight)
{
	u32 runs;

	if (in_flight < WRITE_BATCH_FROM || !shim.engine.hca)
		return false;
	/* The fabric process sends all that is pending at once when it gets to it. */
	if (unlikely(shim.hca->qp[slot].path.via))
		return false;
	if (b->rest) {
		b->rest--;
		return false;
	}
	if (cpu_cycles() - last_end > GAP_CYCLES || head - b->rung >= BATCH)
		return false;
	runs = load_relaxed(&shim.hca->qp[slot].n_fabric);
	if (unlikely(runs != b->fabric_runs)) {
		b->fabric_runs = runs;
		b->penalty = min_u32(max_u32(2 * b->penalty, PENALTY_MIN), PENALTY_MAX);
		b->rest = b->penalty;
		return false;
	}
	last_end = cpu_cycles();
	return true;
}

void shim_write_batch_end(void)
{
	last_end = cpu_cycles();
}
