/* SPDX-License-Identifier: MIT */
/* A poller that yields while it waits stops yielding if other processes keep the CPU. */
#include "emulator/yield.h"
#include "tests/lib/c/cu.h"

#define US  1000ull
#define MS  1000000ull
#define MAX (400 * MS)

static u64 clock_ns, yield_ns;
static u32 looks;

/* The second look of each call is behind the yield. */
static u64 hand_clock(void)
{
	if (looks++ % 2)
		clock_ns += yield_ns;
	return clock_ns;
}

/* Return: whether it has yielded and got its CPU back after @ns. */
static bool yields(struct crowd *c, u64 ns, u64 max)
{
	looks = 0;
	yield_ns = ns;
	return yield_adaptive(c, hand_clock, max);
}

/* Whether it does not even try, and from how many ns on it does again. */
static u64 pause_of(struct crowd *c, u64 max)
{
	u64 from = clock_ns;

	while (!yields(c, US, max)) {
		CU_ASSERT_EQUAL(looks, 1);
		clock_ns += MS;
	}
	return clock_ns - US - from;
}

static void test_short(void)
{
	struct crowd c = { 0 };
	u32 i;

	clock_ns = 5 * CROWD_NS;
	for (i = 0; i < 1000; i++)
		CU_ASSERT_TRUE(yields(&c, CROWD_LONG_NS - 1, MAX));
}

static void test_long(void)
{
	struct crowd c = { 0 };

	clock_ns = 5 * CROWD_NS;
	CU_ASSERT_FALSE(yields(&c, CROWD_LONG_NS, CROWD_NS));
	CU_ASSERT_EQUAL(pause_of(&c, CROWD_NS), CROWD_NS);
	/* Whose pauses are as long as the first one at most. */
	CU_ASSERT_FALSE(yields(&c, 4 * MS, CROWD_NS));
	CU_ASSERT_EQUAL(pause_of(&c, CROWD_NS), CROWD_NS);
}

static void test_again(void)
{
	struct crowd c = { 0 };
	u64 want = CROWD_NS;
	u32 i;

	clock_ns = 5 * CROWD_NS;
	for (i = 0; i < 6; i++) {
		CU_ASSERT_FALSE(yields(&c, 4 * MS, MAX));
		CU_ASSERT_EQUAL(pause_of(&c, MAX), want);
		want = min_u64(2 * want, MAX);
	}
	CU_ASSERT_EQUAL(want, MAX);
	/* After a good while it is somebody else who is busy. */
	clock_ns += MAX;
	CU_ASSERT_FALSE(yields(&c, 4 * MS, MAX));
	CU_ASSERT_EQUAL(pause_of(&c, MAX), CROWD_NS);
}

static void test_brief(void)
{
	struct brief b = { 0 };
	u64 now = 5 * MS, want = BRIEF_REST_NS;
	u32 i;

	CU_ASSERT_TRUE(brief_may_look(&b, now));
	for (i = 0; i < 10; i++) {
		brief_looked(&b, now, false);
		CU_ASSERT_FALSE(brief_may_look(&b, now + want - 1));
		CU_ASSERT_TRUE(brief_may_look(&b, now + want));
		now += want;
		want = min_u64(2 * want, BRIEF_REST_MAX);
	}
	CU_ASSERT_EQUAL(want, BRIEF_REST_MAX);
	brief_looked(&b, now, true);
	CU_ASSERT_TRUE(brief_may_look(&b, now));
	brief_looked(&b, now, false);
	CU_ASSERT_TRUE(brief_may_look(&b, now + BRIEF_REST_NS));
}

static const struct cu_test tests[] = {
	{ "a CPU that comes back soon is given away again", test_short },
	{ "one that is kept for long is not, for a while", test_long },
	{ "and for longer each time that it is kept again", test_again },
	{ "looks that find nothing become rarer, until one finds something", test_brief },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("crowd", tests);
}
