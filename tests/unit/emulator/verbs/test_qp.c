/* SPDX-License-Identifier: MIT */
/* Queue pairs as a hostile client creates them. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define WILD_PLACE 0xded1c2ef3e7a2c1eULL

/* A place that nobody has checked is not kept: what is computed from it would not be an address. */
static void test_ring_without_slots_has_no_place(void)
{
	struct emu_conn o = emu_conn_defaults;
	struct hca_cmd cmd = { .op = CMD_CREATE_QP };
	struct emu *m = emu_new(1);
	struct emu_qp q;

	q = emu_qp_new(m, 0, &o, 1);
	cmd.qp = (struct cmd_qp){
		.type = QPT_RC,
		.pd = m->c[0].pd,
		.scq = q.scq.index,
		.rcq = q.rcq.index,
		.sq_ring = WILD_PLACE,
		.rq_ring = WILD_PLACE,
	};
	CU_ASSERT_EQUAL_FATAL(emu_cmd(m, 0, &cmd), 0);
	CU_ASSERT_EQUAL(m->hca->qp[cmd.handle].sq_ring, 0);
	CU_ASSERT_EQUAL(m->hca->qp[cmd.handle].rq_ring, 0);
	cmd.qp.sq_depth = 4;
	CU_ASSERT_EQUAL(emu_cmd(m, 0, &cmd), -EINVAL);
	emu_free(m);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a ring without slots has no place", test_ring_without_slots_has_no_place },
		{ NULL, NULL },
	};

	return cu_run("qp", tests);
}
