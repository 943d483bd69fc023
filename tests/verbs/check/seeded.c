/* SPDX-License-Identifier: MIT */
/*
 * Programs with one mistake each, for the checker, and their twins without it:
 *
 *	app_check_seeded NAME wrong|right
 *
 * Two connected QPs with a CQ and a completion channel in one process.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED_DEPTH 8
#define SEED_BUF   4096
#define SEED_WAIT  20000

struct seed {
	bool wrong;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	uint8_t buf[SEED_BUF];
};

static void seed_must(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

static void seed_connect(struct seed *s)
{
	struct rc_addr addr[2] = { 0 };
	union ibv_gid gid;
	int index = rc_gid(s->ctx, &gid), i;

	for (i = 0; i < 2; i++)
		addr[i] = (struct rc_addr){ .qpn = s->qp[i]->qp_num, .gid = gid };
	for (i = 0; i < 2; i++)
		seed_must(!rc_up(s->qp[i], &rc_defaults, &addr[!i], index, 0), "connect");
}

static void seed_open(struct seed *s, int cqe)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { SEED_DEPTH, SEED_DEPTH, 1, 1, 0 },
	};
	int i;

	s->ctx = rc_open_first();
	s->pd = ibv_alloc_pd(s->ctx);
	s->chan = ibv_create_comp_channel(s->ctx);
	s->cq = ibv_create_cq(s->ctx, cqe, NULL, s->chan, 0);
	s->mr = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf), ALL);
	seed_must(s->pd && s->chan && s->cq && s->mr, "objects");
	init.send_cq = init.recv_cq = s->cq;
	for (i = 0; i < 2; i++) {
		s->qp[i] = ibv_create_qp(s->pd, &init);
		seed_must(s->qp[i], "ibv_create_qp");
	}
	seed_connect(s);
}

static void seed_close(struct seed *s)
{
	int i;

	for (i = 0; i < 2; i++)
		if (s->qp[i])
			ibv_destroy_qp(s->qp[i]);
	if (s->mr)
		ibv_dereg_mr(s->mr);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	ibv_destroy_comp_channel(s->chan);
	ibv_dealloc_pd(s->pd);
	ibv_close_device(s->ctx);
}

static int seed_write(struct seed *s, uint64_t wr_id, unsigned int flags, uint64_t addr,
		      uint32_t lkey, uint32_t rkey)
{
	struct ibv_sge sge = { addr, 64, lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = flags;
	wr.wr.rdma.remote_addr = (uintptr_t)s->buf + 1024;
	wr.wr.rdma.rkey = rkey;
	return ibv_post_send(s->qp[0], &wr, &bad);
}

static int seed_write_buf(struct seed *s, uint64_t wr_id, unsigned int flags)
{
	return seed_write(s, wr_id, flags, (uintptr_t)s->buf, s->mr->lkey, s->mr->rkey);
}

static int seed_receive(struct seed *s, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 64, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(s->qp[1], &wr, &bad);
}

static enum ibv_wc_status seed_poll(struct seed *s)
{
	struct ibv_wc wc;

	if (poll_cq(s->cq, SEED_WAIT, &wc) != 1)
		die("no completion");
	return wc.status;
}

/* --- the mistakes --- */

static void seed_destroy_outstanding(struct seed *s)
{
	seed_open(s, 32);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	if (!s->wrong)
		seed_poll(s);
	seed_close(s);
}

static void seed_dereg_outstanding(struct seed *s)
{
	seed_open(s, 32);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	if (!s->wrong)
		seed_poll(s);
	ibv_dereg_mr(s->mr);
	s->mr = NULL;
	if (s->wrong)
		seed_poll(s);
	seed_close(s);
}

static void seed_dereg_posted(struct seed *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	seed_open(s, 32);
	seed_must(!seed_receive(s, 1), "post");
	if (!s->wrong)
		ibv_modify_qp(s->qp[1], &attr, IBV_QP_STATE);
	ibv_dereg_mr(s->mr);
	s->mr = NULL;
	seed_close(s);
}

/* The event comes in any case: the completion is made after the CQ was armed. */
static void seed_notify_lost(struct seed *s)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

	seed_open(s, 32);
	seed_must(!seed_receive(s, 1), "post");
	ibv_poll_cq(s->cq, 1, &wc);
	ibv_req_notify_cq(s->cq, 0);
	if (!s->wrong)
		ibv_poll_cq(s->cq, 1, &wc);
	seed_must(!seed_write_buf(s, 2, IBV_SEND_SIGNALED), "post");
	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	ibv_ack_cq_events(cq, 1);
	seed_poll(s);
	seed_close(s);
}

