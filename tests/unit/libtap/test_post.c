/* SPDX-License-Identifier: MIT */
/* The data path, as two users see it, above objects that the test makes up. */
#include "tests/lib/c/cu.h"
#include "tests/lib/c/tap_objects.h"

#include <errno.h>

static void make_all(void)
{
	low_make_objects(true);
}

/* --- tests --- */

static void test_post(void)
{
	struct ibv_send_wr wr[2] = { { .next = &wr[1] } }, *bad = NULL;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;

	make_all();
	CU_ASSERT_EQUAL(ibv_post_send(low_qp, wr, &bad), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> send b.post< a.post<");
	CU_ASSERT_PTR_NULL(bad);
	CU_ASSERT_EQUAL(errno, 55);
	low_ret = ENOMEM;
	CU_ASSERT_EQUAL(ibv_post_send(low_qp, wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[1]);
	stub_logged();
	CU_ASSERT_EQUAL(ibv_post_recv(low_qp, &recv, &bad_recv), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> recv b.post< a.post<");
	stub_b.answers = "post";
	stub_b.ret = EAGAIN;
	CU_ASSERT_EQUAL(ibv_post_send(low_qp, wr, &bad), EAGAIN);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> a.post<");
}

/* A QP that a vendor's call has made is not in the registry. */
static void test_unknown(void)
{
	struct ibv_qp other = { .context = &low_context.context };

	make_all();
	low_ret = 0;
	CU_ASSERT_PTR_NULL(tap_obj_find(VOBJ_QP, &other));
	CU_ASSERT_EQUAL(ibv_post_recv(&other, NULL, NULL), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> recv b.post< a.post<");
}

static void test_poll(void)
{
	struct ibv_wc wc[2];

	make_all();
	CU_ASSERT_EQUAL(ibv_poll_cq(&low_cq, 2, wc), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.poll> b.poll> poll b.poll< a.poll<");
	low_entries = 1;
	stub_b.poll_end = low_fail_first;
	CU_ASSERT_EQUAL(ibv_poll_cq(&low_cq, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	low_entries = 3;
	stub_b.poll_end = low_hold_once;
	stub_logged();
	CU_ASSERT_EQUAL(ibv_poll_cq(&low_cq, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 1);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.poll> b.poll> poll b.poll< a.poll< "
					      "a.poll> b.poll> poll b.poll< a.poll<");
	low_ret = -5;
	CU_ASSERT_EQUAL(ibv_poll_cq(&low_cq, 2, wc), -5);
	stub_logged();
	stub_a.answers = "poll";
	stub_a.ret = 0;
	CU_ASSERT_EQUAL(ibv_poll_cq(&low_cq, 2, wc), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.poll>");
}

/* Acknowledges and withholds an event, the first time. */
static void withhold_once(struct tap_cqop *p)
{
	if (p->what != TAP_CQ_EVENT)
		return;
	stub_b.cq_end = NULL;
	ibv_ack_cq_events(p->cq, 1);
	p->again = true;
}

static void test_events(void)
{
	struct ibv_cq *of = NULL;
	void *cq_context = NULL;

	make_all();
	CU_ASSERT_EQUAL(ibv_req_notify_cq(&low_cq, 1), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cq> b.cq> arm1 b.cq< a.cq<");
	low_events = 2;
	stub_b.cq_end = withhold_once;
	CU_ASSERT_EQUAL(ibv_get_cq_event(&low_channel, &of, &cq_context), 0);
	CU_ASSERT_PTR_EQUAL(of, &low_cq);
	CU_ASSERT_PTR_EQUAL(cq_context, &low_events);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cq> b.cq> event b.cq< ack1 a.cq< "
					      "a.cq> b.cq> event b.cq< a.cq<");
	CU_ASSERT_EQUAL(ibv_get_cq_event(&low_channel, &of, &cq_context), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	stub_logged();
	ibv_ack_cq_events(&low_cq, 3);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cq> b.cq> ack3 b.cq< a.cq<");
}

static struct ibv_wc read_wc;

static void read_entry(struct tap_cqex *p)
{
	u64 ts;

	if (p->what == TAP_CQEX_START && !p->ret)
		tap_cqex_read(p->obj, p->ex, &read_wc, &ts);
}

static void test_cq_ex(void)
{
	struct ibv_poll_cq_attr attr = { 0 };

	make_all();
	low_entries = 2;
	stub_a.cqex_end = read_entry;
	CU_ASSERT_EQUAL(ibv_start_poll(&low_cq_ex, &attr), 0);
	CU_ASSERT_EQUAL(read_wc.wr_id, 2);
	CU_ASSERT_EQUAL(read_wc.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(read_wc.vendor_err, 0x81);
	CU_ASSERT_EQUAL(read_wc.qp_num, 17);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cqex> b.cqex> start b.cqex< a.cqex<");
	CU_ASSERT_EQUAL(ibv_next_poll(&low_cq_ex), 0);
	CU_ASSERT_EQUAL(ibv_next_poll(&low_cq_ex), ENOENT);
	stub_logged();
	ibv_end_poll(&low_cq_ex);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cqex> b.cqex> end b.cqex< a.cqex<");
}

/* Compares the log with @expected, where Q is the QP. */
static void batch_check(const char *expected)
{
	const char *log = stub_logged();
	u32 ord = tap_obj_ord(VOBJ_QP, low_qp), len = 0;
	char text[1024] = "";

	for (; *expected; expected++)
		len += (u32)(*expected == 'Q' ? snprintf(text + len, 16, "qp%u", ord)
					      : snprintf(text + len, 2, "%c", *expected));
	CU_ASSERT_STRING_EQUAL(log, text);
}

static void test_batch(void)
{
	make_all();
	ibv_wr_start(&low_qp_ex);
	batch_check("a.starting(Q) b.starting(Q) wr_start a.start(Q) b.start(Q)");
	ibv_wr_send(&low_qp_ex);
	batch_check("a.op(Q) b.op(Q) wr_send");
	ibv_wr_set_sge(&low_qp_ex, 1, 2, 3);
	batch_check("a.sge(Q) b.sge(Q) sge(1,2,3)");
	low_ret = ENOMEM;
	CU_ASSERT_EQUAL(ibv_wr_complete(&low_qp_ex), ENOMEM);
	batch_check("a.batch> b.batch> wr_complete b.batch< a.batch<");
	CU_ASSERT_PTR_NULL(low_qp_ex.wr_rdma_read);
	ibv_wr_start(&low_qp_ex);
	stub_b.answers = "batch";
	stub_b.ret = EINVAL;
	stub_logged();
	CU_ASSERT_EQUAL(ibv_wr_complete(&low_qp_ex), EINVAL);
	batch_check("a.batch> b.batch> wr_abort a.batch<");
}

static void test_dm(void)
{
	make_all();
	CU_ASSERT_EQUAL(ibv_memcpy_to_dm(&low_dm, 8, &low_dm, 16), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.dm> b.dm> to_dm(8,16) b.dm< a.dm<");
}

static u32 left;

static void count_left(struct tap_obj *o)
{
	(void)o;
	left++;
}

static void test_end(void)
{
	u32 kind;

	make_all();
	low_destroy_objects();
	for (kind = VOBJ_NONE + 1; kind < VOBJ_COUNT; kind++)
		tap_obj_for_each(kind, count_left);
	CU_ASSERT_EQUAL(left, 0);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a post passes both users, or is answered", test_post },
		{ "a post to an object that nobody knows", test_unknown },
		{ "a poll: changed, held, empty, failed, answered", test_poll },
		{ "arming, events and acknowledging them; an event is withheld", test_events },
		{ "an extended CQ, and its current entry", test_cq_ex },
		{ "a batch of ibv_wr_*(), and one that a user refuses", test_batch },
		{ "a copy to device memory", test_dm },
		{ "nothing is left of destroyed objects", test_end },
		{ NULL, NULL },
	};

	return cu_run("tap, posts and polls", tests);
}
