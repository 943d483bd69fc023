/* SPDX-License-Identifier: MIT */
/*
 * Async events when the client that raises them dies: a program that waits for one gets it, and is
 * woken, at whatever instruction the client died. Twice is harmless, never is not.
 */
#include "emulator/audit/audit.h"
#include "tests/lib/engine/deaths.h"

#define SEC 1000000000ULL

static struct emu *m;
/* 0 dies with the doorbell that 2 left, whose messages go to 3. */
static struct emu_qp q0, q1, q2, q3;

static void limit(u32 n)
{
	struct hca_cmd cmd = { .op = CMD_MODIFY_SRQ, .handle = q3.srq_index };

	cmd.srq.mask = 2;
	cmd.srq.limit = n;
	CU_ASSERT_EQUAL_FATAL(emu_cmd(m, 3, &cmd), 0);
}

static void prepare(void)
{
	struct emu_conn o = emu_conn_defaults;

	m = emu_new(1);
	o.depth = 4;
	o.mtu = 1;
	o.timeout = 10;
	emu_connect(m, 0, 1, &o, &q0, &q1);
	o.srq = true;
	emu_connect(m, 2, 3, &o, &q2, &q3);
	for (u32 i = 0; i < 3; i++)
		emu_recv(m, &q3, i, m->c[3].mem, 1000);
	limit(3);
	emu_post(m, &q2, WR_SEND, 0, m->c[2].mem, 600);
	/* Refused: the key is nobody's. */
	emu_post(m, &q2, WR_RDMA_WRITE, 1, m->c[2].mem, 8);
	while (emu_event(m, 3) >= 0)
		;
	m->c[3].notified = 0;
	emu_publish(m, &q2);
}

static int after_death(struct emu *unused, void *arg, bool died)
{
	u32 limits = 0, errors = 0, lasts = 0, all = 0;
	char why[200] = "";
	int ev;

	(void)unused;
	(void)arg;
	(void)died;
	emu_reap(m);
	emu_run(m, m->clock + 10 * SEC);
	for (; (ev = emu_event(m, 3)) >= 0; all++) {
		limits += ev == EV_SRQ_LIMIT_REACHED;
		errors += ev == EV_QP_ACCESS_ERR;
		lasts += ev == EV_QP_LAST_WQE_REACHED;
	}
	CU_ASSERT_TRUE(limits && errors && lasts);
	CU_ASSERT_EQUAL(all, limits + errors + lasts);
	CU_ASSERT_TRUE(m->c[3].notified >= all);
	CU_ASSERT_FALSE(hca_audit(m->hca, why, sizeof(why)));
	return 0;
}

static void test_deaths(void)
{
	struct emu_deaths d;

	prepare();
	d = deaths_ring(m, &q0, 23, after_death);
	printf("# %u deaths within %ld instructions\n", d.died, d.n);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "events come though their carrier dies", test_deaths },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("events", tests);
}
