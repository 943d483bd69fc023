/* SPDX-License-Identifier: MIT */
/* The data path, as two users see it, above objects that the test makes up. */
#include "tests/lib/c/cu.h"
#include "tests/lib/c/tap_stub.h"

#include <errno.h>

/* --- the library below --- */

static struct ibv_device device = { .name = "stub0" };
static struct verbs_context context;
static struct ibv_pd pd;
static struct ibv_cq_ex cq_ex;
static struct ibv_cq cq;
static struct ibv_qp_ex qp_ex;
static struct ibv_qp *const qp = &qp_ex.qp_base;
static struct ibv_comp_channel channel;
static struct ibv_dm dm;

static int low_ret; /* of the next post or poll */
static u32 low_entries; /* left in the CQ */
static u32 low_events;

static struct ibv_context *low_open_device(struct ibv_device *dev)
{
	context.context.device = dev;
	return &context.context;
}

static struct ibv_pd *low_alloc_pd(struct ibv_context *ctx)
{
	pd.context = ctx;
	return &pd;
}

static struct ibv_cq *low_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
				    struct ibv_comp_channel *ch, int vector)
{
	(void)cqe;
	(void)cq_context;
	(void)ch;
	(void)vector;
	cq.context = ctx;
	return &cq;
}

static int low_post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	CU_ASSERT_PTR_EQUAL(q, qp);
	stub_log("send");
	*bad = low_ret ? wr->next : NULL;
	errno = 55;
	return low_ret;
}

static int low_post_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)q;
	(void)wr;
	(void)bad;
	stub_log("recv");
	return 0;
}

static int low_poll_cq(struct ibv_cq *q, int n, struct ibv_wc *wc)
{
	int i;

	(void)q;
	stub_log("poll");
	for (i = 0; i < n && low_entries; i++)
		wc[i] = (struct ibv_wc){ .wr_id = low_entries-- };
	return low_ret ? low_ret : i;
}

static int low_req_notify(struct ibv_cq *q, int solicited_only)
{
	(void)q;
	stub_log("arm%d", solicited_only);
	return 0;
}

static int low_get_cq_event(struct ibv_comp_channel *ch, struct ibv_cq **q, void **cq_context)
{
	(void)ch;
	stub_log("event");
	if (!low_events) {
		errno = EAGAIN;
		return -1;
	}
	low_events--;
	*q = &cq;
	*cq_context = &low_events;
	return 0;
}

static void low_ack_cq_events(struct ibv_cq *q, unsigned int n)
{
	(void)q;
	stub_log("ack%u", n);
}

static int low_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	(void)attr;
	stub_log("start");
	ex->wr_id = low_entries;
	ex->status = IBV_WC_WR_FLUSH_ERR;
	return low_entries-- ? 0 : ENOENT;
}

static int low_next_poll(struct ibv_cq_ex *ex)
{
	stub_log("next");
	ex->wr_id = low_entries;
	return low_entries-- ? 0 : ENOENT;
}

static void low_end_poll(struct ibv_cq_ex *ex)
{
	(void)ex;
	stub_log("end");
}

static uint32_t low_read_vendor_err(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0x81;
}

static uint32_t low_read_qp_num(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 17;
}

static struct ibv_cq_ex *low_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	(void)attr;
	cq_ex = (struct ibv_cq_ex){
		.context = ctx,
		.start_poll = low_start_poll,
		.next_poll = low_next_poll,
		.end_poll = low_end_poll,
		.read_vendor_err = low_read_vendor_err,
		.read_qp_num = low_read_qp_num,
	};
	return &cq_ex;
}

static void low_wr_start(struct ibv_qp_ex *ex)
{
	(void)ex;
	stub_log("wr_start");
}

static void low_wr_send(struct ibv_qp_ex *ex)
{
	(void)ex;
	stub_log("wr_send");
}

