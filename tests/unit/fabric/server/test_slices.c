/* SPDX-License-Identifier: MIT */
/* When the fabric process gives its CPU away. */
#include "fabric/proto/real_time.h"
#include "fabric/server/slices.h"
#include "tests/lib/c/cu.h"

#define LONG_AGO 2000000u /* ns */
#define SLEEP	 50000u

static void test_one_that_sleeps_gives_no_way(void)
{
	struct slices s = { 0 };

	slices_begin(&s);
	/* Should that have taken too long, it has slept since. */
	s.slept_at = real_ns() + LONG_AGO;
	slices_give_way(&s);
	CU_ASSERT(!s.are_long);
	CU_ASSERT_EQUAL(s.keep_until, 0);
}

static void test_one_that_never_sleeps_gives_way(void)
{
	struct slices s = { .slept_at = real_ns() - LONG_AGO };

	slices_give_way(&s);
	CU_ASSERT(s.are_long);
	CU_ASSERT(s.keep_until > 0);
}

static void test_it_gives_no_more_than_it_uses(void)
{
	u64 until = real_ns() + 1000ull * LONG_AGO;
	struct slices s = { .slept_at = real_ns() - LONG_AGO, .keep_until = until };

	slices_give_way(&s);
	CU_ASSERT_EQUAL(s.keep_until, until);
	CU_ASSERT(!s.are_long);
}

static void test_a_sleep_makes_slices_short(void)
{
	struct slices s = { .slept_at = 1, .are_long = true };

	/* Events that were there at once. */
	slices_waited(&s, LONG_AGO, LONG_AGO + 1000);
	CU_ASSERT(s.are_long);
	CU_ASSERT_EQUAL(s.slept_at, 1);
	slices_waited(&s, LONG_AGO, LONG_AGO + SLEEP);
	CU_ASSERT(!s.are_long);
	CU_ASSERT_EQUAL(s.slept_at, LONG_AGO + SLEEP);
}

static const struct cu_test tests[] = {
	{ "one that sleeps gives no way", test_one_that_sleeps_gives_no_way },
	{ "one that never sleeps gives way", test_one_that_never_sleeps_gives_way },
	{ "it gives no more than it uses", test_it_gives_no_more_than_it_uses },
	{ "a sleep makes slices short", test_a_sleep_makes_slices_short },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("slices", tests);
}
