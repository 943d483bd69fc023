/* SPDX-License-Identifier: MIT */
/* CQ moderation, by a clock driven by hand. */
#include "tests/cu.h"
#include "tests/emu.h"

#define US   1000ULL
#define SEC  1000000000ULL
#define CHAN 1u /* completion channel of client 1 */

static struct emu *m;
static struct emu_qp q0, q1; /* 0 sends to 1, whose receive CQ is moderated */

static int moderate(u32 count, u32 period)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_CQ, .handle = q1.rcq.index };

	cmd.cq.mod_count = count;
	cmd.cq.mod_period = period;
	return emu_cmd(m, 1, &cmd);
}

static void prepare(u32 count, u32 period)
{
	m = emu_new(11);
	emu_connect(m, 0, 1, &emu_conn_defaults, &q0, &q1);
	m->hca->cq[q1.rcq.index].chan = CHAN + 1;
	CU_ASSERT_EQUAL(moderate(count, period), 0);
}

static void arm(u32 how)
{
	struct cq_ctl *ctl = (void *)((u8 *)m->c[1].seg + q1.rcq.ring);

	ctl->armed = how;
}

static u32 events(void)
{
	struct chan_ring *r = &m->c[1].seg->chan[CHAN];
	u32 n = r->prod - r->cons;

	r->cons = r->prod;
	return n;
}

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
	return events();
}

static void test_count(void)
{
	prepare(3, 0);
	arm(CQ_ARM_ANY);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	message(0);
	CU_ASSERT_EQUAL(events(), 1);
	message(0);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(wait_for(SEC), 0); /* nobody has armed */
	arm(CQ_ARM_ANY);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(events(), 0);
	message(0);
	CU_ASSERT_EQUAL(events(), 1);
	emu_free(m);
}

static void test_period(void)
{
	prepare(0, 50);
	arm(CQ_ARM_ANY);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	message(0);
	CU_ASSERT_EQUAL(wait_for(30 * US), 0);
	message(0); /* does not put it off */
	CU_ASSERT_EQUAL(wait_for(19 * US), 0);
	CU_ASSERT_EQUAL(wait_for(US), 1);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	CU_ASSERT_EQUAL(m->hca->next_deadline, ~0ULL);
	CU_ASSERT_EQUAL(m->hca->mod_sum[q1.rcq.index / 64 / 64], 0);
	arm(CQ_ARM_ANY);
	message(0);
	CU_ASSERT_EQUAL(wait_for(49 * US), 0);
	CU_ASSERT_EQUAL(wait_for(US), 1);
	emu_free(m);
}

static void test_both(void)
{
	prepare(2, 50);
	arm(CQ_ARM_ANY);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(events(), 1);
	arm(CQ_ARM_ANY);
	CU_ASSERT_EQUAL(wait_for(SEC), 0); /* the deadline went with the event */
	message(0);
	CU_ASSERT_EQUAL(wait_for(50 * US), 1);
	emu_free(m);
}

static void test_solicited(void)
{
	prepare(2, 50);
	arm(CQ_ARM_SOLICITED);
	message(0);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(wait_for(SEC), 0);
	message(SEND_SOLICITED);
	CU_ASSERT_EQUAL(events(), 0);
	message(SEND_SOLICITED);
	CU_ASSERT_EQUAL(events(), 1);
	emu_free(m);
}

/* A new rule holds for what waits already; none means at once. */
static void test_modify(void)
{
	prepare(10, 0);
	arm(CQ_ARM_ANY);
	message(0);
	message(0);
	CU_ASSERT_EQUAL(moderate(3, 0), 0);
	CU_ASSERT_EQUAL(events(), 0);
	CU_ASSERT_EQUAL(moderate(2, 0), 0);
	CU_ASSERT_EQUAL(events(), 1);
	arm(CQ_ARM_ANY);
	message(0);
	CU_ASSERT_EQUAL(moderate(9, 20), 0);
	CU_ASSERT_EQUAL(wait_for(19 * US), 0);
	CU_ASSERT_EQUAL(wait_for(US), 1);
	arm(CQ_ARM_ANY);
	message(0);
	CU_ASSERT_EQUAL(moderate(0, 0), 0);
	CU_ASSERT_EQUAL(events(), 1);
	arm(CQ_ARM_ANY);
	message(0);
	CU_ASSERT_EQUAL(events(), 1);
	CU_ASSERT_EQUAL(moderate(LIM_CQ_COUNT + 1, 0), -EINVAL);
	CU_ASSERT_EQUAL(moderate(0, LIM_CQ_PERIOD + 1), -EINVAL);
	CU_ASSERT_EQUAL(moderate(LIM_CQ_COUNT, LIM_CQ_PERIOD), 0);
	emu_free(m);
}

/* A CQ that is destroyed while its event is due leaves nothing behind. */
static void test_destroy(void)
{
	struct hca_cmd cmd = { .op = CMD_DESTROY_CQ };
	u32 index;

	prepare(0, 50);
	arm(CQ_ARM_ANY);
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
