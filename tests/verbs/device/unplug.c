/* SPDX-License-Identifier: MIT */
/*
 * A program whose device is removed while it has objects there:
 *
 *	DEVICE GID_INDEX QUIET_MS
 *
 * It makes objects, prints "ready" and waits for a line on standard input, by which its caller says
 * that the removal has begun. Then it prints what each call returns, and each event and completion.
 * It destroys everything, prints "closed", waits for another line, and looks for the device again.
 *
 * It checks nothing itself: tests compare its output with and without a layer between it and the
 * library. Work that has not completed after QUIET_MS never does, and a removal that has raised no
 * event by then raises none.
 */
#include "emulator/types.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEM  8192u
#define PORT 1
#define PSN  0x1234

/** struct held - the objects that the program has while the device goes. qp[0] sends to qp[1] */
struct held {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp[2];
	union ibv_gid gid;
	u8 gid_index;
	u32 quiet_ms;
};

static u8 mem[MEM] __attribute__((aligned(4096)));

static void result_print(const char *call, long ret)
{
	if (ret)
		printf("%s = %ld errno %d\n", call, ret, errno);
	else
		printf("%s = 0\n", call);
	errno = 0;
}

static void *made_print(const char *call, void *made)
{
	if (made)
		printf("%s = made\n", call);
	else
		printf("%s = NULL errno %d\n", call, errno);
	errno = 0;
	return made;
}

static void *made_must(const char *call, void *made)
{
	if (made)
		return made;
	fprintf(stderr, "unplug: %s: %s\n", call, strerror(errno));
	exit(2);
}

static void done_must(const char *call, int ret)
{
	made_must(call, ret ? NULL : mem);
}

static void line_await(const char *say)
{
	char line[16];

	puts(say);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(2);
	errno = 0;
}

/* --- setting up ------------------------------------------------------------------------------- */

static struct ibv_device *device_find(struct ibv_device **list, const char *name)
{
	while (list && *list && strcmp(ibv_get_device_name(*list), name) != 0)
		list++;
	return list ? *list : NULL;
}

static void qp_connect(struct held *h, struct ibv_qp *qp, u32 peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	done_must("modify_qp(INIT)", ibv_modify_qp(qp, &attr,
						   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
							   IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = PSN,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .dgid = h->gid, .sgid_index = h->gid_index, .hop_limit = 2 },
		},
	};
	done_must("modify_qp(RTR)",
		  ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = PSN,
		.timeout = 14,
		.retry_cnt = 7,
	};
	done_must("modify_qp(RTS)",
		  ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

static struct ibv_qp *qp_make(struct held *h)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = h->cq,
		.recv_cq = h->cq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(h->pd, &init);
}

static struct ibv_srq *srq_make(struct held *h)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(h->pd, &init);
}

static void held_make(struct held *h, struct ibv_device *dev)
{
	int i;

	h->ctx = made_must("open_device", ibv_open_device(dev));
	done_must("fcntl", fcntl(h->ctx->async_fd, F_SETFL, O_NONBLOCK));
	done_must("query_gid", ibv_query_gid(h->ctx, PORT, h->gid_index, &h->gid));
	h->pd = made_must("alloc_pd", ibv_alloc_pd(h->ctx));
	h->mr = made_must("reg_mr", ibv_reg_mr(h->pd, mem, MEM,
					       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	h->channel = made_must("create_comp_channel", ibv_create_comp_channel(h->ctx));
	h->cq = made_must("create_cq", ibv_create_cq(h->ctx, 64, NULL, h->channel, 0));
	h->srq = made_must("create_srq", srq_make(h));
	for (i = 0; i < 2; i++)
		h->qp[i] = made_must("create_qp", qp_make(h));
	for (i = 0; i < 2; i++)
		qp_connect(h, h->qp[i], h->qp[!i]->qp_num);
}

/* --- what is printed -------------------------------------------------------------------------- */

static u64 clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

/* Print @n completions, by their wr_id, or how many came. */
static void completions_print(struct held *h, unsigned int n)
{
	const u64 end = clock_ms() + h->quiet_ms;
	enum ibv_wc_status status[4] = { 0 };
	bool seen[4] = { false };
	unsigned int i, got = 0;
	struct ibv_wc wc;
	int ret = 0;

	while (got < n && ret >= 0 && clock_ms() < end) {
		ret = ibv_poll_cq(h->cq, 1, &wc);
		if (ret == 1 && wc.wr_id < 4) {
			seen[wc.wr_id] = true;
			status[wc.wr_id] = wc.status;
			got++;
		}
	}
	for (i = 0; i < 4; i++)
		if (seen[i])
			printf("completion %u: %s\n", i, ibv_wc_status_str(status[i]));
	if (ret < 0)
		result_print("poll_cq", ret);
	printf("%u of %u completions\n", got, n);
}

/* A receive (wr_id 0), a SEND to it (1) and a WRITE (2). */
static void work_print(struct held *h)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mem, .length = 64, .lkey = h->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad, send = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	};
	int ret, posted = 0;

	ret = ibv_post_recv(h->qp[1], &recv, &bad_recv);
	result_print("post_recv", ret);
	posted += !ret;
	ret = ibv_post_send(h->qp[0], &send, &bad);
	result_print("post_send(SEND)", ret);
	posted += !ret;
	send.wr_id = 2;
	send.opcode = IBV_WR_RDMA_WRITE;
	send.wr.rdma.remote_addr = (uintptr_t)mem + MEM / 2;
	send.wr.rdma.rkey = h->mr->rkey;
	ret = ibv_post_send(h->qp[0], &send, &bad);
	result_print("post_send(RDMA_WRITE)", ret);
	posted += !ret;
	completions_print(h, (unsigned int)posted);
}

