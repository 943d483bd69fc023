/* SPDX-License-Identifier: MIT */
/* The recorder's records of operations on a CQ, with a table of one object. */
#include "tests/lib/c/cu.h"
#include "traces/record/hooks.h"
#include "traces/record/poll_record.h"
#include "traces/record/received.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

/* --- what traces/record/poll.c has of others --- */

struct rec_state rec;
__thread struct rec_thread rec_thread __attribute__((tls_model("initial-exec")));
static struct ibv_cq cq;
static struct tap_obj known = { .ord = 21 };
static bool is_known;
static struct vt_cqop written;
static enum vt_kind kind;

struct tap_obj *tap_obj_find(enum vobj what, const void *obj)
{
	return is_known && what == VOBJ_CQ && obj == &cq ? &known : NULL;
}

void rec_cqop_record(enum vt_kind as, struct rec_span span, const struct vt_cqop *op)
{
	(void)span;
	kind = as;
	written = *op;
}

struct vt_rec *rec_poll_begin(struct rec_obj *o, int ret, u32 n, struct vt_wc **wc)
{
	(void)o;
	(void)ret;
	(void)n;
	(void)wc;
	return NULL;
}

void rec_poll_fill_wc(struct vt_wc *to, const struct ibv_wc *wc, const struct tap_obj *ctx)
{
	(void)to;
	(void)wc;
	(void)ctx;
}

void rec_recv_completed(struct vt_wc *wc, const struct tap_obj *ctx)
{
	(void)wc;
	(void)ctx;
}

void rec_cqex_flush_open(void)
{
}

uint64_t vt_order_next(struct vt_writer *w)
{
	(void)w;
	return 1;
}

uint64_t vt_now(void)
{
	return 1;
}

void vt_rec_commit(struct vt_rec *r)
{
	(void)r;
}

/* --- tests --- */

static void setup(void)
{
	is_known = true;
	memset(&written, 0xff, sizeof(written));
}

/* Another thread destroys the CQ as soon as its last event is acknowledged. */
static void test_destroyed_meanwhile(void)
{
	struct tap_cqop p = { .what = TAP_CQ_ACK, .cq = &cq, .n = 1 };

	setup();
	CU_ASSERT_EQUAL(rec_cq_begin(&p), TAP_PASS);
	is_known = false;
	rec_cq_end(&p);
	CU_ASSERT_EQUAL(kind, VT_ACK);
	CU_ASSERT_EQUAL(written.cq, 21);
	CU_ASSERT_EQUAL(written.n, 1);
}

/* The call itself finds the CQ. */
static void test_event(void)
{
	struct tap_cqop p = { .what = TAP_CQ_EVENT, .n = 1 };

	setup();
	CU_ASSERT_EQUAL(rec_cq_begin(&p), TAP_PASS);
	p.cq = &cq;
	rec_cq_end(&p);
	CU_ASSERT_EQUAL(kind, VT_CQ_EVENT);
	CU_ASSERT_EQUAL(written.cq, 21);
	CU_ASSERT_EQUAL(written.ret, 0);
}

/* No event: what the program's variable has is nobody's. */
static void test_no_event(void)
{
	struct tap_cqop p = { .what = TAP_CQ_EVENT, .cq = &cq, .n = 1, .ret = -1, .err = EINTR };

	setup();
	CU_ASSERT_EQUAL(rec_cq_begin(&p), TAP_PASS);
	rec_cq_end(&p);
	CU_ASSERT_EQUAL(written.cq, 0);
	CU_ASSERT_EQUAL(written.ret, -EINTR);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "an acknowledged CQ that is destroyed meanwhile", test_destroyed_meanwhile },
		{ "a CQ with an event", test_event },
		{ "no event", test_no_event },
		{ NULL, NULL },
	};

	return cu_run("operations on a CQ", tests);
}
