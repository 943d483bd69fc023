/* SPDX-License-Identifier: MIT */
/*
 * Packet pacing: a RAW_PACKET QP sends no faster than its rate. On a fabric with a manual clock.
 *	app_raw_pacing RDMAEMU
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAME  1000
#define FRAMES 5
#define KBPS   8000 /* FRAME bytes are 1 ms */

static struct vb_side *s;
static struct vb_pair p;
static const char *rdmaemu;

static void advance(const char *time)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "'%s' clock advance %s >/dev/null", rdmaemu, time);
	if (system(cmd))
		note("the clock did not move");
}

static int rate(uint32_t kbps, uint32_t burst)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = kbps, .max_burst_sz = burst };

	return ibv_modify_qp_rate_limit(s->qp[0].qp, &attr);
}

static void post(int n)
{
	struct vb_wr wr;

	while (n--) {
		wr = vb_pair_send(&p, 1, FRAME);
		if (vb_send(s, 0, false, &wr))
			note("post failed");
	}
}

static int take(void)
{
	struct ibv_wc wc[FRAMES];
	int n = ibv_poll_cq(s->qp[0].scq, FRAMES, wc), i;

	for (i = 0; i < n; i++)
		if (wc[i].status)
			note("%s", ibv_wc_status_str(wc[i].status));
	return n;
}

/* Whether @want frames have left, and no more. An isolated fabric's may come a moment later. */
static bool sent(int want)
{
	int n = take(), waited;

	for (waited = 0; n < want && waited < VB_WAIT; waited++) {
		usleep(1000);
		n += take();
	}
	/* When the clock has moved, the engine has done all that was to be done before. */
	advance("1ns");
	n += take();
	if (n != want)
		note("%d frames, not %d", n, want);
	return n == want;
}

static void test_rate(void)
{
	int i;

	ok(!rate(KBPS, 0), "a rate is set");
	post(FRAMES);
	ok(sent(1), "the first frame leaves at once");
	advance("900us");
	ok(sent(0), "the second not before its time");
	advance("200us");
	ok(sent(1), "but then");
	for (i = 2; i < FRAMES; i++) {
		advance("1ms");
		ok(sent(1), "and one at a time");
	}
	advance("1s");
	post(FRAMES);
	ok(sent(1), "time that passed unused is no credit");
	ok(!rate(0, 0), "the rate is taken back");
	advance("1us");
	ok(sent(FRAMES - 1), "what waits leaves");
}

static void test_burst(void)
{
	ok(!rate(KBPS, 2 * FRAME), "a burst is allowed");
	post(FRAMES);
	ok(sent(3), "two frames more leave at once");
	advance("1ms");
	ok(sent(1), "then one at a time");
	rate(0, 0);
	advance("1us");
	ok(sent(1), "and the rest");
}

static void test_refused(void)
{
	const struct ibv_packet_pacing_caps *caps = &s->info.dev.packet_pacing_caps;
	struct ibv_qp_attr attr = { .rate_limit = KBPS };

	ok(caps->qp_rate_limit_min == 1 && caps->qp_rate_limit_max &&
		   caps->supported_qpts == 1u << IBV_QPT_RAW_PACKET,
	   "the capability");
	ok(rate(caps->qp_rate_limit_max + 1, 0) == EINVAL, "above the maximum: EINVAL");
	ok(rate(0, FRAME) == EINVAL, "a burst of no rate: EINVAL");
	ok(!ibv_modify_qp(s->qp[0].qp, &attr, IBV_QP_RATE_LIMIT), "ibv_modify_qp()");
	post(2);
	ok(sent(1), "paces, too");
	attr.rate_limit = 0;
	ok(!ibv_modify_qp(s->qp[0].qp, &attr, IBV_QP_RATE_LIMIT), "until it does not");
	advance("1us");
	ok(sent(1), "the rest leaves");
}

int main(int argc, char **argv)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RAW_PACKET), rc = vb_spec_of(IBV_QPT_RC);
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = KBPS };

	if (argc != 2)
		return 2;
	rdmaemu = argv[1];
	s = vb_local();
	vb_open(s);
	ok(!vb_pair_up(&p, s, s, &spec), "a pair");
	test_rate();
	test_burst();
	test_refused();
	vb_pair_down(&p);
	ok(!vb_pair_up(&p, s, s, &rc), "a connected pair");
	ok(ibv_modify_qp_rate_limit(s->qp[0].qp, &attr) == EINVAL, "has no rate");
	return tap_failed != 0;
}
