/* SPDX-License-Identifier: MIT */
/* Habits that cost speed. */
#include "tests/lib/c/rc_qps.h"
#include "tests/lib/c/seed.h"

#include <stddef.h>
#include <stdlib.h>

#define SEED_MANY 257 /* one more than a habit takes */

/* Opens with queues for SEED_MANY requests, and inline data of 64 bytes. */
static void seed_open_deep(struct seed *s)
{
	struct rc_opts o = seed_opts;

	o.send_wr = o.recv_wr = SEED_MANY;
	o.inl = 64;
	seed_open_with(s, 4 * SEED_MANY, &o, &o);
}

static void seed_write_must(struct seed *s, int i, unsigned int flags)
{
	seed_must(!seed_write_buf(s, (uint64_t)i, flags), "post");
}

static void seed_signal_each(struct seed *s)
{
	int i;

	seed_open_deep(s);
	for (i = 0; i < SEED_MANY; i++)
		seed_write_must(s, i, s->wrong || i % 8 == 0 ? IBV_SEND_SIGNALED : 0);
	for (; i > 0; i -= s->wrong ? 1 : 8)
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "status");
	seed_close(s);
}

static void seed_inline_unused(struct seed *s)
{
	int i;

	seed_open_deep(s);
	for (i = 0; i < SEED_MANY; i++) {
		seed_write_must(s, i, IBV_SEND_SIGNALED | (s->wrong ? 0 : IBV_SEND_INLINE));
		seed_poll(s);
	}
	seed_close(s);
}

static void seed_unaligned(struct seed *s)
{
	static uint8_t area[4 * SEED_BUF] __attribute__((aligned(64)));
	struct ibv_sge sge = { (uintptr_t)area + (s->wrong ? 8 : 0), SEED_BUF, 0 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_mr *mr;
	int i;

	seed_open(s, 32);
	mr = ibv_reg_mr(s->pd, area, sizeof(area), ALL);
	seed_must(mr, "ibv_reg_mr");
	sge.lkey = mr->lkey;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = (uintptr_t)area + 2 * SEED_BUF;
	wr.wr.rdma.rkey = mr->rkey;
	for (i = 0; i < SEED_MANY; i++) {
		seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
		seed_poll(s);
	}
	ibv_dereg_mr(mr);
	seed_close(s);
}

/* The twin posts the same receives in chains of two. */
static void seed_post_single(struct seed *s)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr[2] = {
		{ .sg_list = &sge, .num_sge = 1 },
		{ .sg_list = &sge, .num_sge = 1 },
	}, *bad;
	int i;

	seed_open_deep(s);
	sge = (struct ibv_sge){ (uintptr_t)s->buf, 64, s->mr->lkey };
	if (!s->wrong)
		wr[0].next = &wr[1];
	for (i = 0; i < SEED_MANY - 1; i += s->wrong ? 1 : 2)
		seed_must(!ibv_post_recv(s->qp[1], wr, &bad), "post");
	seed_close(s);
}

/* All completions are there at once: those of flushed receives. */
static void seed_poll_single(struct seed *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc[16];
	int i, n;

	seed_open_deep(s);
	for (i = 0; i < SEED_MANY; i++)
		seed_must(!seed_receive(s, (uint64_t)i), "post");
	seed_must(!ibv_modify_qp(s->qp[1], &attr, IBV_QP_STATE), "ibv_modify_qp");
	for (n = 0; n < SEED_MANY; n += i) {
		i = ibv_poll_cq(s->cq, s->wrong ? 1 : 16, wc);
		seed_must(i >= 0, "poll");
	}
	seed_close(s);
}

/* The profile of the test has one queue pair at hand. */
static void seed_qp_cache(struct seed *s)
{
	struct ibv_sge sge;
	int i;

	seed_open(s, 32);
	sge = (struct ibv_sge){ (uintptr_t)s->buf, 64, s->mr->lkey };
	for (i = 0; i < 2; i++) {
		seed_must(!rc_qps_send(s->qp[i && s->wrong], IBV_WR_RDMA_WRITE, (uint64_t)i, sge,
				       s->buf + 1024, s->mr->rkey),
			  "post");
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "status");
	}
	seed_close(s);
}

/* The twin registers other memory each time. */
static void seed_registered(struct seed *s)
{
	struct ibv_mr *mr;
	int i;

	seed_open(s, 32);
	for (i = 0; i < 65; i++) {
		mr = ibv_reg_mr(s->pd, s->buf + (s->wrong ? 0 : 8 * i), 64, IBV_ACCESS_LOCAL_WRITE);
		seed_must(mr, "ibv_reg_mr");
		ibv_dereg_mr(mr);
	}
	seed_close(s);
}

static const struct seed_case seeds[] = {
	{ "signal_each", seed_signal_each }, { "inline_unused", seed_inline_unused },
	{ "unaligned", seed_unaligned },     { "post_single", seed_post_single },
	{ "poll_single", seed_poll_single }, { "registered", seed_registered },
	{ "qp_cache", seed_qp_cache },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