static void *seed_ack_late(void *cq)
{
	sleep(5);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

/* Without the other thread ibv_destroy_cq() would never return. */
static void seed_event_unacked(struct seed *s)
{
	struct ibv_cq *cq;
	pthread_t other;
	void *context;

	seed_open(s, 32);
	ibv_req_notify_cq(s->cq, 0);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	seed_poll(s);
	if (!s->wrong) {
		ibv_ack_cq_events(cq, 1);
		seed_close(s);
		return;
	}
	seed_must(!pthread_create(&other, NULL, seed_ack_late, cq), "thread");
	seed_close(s);
	pthread_join(other, NULL);
}

static void *seed_ack_async_late(void *event)
{
	sleep(5);
	ibv_ack_async_event(event);
	return NULL;
}

/* The target's queue pair reports that it was accessed with a key that is none. */
static void seed_async_unacked(struct seed *s)
{
	struct ibv_async_event event;
	pthread_t other;

	seed_open(s, 32);
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, (uintptr_t)s->buf, s->mr->lkey,
			      s->mr->rkey ^ 0x5a5a00),
		  "post");
	seed_must(seed_poll(s) == IBV_WC_REM_ACCESS_ERR, "status");
	seed_must(!ibv_get_async_event(s->ctx, &event), "event");
	if (!s->wrong) {
		ibv_ack_async_event(&event);
		seed_close(s);
		return;
	}
	seed_must(!pthread_create(&other, NULL, seed_ack_async_late, &event), "thread");
	seed_close(s);
	pthread_join(other, NULL);
}

static void seed_busy(struct seed *s)
{
	seed_open(s, 32);
	if (s->wrong)
		seed_must(ibv_dealloc_pd(s->pd) == EBUSY, "ibv_dealloc_pd");
	seed_close(s);
}

static void seed_cq_small(struct seed *s)
{
	int i;

	seed_open(s, s->wrong ? 4 : 32);
	for (i = 0; i < s->cq->cqe + 1 && i < SEED_DEPTH; i++)
		seed_must(!seed_receive(s, (uint64_t)i), "post");
	seed_close(s);
}

static void seed_leak(struct seed *s)
{
	seed_open(s, 32);
	if (s->wrong)
		exit(0);
	seed_close(s);
}

static void seed_modify(struct seed *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	seed_open(s, 32);
	ibv_modify_qp(s->qp[0], &attr, IBV_QP_STATE);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 };
	seed_must(ibv_modify_qp(s->qp[0], &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					(s->wrong ? 0 : IBV_QP_ACCESS_FLAGS)) ==
			  (s->wrong ? EINVAL : 0),
		  "ibv_modify_qp");
	seed_close(s);
}

static void seed_stuck(struct seed *s)
{
	uint64_t i;

	seed_open(s, 32);
	for (i = 0; i < SEED_DEPTH * 4; i++) {
		unsigned int last = i % SEED_DEPTH == SEED_DEPTH - 1;

		if (seed_write_buf(s, i, last && !s->wrong ? IBV_SEND_SIGNALED : 0))
			break;
		if (last && !s->wrong)
			seed_poll(s);
	}
	seed_must(i == (s->wrong ? SEED_DEPTH : SEED_DEPTH * 4), "depth");
	seed_close(s);
}

static void seed_lkey_outside(struct seed *s)
{
	uint64_t addr;

	seed_open(s, 32);
	addr = (uintptr_t)s->buf + (s->wrong ? SEED_BUF - 48 : 0);
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, addr, s->mr->lkey, s->mr->rkey), "post");
	seed_must((seed_poll(s) == IBV_WC_LOC_PROT_ERR) == s->wrong, "status");
	seed_close(s);
}

/* @s->wrong: the key of a region that was deregistered. */
static void seed_key_stale(struct seed *s, bool remote)
{
	struct ibv_mr *other;
	uint32_t lkey, rkey;

	seed_open(s, 32);
	other = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf), ALL);
	seed_must(other, "ibv_reg_mr");
	lkey = other->lkey;
	rkey = other->rkey;
	if (s->wrong)
		ibv_dereg_mr(other);
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, (uintptr_t)s->buf,
			      remote ? s->mr->lkey : lkey, remote ? rkey : s->mr->rkey),
		  "post");
	seed_must((seed_poll(s) == IBV_WC_SUCCESS) == !s->wrong, "status");
	if (!s->wrong)
		ibv_dereg_mr(other);
	seed_close(s);
}

static void seed_lkey_stale(struct seed *s)
{
	seed_key_stale(s, false);
}

static void seed_rkey_stale(struct seed *s)
{
	seed_key_stale(s, true);
}

static const struct {
	const char *name;
	void (*run)(struct seed *s);
} seeds[] = {
	{ "destroy_outstanding", seed_destroy_outstanding },
	{ "dereg_outstanding", seed_dereg_outstanding },
	{ "dereg_posted", seed_dereg_posted },
	{ "notify_lost", seed_notify_lost },
	{ "event_unacked", seed_event_unacked },
	{ "async_unacked", seed_async_unacked },
	{ "busy", seed_busy },
	{ "cq_small", seed_cq_small },
	{ "leak", seed_leak },
	{ "modify", seed_modify },
	{ "stuck", seed_stuck },
	{ "lkey_outside", seed_lkey_outside },
	{ "lkey_stale", seed_lkey_stale },
	{ "rkey_stale", seed_rkey_stale },
};

int main(int argc, char **argv)
{
	static struct seed s;
	size_t i;

	if (argc != 3)
		die("usage: app_check_seeded NAME wrong|right");
	s.wrong = !strcmp(argv[2], "wrong");
	for (i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		if (!strcmp(argv[1], seeds[i].name)) {
			seeds[i].run(&s);
			return 0;
		}
	die("%s: no such mistake", argv[1]);
}
