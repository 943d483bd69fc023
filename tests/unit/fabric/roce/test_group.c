/* SPDX-License-Identifier: MIT */
/* The multicast groups that wires join. See tests/lib/wire/wire_world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/wire/wire_world.h"

#define GREEDY 1u /* clients */
#define MODEST 2u

static struct emu_qp datagrams(u32 client)
{
	struct hca_qp_attr attr = { .state = QPS_INIT, .port_num = 1, .qkey = WIRE_QKEY };
	struct emu_conn o = emu_conn_defaults;
	struct emu_qp q;

	o.type = QPT_UD;
	q = emu_qp_new(wire.m, client, &o, 4);
	CU_ASSERT_EQUAL(
		emu_modify(wire.m, &q, &attr, QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_QKEY), 0);
	return q;
}

static void group_gid(u32 n, u8 gid[16])
{
	static const u8 first[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7 };

	memcpy(gid, first, 16);
	gid[15] = (u8)n;
}

static void group_cmd(const struct emu_qp *q, u32 client, enum hca_cmd_op op, u32 n)
{
	struct hca_cmd cmd = { .op = op, .handle = q->slot };

	group_gid(n, cmd.mcast.gid);
	CU_ASSERT_EQUAL(emu_cmd(wire.m, client, &cmd), 0);
}

/* Attach to groups @first to @first + @n - 1, as a program would, and let the fabric join them. */
static void attach(const struct emu_qp *q, u32 client, u32 first, u32 n)
{
	u32 i;

	for (i = first; i < first + n; i++) {
		group_cmd(q, client, CMD_ATTACH_MCAST, i);
		wire_turn();
	}
}

static void detach(const struct emu_qp *q, u32 client, u32 first, u32 n)
{
	u32 i;

	for (i = first; i < first + n; i++)
		group_cmd(q, client, CMD_DETACH_MCAST, i);
	wire_turn();
}

static bool joined(u32 n)
{
	const u8 *gid;
	u8 wanted[16];
	u32 at = 0;

	group_gid(n, wanted);
	while ((gid = roce_group_next(wire.f, WIRE_TO_4, &at)))
		if (!memcmp(gid, wanted, 16))
			return true;
	return false;
}

static u32 count_joined(void)
{
	u32 at = 0, n = 0;

	while (roce_group_next(wire.f, WIRE_TO_4, &at))
		n++;
	return n;
}

static void test_a_program_of_an_isolated_fabric_leaves_places_to_others(void)
{
	struct emu_qp greedy, modest;
	u32 took;

	wire_make();
	wire.m->hca->isolated = 1;
	greedy = datagrams(GREEDY);
	modest = datagrams(MODEST);
	attach(&greedy, GREEDY, 0, 2 * ROCE_GROUPS);
	took = count_joined();
	CU_ASSERT_EQUAL(took, ROCE_GROUPS / 2);
	attach(&modest, MODEST, 100, 4);
	CU_ASSERT(joined(100) && joined(103));
	/* One that both are in does not count twice, and stays when one of them leaves. */
	attach(&modest, MODEST, 0, 1);
	detach(&greedy, GREEDY, 0, 1);
	CU_ASSERT(joined(0));
	/* All that is left goes to whoever waits. */
	detach(&modest, MODEST, 100, 4);
	detach(&modest, MODEST, 0, 1);
	CU_ASSERT(!joined(0) && !joined(100));
	CU_ASSERT_EQUAL(count_joined(), took);
	detach(&greedy, GREEDY, 1, 2 * ROCE_GROUPS - 1);
	CU_ASSERT(wire_audit());
	wire.m->hca->isolated = 0;
}

static void test_programs_that_trust_each_other_may_take_all_places(void)
{
	struct emu_qp greedy;
	u32 others;

	wire_make();
	greedy = datagrams(GREEDY);
	others = count_joined();

	attach(&greedy, GREEDY, 0, ROCE_GROUPS + 1);
	CU_ASSERT_EQUAL(count_joined(), ROCE_GROUPS);
	CU_ASSERT(!joined(ROCE_GROUPS - others));
	/* A place that is left is taken in the same turn. */
	group_cmd(&greedy, GREEDY, CMD_DETACH_MCAST, 0);
	wire_turn();
	CU_ASSERT(!joined(0) && joined(ROCE_GROUPS - others));
	detach(&greedy, GREEDY, 1, ROCE_GROUPS);
	CU_ASSERT(wire_audit());
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a program of an isolated fabric leaves places to others",
		  test_a_program_of_an_isolated_fabric_leaves_places_to_others },
		{ "programs that trust each other may take all places",
		  test_programs_that_trust_each_other_may_take_all_places },
		{ NULL, NULL },
	};

	return cu_run("group", tests);
}