static void low_wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	(void)ex;
	stub_log("sge(%u,%llu,%u)", lkey, (unsigned long long)addr, length);
}

static int low_wr_complete(struct ibv_qp_ex *ex)
{
	(void)ex;
	stub_log("wr_complete");
	return low_ret;
}

static void low_wr_abort(struct ibv_qp_ex *ex)
{
	(void)ex;
	stub_log("wr_abort");
}

static struct ibv_qp *low_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	(void)attr;
	qp_ex = (struct ibv_qp_ex){
		.qp_base = { .context = ctx, .qp_num = 17 },
		.wr_start = low_wr_start,
		.wr_send = low_wr_send,
		.wr_set_sge = low_wr_set_sge,
		.wr_complete = low_wr_complete,
		.wr_abort = low_wr_abort,
	};
	return qp;
}

static struct ibv_qp_ex *low_qp_to_qp_ex(struct ibv_qp *q)
{
	(void)q;
	return &qp_ex;
}

static int low_to_dm(struct ibv_dm *d, uint64_t offset, const void *host, size_t length)
{
	(void)d;
	(void)host;
	stub_log("to_dm(%u,%u)", (unsigned int)offset, (unsigned int)length);
	return 0;
}

static struct ibv_dm *low_alloc_dm(struct ibv_context *ctx, struct ibv_alloc_dm_attr *attr)
{
	(void)attr;
	dm = (struct ibv_dm){ .context = ctx, .memcpy_to_dm = low_to_dm };
	return &dm;
}

/* The end of an object of any kind. */
static int low_destroy(void *obj)
{
	(void)obj;
	return 0;
}

static int low_free_dm(struct ibv_dm *d)
{
	return low_destroy(d);
}

const struct stub_fn stub_fns[] = {
	{ "ibv_open_device", (void *)low_open_device },
	{ "ibv_alloc_pd", (void *)low_alloc_pd },
	{ "ibv_create_cq", (void *)low_create_cq },
	{ "ibv_get_cq_event", (void *)low_get_cq_event },
	{ "ibv_ack_cq_events", (void *)low_ack_cq_events },
	{ "ibv_qp_to_qp_ex", (void *)low_qp_to_qp_ex },
	{ "ibv_destroy_qp", (void *)low_destroy },
	{ "ibv_destroy_cq", (void *)low_destroy },
	{ "ibv_dealloc_pd", (void *)low_destroy },
	{ "ibv_close_device", (void *)low_destroy },
	{ NULL, NULL },
};

/* The users that are on have seen how all objects were made. */
static void make_objects(bool a_is_on)
{
	struct ibv_qp_init_attr_ex qp_attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = &pd,
	};
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 1 };
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };

	stub_restart(a_is_on, true);
	context = (struct verbs_context){
		.sz = sizeof(context),
		.create_cq_ex = low_create_cq_ex,
		.create_qp_ex = low_create_qp_ex,
		.alloc_dm = low_alloc_dm,
		.free_dm = low_free_dm,
		.context = { .abi_compat = __VERBS_ABI_IS_EXTENDED,
			     .ops = { .post_send = low_post_send,
				      .post_recv = low_post_recv,
				      .poll_cq = low_poll_cq,
				      .req_notify_cq = low_req_notify } },
	};
	low_ret = 0;
	low_entries = low_events = 0;
	ibv_open_device(&device);
	ibv_alloc_pd(&context.context);
	CU_ASSERT_PTR_EQUAL(ibv_create_cq(&context.context, 1, NULL, NULL, 0), &cq);
	CU_ASSERT_PTR_EQUAL(ibv_create_cq_ex(&context.context, &cq_attr), &cq_ex);
	CU_ASSERT_PTR_EQUAL(ibv_create_qp_ex(&context.context, &qp_attr), qp);
	CU_ASSERT_PTR_EQUAL(ibv_alloc_dm(&context.context, &dm_attr), &dm);
	stub_logged();
}

