/* SPDX-License-Identifier: MIT */
/*
 * The real-time format of timestamps, as mlx5 devices have it where their firmware is set to:
 * seconds << 32 | nanoseconds of the device's clock, and one format for both queues of a queue
 * pair.
 *	app_cq_real_time no|yes [RDMAEMU]: what the device does; RDMAEMU moves the fabric's clock
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CQS  15 /* index of the entry that lends its CQs */
#define SEND 0
#define RECV 1
#define GIGA 1000000000ull

#define TS   ((uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
#define WALL ((uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct vb_side *s;
static bool real_time;

static struct ibv_cq_ex *cq_with(uint64_t wc_flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 64, .wc_flags = wc_flags };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(s->ctx, &attr);

	if (!cq)
		die("ibv_create_cq_ex: %s", strerror(errno));
	return cq;
}

/* The errno value of a QP with these two CQs, 0: it is made. */
static int qp_errno(enum ibv_qp_type type, struct ibv_cq_ex *scq, struct ibv_cq_ex *rcq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = ibv_cq_ex_to_cq(scq),
		.recv_cq = type == IBV_QPT_XRC_SEND ? NULL : ibv_cq_ex_to_cq(rcq),
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = type == IBV_QPT_XRC_SEND ? 0 : 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = type,
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(s->pd, &attr);
	if (!qp)
		return errno ? errno : -1;
	return ibv_destroy_qp(qp);
}

static void test_formats(void)
{
	static const struct {
		const char *name;
		enum ibv_qp_type type;
		uint64_t send, recv;
		bool refused;
	} row[] = {
		{ "RC, both real time", IBV_QPT_RC, WALL, WALL, false },
		{ "RC, receives without timestamps", IBV_QPT_RC, WALL, 0, true },
		{ "RC, sends without timestamps", IBV_QPT_RC, 0, WALL, true },
		{ "RC, real time and free running", IBV_QPT_RC, WALL, TS, true },
		{ "RC, a CQ that wants both is free running", IBV_QPT_RC, WALL, WALL | TS, true },
		{ "RC, free running and both", IBV_QPT_RC, TS, WALL | TS, false },
		{ "RC, free running and without", IBV_QPT_RC, TS, 0, false },
		{ "UC, sends without timestamps", IBV_QPT_UC, 0, WALL, true },
		{ "UD, sends without timestamps", IBV_QPT_UD, 0, WALL, true },
		{ "XRC_SEND has no receives", IBV_QPT_XRC_SEND, WALL, 0, true },
		{ "RAW_PACKET has two formats", IBV_QPT_RAW_PACKET, WALL, TS, false },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int want = real_time && row[i].refused ? EOPNOTSUPP : 0;
		struct ibv_cq_ex *scq = cq_with(row[i].send), *rcq = cq_with(row[i].recv);

		ok(qp_errno(row[i].type, scq, rcq) == want, "%s: %s", row[i].name, strerror(want));
		ibv_destroy_cq(ibv_cq_ex_to_cq(scq));
		ibv_destroy_cq(ibv_cq_ex_to_cq(rcq));
	}
}

static void set_up(uint64_t wc_flags)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	s->qp[CQS].scq = ibv_cq_ex_to_cq(cq_with(wc_flags));
	s->qp[CQS].rcq = ibv_cq_ex_to_cq(cq_with(wc_flags));
	spec.cqs_of = CQS + 1;
	if (vb_link(s, SEND, &spec, s, RECV, &spec))
		die("queue pairs: %s", strerror(errno));
}

static void tear_down(void)
{
	if (vb_destroy(s, SEND) || vb_destroy(s, RECV) || ibv_destroy_cq(s->qp[CQS].scq) ||
	    ibv_destroy_cq(s->qp[CQS].rcq))
		die("cannot destroy");
}

/* The timestamp of the next completion, as the program reads it. */
static uint64_t stamp(struct ibv_cq *cq)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq;
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t began = now_ns(), ts;
	int ret;

	do {
		ret = ibv_start_poll(ex, &attr);
	} while (ret == ENOENT && poll_pause(began, VB_WAIT));
	if (ret || ex->status != IBV_WC_SUCCESS)
		die("no completion");
	ts = ibv_wc_read_completion_wallclock_ns(ex);
	ibv_end_poll(ex);
	return ts;
}

static void message(uint64_t *sent, uint64_t *received)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, s, s->buf, 8);

	if (vb_recv1(s, RECV, 1, s->buf + 4096, 64) || vb_send(s, SEND, false, &wr))
		die("no message");
	*received = stamp(s->qp[CQS].rcq);
	*sent = stamp(s->qp[CQS].scq);
}

static uint64_t wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * GIGA + (uint64_t)ts.tv_nsec;
}

static uint64_t to_ns(uint64_t real_time_stamp)
{
	return (real_time_stamp >> 32) * GIGA + (real_time_stamp & 0xffffffff);
}

static void test_stamps(void)
{
	const uint64_t slack = real_time ? 0 : 1000000; /* conversions are not exact */
	uint64_t before, after, sent, received;

	set_up(WALL);
	before = wall_clock();
	message(&sent, &received);
	after = wall_clock();
	if (real_time) {
		ok((sent & 0xffffffff) < GIGA && (received & 0xffffffff) < GIGA,
		   "the lower halves of the stamps are nanoseconds");
		sent = to_ns(sent);
		received = to_ns(received);
	}
	ok(before <= received + slack && received <= after + slack && before <= sent + slack &&
		   sent <= after + slack,
	   "they are of the time between before and after");
	tear_down();
	set_up(WALL | TS);
	before = wall_clock();
	message(&sent, &received);
	after = wall_clock();
	ok(before <= received + 1000000 && received <= after + 1000000,
	   "a CQ that wants both timestamps has nanoseconds");
	tear_down();
}

static void test_manual(const char *rdmaemu)
{
	uint64_t sent[3], received[3];
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "'%s' clock advance 1500ms >/dev/null", rdmaemu);
	set_up(WALL);
	message(&sent[0], &received[0]);
	message(&sent[1], &received[1]);
	if (system(cmd))
		die("the clock did not move");
	message(&sent[2], &received[2]);
	ok(sent[0] == sent[1] && received[0] == received[1] && sent[0] == received[0],
	   "while the fabric's clock stands, the device's does");
	ok(to_ns(sent[2]) - to_ns(sent[1]) == 1500000000 && sent[2] == received[2],
	   "and moves with it");
	tear_down();
}

int main(int argc, char **argv)
{
	real_time = argc > 1 && !strcmp(argv[1], "yes");
	s = vb_local();
	vb_open(s);
	if (argc > 2) {
		test_manual(argv[2]);
		return tap_failed != 0;
	}
	test_formats();
	test_stamps();
	return tap_failed != 0;
}
