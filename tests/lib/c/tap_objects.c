/* SPDX-License-Identifier: MIT */
#include "tests/lib/c/tap_objects.h"
#include "tests/lib/c/cu.h"

#include <errno.h>

static struct ibv_device device = { .name = "stub0" };
struct verbs_context low_context;
struct ibv_pd low_pd;
struct ibv_cq_ex low_cq_ex;
struct ibv_cq low_cq;
struct ibv_qp_ex low_qp_ex;
struct ibv_qp *const low_qp = &low_qp_ex.qp_base;
struct ibv_comp_channel low_channel;
struct ibv_dm low_dm;

int low_ret;
u32 low_entries;
u32 low_events;

static struct ibv_context *low_open_device(struct ibv_device *dev)
{
	low_context.context.device = dev;
	return &low_context.context;
}

static struct ibv_pd *low_alloc_pd(struct ibv_context *ctx)
{
	low_pd.context = ctx;
	return &low_pd;
}

static struct ibv_cq *low_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
				    struct ibv_comp_channel *ch, int vector)
{
	(void)cqe;
	(void)cq_context;
	(void)ch;
	(void)vector;
	low_cq.context = ctx;
	return &low_cq;
}

static int low_post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	CU_ASSERT_PTR_EQUAL(q, low_qp);
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
	*q = &low_cq;
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
	low_cq_ex = (struct ibv_cq_ex){
		.context = ctx,
		.start_poll = low_start_poll,
		.next_poll = low_next_poll,
		.end_poll = low_end_poll,
		.read_vendor_err = low_read_vendor_err,
		.read_qp_num = low_read_qp_num,
	};
	return &low_cq_ex;
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
	low_qp_ex = (struct ibv_qp_ex){
		.qp_base = { .context = ctx, .qp_num = 17 },
		.wr_start = low_wr_start,
		.wr_send = low_wr_send,
		.wr_set_sge = low_wr_set_sge,
		.wr_complete = low_wr_complete,
		.wr_abort = low_wr_abort,
	};
	return low_qp;
}

static struct ibv_qp_ex *low_qp_to_qp_ex(struct ibv_qp *q)
{
	(void)q;
	return &low_qp_ex;
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
	low_dm = (struct ibv_dm){ .context = ctx, .memcpy_to_dm = low_to_dm };
	return &low_dm;
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

void low_make_objects(bool a_is_on)
{
	struct ibv_qp_init_attr_ex qp_attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = &low_pd,
	};
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 1 };
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };

	stub_restart(a_is_on, true);
	low_context = (struct verbs_context){
		.sz = sizeof(low_context),
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
	ibv_alloc_pd(&low_context.context);
	CU_ASSERT_PTR_EQUAL(ibv_create_cq(&low_context.context, 1, NULL, NULL, 0), &low_cq);
	CU_ASSERT_PTR_EQUAL(ibv_create_cq_ex(&low_context.context, &cq_attr), &low_cq_ex);
	CU_ASSERT_PTR_EQUAL(ibv_create_qp_ex(&low_context.context, &qp_attr), low_qp);
	CU_ASSERT_PTR_EQUAL(ibv_alloc_dm(&low_context.context, &dm_attr), &low_dm);
	stub_logged();
}

void low_destroy_objects(void)
{
	CU_ASSERT_EQUAL(ibv_free_dm(&low_dm), 0);
	CU_ASSERT_EQUAL(ibv_destroy_qp(low_qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(ibv_cq_ex_to_cq(&low_cq_ex)), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(&low_cq), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(&low_pd), 0);
	CU_ASSERT_EQUAL(ibv_close_device(&low_context.context), 0);
}

/* --- what users do --- */

void low_fail_first(struct tap_poll *p)
{
	if (p->ret > 0)
		p->wc[0].status = IBV_WC_RETRY_EXC_ERR;
}

void low_hold_once(struct tap_poll *p)
{
	stub_b.poll_end = NULL;
	p->ret = 0;
	p->again = true;
}
