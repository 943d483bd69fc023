/* SPDX-License-Identifier: MIT */
/* When a fabric process leaves. */
#include "fabric/server/server.h"
#include "tests/lib/c/cu.h"

static struct server server;
static struct fabric fabric = { .server = &server };

static void test_a_fabric_that_stays_does_not_leave(void)
{
	server.idle.ns = NEVER;
	server.idle.used = true;
	idle_update(&fabric);
	CU_ASSERT_EQUAL(server.idle.leave_at, NEVER);
}

static void test_a_fabric_that_lingers_leaves_in_time(void)
{
	u64 now = real_ns();

	server.idle.ns = NSEC_PER_SEC;
	server.idle.used = true;
	idle_update(&fabric);
	CU_ASSERT_TRUE(server.idle.leave_at >= now + NSEC_PER_SEC);
	CU_ASSERT_NOT_EQUAL(server.idle.leave_at, NEVER);
}

/* `fabric start` asks it to stay after its directory was removed. */
static void test_a_fabric_that_nobody_finds_leaves(void)
{
	server.vanished = true;
	server.idle.ns = NEVER;
	server.idle.used = false;
	idle_update(&fabric);
	CU_ASSERT_TRUE(server.idle.leave_at <= real_ns());
	fabric.conns.n = 1;
	idle_update(&fabric);
	CU_ASSERT_EQUAL(server.idle.leave_at, NEVER);
	fabric.conns.n = 0;
	server.vanished = false;
}

static const struct cu_test tests[] = {
	{ "a fabric that stays does not leave", test_a_fabric_that_stays_does_not_leave },
	{ "a fabric that lingers leaves in time", test_a_fabric_that_lingers_leaves_in_time },
	{ "a fabric that nobody finds leaves", test_a_fabric_that_nobody_finds_leaves },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("idle", tests);
}
