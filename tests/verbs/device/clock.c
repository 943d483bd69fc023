/* SPDX-License-Identifier: MIT */
/*
 * A manual clock, moved to the nanosecond: timeouts, RNR waits and timestamps.
 *	app_device_clock PATH_OF_RDMAEMU
 */
#include "tests/lib/c/rc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MSEC	1000000ULL
#define TIMEOUT 14
#define ACK_NS	(4096ULL << TIMEOUT)
#define RNR	18 /* 5.12 ms */
#define RNR_NS	5120000ULL

static const char *rdmaemu;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq_ex *cq; /* all sends */
static struct ibv_cq *recv_cq;
static union ibv_gid gid;
static int gid_index;
static uint64_t buf[512];

struct pair {
	struct ibv_qp *a, *b;
};

static uint64_t clock_now(void)
{
	struct ibv_values_ex v = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	if (ibv_query_rt_values_ex(ctx, &v))
		die("ibv_query_rt_values_ex");
	return (uint64_t)v.raw_clock.tv_sec * 1000000000 + (uint64_t)v.raw_clock.tv_nsec;
}

/* Whether it went ahead by exactly that. */
static bool advance(uint64_t ns)
{
	uint64_t before = clock_now();
	char cmd[4200];

	snprintf(cmd, sizeof(cmd), "%s clock advance %lluns", rdmaemu, (unsigned long long)ns);
	return !system(cmd) && clock_now() == before + ns;
}

static struct ibv_qp *qp_new(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = ibv_cq_ex_to_cq(cq),
		.recv_cq = recv_cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp)
		die("ibv_create_qp");
	return qp;
}

/* @b is left in RESET unless @both. */
static struct pair pair_new(struct rc_opts o, bool both)
{
	struct pair p = { qp_new(), qp_new() };
	struct rc_addr a = { p.a->qp_num, 7, gid }, b = { p.b->qp_num, 7, gid };

	if (rc_up(p.a, &o, &b, gid_index, 7) || (both && rc_up(p.b, &o, &a, gid_index, 7)))
		die("QPs do not connect");
	return p;
}

static void pair_end(struct pair *p)
{
	ibv_destroy_qp(p->a);
	ibv_destroy_qp(p->b);
}

static bool post_send(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)buf, 8, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND },
			   *bad;

	return !ibv_post_send(qp, &wr, &bad);
}

static bool post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)(buf + 8), 64, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	return !ibv_post_recv(qp, &wr, &bad);
}

/*
 * Whether the next completion is that of @id, at @at; it is there at once, as advance() waits for
 * it.
 */
static bool done(uint64_t id, enum ibv_wc_status status, uint64_t at)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t ts;
	bool good;

	if (ibv_start_poll(cq, &attr)) {
		note("no completion");
		return false;
	}
	ts = ibv_wc_read_completion_ts(cq);
	good = cq->wr_id == id && cq->status == status && ts == at;
	if (!good)
		note("wr_id %lu: %s, %ld ns from when it should be", (unsigned long)cq->wr_id,
		     ibv_wc_status_str(cq->status), (long)(ts - at));
	ibv_end_poll(cq);
	return good;
}

static bool nothing(void)
{
	struct ibv_poll_cq_attr attr = { 0 };

	if (ibv_start_poll(cq, &attr))
		return true;
	ibv_end_poll(cq);
	return false;
}

static void test_stands(void)
{
	uint64_t before = clock_now();

	usleep(20000);
	ok(clock_now() == before, "it stands");
	ok(advance(1234567) && advance(1) && advance(5000 * MSEC),
	   "it goes ahead by what was said");
}

static void test_ack(void)
{
	struct rc_opts o = rc_defaults;
	struct pair p;
	uint64_t at;

	o.timeout = TIMEOUT;
	o.retry_cnt = 3;
	p = pair_new(o, false);
	at = clock_now();
	ok(post_send(p.a, 1) && advance(4 * ACK_NS - 1) && nothing(),
	   "no RETRY_EXC_ERR a nanosecond too early");
	ok(advance(1) && done(1, IBV_WC_RETRY_EXC_ERR, at + 4 * ACK_NS),
	   "RETRY_EXC_ERR after (retry_cnt + 1) timeouts");
	pair_end(&p);
}

static void test_rnr(void)
{
	struct rc_opts o = rc_defaults;
	struct pair p;
	uint64_t at;

	o.min_rnr = RNR;
	o.rnr_retry = 3;
	p = pair_new(o, true);
	at = clock_now();
	ok(post_send(p.a, 1) && advance(3 * RNR_NS - 1) && nothing() && advance(1) &&
		   done(1, IBV_WC_RNR_RETRY_EXC_ERR, at + 3 * RNR_NS),
	   "RNR_RETRY_EXC_ERR after rnr_retry waits");
	pair_end(&p);
	o.rnr_retry = 7;
	p = pair_new(o, true);
	at = clock_now();
	ok(post_send(p.a, 1) && advance(RNR_NS - 1) && post_recv(p.b) && nothing() && advance(1) &&
		   done(1, IBV_WC_SUCCESS, at + RNR_NS),
	   "what was refused goes when the wait is over");
	pair_end(&p);
}

/* One way for all: each thing happens at its own time, in order. */
static void test_order(void)
{
	struct rc_opts o = rc_defaults;
	struct pair p[4];
	uint64_t at = clock_now();
	bool good = true;
	int i;

	o.retry_cnt = 0;
	for (i = 0; i < 4; i++) {
		o.timeout = (uint8_t)(TIMEOUT + 3 - i);
		p[i] = pair_new(o, false);
		good = good && post_send(p[i].a, (uint64_t)i);
	}
	good = good && advance(3600 * 1000 * MSEC);
	for (i = 3; i >= 0; i--)
		good = good && done((uint64_t)i, IBV_WC_RETRY_EXC_ERR, at + (ACK_NS << (3 - i)));
	ok(good && nothing(), "an hour at once: from deadline to deadline");
	for (i = 0; i < 4; i++)
		pair_end(&p[i]);
}

int main(int argc, char **argv)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};

	if (argc != 2)
		die("usage: app_device_clock PATH_OF_RDMAEMU");
	rdmaemu = argv[1];
	ctx = rc_open_first();
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq_ex(ctx, &attr);
	recv_cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) : NULL;
	gid_index = rc_gid(ctx, &gid);
	if (!cq || !recv_cq || !mr || gid_index < 0)
		die("verbs objects");
	test_stands();
	test_ack();
	test_rnr();
	test_order();
	return tap_failed != 0;
}
