/* SPDX-License-Identifier: MIT */
/* The time that the fabric process spends on each process of an isolated fabric. */
#include "fabric/proto/real_time.h"
#include "fabric/server/account.h"
#include "tests/lib/c/cu.h"

#include <string.h>
#include <time.h>

#define SLICE 30000u /* ns: more than a slice has */
#define SHORT 300u
#define LONG  3000000u

#define MOMENT	 500000u
#define ATTEMPTS 1000u

static struct accounts t;
static struct account *a, *b;

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	accounts_turn(&t);
	a = account_get(&t, 1);
	b = account_get(&t, 1 + ACCOUNT_BUCKETS);
}

static void end(void)
{
	account_put(&t, a);
	account_put(&t, b);
}

static u64 cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

/* Serve @x for @ns of CPU time. */
static void serve(struct account *x, u64 ns)
{
	u64 began = account_begin(x), until = cpu_now() + ns;

	while (cpu_now() < until)
		;
	account_end(&t, x, began);
}

static bool may(const struct account *x)
{
	return account_may(&t, x, real_ns());
}

static void test_one_process_has_one_account(void)
{
	struct account *same;

	begin();
	same = account_get(&t, 1);
	CU_ASSERT_PTR_EQUAL(same, a);
	CU_ASSERT_PTR_NOT_EQUAL(b, a);
	account_put(&t, same);
	account_put(&t, a);
	CU_ASSERT_PTR_EQUAL(t.bucket[1], b);
	account_put(&t, b);
	CU_ASSERT_PTR_NULL(t.bucket[1]);
}

static void test_a_slice_ends_in_its_turn(void)
{
	begin();
	CU_ASSERT(may(a));
	serve(a, SHORT);
	serve(a, SLICE);
	CU_ASSERT(!may(a));
	CU_ASSERT(may(b));
	/* Nobody else is there: it goes on at once. */
	accounts_turn(&t);
	CU_ASSERT(may(a));
	CU_ASSERT(!accounts_are_many(&t));
	end();
}

static void test_a_full_slice_rests_next_to_another(void)
{
	u32 i;

	begin();
	/* Another process may have the CPU in between: then @b was served too long ago. */
	for (i = 0; i < ATTEMPTS && (!i || t.last_at - t.other_at > MOMENT); i++) {
		accounts_turn(&t);
		serve(b, SHORT);
		serve(a, SLICE);
	}
	CU_ASSERT(a->rest_until > t.last_at);
	accounts_turn(&t);
	CU_ASSERT(accounts_are_many(&t));
	/* The other one has not used its slice up. */
	CU_ASSERT(!b->rest_until || b->used > SLICE);
	end();
}

static void test_long_work_rests_as_long(void)
{
	u32 i;

	begin();
	/* After a slice that is long by the clock, its CPU time is measured. */
	serve(a, LONG);
	CU_ASSERT(a->slow_until > 0);
	/* Here, too, the other one may have been served too long ago. */
	for (i = 0; i < ATTEMPTS && a->rest_until < t.last_at + LONG / 2; i++) {
		accounts_turn(&t);
		serve(b, SHORT);
		serve(a, LONG);
	}
	CU_ASSERT(a->rest_until >= t.last_at + LONG / 2);
	CU_ASSERT(!account_may(&t, a, t.last_at + LONG / 2));
	CU_ASSERT(account_may(&t, a, a->rest_until) == (a->turn != t.turn));
	accounts_turn(&t);
	CU_ASSERT(account_may(&t, a, a->rest_until));
	end();
}

static void test_long_work_alone_does_not_rest(void)
{
	begin();
	serve(a, LONG);
	accounts_turn(&t);
	serve(a, LONG);
	accounts_turn(&t);
	CU_ASSERT(may(a));
	end();
}

static void test_turns_of_several_are_mixed(void)
{
	u32 i;

	begin();
	serve(a, SLICE);
	CU_ASSERT(!t.are_mixed);
	for (i = 0; i < ATTEMPTS && !t.are_mixed; i++) {
		serve(b, SHORT);
		serve(a, SHORT);
	}
	CU_ASSERT(t.are_mixed);
	t.are_mixed = false;
	t.other_at -= LONG;
	serve(a, SHORT);
	CU_ASSERT(!t.are_mixed);
	end();
}

static void test_unseen_processes_of_two_nodes_have_two_accounts(void)
{
	struct account *host, *node, *control, *same;

	begin();
	host = account_get(&t, account_unseen(0));
	node = account_get(&t, account_unseen(1));
	control = account_get(&t, account_unseen(-1));
	same = account_get(&t, account_unseen(1));
	CU_ASSERT(host != node && host != control && node != control && node == same);
	/* No process has such an id. */
	CU_ASSERT(host->pid <= 0 && node->pid <= 0 && control->pid <= 0);
	account_put(&t, host);
	account_put(&t, node);
	account_put(&t, control);
	account_put(&t, same);
	end();
}

static const struct cu_test tests[] = {
	{ "one process has one account", test_one_process_has_one_account },
	{ "unseen processes of two nodes have two accounts",
	  test_unseen_processes_of_two_nodes_have_two_accounts },
	{ "a slice ends in its turn", test_a_slice_ends_in_its_turn },
	{ "a full slice rests next to another", test_a_full_slice_rests_next_to_another },
	{ "long work rests as long", test_long_work_rests_as_long },
	{ "turns of several are mixed", test_turns_of_several_are_mixed },
	{ "long work alone does not rest", test_long_work_alone_does_not_rest },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("account", tests);
}
