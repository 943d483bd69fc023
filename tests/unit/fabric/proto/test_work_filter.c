/* SPDX-License-Identifier: MIT */
/* Which work requests a rule may be about, and a table that is being written. */
#include "fabric/proto/work_filter.h"
#include "tests/lib/c/cu.h"

#define TYPE 2u
#define OP   4u

static const struct work_rule any = { .size_max = PROTO_NO_SIZE, .ops = ~0u, .types = ~0u };
static const struct work_key request = {
	.wr_id = 7, .size = 64, .op = 1u << OP, .type = 1u << TYPE, .qpn = 17
};
static struct work_filter filter;

static void table_set(u32 n, struct work_rule rule)
{
	u32 i;

	memset(&filter, 0, sizeof(filter));
	filter.n = n;
	filter.ops = n ? rule.ops : 0;
	for (i = 0; i < n && i < WORK_FILTER_RULES; i++)
		filter.rule[i] = rule;
}

static bool is_selected(struct work_rule rule)
{
	table_set(1, rule);
	CU_ASSERT(work_filter_matches(&filter, &request) == work_rule_matches(&rule, &request));
	return work_rule_matches(&rule, &request);
}

static void test_each_word_selects(void)
{
	struct work_rule r;

	CU_ASSERT(is_selected(any));
	r = any, r.ops = 1u << OP;
	CU_ASSERT(is_selected(r));
	r.ops = ~r.ops;
	CU_ASSERT(!is_selected(r));
	r = any, r.types = 1u << TYPE;
	CU_ASSERT(is_selected(r));
	r.types = ~r.types;
	CU_ASSERT(!is_selected(r));
	r = any, r.size_min = 64, r.size_max = 64;
	CU_ASSERT(is_selected(r));
	r.size_min = 65, r.size_max = PROTO_NO_SIZE - 1;
	CU_ASSERT(!is_selected(r));
	r.size_min = 0, r.size_max = 63;
	CU_ASSERT(!is_selected(r));
	r = any, r.qpn = 17, r.has = WORK_RULE_HAS_QPN;
	CU_ASSERT(is_selected(r));
	r.qpn = 16;
	CU_ASSERT(!is_selected(r));
	r.has = 0;
	CU_ASSERT(is_selected(r));
	r = any, r.wr_id = 7, r.has = WORK_RULE_HAS_WR_ID;
	CU_ASSERT(is_selected(r));
	r.wr_id = 8;
	CU_ASSERT(!is_selected(r));
}

static void test_receives_have_no_opcode(void)
{
	const struct proto_work work = { .opcode = OP, .recv = 1, .type = TYPE };
	const struct work_key receive = work_key_of(&work);
	struct work_rule r = any;

	r.ops = 1u << OP;
	CU_ASSERT(!work_rule_matches(&r, &receive));
	r.ops = work_op_bit(true, OP);
	CU_ASSERT(work_rule_matches(&r, &receive));
	CU_ASSERT(!work_rule_matches(&r, &request));
}

static void test_unknown_size_is_in_no_range(void)
{
	struct work_key batched = request;
	struct work_rule r = any;

	batched.size = PROTO_NO_SIZE;
	CU_ASSERT(work_rule_matches(&r, &batched));
	r.size_max = PROTO_NO_SIZE - 1;
	CU_ASSERT(!work_rule_matches(&r, &batched));
}

static void test_table(void)
{
	struct work_rule other = any;

	table_set(0, any);
	CU_ASSERT(!work_filter_matches(&filter, &request));
	CU_ASSERT(!work_filter_has_op(&filter, work_op_bit(false, OP)));
	other.ops = 1u << (OP + 1);
	table_set(WORK_FILTER_RULES, other);
	CU_ASSERT(!work_filter_matches(&filter, &request));
	CU_ASSERT(!work_filter_has_op(&filter, work_op_bit(false, OP)));
	CU_ASSERT(work_filter_has_op(&filter, work_op_bit(false, OP + 1)));
	filter.rule[WORK_FILTER_RULES - 1] = any;
	CU_ASSERT(work_filter_matches(&filter, &request));
	/* More rules than the table has room for: all requests ask. */
	table_set(WORK_FILTER_ALL, other);
	CU_ASSERT(work_filter_matches(&filter, &request));
}

static void test_table_that_is_written(void)
{
	struct work_rule other = any;

	other.types = 0;
	table_set(1, other);
	CU_ASSERT(!work_filter_matches(&filter, &request));
	filter.seq = 1;
	CU_ASSERT(work_filter_matches(&filter, &request));
	filter.seq = 2;
	CU_ASSERT(!work_filter_matches(&filter, &request));
}

static const struct cu_test tests[] = {
	{ "each word of a rule selects", test_each_word_selects },
	{ "receives have no opcode", test_receives_have_no_opcode },
	{ "an unknown size is in no range", test_unknown_size_is_in_no_range },
	{ "a table of rules", test_table },
	{ "a table that is being written", test_table_that_is_written },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("requests that rules are about", tests);
}
