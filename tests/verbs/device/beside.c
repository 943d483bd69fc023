/* SPDX-License-Identifier: MIT */
/*
 * A program that uses two kinds of devices at a time: app_device_beside NAME NAME, for a real and
 * an emulated one. It has two queue pairs on each, and one buffer that is registered with both.
 */
#include "tests/lib/c/cu.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART	  4096 /* bytes of each of the buffer's parts */
#define PARTS	  4
#define WAIT_MS	  60000
#define GID_INDEX 0

/* A device, and two connected RC queue pairs: [0] is extended and sends, [1] receives. */
static struct side {
	const char *name;
	struct ibv_device *device;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex;
	struct ibv_srq *srq;
	struct ibv_qp *qp[2];
} side[2];

static struct ibv_device **list;
static unsigned char *buf;

static void device_find(struct side *s)
{
	int i;

	for (i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), s->name))
			s->device = list[i];
}

static struct ibv_qp *qp_create(struct side *s, int i)
{
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = i ? s->cq : ibv_cq_ex_to_cq(s->cq_ex),
		.recv_cq = s->cq,
		.srq = i ? s->srq : NULL,
		.cap = { .max_send_wr = 4, .max_recv_wr = i ? 0 : 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp_init_attr plain = { .send_cq = ex.send_cq,
					  .recv_cq = ex.recv_cq,
					  .srq = ex.srq,
					  .cap = ex.cap,
					  .qp_type = IBV_QPT_RC };

	ex.cap.max_recv_sge = 1;
	plain.cap.max_recv_sge = 1;
	return i ? ibv_create_qp(s->pd, &plain) : ibv_create_qp_ex(s->ctx, &ex);
}

static int qp_connect(struct side *s, int i)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	union ibv_gid gid;
	int ret;

	ret = ibv_query_gid(s->ctx, 1, GID_INDEX, &gid);
	ret = ret ? ret
		  : ibv_modify_qp(s->qp[i], &a,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					  IBV_QP_ACCESS_FLAGS);
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = s->qp[!i]->qp_num;
	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 12;
	a.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1 };
	a.ah_attr.grh.dgid = gid;
	a.ah_attr.grh.sgid_index = GID_INDEX;
	a.ah_attr.grh.hop_limit = 1;
	ret = ret ? ret
		  : ibv_modify_qp(s->qp[i], &a,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER);
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 16;
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	return ret ? ret
		   : ibv_modify_qp(s->qp[i], &a,
				   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

static bool side_open(struct side *s)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };

	s->ctx = s->device ? ibv_open_device(s->device) : NULL;
	s->pd = s->ctx ? ibv_alloc_pd(s->ctx) : NULL;
	s->chan = s->ctx ? ibv_create_comp_channel(s->ctx) : NULL;
	if (!s->pd || !s->chan)
		return false;
	s->mr = ibv_reg_mr(s->pd, buf, PART * PARTS,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	s->cq = ibv_create_cq(s->ctx, 16, s, s->chan, 0);
	s->cq_ex = ibv_create_cq_ex(s->ctx, &cq);
	s->srq = ibv_create_srq(s->pd, &srq);
	if (!s->mr || !s->cq || !s->cq_ex || !s->srq)
		return false;
	s->qp[0] = qp_create(s, 0);
	s->qp[1] = qp_create(s, 1);
	return s->qp[0] && s->qp[1] && !qp_connect(s, 0) && !qp_connect(s, 1);
}

static int side_close(struct side *s)
{
	return ibv_destroy_qp(s->qp[0]) || ibv_destroy_qp(s->qp[1]) || ibv_destroy_srq(s->srq) ||
	       ibv_destroy_cq(ibv_cq_ex_to_cq(s->cq_ex)) || ibv_destroy_cq(s->cq) ||
	       ibv_dereg_mr(s->mr) || ibv_destroy_comp_channel(s->chan) || ibv_dealloc_pd(s->pd) ||
	       ibv_close_device(s->ctx);
}

/* Send part @from of the buffer to part @to of it, with the data path of extended objects. */
static bool side_move(struct side *s, int from, int to)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(s->qp[0]);
	struct ibv_sge sge = { (uintptr_t)buf + (size_t)to * PART, PART, s->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq *cq = NULL;
	struct ibv_wc wc = { 0 };
	struct pollfd p = { .fd = s->chan->fd, .events = POLLIN };
	void *cq_context = NULL;
	int ret;

	if (!ex || ibv_req_notify_cq(s->cq, 0) || ibv_post_srq_recv(s->srq, &recv, &bad))
		return false;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, s->mr->lkey, (uintptr_t)buf + (size_t)from * PART, PART);
	if (ibv_wr_complete(ex) || poll(&p, 1, WAIT_MS) != 1 ||
	    ibv_get_cq_event(s->chan, &cq, &cq_context) || cq != s->cq || cq_context != s)
		return false;
	ibv_ack_cq_events(cq, 1);
	if (ibv_poll_cq(cq, 1, &wc) != 1 || wc.status || wc.wr_id != 7 || wc.byte_len != PART)
		return false;
	while ((ret = ibv_start_poll(s->cq_ex, &attr)) == ENOENT)
		;
	if (ret || s->cq_ex->status || ibv_wc_read_opcode(s->cq_ex) != IBV_WC_SEND)
		return false;
	ibv_end_poll(s->cq_ex);
	return true;
}

