/* SPDX-License-Identifier: MIT */
/* CQ moderation, with a clock that the test moves. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cq.h"

#define US  1000ULL
#define SEC 1000000000ULL

static struct emu *m;
static struct emu_qp q0, q1; /* 0 sends to 1, whose receive CQ is moderated */

static void message(u32 flags)
{
	struct sq_wqe *w;

	emu_recv(m, &q1, 0, m->c[1].mem, 64);
	w = emu_post(m, &q0, WR_SEND, 0, m->c[0].mem, 8);
	w->send_flags |= (u8)flags;
	emu_ring(m, &q0);
}

/* Until @ns from now. Return: events by then. */
static u32 wait_for(u64 ns)
{
	u64 until = m->clock + ns;

	emu_run(m, until);
	m->clock = until;
	emu_run(m, until);
	return emu_chan_events(m, 1);
}

static void test_count(void)
{
	m = emu_moderated(&q0, &q1, 3, 0);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	message(0);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 1);
	message(0);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(wait_for(SEC), 0); /* nobody has armed */
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 0);
	message(0);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 1);
	emu_free(m);
}

static void test_period(void)
{
	m = emu_moderated(&q0, &q1, 0, 50);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	message(0);
	CU_ASSERT_EQUAL(wait_for(30 * US), 0);
	message(0); /* does not put it off */
	CU_ASSERT_EQUAL(wait_for(19 * US), 0);
	CU_ASSERT_EQUAL(wait_for(US), 1);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	CU_ASSERT_EQUAL(m->hca->next_deadline, ~0ULL);
	CU_ASSERT_EQUAL(m->hca->mod_sum[q1.rcq.index / 64 / 64], 0);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	CU_ASSERT_EQUAL(wait_for(49 * US), 0);
	CU_ASSERT_EQUAL(wait_for(US), 1);
	emu_free(m);
}

static void test_both(void)
{
	m = emu_moderated(&q0, &q1, 2, 50);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 1);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	CU_ASSERT_EQUAL(wait_for(SEC), 0); /* the deadline went with the event */
	message(0);
	CU_ASSERT_EQUAL(wait_for(50 * US), 1);
	emu_free(m);
}

static void test_solicited(void)
{
	m = emu_moderated(&q0, &q1, 2, 50);
	emu_arm(m, &q1.rcq, CQ_ARM_SOLICITED);
	message(0);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	message(SEND_SOLICITED);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 0);
	message(SEND_SOLICITED);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 1);
	emu_free(m);
}

/* A new rule holds for what waits already; none means at once. */
static void test_modify(void)
{
	m = emu_moderated(&q0, &q1, 10, 0);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(emu_moderate(m, &q1.rcq, 3, 0), 0);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 0);
	CU_ASSERT_EQUAL(emu_moderate(m, &q1.rcq, 2, 0), 0);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 1);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	CU_ASSERT_EQUAL(emu_moderate(m, &q1.rcq, 9, 20), 0);
	CU_ASSERT_EQUAL(wait_for(19 * US), 0);
	CU_ASSERT_EQUAL(wait_for(US), 1);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	CU_ASSERT_EQUAL(emu_moderate(m, &q1.rcq, 0, 0), 0);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 1);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	CU_ASSERT_EQUAL(emu_chan_events(m, 1), 1);
	CU_ASSERT_EQUAL(emu_moderate(m, &q1.rcq, LIM_CQ_COUNT + 1, 0), -EINVAL);
	CU_ASSERT_EQUAL(emu_moderate(m, &q1.rcq, 0, LIM_CQ_PERIOD + 1), -EINVAL);
	CU_ASSERT_EQUAL(emu_moderate(m, &q1.rcq, LIM_CQ_COUNT, LIM_CQ_PERIOD), 0);
	emu_free(m);
}

/* A CQ that is destroyed while its event is due leaves nothing behind. */
static void test_destroy(void)
{
	struct hca_cmd cmd = { .op = CMD_DESTROY_CQ };
	u32 index;

	m = emu_moderated(&q0, &q1, 0, 50);
	emu_arm(m, &q1.rcq, CQ_ARM_ANY);
	message(0);
	index = cmd.handle = q1.rcq.index;
	emu_destroy(m, &q1);
	if (m->hca->cq[index].client)
		CU_ASSERT_EQUAL(emu_cmd(m, 1, &cmd), 0);
	CU_ASSERT_EQUAL(m->hca->cq[index].client, 0);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	CU_ASSERT_EQUAL(m->hca->mod_sum[index / 64 / 64], 0);
	emu_free(m);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "count", test_count },
		{ "period", test_period },
		{ "count and period", test_both },
		{ "solicited", test_solicited },
		{ "modified while it waits", test_modify },
		{ "destroyed while it waits", test_destroy },
		{ NULL, NULL },
	};

	return cu_run("cqmod", tests);
}
