/* SPDX-License-Identifier: MIT */
/*
 * A queue pair fails, by its own doing or by a fault rule: prints its completions and its state.
 *	app_fault_own_error access|request|protection|rnr|retry|receive own|rule
 * Four requests: the first one completes well, the second one is to fail, which flushes the others.
 * own: the program makes the second one fail. rule: it makes the same requests, all of them good,
 * and a rule `wc status=... nth=2` is to fail the second one. The output is to be the same.
 */
#include "tests/lib/c/rc_qps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N	 4
#define LEN	 64
#define WAIT_MS	 60000
#define BAD_KEYS 0x5500

enum cause { ACCESS, REQUEST, PROTECTION, RNR, RETRY, RECEIVE, CAUSES };

static const char *const causes[CAUSES] = { "access", "request", "protection",
					    "rnr",    "retry",	 "receive" };

/* The requests of each cause. */
static const enum ibv_wr_opcode opcodes[CAUSES] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						    IBV_WR_RDMA_READ,  IBV_WR_SEND,
						    IBV_WR_SEND,       IBV_WR_SEND };

static struct ibv_mr *mr;
static struct ibv_cq *send_cq, *recv_cq;
static struct rc_qps qps;
static uint8_t buf[2 * LEN];

static void recv_post(uint64_t wr_id, bool good)
{
	struct ibv_sge sge = { (uintptr_t)buf + LEN, LEN, good ? mr->lkey : mr->lkey ^ BAD_KEYS };

	if (rc_qps_recv(qps.b, wr_id, sge))
		die("ibv_post_recv: wr_id %d", (int)wr_id);
}

static void send_post(enum cause cause, uint64_t wr_id, bool good)
{
	bool lkey_good = good || cause != PROTECTION, rkey_good = good || cause != ACCESS;
	struct ibv_sge sge = { (uintptr_t)buf, LEN, lkey_good ? mr->lkey : mr->lkey ^ BAD_KEYS };

	if (rc_qps_send(qps.a, opcodes[cause], wr_id, sge, buf + LEN,
			rkey_good ? mr->rkey : mr->rkey ^ BAD_KEYS))
		die("ibv_post_send: wr_id %d", (int)wr_id);
}

static void completion_print(struct ibv_cq *cq, const struct ibv_qp *qp)
{
	struct ibv_wc wc;

	if (poll_cq(cq, WAIT_MS, &wc) != 1)
		die("no completion");
	printf("wr_id %d: status %d (%s), vendor_err %#x%s\n", (int)wc.wr_id, (int)wc.status,
	       ibv_wc_status_str(wc.status), wc.vendor_err,
	       wc.qp_num == qp->qp_num ? "" : ", of another queue pair");
}

/* Makes the peer refuse, or not answer, requests after the first one. */
static void peer_spoil(enum cause cause)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR, .qp_access_flags = LW };
	int mask = cause == REQUEST ? IBV_QP_ACCESS_FLAGS : cause == RETRY ? IBV_QP_STATE : 0;

	if (mask && ibv_modify_qp(qps.b, &attr, mask))
		die("ibv_modify_qp: %s", strerror(errno));
}

static void requests_run(enum cause cause, bool own)
{
	bool messages = opcodes[cause] == IBV_WR_SEND;
	struct ibv_qp *qp = cause == RECEIVE ? qps.b : qps.a;
	struct ibv_cq *cq = cause == RECEIVE ? recv_cq : send_cq;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int i;

	for (i = 0; messages && i < (own && cause == RNR ? 1 : N); i++)
		recv_post(i + 1, !own || cause != RECEIVE || i != 1);
	send_post(cause, 1, true);
	completion_print(cq, qp);
	if (own)
		peer_spoil(cause);
	for (i = 1; i < N; i++)
		send_post(cause, i + 1, !own || i != 1);
	for (i = 1; i < N; i++)
		completion_print(cq, qp);
	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		die("ibv_query_qp");
	printf("state %d\n", (int)attr.qp_state);
}

int main(int argc, char **argv)
{
	struct rc_opts o = rc_defaults;
	struct ibv_context *ctx;
	int cause = 0, ret;
	struct ibv_pd *pd;

	while (argc == 3 && cause < CAUSES && strcmp(argv[1], causes[cause]) != 0)
		cause++;
	if (argc != 3 || cause == CAUSES)
		die("expected access, request, protection, rnr, retry or receive, and own or rule");
	ctx = rc_open_first();
	pd = ibv_alloc_pd(ctx);
	mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), ALL) : NULL;
	send_cq = ibv_create_cq(ctx, 4 * N, NULL, NULL, 0);
	recv_cq = ibv_create_cq(ctx, 4 * N, NULL, NULL, 0);
	if (!mr || !send_cq || !recv_cq)
		die("verbs objects: %s", strerror(errno));
	/* 0.3 s for each of four attempts: the device may be a slow guest's. */
	o.timeout = 16;
	o.retry_cnt = 3;
	o.rnr_retry = 0;
	ret = rc_qps_up(&qps, pd, send_cq, recv_cq, &o);
	if (ret)
		die("queue pairs: %s", strerror(ret));
	requests_run((enum cause)cause, !strcmp(argv[2], "own"));
	return rc_qps_down(&qps) ? 1 : 0;
}
