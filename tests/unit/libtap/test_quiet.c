/* SPDX-License-Identifier: MIT */
/* Users that want to see no posts, and no polls that find nothing. */
#include "tests/lib/c/cu.h"
#include "tests/lib/c/tap_objects.h"

/* Posts a receive and polls, which finds nothing. */
static void recv_and_poll(void)
{
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct ibv_wc wc;

	CU_ASSERT_EQUAL(ibv_post_recv(low_qp, &recv, &bad), 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(&low_cq, 1, &wc), 0);
}

static void test_one_quiet(void)
{
	struct ibv_send_wr wr = { 0 }, *bad = NULL;

	low_make_objects(false);
	stub_b.quiet = true;
	CU_ASSERT_EQUAL(ibv_post_send(low_qp, &wr, &bad), 0);
	recv_and_poll();
	CU_ASSERT_STRING_EQUAL(stub_logged(), "send recv poll");
	stub_b.quiet = false;
	recv_and_poll();
	CU_ASSERT_STRING_EQUAL(stub_logged(), "b.post> recv b.post< b.poll> poll b.poll<");
	low_destroy_objects();
}

static void test_completions(void)
{
	struct ibv_wc wc[2];

	low_make_objects(false);
	stub_b.quiet = true;
	low_entries = 1;
	stub_b.poll_end = low_fail_first;
	CU_ASSERT_EQUAL(ibv_poll_cq(&low_cq, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "poll b.poll<");
	low_entries = 1;
	stub_b.poll_end = low_hold_once;
	CU_ASSERT_EQUAL(ibv_poll_cq(&low_cq, 2, wc), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "poll b.poll< b.poll> poll b.poll<");
	low_destroy_objects();
}

static void test_two_quiet(void)
{
	low_make_objects(true);
	stub_a.quiet = stub_b.quiet = true;
	recv_and_poll();
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> recv b.post< a.post< "
					      "a.poll> b.poll> poll b.poll< a.poll<");
	low_destroy_objects();
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "the only user sees no posts and no empty polls", test_one_quiet },
		{ "it sees completions, and is shown the poll again that it asks for",
		  test_completions },
		{ "two users see all", test_two_quiet },
		{ NULL, NULL },
	};

	return cu_run("tap, quiet users", tests);
}
