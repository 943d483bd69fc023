/* SPDX-License-Identifier: MIT */
/* Packets to another fabric: the ACK timeout counts from when their link has carried them. */
#include "emulator/transport/relay.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp a, b;

/* A link that takes all packets and delivers none. @lost: the next answers say that one is lost. */
static u64 sent, asked;
static u32 lost;

static int link_take(void *ctx, const struct burst *burst)
{
	(void)ctx;
	(void)burst;
	sent++;
	return 0;
}

static bool link_under_way(void *ctx, struct hca_qp *qp)
{
	(void)ctx;
	CU_ASSERT_EQUAL(qp->qpn, m->hca->qp[a.slot].qpn);
	asked++;
	if (!lost)
		return true;
	lost--;
	return false;
}

static void up(u32 timeout, u32 retry_cnt)
{
	struct emu_conn o = emu_conn_defaults;

	o.timeout = timeout;
	o.retry_cnt = retry_cnt;
	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
	m->ops.link = link_take;
	m->ops.under_way = link_under_way;
	m->hca->qp[a.slot].path.via = 1;
	sent = asked = lost = 0;
}

static void post(u64 wr_id)
{
	emu_post(m, &a, WR_SEND, wr_id, m->c[0].mem, 100);
	emu_ring(m, &a);
	/* The fabric process sends packets that are relayed. */
	engine_enter(&m->fabric);
	relay_serve(&m->fabric);
	engine_leave(&m->fabric);
}

/* A completion's status, or 255: there is none until @at. */
static u32 status_until(u64 at)
{
	struct cqe c = { .status = 255 };

	emu_run(m, at);
	emu_poll(m, &a.scq, &c, NULL);
	return c.status;
}

/* However slow the other fabric is. */
static void test_held(void)
{
	up(8, 0);
	post(1);
	CU_ASSERT_EQUAL(status_until(m->clock + 60 * SEC), 255);
	CU_ASSERT_TRUE(asked > 1);
	CU_ASSERT_EQUAL(m->hca->qp[a.slot].n_retry, 0);
	CU_ASSERT_EQUAL(sent, 1);
	emu_free(m);
}

/* Each timeout asks, that of a retransmission as well. */
static void test_lost(void)
{
	up(8, 1);
	post(1);
	emu_run(m, m->clock + SEC);
	lost = 1;
	CU_ASSERT_EQUAL(status_until(m->clock + 60 * SEC), 255);
	CU_ASSERT_EQUAL(m->hca->qp[a.slot].n_retry, 1);
	CU_ASSERT_EQUAL(sent, 2);
	lost = 1;
	CU_ASSERT_EQUAL(status_until(m->clock + SEC), WCS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(sent, 2);
	emu_free(m);
}

static void test_never_asked(void)
{
	up(8, 0);
	m->ops.under_way = NULL;
	post(1);
	CU_ASSERT_EQUAL(status_until(m->clock + SEC), WCS_RETRY_EXC_ERR);
	emu_free(m);
}

/* The fabric process serves others first in a holding: programs, other fabrics. */
static void test_own_budget(void)
{
	struct emu_qp more[2];
	u32 i;

	up(8, 0);
	for (i = 0; i < 2; i++) {
		emu_connect(m, 0, 1, &emu_conn_defaults, &more[i], &b);
		m->hca->qp[more[i].slot].path.via = 1;
		emu_post(m, &more[i], WR_SEND, i, m->c[0].mem, 100);
		emu_ring(m, &more[i]);
	}
	engine_enter(&m->fabric);
	m->hca->via_from = more[1].slot;
	m->fabric.budget_wrs = 0;
	relay_serve(&m->fabric);
	engine_leave(&m->fabric);
	CU_ASSERT_EQUAL(sent, 2);
	CU_ASSERT_EQUAL(m->hca->via_from, 0);
	emu_free(m);
}

static int leave_not(void *ctx, const struct burst *burst)
{
	(void)ctx;
	(void)burst;
	return -EAGAIN;
}

static void leave_late(void *ctx)
{
	(void)ctx;
}

/* A program that exits, or moves the QP to ERR, waits until the doorbell is taken. */
static void test_a_program_that_cannot_send_rings(void)
{
	up(8, 0);
	m->hca->wires.first_peer = m->hca->qp[a.slot].path.dst_dev;
	m->hca->wires.n_peers = 1;
	m->ops.link = NULL;
	m->ops.leave = leave_not;
	m->ops.leave_late = leave_late;
	m->c[0].e.leaves = true;
	emu_post(m, &a, WR_SEND, 1, m->c[0].mem, 100);
	emu_ring(m, &a);
	CU_ASSERT_TRUE(m->hca->qp[a.slot].stalled);
	CU_ASSERT_TRUE(m->hca->via_bits[a.slot / 64] & BIT64(a.slot % 64));
	m->ops.link = link_take;
	engine_enter(&m->fabric);
	relay_serve(&m->fabric);
	engine_leave(&m->fabric);
	CU_ASSERT_EQUAL(sent, 1);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "a program that cannot send rings the fabric process",
	  test_a_program_that_cannot_send_rings },
	{ "no packet counts as lost while it is under way", test_held },
	{ "when it is not, the timeouts count", test_lost },
	{ "a link that may lose packets has its timeouts", test_never_asked },
	{ "QPs run though others have used up a holding", test_own_budget },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("relay", tests);
}