static void part_fill(int part, int seed)
{
	int i;

	for (i = 0; i < PART; i++)
		buf[part * PART + i] = (unsigned char)(i * 31 + (i >> 8) + seed);
}

static void test_list(void)
{
	int n = 0, again;
	struct ibv_device **other;

	list = ibv_get_device_list(&n);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT_PTR_NULL(list[2]);
	device_find(&side[0]);
	device_find(&side[1]);
	CU_ASSERT_PTR_NOT_NULL_FATAL(side[0].device);
	CU_ASSERT_PTR_NOT_NULL_FATAL(side[1].device);
	CU_ASSERT_PTR_EQUAL(list[0], side[0].device);
	other = ibv_get_device_list(&again);
	CU_ASSERT_EQUAL(again, 2);
	CU_ASSERT_PTR_EQUAL(other[0], list[0]);
	CU_ASSERT_PTR_EQUAL(other[1], list[1]);
	ibv_free_device_list(other);
	other = ibv_get_device_list(NULL);
	CU_ASSERT_PTR_NOT_NULL(other[1]);
	ibv_free_device_list(other);
}

static void test_bridge(void)
{
	int i;

	CU_ASSERT_TRUE_FATAL(side_open(&side[0]));
	CU_ASSERT_TRUE_FATAL(side_open(&side[1]));
	for (i = 0; i < 100; i++) {
		part_fill(0, i);
		CU_ASSERT_TRUE_FATAL(side_move(&side[i % 2], 0, 1));
		CU_ASSERT_TRUE_FATAL(side_move(&side[!(i % 2)], 1, 2));
		CU_ASSERT_EQUAL_FATAL(memcmp(buf, buf + (size_t)2 * PART, PART), 0);
	}
}

static void test_async_events(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };
	struct ibv_async_event e;
	int i;

	for (i = 0; i < 2; i++) {
		struct pollfd p = { .fd = side[i].ctx->async_fd, .events = POLLIN };

		CU_ASSERT_EQUAL_FATAL(ibv_modify_qp(side[i].qp[1], &a, IBV_QP_STATE), 0);
		do {
			CU_ASSERT_EQUAL_FATAL(poll(&p, 1, WAIT_MS), 1);
			CU_ASSERT_EQUAL_FATAL(ibv_get_async_event(side[i].ctx, &e), 0);
			ibv_ack_async_event(&e);
		} while (e.event_type != IBV_EVENT_QP_LAST_WQE_REACHED);
		CU_ASSERT_PTR_EQUAL(e.element.qp, side[i].qp[1]);
	}
}

/* The emulator's contexts are found by their descriptors, and no others. */
static void test_import(void)
{
	struct ibv_context *ctx = ibv_import_device(dup(side[1].ctx->cmd_fd));
	struct ibv_device_attr attr;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ctx);
	CU_ASSERT_STRING_EQUAL(ctx->device->name, side[1].name);
	CU_ASSERT_EQUAL(ibv_query_device(ctx, &attr), 0);
	CU_ASSERT_EQUAL(ibv_close_device(ctx), 0);
	errno = 0;
	CU_ASSERT_PTR_NULL(ibv_import_device(dup(STDERR_FILENO)));
	CU_ASSERT_NOT_EQUAL(errno, 0);
}

static void test_destroy(void)
{
	/* It would wait for events that were not acknowledged to the right library. */
	CU_ASSERT_EQUAL(side_close(&side[0]), 0);
	CU_ASSERT_EQUAL(side_close(&side[1]), 0);
	ibv_free_device_list(list);
}

/* A child opens both kinds of devices for itself. */
static void test_fork(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	CU_ASSERT_EQUAL(ibv_fork_init(), 0);
	pid = fork();
	CU_ASSERT_NOT_EQUAL_FATAL(pid, -1);
	if (!pid) {
		list = ibv_get_device_list(NULL);
		device_find(&side[0]);
		device_find(&side[1]);
		part_fill(0, 200);
		_exit(!(side_open(&side[0]) && side_open(&side[1]) && side_move(&side[0], 0, 1) &&
			side_move(&side[1], 1, 2) && !memcmp(buf, buf + (size_t)2 * PART, PART)));
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

int main(int argc, char **argv)
{
	static const struct cu_test tests[] = {
		{ "one list has both", test_list },
		{ "data goes from one to the other", test_bridge },
		{ "events come from each", test_async_events },
		{ "contexts are imported", test_import },
		{ "objects go", test_destroy },
		{ "a child has both", test_fork },
		{ NULL, NULL },
	};

	if (argc != 3)
		return 2;
	side[0].name = argv[1];
	side[1].name = argv[2];
	buf = aligned_alloc(PART, (size_t)PART * PARTS);
	return buf ? cu_run("beside", tests) : 2;
}