static void event_await(struct held *h)
{
	struct pollfd pfd = { .fd = h->ctx->async_fd, .events = POLLIN };

	poll(&pfd, 1, (int)h->quiet_ms);
	errno = 0;
}

static void events_print(struct held *h)
{
	struct ibv_async_event ev;

	while (!ibv_get_async_event(h->ctx, &ev)) {
		printf("event: %s\n", ibv_event_type_str(ev.event_type));
		ibv_ack_async_event(&ev);
	}
	result_print("get_async_event", -1);
}

static void queries_print(struct held *h)
{
	struct ibv_qp_init_attr init;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	struct ibv_qp_attr qp;
	union ibv_gid gid;
	__be16 pkey;
	int ret;

	result_print("query_device", ibv_query_device(h->ctx, &dev));
	ret = ibv_query_port(h->ctx, PORT, &port);
	result_print("query_port", ret);
	if (!ret)
		printf("port: %s\n", ibv_port_state_str(port.state));
	result_print("query_gid", ibv_query_gid(h->ctx, PORT, h->gid_index, &gid));
	result_print("query_pkey", ibv_query_pkey(h->ctx, PORT, 0, &pkey));
	ret = ibv_query_qp(h->qp[0], &qp, IBV_QP_STATE, &init);
	result_print("query_qp", ret);
	if (!ret)
		printf("qp: %d\n", qp.qp_state);
	result_print("req_notify_cq", ibv_req_notify_cq(h->cq, 0));
}

/* Make, and destroy, one of each kind. */
static void commands_print(struct held *h)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = PORT,
		.grh = { .dgid = h->gid, .sgid_index = h->gid_index, .hop_limit = 2 },
	};
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	pd = made_print("alloc_pd", ibv_alloc_pd(h->ctx));
	if (pd)
		result_print("dealloc_pd", ibv_dealloc_pd(pd));
	mr = made_print("reg_mr", ibv_reg_mr(h->pd, mem, MEM, IBV_ACCESS_LOCAL_WRITE));
	if (mr)
		result_print("dereg_mr", ibv_dereg_mr(mr));
	cq = made_print("create_cq", ibv_create_cq(h->ctx, 8, NULL, NULL, 0));
	if (cq)
		result_print("destroy_cq", ibv_destroy_cq(cq));
	srq = made_print("create_srq", srq_make(h));
	if (srq)
		result_print("destroy_srq", ibv_destroy_srq(srq));
	ah = made_print("create_ah", ibv_create_ah(h->pd, &attr));
	if (ah)
		result_print("destroy_ah", ibv_destroy_ah(ah));
	qp = made_print("create_qp", qp_make(h));
	if (qp)
		result_print("destroy_qp", ibv_destroy_qp(qp));
}

/* Whether the device is listed, and whether it, or @listed if it is not, opens. */
static void list_print(const char *name, struct ibv_device *listed)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device *dev = device_find(list, name);
	struct ibv_context *ctx;

	printf("listed: %s\n", dev ? "yes" : "no");
	ctx = made_print("open_device", ibv_open_device(dev ? dev : listed));
	if (ctx)
		result_print("close_device", ibv_close_device(ctx));
	if (list)
		ibv_free_device_list(list);
	errno = 0;
}

static void held_destroy(struct held *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	result_print("modify_qp(ERR)", ibv_modify_qp(h->qp[0], &attr, IBV_QP_STATE));
	result_print("destroy_qp", ibv_destroy_qp(h->qp[0]));
	result_print("destroy_qp", ibv_destroy_qp(h->qp[1]));
	result_print("destroy_srq", ibv_destroy_srq(h->srq));
	result_print("destroy_cq", ibv_destroy_cq(h->cq));
	result_print("destroy_comp_channel", ibv_destroy_comp_channel(h->channel));
	result_print("dereg_mr", ibv_dereg_mr(h->mr));
	result_print("dealloc_pd", ibv_dealloc_pd(h->pd));
	result_print("close_device", ibv_close_device(h->ctx));
}

int main(int argc, char **argv)
{
	struct ibv_device **list, *dev;
	struct held h = { 0 };

	if (argc != 4) {
		fprintf(stderr, "unplug: expected DEVICE GID_INDEX QUIET_MS\n");
		return 2;
	}
	h.gid_index = (u8)strtoul(argv[2], NULL, 10);
	h.quiet_ms = (u32)strtoul(argv[3], NULL, 10);
	list = made_must("get_device_list", ibv_get_device_list(NULL));
	dev = made_must("the device", device_find(list, argv[1]));
	held_make(&h, dev);
	work_print(&h);
	line_await("ready");
	event_await(&h);
	events_print(&h);
	work_print(&h);
	queries_print(&h);
	commands_print(&h);
	list_print(argv[1], dev);
	events_print(&h);
	held_destroy(&h);
	line_await("closed");
	list_print(argv[1], dev);
	ibv_free_device_list(list);
	return 0;
}
