/* SPDX-License-Identifier: MIT */
/*
 * Completions and commits: emulator/queue/cq.c, commit.c, commit.h, emulator/engine/redo.c and
 * libshim/verbs/cq_arm.h as they are, with one CQ and one QP.
 */
#include "emulator/engine.h"
#include "emulator/hca.h"
#include "emulator/queue/commit.h"
#include "emulator/queue/cq.h"
#include "emulator/seg.h"
#include "libshim/verbs/cq_arm.h"
#include "tests/litmus/model.h"

#define HEAP	SEG_HEAP_OFF
#define DEPTH	4u
#define WR_ID	77u
#define EVENTS	(HEAP + 65536u)
#define SEG_LEN (EVENTS + SEG_CHAN_SIZE)

static struct hca hca;
static struct {
	alignas(64) u8 bytes[SEG_LEN];
} segment;
static struct engine engine;
static struct cqe *polled;
static u32 wakes;

static void *ops_seg(void *ctx, u32 client)
{
	(void)ctx;
	return client ? NULL : &segment;
}

static u64 ops_now(void *ctx)
{
	(void)ctx;
	return 1;
}

static void ops_notify(void *ctx, u32 client, u32 chan)
{
	(void)ctx;
	(void)client;
	(void)chan;
	wakes++;
}

static const struct engine_ops ops = { .seg = ops_seg, .now = ops_now, .notify = ops_notify };

static struct seg_hdr *own_seg(void)
{
	return (struct seg_hdr *)(void *)&segment;
}

static struct cq_ctl *own_ctl(void)
{
	return (struct cq_ctl *)(void *)(segment.bytes + HEAP);
}

static struct cqe *own_entry(void)
{
	return (struct cqe *)(void *)(segment.bytes + HEAP + CQ_HDR);
}

static void commit_init(void)
{
	engine.hca = &hca;
	engine.ops = &ops;
	hca.client[0].state = CLIENT_LIVE;
	hca.cq[0].client = 1;
	hca.cq[0].ring = HEAP;
	hca.cq[0].depth = DEPTH;
	hca.cq[0].chan = 1;
	own_seg()->chan[0].events = EVENTS;
	hca.qp[0].client = 1;
	hca.qp[0].state = QPS_RTS;
	polled = NULL;
	wakes = 0;
}

/* --- an entry, and a client that arms --- */

static void entry_publish(void)
{
	own_entry()->wr_id = WR_ID;
	commit_cqe(&hca.cq[0], own_entry());
	cq_notify(&engine, own_seg(), &hca.cq[0], true);
}

static void entry_arm_and_poll(void)
{
	cq_arm(own_ctl(), false);
	if (load_acquire(&own_entry()->seq) == 1)
		polled = own_entry();
}

static bool is_polled_or_woken(void)
{
	return polled || wakes;
}

/* --- a step of the requester, whose holder dies --- */

static void step_commit(void)
{
	struct req_state next = hca.qp[0].req;

	next.una = 1;
	next.next = 1;
	next.una_psn = 5;
	next.tx_pkts = 9;
	own_entry()->wr_id = WR_ID;
	commit_req(&engine, &hca.qp[0], &next, QPS_ERR, &hca.cq[0], own_entry());
	/* The next step begins to write its record. */
	hca.commit.qp = 3;
	hca.commit.req.una = 4;
}

static void step_redo(void)
{
	commit_redo(&engine);
}

static bool is_whole(void)
{
	const struct hca_qp *qp = &hca.qp[0];
	bool done = qp->req.una == 1;

	if (hca.qp[3].req.una || hca.commit.valid)
		return false;
	if (done)
		return qp->req.next == 1 && qp->req.una_psn == 5 && qp->req.tx_pkts == 9 &&
		       qp->state == QPS_ERR && hca.cq[0].prod == 1 && own_entry()->seq == 1 &&
		       own_entry()->wr_id == WR_ID;
	return !qp->req.next && !qp->req.una_psn && !qp->req.tx_pkts && qp->state == QPS_RTS &&
	       !hca.cq[0].prod && !own_entry()->seq;
}

static const struct litmus_test arming = {
	"a client that arms a CQ and polls sees the entry, or the engine sees the arming",
	commit_init,
	{ entry_publish, entry_arm_and_poll },
	is_polled_or_woken,
};

static const struct litmus_test death = {
	"a step whose holder dies has happened as a whole, or not at all",
	commit_init,
	{ step_commit, step_redo },
	is_whole,
};

int main(void)
{
	bool good = litmus_run(&arming);

	return !(litmus_die(&death) && good);
}
