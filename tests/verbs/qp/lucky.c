/* SPDX-License-Identifier: MIT */
/*
 * A program that relies on luck: it expects completions of several QPs, on one CQ, in the order in
 * which it posted, as they come without chaos. It prints the order, and exits with 1 if it differs.
 *	app_qp_lucky [RDMAEMU]	it moves the fabric's clock ahead with this command after posting
 */
#include "tests/lib/c/rc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QPS   8
#define SENDS 4 /* each */
#define WAIT  20000000000ULL

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq, *recv_cq;
static uint64_t buf[64];

static struct ibv_qp *qp_new(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
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

static void post(struct ibv_qp *a, struct ibv_qp *b, uint64_t id)
{
	struct ibv_sge to = { (uintptr_t)(buf + 32), 8, mr->lkey },
		       from = { (uintptr_t)buf, 8, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = id,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND },
			   *bad;

	if (ibv_post_recv(b, &recv, &bad_recv) || ibv_post_send(a, &send, &bad))
		die("post");
}

int main(int argc, char **argv)
{
	struct ibv_qp *a[QPS], *b[QPS];
	struct rc_opts o = rc_defaults;
	uint32_t last[QPS] = { 0 };
	uint64_t end, n = 0;
	union ibv_gid gid;
	bool lucky = true;
	struct ibv_wc wc;
	char cmd[4200];
	int i, index;

	ctx = rc_open_first();
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 2 * QPS * SENDS, NULL, NULL, 0);
	recv_cq = ibv_create_cq(ctx, 2 * QPS * SENDS, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) : NULL;
	index = rc_gid(ctx, &gid);
	if (!cq || !recv_cq || !mr || index < 0)
		die("verbs objects");
	for (i = 0; i < QPS; i++) {
		a[i] = qp_new();
		b[i] = qp_new();
		if (rc_up(a[i], &o, &(struct rc_addr){ b[i]->qp_num, 7, gid }, index, 7) ||
		    rc_up(b[i], &o, &(struct rc_addr){ a[i]->qp_num, 7, gid }, index, 7))
			die("QPs do not connect");
	}
	for (i = 0; i < QPS * SENDS; i++)
		post(a[i % QPS], b[i % QPS], (uint64_t)i);
	if (argc > 1) {
		snprintf(cmd, sizeof(cmd), "%s clock advance 10s", argv[1]);
		if (system(cmd))
			die("%s", cmd);
	}
	for (end = now_ns() + WAIT; n < QPS * SENDS && now_ns() < end;) {
		if (ibv_poll_cq(cq, 1, &wc) != 1)
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			die("wr_id %lu: %s", (unsigned long)wc.wr_id, ibv_wc_status_str(wc.status));
		/* That much is promised. */
		if (wc.wr_id / QPS != last[wc.wr_id % QPS]++)
			die("wr_id %lu is not its queue's next", (unsigned long)wc.wr_id);
		printf("%lu ", (unsigned long)wc.wr_id);
		lucky = lucky && wc.wr_id == n;
		n++;
	}
	putchar('\n');
	if (n < QPS * SENDS)
		die("%lu completions are missing", (unsigned long)(QPS * SENDS - n));
	return !lucky;
}
