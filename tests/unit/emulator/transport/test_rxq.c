/* SPDX-License-Identifier: MIT */
/* A queue pair's own receive queue: what the engine remembers of what is posted. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define SEC  1000000000ULL
#define SIZE 64u

static struct emu *m;
static struct emu_qp a, b;

static void up(void)
{
	struct emu_conn o = emu_conn_defaults;

	o.rnr_retry = 7;
	m = emu_new(1);
	emu_connect(m, 0, 1, &o, &a, &b);
}

static void message_post(u64 wr_id)
{
	emu_post(m, &a, WR_SEND, wr_id, m->c[0].mem, SIZE);
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
}

static void recv_post(u64 wr_id)
{
	emu_recv(m, &b, wr_id, m->c[1].mem, SIZE);
	emu_run(m, m->clock + SEC);
}

/* The receive that was completed next, or 0: none was. */
static u64 recv_taken(void)
{
	struct cqe c = { .status = 255 };

	if (!emu_poll(m, &b.rcq, &c, m->c[1].mem))
		return 0;
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	CU_ASSERT_TRUE(emu_poll(m, &a.scq, &c, NULL));
	CU_ASSERT_EQUAL(c.status, WCS_SUCCESS);
	return c.status == WCS_SUCCESS ? c.wr_id : 0;
}

/* Each message takes one receive, whenever that is posted. */
static void test_posted_late(void)
{
	u64 i, n = 0;

	up();
	for (i = 1; i <= 100; i++) {
		if (i % 3)
			recv_post(i);
		message_post(i);
		if (!(i % 3)) {
			CU_ASSERT_EQUAL(recv_taken(), 0);
			recv_post(i);
		}
		n += recv_taken() == i;
		CU_ASSERT_EQUAL(recv_taken(), 0);
	}
	CU_ASSERT_EQUAL(n, 100);
	emu_free(m);
}

static void qp_reset(struct emu_qp *q)
{
	const struct hca_qp_attr attr = { .state = QPS_RESET };

	CU_ASSERT_EQUAL_FATAL(emu_modify(m, q, &attr, QPA_STATE), 0);
	memset((char *)m->c[q->client].seg + q->sq, 0, sizeof(struct wq_ctl));
	memset((char *)m->c[q->client].seg + q->rq, 0, sizeof(struct wq_ctl));
	q->sq_prod = q->rq_prod = 0;
}

/* A message after a reset takes none of the receives that were posted before. */
static void test_reset(void)
{
	u32 i;

	up();
	for (i = 1; i <= 3; i++)
		recv_post(i);
	message_post(1);
	CU_ASSERT_EQUAL(recv_taken(), 1);
	qp_reset(&a);
	qp_reset(&b);
	emu_pair(m, &a, &b, &emu_conn_defaults);
	message_post(2);
	CU_ASSERT_EQUAL(recv_taken(), 0);
	recv_post(2);
	CU_ASSERT_EQUAL(recv_taken(), 2);
	emu_free(m);
}

static const struct cu_test tests[] = {
	{ "a message takes the receive that is posted before it, or after it", test_posted_late },
	{ "receives from before a reset are forgotten", test_reset },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("rxq", tests);
}
