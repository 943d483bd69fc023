/* SPDX-License-Identifier: MIT */
/**
 * DOC: one work request, or one poll, at a time, for callgrind to count.
 *	post_cost send|write|poll-none|poll-one COUNT
 *
 * Two programs with an RC queue pair each. The peer has posted its receives and then waits in
 * read(), so that the poster executes each work request itself, through to the peer's completion
 * entry and its own.
 */
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SIZE	  2
#define COUNT_MAX 8000

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char buf[4096];
};

/* Where a side's queue pair and memory are. */
struct place {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, rkey;
};

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static struct place side_open(struct side *s, int count)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { 16, (uint32_t)count, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct place p = { 0 };

	must(!list || !list[0], "ibv_get_device_list");
	s->ctx = ibv_open_device(list[0]);
	must(!s->ctx, "ibv_open_device");
	ibv_free_device_list(list);
	s->pd = ibv_alloc_pd(s->ctx);
	s->cq = ibv_create_cq(s->ctx, count + 16, NULL, NULL, 0);
	must(!s->pd || !s->cq, "ibv_alloc_pd or ibv_create_cq");
	init.send_cq = init.recv_cq = s->cq;
	s->qp = ibv_create_qp(s->pd, &init);
	must(!s->qp, "ibv_create_qp");
	s->mr = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(!s->mr, "ibv_reg_mr");
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	must(ibv_modify_qp(s->qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
	must(ibv_query_gid(s->ctx, 1, 0, &p.gid), "ibv_query_gid");
	p.addr = (uintptr_t)s->buf;
	p.rkey = s->mr->rkey;
	p.qpn = s->qp->qp_num;
	return p;
}

static void side_connect(struct side *s, const struct place *to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = to->gid } },
	};

	must(ibv_modify_qp(s->qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	must(ibv_modify_qp(s->qp, &attr,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void swap_places(int fd, const struct place *mine, struct place *his)
{
	must(write(fd, mine, sizeof(*mine)) != sizeof(*mine), "write");
	must(read(fd, his, sizeof(*his)) != sizeof(*his), "read");
}

static void peer_run(int fd, int count)
{
	static struct side s;
	struct place mine = side_open(&s, count), his;
	struct ibv_sge sge = { (uintptr_t)s.buf, SIZE, s.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	char end;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < count; i++)
		must(ibv_post_recv(s.qp, &wr, &bad), "ibv_post_recv");
	swap_places(fd, &mine, &his);
	side_connect(&s, &his);
	must(write(fd, "r", 1) != 1, "write");
	must(read(fd, &end, 1) != 0, "read");
	_exit(0);
}

static void post_one(struct side *s, const struct place *to, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, SIZE, s->mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = to->addr, .rkey = to->rkey } };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	must(ibv_post_send(s->qp, &wr, &bad), "ibv_post_send");
	while (!ibv_poll_cq(s->cq, 1, &wc))
		;
	must(wc.status != IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

int main(int argc, char **argv)
{
	static struct side s;
	struct place mine, peer;
	enum ibv_wr_opcode opcode;
	struct ibv_wc wc;
	int count, fds[2];
	char ready;

	if (argc != 3 || (count = atoi(argv[2])) < 1 || count > COUNT_MAX) {
		fprintf(stderr, "post_cost: send|write|poll-none|poll-one, and 1 to %d times\n",
			COUNT_MAX);
		return 2;
	}
	opcode = strcmp(argv[1], "write") ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
	if (!fork()) {
		close(fds[0]);
		peer_run(fds[1], count);
	}
	close(fds[1]);
	mine = side_open(&s, 1);
	swap_places(fds[0], &mine, &peer);
	side_connect(&s, &peer);
	must(read(fds[0], &ready, 1) != 1, "read");
	for (int i = 0; i < count; i++) {
		if (!strcmp(argv[1], "poll-none"))
			must(ibv_poll_cq(s.cq, 1, &wc), "ibv_poll_cq");
		else
			post_one(&s, &peer, opcode);
	}
	return 0;
}
