/* SPDX-License-Identifier: MIT */
/* The list of flows that have a socket. */
#include "fabric/egress/egress.h"
#include "tests/lib/c/cu.h"

#define N 3u

static struct egress_flow entries[N];
static struct egress_flow *latest;

static void flows_make(void)
{
	u32 i;

	latest = NULL;
	for (i = 0; i < N; i++)
		egress_flow_add(&latest, &entries[i]);
}

/* Open a flow that the list does not have. Return: the port of the flow whose place it takes. */
static u16 flow_put(u32 wire, u16 port, const struct egress_flow *keep)
{
	struct egress_flow *flow = egress_flow_replace(&latest, keep);
	u16 was;

	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	was = flow->port;
	flow->wire = wire;
	flow->port = port;
	return was;
}

static void test_free_entries_are_taken_first(void)
{
	flows_make();
	CU_ASSERT_EQUAL(flow_put(0, 1001, NULL), 0);
	CU_ASSERT_EQUAL(flow_put(0, 1002, NULL), 0);
	CU_ASSERT_EQUAL(flow_put(0, 1003, NULL), 0);
	egress_flow_find(&latest, 0, 1002)->port = 0;
	CU_ASSERT_EQUAL(flow_put(0, 1004, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(egress_flow_find(&latest, 0, 1001));
	CU_ASSERT_PTR_NULL(egress_flow_find(&latest, 0, 1002));
	CU_ASSERT_PTR_NOT_NULL(egress_flow_find(&latest, 0, 1003));
	CU_ASSERT_PTR_NOT_NULL(egress_flow_find(&latest, 0, 1004));
}

static void test_the_flow_used_longest_ago_is_replaced(void)
{
	flows_make();
	flow_put(0, 1001, NULL);
	flow_put(0, 1002, NULL);
	flow_put(0, 1003, NULL);
	CU_ASSERT_PTR_NOT_NULL(egress_flow_find(&latest, 0, 1001));
	CU_ASSERT_EQUAL(flow_put(0, 1004, NULL), 1002);
	CU_ASSERT_PTR_NOT_NULL(egress_flow_find(&latest, 0, 1003));
	CU_ASSERT_EQUAL(flow_put(0, 1005, NULL), 1001);
	CU_ASSERT_EQUAL(flow_put(0, 1006, NULL), 1004);
	CU_ASSERT_EQUAL(flow_put(0, 1007, NULL), 1003);
}

static void test_a_flow_is_of_one_wire(void)
{
	flows_make();
	flow_put(0, 1001, NULL);
	flow_put(1, 1001, NULL);
	CU_ASSERT_EQUAL(egress_flow_find(&latest, 0, 1001)->wire, 0);
	CU_ASSERT_EQUAL(egress_flow_find(&latest, 1, 1001)->wire, 1);
	CU_ASSERT_PTR_NULL(egress_flow_find(&latest, 2, 1001));
}

static void test_a_flow_that_is_kept_is_not_replaced(void)
{
	const struct egress_flow *keep;

	flows_make();
	flow_put(0, 1001, NULL);
	keep = egress_flow_find(&latest, 0, 1001);
	flow_put(0, 1002, keep);
	flow_put(0, 1003, keep);
	CU_ASSERT_EQUAL(flow_put(0, 1004, keep), 1002);
	CU_ASSERT_EQUAL(flow_put(0, 1005, keep), 1003);
	CU_ASSERT_PTR_EQUAL(egress_flow_find(&latest, 0, 1001), keep);
	latest = &entries[0];
	entries[0].next = NULL;
	CU_ASSERT_PTR_NULL(egress_flow_replace(&latest, &entries[0]));
}

static const struct cu_test tests[] = {
	{ "free entries are taken first", test_free_entries_are_taken_first },
	{ "the flow used longest ago is replaced", test_the_flow_used_longest_ago_is_replaced },
	{ "a flow is of one wire", test_a_flow_is_of_one_wire },
	{ "a flow that is kept is not replaced", test_a_flow_that_is_kept_is_not_replaced },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("egress_flow", tests);
}
