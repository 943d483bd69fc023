/* SPDX-License-Identifier: MIT */
/*
 * Four SENDs, all with one wr_id, of which a rule lets one fail, or its receive: prints the
 * completions of one queue pair, and the state in which it ends.
 *	app_fault_work chain|batch|receives [extended]
 * chain: by ibv_post_send(); batch: by ibv_wr_send(); receives: the receives' completions are
 * printed. extended: completions are read by ibv_start_poll().
 */
#include "tests/lib/c/rc_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N	 4
#define LEN	 64
#define WR_ID	 7
#define LAST_ID	 8 /* of a request that is posted after an error */
#define PATIENCE 60000000000ull

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *recv_cq;
static struct ibv_cq_ex *cq;
static struct ibv_qp *a, *b;
static int gid_index;
static uint8_t buf[LEN];

static struct ibv_qp *qp_new(struct ibv_cq *send_cq)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.cap = { 2 * N, 2 * N, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	return ibv_create_qp_ex(ctx, &init);
}

static void qps_connect(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 * N, .wc_flags = IBV_WC_EX_WITH_QP_NUM };
	struct rc_addr at[2] = { { .psn = 7 }, { .psn = 7 } };
	struct rc_opts o = rc_defaults;

	cq = ibv_create_cq_ex(ctx, &attr);
	recv_cq = ibv_create_cq(ctx, 4 * N, NULL, NULL, 0);
	a = cq && recv_cq ? qp_new(ibv_cq_ex_to_cq(cq)) : NULL;
	b = a ? qp_new(recv_cq) : NULL;
	if (!b || ibv_query_gid(ctx, 1, gid_index, &at[0].gid))
		die("verbs objects: %s", strerror(errno));
	at[1].gid = at[0].gid;
	at[0].qpn = a->qp_num;
	at[1].qpn = b->qp_num;
	if (rc_up(a, &o, &at[1], gid_index, 7) || rc_up(b, &o, &at[0], gid_index, 7))
		die("QPs do not connect");
}

static void qps_destroy(void)
{
	if (ibv_destroy_qp(a) || ibv_destroy_qp(b) || ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) ||
	    ibv_destroy_cq(recv_cq))
		die("objects are not destroyed");
}

static void post_recvs(struct ibv_qp *qp, int n)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN, mr->lkey };
	struct ibv_recv_wr wr[N], *bad;
	int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_recv_wr){ WR_ID, i + 1 < n ? &wr[i + 1] : NULL, &sge, 1 };
	if (ibv_post_recv(qp, wr, &bad))
		die("ibv_post_recv");
}

/* A chain of sends of which the last is signaled. */
static void post_chain(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN, mr->lkey };
	struct ibv_send_wr wr[N] = { 0 }, *bad;
	int i;

	for (i = 0; i < N; i++) {
		wr[i].wr_id = WR_ID;
		wr[i].next = i + 1 < N ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
	}
	wr[N - 1].send_flags = IBV_SEND_SIGNALED;
	if (ibv_post_send(qp, wr, &bad))
		die("ibv_post_send");
	for (i = 0; i < N; i++)
		if (wr[i].wr_id != WR_ID || wr[i].send_flags != (i + 1 < N ? 0 : IBV_SEND_SIGNALED))
			die("the program's request %d has changed", i);
}

/* The same; wr_id and flags are set once, and the flags again for the last one. */
static void post_batch(struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	int i;

	ibv_wr_start(ex);
	ex->wr_id = WR_ID;
	ex->wr_flags = 0;
	for (i = 0; i < N; i++) {
		if (i == N - 1)
			ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, LEN);
	}
	if (ibv_wr_complete(ex) || ex->wr_id != WR_ID || ex->wr_flags != IBV_SEND_SIGNALED)
		die("ibv_wr_complete");
}

/*
 * A request of a queue pair in ERR: it is flushed after all others. rdma_rxe does not see a receive
 * that is posted, and looks at its queue again when the state is set.
 */
static void post_last(struct ibv_qp *qp)
{
	struct ibv_qp_attr again = { .qp_state = IBV_QPS_ERR };
	struct ibv_send_wr send = { .wr_id = LAST_ID, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .wr_id = LAST_ID }, *bad_recv;
	struct ibv_send_wr *bad_send;

	send.send_flags = IBV_SEND_SIGNALED;
	if (qp == a ? ibv_post_send(qp, &send, &bad_send) : ibv_post_recv(qp, &recv, &bad_recv))
		die("a post after an error");
	if (qp == b && ibv_modify_qp(qp, &again, IBV_QP_STATE))
		die("ERR again");
}

/* Return: its status, -1: there is none in time, or -2: it is of the last request */
static int next_plain(struct ibv_cq *from)
{
	uint64_t end = now_ns() + PATIENCE;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(from, 1, &wc)) && now_ns() < end)
		;
	if (n > 0 && wc.wr_id == LAST_ID)
		return -2;
	if (n < 0 || (n && wc.wr_id != WR_ID))
		die("ibv_poll_cq: %d, wr_id %llu", n, (unsigned long long)wc.wr_id);
	return n ? (int)wc.status : -1;
}

static int next_extended(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t end = now_ns() + PATIENCE;
	int status, ret;

	while ((ret = ibv_start_poll(cq, &attr)) == ENOENT && now_ns() < end)
		;
	if (ret)
		return -1;
	if (cq->wr_id != WR_ID && cq->wr_id != LAST_ID)
		die("ibv_start_poll: wr_id %llu", (unsigned long long)cq->wr_id);
	status = cq->wr_id == LAST_ID ? -2 : (int)cq->status;
	ibv_end_poll(cq);
	return status;
}

/*
 * Print the completions of @plain, or of the extended CQ, and the state of @qp. A failed request
 * and those after it complete, whether they are signaled or not; before that, the last one.
 */
static void tell(struct ibv_qp *qp, struct ibv_cq *plain)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	bool failed = false;
	int n, status;

	for (n = 1;; n++) {
		status = plain ? next_plain(plain) : next_extended();
		if (status == -2)
			break;
		if (status < 0)
			die("no completion");
		printf("%s, ", ibv_wc_status_str((enum ibv_wc_status)status));
		if (status == IBV_WC_SUCCESS && (qp == a || n == N))
			break;
		if (status != IBV_WC_SUCCESS && !failed)
			post_last(qp);
		failed |= status != IBV_WC_SUCCESS;
	}
	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		die("ibv_query_qp");
	printf("state %d\n", (int)attr.qp_state);
}

int main(int argc, char **argv)
{
	const char *post = argc > 1 ? argv[1] : "";
	bool extended = argc > 2;

	ctx = rc_open_first();
	pd = ibv_alloc_pd(ctx);
	gid_index = rc_gid(ctx, &(union ibv_gid){ 0 });
	mr = pd ? ibv_reg_mr(pd, buf, LEN, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!mr || gid_index < 0)
		die("verbs objects: %s", strerror(errno));
	qps_connect();
	post_recvs(b, N);
	if (!strcmp(post, "batch"))
		post_batch(a);
	else
		post_chain(a);
	if (!strcmp(post, "receives"))
		tell(b, recv_cq);
	else
		tell(a, extended ? NULL : ibv_cq_ex_to_cq(cq));
	qps_destroy();
	return 0;
}
