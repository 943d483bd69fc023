/* SPDX-License-Identifier: MIT */
/* Places for hosts outside: who gets and who keeps one. See tests/lib/wire/wire_world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/wire/wire_world.h"

#include "emulator/port.h"

#define PROGRAM 1u /* clients */
#define GREEDY	2u

/* Return: its device; -1: it has no place. */
static int host_dev(u32 host)
{
	u8 gid[16], port;

	wire_host_gid(WIRE_TO_4, host, gid);
	return hca_find_gid(wire.m->hca, gid, &port);
}

/* A program's address handle. Return: 0 or -errno. */
static int handle_create(u32 client, u32 host, u32 *handle)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_AH };
	int ret;

	cmd.ah.pd = wire.m->c[client].pd;
	cmd.ah.av.is_global = 1;
	cmd.ah.av.port_num = 1;
	wire_host_gid(WIRE_TO_4, host, cmd.ah.av.dgid);
	ret = emu_cmd(wire.m, client, &cmd);
	*handle = cmd.handle;
	return ret;
}

static void handle_destroy(u32 client, u32 handle)
{
	struct hca_cmd cmd = { .op = CMD_DESTROY_AH, .handle = handle };

	CU_ASSERT_EQUAL(emu_cmd(wire.m, client, &cmd), 0);
}

static void test_a_flood_of_new_hosts_takes_no_place_that_is_in_use(void)
{
	const u32 flood = 10, end = flood + 2 * HCA_PEERS, known = 1000;
	int connected, handled;
	u32 i, handle;

	wire_make();
	wire_connect();
	connected = host_dev(1);
	CU_ASSERT_EQUAL(handle_create(PROGRAM, known, &handle), 0);
	handled = host_dev(known);
	CU_ASSERT_FATAL(connected >= 0 && handled >= 0);
	for (i = flood; i < end; i++) {
		wire_introduce(i);
		CU_ASSERT(host_dev(i) >= 0);
	}
	CU_ASSERT(wire.m->hca->wires.n_used <= HCA_PEERS / 2);
	CU_ASSERT_EQUAL(host_dev(1), connected);
	CU_ASSERT_EQUAL(host_dev(known), handled);
	CU_ASSERT(host_dev(flood) < 0);
	CU_ASSERT(wire_audit());
	/* A host that nothing refers to is one of many. */
	handle_destroy(PROGRAM, handle);
	for (i = flood; i < end; i++)
		wire_introduce(i);
	CU_ASSERT(host_dev(known) < 0);
	CU_ASSERT_EQUAL(host_dev(1), connected);
	CU_ASSERT(wire_audit());
}

static void test_hosts_that_send_keep_their_places_longest(void)
{
	const u32 faithful = 2000;
	u32 i;

	wire_make();
	for (i = 0; i < 2 * HCA_PEERS; i++) {
		wire_introduce(3000 + i);
		if (i % 16 == 0)
			wire_introduce(faithful);
		CU_ASSERT(host_dev(faithful) >= 0);
	}
}

/* The oldest hosts make room, also for the program that had them before. */
static void test_a_program_reaches_more_hosts_than_there_are_places(void)
{
	u32 i, handle[4];

	wire_make();
	memset(handle, 0xff, sizeof(handle));
	for (i = 0; i < 2 * HCA_PEERS; i++) {
		if (handle[i % 4] != ~0u)
			handle_destroy(PROGRAM, handle[i % 4]);
		CU_ASSERT_EQUAL(handle_create(PROGRAM, 4000 + i, &handle[i % 4]), 0);
		/* The fabric process does nothing else meanwhile: its loop has to see it. */
		if (roce_due(wire.f, 0))
			wire_turn();
	}
	for (i = 0; i < 4; i++)
		handle_destroy(PROGRAM, handle[i]);
	CU_ASSERT(wire_audit());
}

/* Handles of hosts @first, @first + 1 ... Return: how many until one failed, at most @n. */
static u32 handles_create(u32 client, u32 first, u32 n, u32 *handle)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (handle_create(client, first + i, &handle[i]))
			break;
		wire_turn();
	}
	return i;
}

static void handles_destroy(u32 client, const u32 *handle, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		handle_destroy(client, handle[i]);
}

static void test_a_program_of_an_isolated_fabric_leaves_places_to_others(void)
{
	u32 greedy[HCA_PEERS] = { 0 }, modest[4] = { 0 }, others[4], took, i;

	wire_make();
	wire.m->hca->isolated = 1;
	took = handles_create(GREEDY, 5000, HCA_PEERS, greedy);
	CU_ASSERT(took >= HCA_PEERS / 2 - 8 && took <= HCA_PEERS / 2);
	CU_ASSERT_EQUAL(handle_create(GREEDY, 6000, modest), -ETIMEDOUT);
	CU_ASSERT_EQUAL(handles_create(PROGRAM, 7000, 4, modest), 4);
	/* Nor does it keep away those that datagrams show. */
	wire_introduce(8000);
	CU_ASSERT(host_dev(8000) >= 0);
	/* One that it shares with another is not its own, and stays when that one leaves it. */
	CU_ASSERT_EQUAL(handle_create(GREEDY, 7000, others), 0);
	handle_destroy(PROGRAM, modest[0]);
	/* A place that it gives back is its again, once the fabric process has noticed. */
	handles_destroy(GREEDY, greedy, 4);
	for (i = 0; i < 100 && handle_create(GREEDY, 6000, &greedy[0]); i++)
		wire_turn();
	CU_ASSERT(i < 100);
	CU_ASSERT(host_dev(7000) >= 0);
	handle_destroy(GREEDY, greedy[0]);
	handles_destroy(GREEDY, greedy + 4, took - 4);
	handle_destroy(GREEDY, others[0]);
	handles_destroy(PROGRAM, modest + 1, 3);
	CU_ASSERT(wire_audit());
	wire.m->hca->isolated = 0;
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a flood of new hosts takes no place that is in use",
		  test_a_flood_of_new_hosts_takes_no_place_that_is_in_use },
		{ "hosts that send keep their places longest",
		  test_hosts_that_send_keep_their_places_longest },
		{ "a program reaches more hosts than there are places",
		  test_a_program_reaches_more_hosts_than_there_are_places },
		{ "a program of an isolated fabric leaves places to others",
		  test_a_program_of_an_isolated_fabric_leaves_places_to_others },
		{ NULL, NULL },
	};

	return cu_run("peers", tests);
}