static void make_all(void)
{
	make_objects(true);
}

/* --- tests --- */

static void test_post(void)
{
	struct ibv_send_wr wr[2] = { { .next = &wr[1] } }, *bad = NULL;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;

	make_all();
	CU_ASSERT_EQUAL(ibv_post_send(qp, wr, &bad), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> send b.post< a.post<");
	CU_ASSERT_PTR_NULL(bad);
	CU_ASSERT_EQUAL(errno, 55);
	low_ret = ENOMEM;
	CU_ASSERT_EQUAL(ibv_post_send(qp, wr, &bad), ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[1]);
	stub_logged();
	CU_ASSERT_EQUAL(ibv_post_recv(qp, &recv, &bad_recv), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> recv b.post< a.post<");
	stub_b.answers = "post";
	stub_b.ret = EAGAIN;
	CU_ASSERT_EQUAL(ibv_post_send(qp, wr, &bad), EAGAIN);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> a.post<");
}

/* A QP that a vendor's call has made is not in the registry. */
static void test_unknown(void)
{
	struct ibv_qp other = { .context = &context.context };

	make_all();
	low_ret = 0;
	CU_ASSERT_PTR_NULL(tap_obj_find(VOBJ_QP, &other));
	CU_ASSERT_EQUAL(ibv_post_recv(&other, NULL, NULL), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.post> b.post> recv b.post< a.post<");
}

static void fail_first(struct tap_poll *p)
{
	if (p->ret > 0)
		p->wc[0].status = IBV_WC_RETRY_EXC_ERR;
}

/* Takes everything out, the first time, and has the tap poll on. */
static void hold_once(struct tap_poll *p)
{
	stub_b.poll_end = NULL;
	p->ret = 0;
	p->again = true;
}

static void test_poll(void)
{
	struct ibv_wc wc[2];

	make_all();
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.poll> b.poll> poll b.poll< a.poll<");
	low_entries = 1;
	stub_b.poll_end = fail_first;
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	low_entries = 3;
	stub_b.poll_end = hold_once;
	stub_logged();
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 1);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.poll> b.poll> poll b.poll< a.poll< "
					      "a.poll> b.poll> poll b.poll< a.poll<");
	low_ret = -5;
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), -5);
	stub_logged();
	stub_a.answers = "poll";
	stub_a.ret = 0;
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 0);
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
	CU_ASSERT_EQUAL(ibv_req_notify_cq(&cq, 1), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cq> b.cq> arm1 b.cq< a.cq<");
	low_events = 2;
	stub_b.cq_end = withhold_once;
	CU_ASSERT_EQUAL(ibv_get_cq_event(&channel, &of, &cq_context), 0);
	CU_ASSERT_PTR_EQUAL(of, &cq);
	CU_ASSERT_PTR_EQUAL(cq_context, &low_events);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cq> b.cq> event b.cq< ack1 a.cq< "
					      "a.cq> b.cq> event b.cq< a.cq<");
	CU_ASSERT_EQUAL(ibv_get_cq_event(&channel, &of, &cq_context), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	stub_logged();
	ibv_ack_cq_events(&cq, 3);
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
	CU_ASSERT_EQUAL(ibv_start_poll(&cq_ex, &attr), 0);
	CU_ASSERT_EQUAL(read_wc.wr_id, 2);
	CU_ASSERT_EQUAL(read_wc.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(read_wc.vendor_err, 0x81);
	CU_ASSERT_EQUAL(read_wc.qp_num, 17);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cqex> b.cqex> start b.cqex< a.cqex<");
	CU_ASSERT_EQUAL(ibv_next_poll(&cq_ex), 0);
	CU_ASSERT_EQUAL(ibv_next_poll(&cq_ex), ENOENT);
	stub_logged();
	ibv_end_poll(&cq_ex);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.cqex> b.cqex> end b.cqex< a.cqex<");
}

/* Compares the log with @expected, where Q is the QP. */
static void batch_check(const char *expected)
{
	const char *log = stub_logged();
	u32 ord = tap_obj_ord(VOBJ_QP, qp), len = 0;
	char text[1024] = "";

	for (; *expected; expected++)
		len += (u32)(*expected == 'Q' ? snprintf(text + len, 16, "qp%u", ord)
					      : snprintf(text + len, 2, "%c", *expected));
	CU_ASSERT_STRING_EQUAL(log, text);
}

static void test_batch(void)
{
	make_all();
	ibv_wr_start(&qp_ex);
	batch_check("a.starting(Q) b.starting(Q) wr_start a.start(Q) b.start(Q)");
	ibv_wr_send(&qp_ex);
	batch_check("a.op(Q) b.op(Q) wr_send");
	ibv_wr_set_sge(&qp_ex, 1, 2, 3);
	batch_check("a.sge(Q) b.sge(Q) sge(1,2,3)");
	low_ret = ENOMEM;
	CU_ASSERT_EQUAL(ibv_wr_complete(&qp_ex), ENOMEM);
	batch_check("a.batch> b.batch> wr_complete b.batch< a.batch<");
	CU_ASSERT_PTR_NULL(qp_ex.wr_rdma_read);
	ibv_wr_start(&qp_ex);
	stub_b.answers = "batch";
	stub_b.ret = EINVAL;
	stub_logged();
	CU_ASSERT_EQUAL(ibv_wr_complete(&qp_ex), EINVAL);
	batch_check("a.batch> b.batch> wr_abort a.batch<");
}

static void test_dm(void)
{
	make_all();
	CU_ASSERT_EQUAL(ibv_memcpy_to_dm(&dm, 8, &dm, 16), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.dm> b.dm> to_dm(8,16) b.dm< a.dm<");
}

/* Without a second user, one that wants to see nothing sees completions only. */
static void test_quiet(void)
{
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct ibv_send_wr wr = { 0 }, *bad_send = NULL;
	struct ibv_wc wc[2];

	make_objects(false);
	stub_b.quiet = true;
	CU_ASSERT_EQUAL(ibv_post_send(qp, &wr, &bad_send), 0);
	CU_ASSERT_EQUAL(ibv_post_recv(qp, &recv, &bad), 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "send recv poll");
	low_entries = 1;
	stub_b.poll_end = fail_first;
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "poll b.poll<");
	low_entries = 1;
	stub_b.poll_end = hold_once;
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "poll b.poll< b.poll> poll b.poll<");
	stub_b.quiet = false;
	CU_ASSERT_EQUAL(ibv_post_recv(qp, &recv, &bad), 0);
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "b.post> recv b.post< b.poll> poll b.poll<");
	make_all();
	stub_a.quiet = stub_b.quiet = true;
	CU_ASSERT_EQUAL(ibv_poll_cq(&cq, 2, wc), 0);
	CU_ASSERT_STRING_EQUAL(stub_logged(), "a.poll> b.poll> poll b.poll< a.poll<");
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
	CU_ASSERT_EQUAL(ibv_free_dm(&dm), 0);
	CU_ASSERT_EQUAL(ibv_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(ibv_cq_ex_to_cq(&cq_ex)), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(&cq), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(&pd), 0);
	CU_ASSERT_EQUAL(ibv_close_device(&context.context), 0);
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
		{ "one user that wants to see no posts and no empty polls", test_quiet },
		{ "arming, events and acknowledging them; an event is withheld", test_events },
		{ "an extended CQ, and its current entry", test_cq_ex },
		{ "a batch of ibv_wr_*(), and one that a user refuses", test_batch },
		{ "a copy to device memory", test_dm },
		{ "nothing is left of destroyed objects", test_end },
		{ NULL, NULL },
	};

	return cu_run("tap, posts and polls", tests);
}
