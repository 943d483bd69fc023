/* SPDX-License-Identifier: MIT */
/*
 * A device gives as much as it advertises: advertised queues | objects | cqs | qps | qps_sge.
 *
 * queues: more of the largest queues than 4 GiB of rings hold, and the last ones work.
 * objects: all QPs, CQs, memory regions and memory windows of the device at the same time.
 * cqs, qps, qps_sge: print how many there can be of CQs of max_cqe entries, and of QPs of max_qp_wr
 *	requests with one SGE or max_sge of them, and of how many the device advertises.
 */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_QPS 600 /* 447 would fill 4 GiB, and 18 of the CQs */
#define LARGE_CQS 24
#define QKEY	  0x1234

static struct ibv_context *ctx;
static struct ibv_device_attr dev;
static struct ibv_port_attr port;
static union ibv_gid gid;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static uint8_t buf[4096];

static void require(const void *p, const char *what, int n)
{
	if (p)
		return;
	printf("not ok %s %d: %s\n", what, n, strerror(errno));
	exit(1);
}

static void device_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	require(list && list[0] ? list : NULL, "device list", 0);
	ctx = ibv_open_device(list[0]);
	require(ctx, "context", 0);
	ibv_free_device_list(list);
	if (ibv_query_device(ctx, &dev) || ibv_query_port(ctx, 1, &port) ||
	    ibv_query_gid(ctx, 1, 0, &gid))
		exit(1);
	pd = ibv_alloc_pd(ctx);
	require(pd, "PD", 0);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), ALL);
	require(mr, "MR", 0);
}

/* Without a link layer: its queue pairs are of datagrams. */
static bool is_efa(void)
{
	return port.link_layer == IBV_LINK_LAYER_UNSPECIFIED;
}

static struct ibv_qp *qp_make_sge(struct ibv_cq *cq, uint32_t wr, uint32_t sge)
{
	struct ibv_qp_init_attr init = {
		.qp_type = is_efa() ? IBV_QPT_UD : IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = wr,
			 .max_recv_wr = wr,
			 .max_send_sge = sge,
			 .max_recv_sge = sge },
	};

	return ibv_create_qp(pd, &init);
}

static struct ibv_qp *qp_make(struct ibv_cq *cq, uint32_t wr)
{
	return qp_make_sge(cq, wr, 1);
}

static bool qp_start_datagrams(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return false;
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE))
		return false;
	a.qp_state = IBV_QPS_RTS;
	return !ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* Connect a QP with itself. */
