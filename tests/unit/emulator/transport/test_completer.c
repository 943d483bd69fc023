/* SPDX-License-Identifier: MIT */
/* ACKs and responses for requests whose WQE the program has changed in the meantime. */
#include "emulator/audit/audit.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

/* One of 5 packets is under way when its list in the ring becomes one of @len bytes. */
static void change_list(u32 opcode, u32 len)
{
	const struct emu_faults slow = { .delay = 1000000 };
	struct emu *m = emu_new(1);
	struct emu_qp a, b;
	struct sq_wqe *w;
	struct cqe c;
	char why[200];

	emu_connect(m, 0, 1, &emu_conn_defaults, &a, &b);
	emu_wire(m, &slow);
	w = emu_post(m, &a, opcode, 1, m->c[0].mem, 5000);
	emu_remote(m, w, 1, m->c[1].mem);
	emu_ring(m, &a);
	w->sge[0].len = len;
	emu_run(m, m->clock + 3 * slow.delay);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_FALSE(emu_poll(m, &a.scq, &c, NULL));
	if (hca_audit(m->hca, why, sizeof(why)))
		printf("%u bytes: %s\n", len, why);
	CU_ASSERT_FALSE(hca_audit(m->hca, why, sizeof(why)));
	emu_free(m);
}

static void test_write(void)
{
	change_list(WR_RDMA_WRITE, 100);
	change_list(WR_RDMA_WRITE, 0);
	change_list(WR_RDMA_WRITE, 4000);
	change_list(WR_RDMA_WRITE, 100000);
}

static void test_read(void)
{
	change_list(WR_RDMA_READ, 100);
	change_list(WR_RDMA_READ, 0);
	change_list(WR_RDMA_READ, 4000);
	change_list(WR_RDMA_READ, 100000);
}

static const struct cu_test tests[] = {
	{ "a WRITE whose list changes while it is under way completes", test_write },
	{ "a READ whose list changes while it is under way completes", test_read },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("completions of changed requests", tests);
}
