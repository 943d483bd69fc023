/* SPDX-License-Identifier: MIT */
/* The multicast groups that wires join. See tests/lib/wire/wire_world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/wire/wire_world.h"

#define GREEDY 1u /* clients */
#define MODEST 2u

static struct emu_qp datagrams_in_reset(u32 client)
{
	struct emu_conn o = emu_conn_defaults;

	o.type = QPT_UD;
	return emu_qp_new(wire.m, client, &o, 4);
}

static void init(const struct emu_qp *q)
{
	struct hca_qp_attr attr = { .state = QPS_INIT, .port_num = 1, .qkey = WIRE_QKEY };

	CU_ASSERT_EQUAL(
		emu_modify(wire.m, q, &attr, QPA_STATE | QPA_PKEY_INDEX | QPA_PORT | QPA_QKEY), 0);
}

static struct emu_qp datagrams(u32 client)
{
	struct emu_qp q = datagrams_in_reset(client);

	init(&q);
	return q;
}

static void group_gid(u32 n, u8 gid[16])
{
	static const u8 first[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7 };

	memcpy(gid, first, 16);
	gid[15] = (u8)n;
}

static int group_cmd(const struct emu_qp *q, u32 client, enum hca_cmd_op op, u32 n)
{
	struct hca_cmd cmd = { .op = op, .handle = q->slot };

	group_gid(n, cmd.mcast.gid);
	return emu_cmd(wire.m, client, &cmd);
}

/*
 * Attach to groups @first to @first + @n - 1, as a program would, and let the fabric join them.
 * Return: how many, until one was refused.
 */
static u32 attach(const struct emu_qp *q, u32 client, u32 first, u32 n)
{
	u32 i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = group_cmd(q, client, CMD_ATTACH_MCAST, first + i);
		wire_turn();
		if (ret) {
			CU_ASSERT_EQUAL(ret, -ENOMEM);
			break;
		}
	}
	return i;
}

static void detach(const struct emu_qp *q, u32 client, u32 first, u32 n)
{
	u32 i;

	for (i = first; i < first + n; i++)
		CU_ASSERT_EQUAL(group_cmd(q, client, CMD_DETACH_MCAST, i), 0);
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
	u32 others, took;

	wire_make();
	wire.m->hca->isolated = 1;
	greedy = datagrams(GREEDY);
	modest = datagrams(MODEST);
	others = count_joined();
	took = attach(&greedy, GREEDY, 0, 2 * ROCE_GROUPS);
	CU_ASSERT_EQUAL(took + others, ROCE_GROUPS / 2);
	CU_ASSERT_EQUAL(count_joined(), ROCE_GROUPS / 2);
	CU_ASSERT_EQUAL(attach(&modest, MODEST, 100, 4), 4);
	CU_ASSERT(joined(100) && joined(103));
	/* One that both are in does not count twice, and stays when one of them leaves. */
	CU_ASSERT_EQUAL(attach(&modest, MODEST, 0, 1), 1);
	detach(&greedy, GREEDY, 0, 1);
	CU_ASSERT(joined(0));
	CU_ASSERT_EQUAL(attach(&greedy, GREEDY, 50, 1), 0);
	/* What others leave is for anybody. */
	detach(&modest, MODEST, 100, 4);
	detach(&modest, MODEST, 0, 1);
	CU_ASSERT(!joined(0) && !joined(100));
	CU_ASSERT_EQUAL(attach(&greedy, GREEDY, 50, 1), 1);
	CU_ASSERT(joined(50));
	detach(&greedy, GREEDY, 1, took - 1);
	detach(&greedy, GREEDY, 50, 1);
	CU_ASSERT_EQUAL(count_joined(), others);
	CU_ASSERT(wire_audit());
	wire.m->hca->isolated = 0;
}

static void test_programs_that_trust_each_other_may_take_all_places(void)
{
	struct emu_qp greedy;
	u32 took;

	wire_make();
	greedy = datagrams(GREEDY);
	took = ROCE_GROUPS - count_joined();
	CU_ASSERT_EQUAL(attach(&greedy, GREEDY, 0, ROCE_GROUPS + 1), took);
	CU_ASSERT_EQUAL(count_joined(), ROCE_GROUPS);
	CU_ASSERT(!joined(took));
	/* A place that is left is taken in the same turn. */
	CU_ASSERT_EQUAL(group_cmd(&greedy, GREEDY, CMD_DETACH_MCAST, 0), 0);
	CU_ASSERT_EQUAL(attach(&greedy, GREEDY, took, 1), 1);
	CU_ASSERT(!joined(0) && joined(took));
	detach(&greedy, GREEDY, 1, took);
	CU_ASSERT(wire_audit());
}

/* A queue pair in RESET has no port yet, and no modify_qp is to fail for the lack of a place. */
static void test_a_queue_pair_in_reset_takes_places(void)
{
	struct emu_qp early, late;
	u32 took;

	wire_make();
	early = datagrams_in_reset(GREEDY);
	late = datagrams(MODEST);
	took = ROCE_GROUPS - count_joined();
	CU_ASSERT_EQUAL(attach(&early, GREEDY, 0, ROCE_GROUPS + 1), took);
	CU_ASSERT_EQUAL(attach(&late, MODEST, took, 1), 0);
	init(&early);
	wire_turn();
	CU_ASSERT_EQUAL(count_joined(), ROCE_GROUPS);
	CU_ASSERT(joined(0) && joined(took - 1));
	detach(&early, GREEDY, 0, took);
	CU_ASSERT_EQUAL(attach(&late, MODEST, took, 1), 1);
	detach(&late, MODEST, took, 1);
	CU_ASSERT(wire_audit());
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a program of an isolated fabric leaves places to others",
		  test_a_program_of_an_isolated_fabric_leaves_places_to_others },
		{ "programs that trust each other may take all places",
		  test_programs_that_trust_each_other_may_take_all_places },
		{ "a queue pair in RESET takes places", test_a_queue_pair_in_reset_takes_places },
		{ NULL, NULL },
	};

	return cu_run("group", tests);
}
