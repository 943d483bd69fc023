/* SPDX-License-Identifier: MIT */
/*
 * A receive that is posted in ERR: prints whether it is flushed, and if not, whether it is when the
 * state is set to ERR once more.
 *	app_fault_late_receive
 */
#include "tests/lib/c/rc_load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SETTLE	 1000000 /* us: a device flushes in a thread of its own */
#define SOON	 3000000000ull /* ns */
#define PATIENCE 60000000000ull

static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void qp_fail(void)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };

	if (ibv_modify_qp(qp, &init,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
	    ibv_modify_qp(qp, &err, IBV_QP_STATE))
		die("ERR: %s", strerror(errno));
}

static bool is_flushed(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)) && now_ns() < end)
		;
	if (n < 0 || (n && (wc.wr_id != 7 || wc.status != IBV_WC_WR_FLUSH_ERR)))
		die("ibv_poll_cq: %d", n);
	return n;
}

int main(void)
{
	struct ibv_context *ctx = rc_open_first();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_qp_init_attr attr = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_recv_wr recv = { .wr_id = 7 }, *bad;
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };

	cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = cq;
	qp = pd && cq ? ibv_create_qp(pd, &attr) : NULL;
	if (!qp)
		die("verbs objects: %s", strerror(errno));
	qp_fail();
	usleep(SETTLE);
	if (ibv_post_recv(qp, &recv, &bad))
		die("ibv_post_recv");
	if (is_flushed(SOON)) {
		printf("flushed\n");
		return 0;
	}
	if (ibv_modify_qp(qp, &err, IBV_QP_STATE))
		die("ERR again: %s", strerror(errno));
	printf("%s\n", is_flushed(PATIENCE) ? "flushed by ERR again" : "never flushed");
	return 0;
}