static bool qp_connect(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT,
				 .port_num = 1,
				 .qp_access_flags = RW | RR };

	if (is_efa())
		return qp_start_datagrams(qp);
	if (ibv_modify_qp(qp, &a,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return false;
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port.active_mtu,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .grh = { .dgid = gid, .hop_limit = 1 },
			     .dlid = port.lid,
			     .port_num = 1 },
	};
	if (ibv_modify_qp(qp, &a,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return false;
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				  .timeout = 18,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .max_rd_atomic = 1 };
	return !ibv_modify_qp(qp, &a,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* One SEND from a QP to itself. */
static bool qp_works(struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_sge from = { (uintptr_t)buf, 8, mr->lkey };
	const uint32_t head = is_efa() ? 40 : 0;
	struct ibv_sge to = { (uintptr_t)buf + 2048, head + 8, mr->lkey };
	struct ibv_ah_attr self = { .is_global = 1, .grh = { .dgid = gid }, .port_num = 1 };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;
	struct ibv_wc wc;
	int n = 0, got;

	memcpy(buf, "abcdefg", 8);
	memset(buf + 2048, 0, head + 8);
	if (is_efa()) {
		send.wr.ud.ah = ibv_create_ah(pd, &self);
		send.wr.ud.remote_qpn = qp->qp_num;
		send.wr.ud.remote_qkey = QKEY;
	}
	if (ibv_post_recv(qp, &recv, &bad_recv) || ibv_post_send(qp, &send, &bad_send))
		return false;
	while (n < 2) {
		got = ibv_poll_cq(cq, 1, &wc);
		if (got < 0 || (got && wc.status != IBV_WC_SUCCESS))
			return false;
		n += got;
	}
	return !memcmp(buf, buf + 2048 + head, 8) && !(is_efa() && ibv_destroy_ah(send.wr.ud.ah));
}

static void test_queues(void)
{
	static struct ibv_qp *qp[LARGE_QPS];
	static struct ibv_cq *cq[LARGE_CQS];
	int i, bad = 0;

	for (i = 0; i < LARGE_CQS; i++) {
		cq[i] = ibv_create_cq(ctx, dev.max_cqe, NULL, NULL, 0);
		require(cq[i], "CQ of max_cqe entries", i);
	}
	for (i = 0; i < LARGE_QPS; i++) {
		qp[i] = qp_make(cq[i % LARGE_CQS], (uint32_t)dev.max_qp_wr);
		require(qp[i], "QP of max_qp_wr requests", i);
	}
	for (i = LARGE_QPS - 1; i > 0; i -= LARGE_QPS / 7)
		bad += !qp_connect(qp[i]) || !qp_works(qp[i], cq[i % LARGE_CQS]);
	printf("%sok the largest queues, the last ones too, carry messages\n", bad ? "not " : "");
	for (i = 0; i < LARGE_QPS; i++)
		bad += ibv_destroy_qp(qp[i]);
	for (i = 0; i < LARGE_CQS; i++)
		bad += ibv_destroy_cq(cq[i]);
	/* Their place can be used again. */
	cq[0] = ibv_create_cq(ctx, dev.max_cqe, NULL, NULL, 0);
	require(cq[0], "CQ after the others", 0);
	qp[0] = qp_make(cq[0], (uint32_t)dev.max_qp_wr);
	require(qp[0], "QP after the others", 0);
	bad += !qp_connect(qp[0]) || !qp_works(qp[0], cq[0]);
	bad += ibv_destroy_qp(qp[0]) || ibv_destroy_cq(cq[0]);
	printf("%sok their place is used again\n", bad ? "not " : "");
	if (bad)
		exit(1);
}

static void **table(int n)
{
	void **t = calloc((size_t)n, sizeof(*t));

	require(t, "table", n);
	return t;
}

static void test_objects(void)
{
	int n_cq = dev.max_cq, n_qp = dev.max_qp, n_mr = dev.max_mr - 1, n_mw = dev.max_mw, i;
	void **cq = table(n_cq), **qp = table(n_qp), **r = table(n_mr), **w = table(n_mw);
	int bad = 0;

	for (i = 0; i < n_cq; i++)
		require(cq[i] = ibv_create_cq(ctx, 4, NULL, NULL, 0), "CQ", i);
	for (i = 0; i < n_qp; i++)
		require(qp[i] = qp_make(cq[i % n_cq], 1), "QP", i);
	for (i = 0; i < n_mr; i++)
		require(r[i] = ibv_reg_mr(pd, buf, sizeof(buf), ALL), "MR", i);
	for (i = 0; i < n_mw; i++)
		require(w[i] = ibv_alloc_mw(pd, IBV_MW_TYPE_1), "MW", i);
	printf("ok %d QPs, %d CQs, %d MRs and %d MWs at a time\n", n_qp, n_cq, n_mr + 1, n_mw);
	bad = ibv_create_cq(ctx, 1, NULL, NULL, 0) || qp_make(cq[0], 1) ||
	      ibv_reg_mr(pd, buf, sizeof(buf), ALL) || ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	printf("%sok one more of any is refused\n", bad ? "not " : "");
	i = n_qp - 1;
	if (!bad)
		bad = !qp_connect(qp[i]) || !qp_works(qp[i], cq[i % n_cq]);
	printf("%sok the last QP carries messages\n", bad ? "not " : "");
	if (bad)
		exit(1);
	free(cq);
	free(qp);
	free(r);
	free(w);
}

/* Make the largest of a kind until memory ends. */
static void test_fill(bool cqs, uint32_t sge)
{
	int max = cqs ? dev.max_cq : dev.max_qp, n = 0;
	struct ibv_cq *cq = cqs ? NULL : ibv_create_cq(ctx, 1, NULL, NULL, 0);
	bool more = true;

	require(cqs ? (void *)&dev : cq, "CQ", 0);
	while (more && n < max) {
		if (cqs)
			more = ibv_create_cq(ctx, dev.max_cqe, NULL, NULL, 0);
		else
			more = qp_make_sge(cq, (uint32_t)dev.max_qp_wr, sge);
		n += more;
	}
	printf("%sok they end with ENOMEM, or where the device says\n",
	       more || errno == ENOMEM ? "" : "not ");
	printf("made %d of %d\n", n, max);
}

int main(int argc, char **argv)
{
	device_open();
	if (argc > 1 && !strcmp(argv[1], "cqs"))
		test_fill(true, 0);
	else if (argc > 1 && !strncmp(argv[1], "qps", 3))
		test_fill(false, strcmp(argv[1], "qps") ? (uint32_t)dev.max_sge : 1);
	else if (argc > 1 && !strcmp(argv[1], "objects"))
		test_objects();
	else
		test_queues();
	return 0;
}
