/* SPDX-License-Identifier: MIT */
/**
 * DOC: one work request, or one poll, at a time, for callgrind to count.
 *	post_cost send|write|read|fadd|poll-none|poll-one|send-uc|write-uc|send-ud|
 *		  send-xrc|write-xrc COUNT
 *
 * Two programs with a queue pair each, RC unless the name says otherwise. The peer has posted its
 * receives and then waits in read(), so that the poster executes each work request itself, through
 * to the peer's completion entry and its own.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SIZE	  2
#define COUNT_MAX 8000
#define QKEY	  0x11111111
#define ACCESS	  (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* @type: of the poster's queue pair; @xrcd, @srq: with XRC; @ah: with UD */
struct side {
	enum ibv_qp_type type;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	char buf[4096] __attribute__((aligned(64)));
};

/* Where a side's queue pair and memory are. */
struct place {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, srqn, rkey;
};

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

/* The peer of an XRC queue pair that sends has one that receives, and the SRQ. */
static void side_create_xrc(struct side *s, int count, bool posts)
{
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex srq = {
		.attr = { (uint32_t)count, 1, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
	};
	struct ibv_qp_init_attr_ex init = { .cap = { 16, 0, 1, 0, 0 }, .send_cq = s->cq };

	s->xrcd = ibv_open_xrcd(s->ctx, &xrcd);
	must(!s->xrcd, "ibv_open_xrcd");
	srq.xrcd = init.xrcd = s->xrcd;
	srq.pd = init.pd = s->pd;
	srq.cq = s->cq;
	init.qp_type = posts ? IBV_QPT_XRC_SEND : IBV_QPT_XRC_RECV;
	init.comp_mask = posts ? IBV_QP_INIT_ATTR_PD : IBV_QP_INIT_ATTR_XRCD;
	s->srq = posts ? NULL : ibv_create_srq_ex(s->ctx, &srq);
	s->qp = ibv_create_qp_ex(s->ctx, &init);
	must(!s->qp || (!posts && !s->srq), "ibv_create_qp_ex");
}

static void side_create_qp(struct side *s, int count, bool posts)
{
	struct ibv_qp_init_attr init = { .qp_type = s->type,
					 .send_cq = s->cq,
					 .recv_cq = s->cq,
					 .cap = { 16, (uint32_t)count, 1, 1, 0 } };

	if (s->type == IBV_QPT_XRC_SEND) {
		side_create_xrc(s, count, posts);
		return;
	}
	s->qp = ibv_create_qp(s->pd, &init);
	must(!s->qp, "ibv_create_qp");
}

static struct place side_open(struct side *s, int count, bool posts)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct place p = { 0 };

	must(!list || !list[0], "ibv_get_device_list");
	s->ctx = ibv_open_device(list[0]);
	must(!s->ctx, "ibv_open_device");
	ibv_free_device_list(list);
	s->pd = ibv_alloc_pd(s->ctx);
	s->cq = ibv_create_cq(s->ctx, count + 16, NULL, NULL, 0);
	must(!s->pd || !s->cq, "ibv_alloc_pd or ibv_create_cq");
	side_create_qp(s, count, posts);
	s->mr = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf), ACCESS | IBV_ACCESS_LOCAL_WRITE);
	must(!s->mr, "ibv_reg_mr");
	attr.qp_access_flags = ACCESS;
	must(ibv_modify_qp(s->qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   (s->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
	     "INIT");
	must(ibv_query_gid(s->ctx, 1, 0, &p.gid), "ibv_query_gid");
	p.addr = (uintptr_t)s->buf;
	p.rkey = s->mr->rkey;
	p.qpn = s->qp->qp_num;
	if (s->srq)
		must(ibv_get_srq_num(s->srq, &p.srqn), "ibv_get_srq_num");
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
	int rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
	enum ibv_qp_type type = s->qp->qp_type;

	if (type == IBV_QPT_UD) {
		s->ah = ibv_create_ah(s->pd, &attr.ah_attr);
		must(!s->ah, "ibv_create_ah");
	} else {
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV)
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	if (type == IBV_QPT_XRC_RECV)
		rts |= IBV_QP_TIMEOUT;
	must(ibv_modify_qp(s->qp, &attr, rtr), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	must(ibv_modify_qp(s->qp, &attr, rts), "RTS");
}

static void swap_places(int fd, const struct place *mine, struct place *his)
{
	must(write(fd, mine, sizeof(*mine)) != sizeof(*mine), "write");
	must(read(fd, his, sizeof(*his)) != sizeof(*his), "read");
}

static void peer_run(int fd, int count, enum ibv_qp_type type)
{
	static struct side s;
	struct place mine, his;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	char end;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	s.type = type;
	mine = side_open(&s, count, false);
	/* A datagram's header comes first. */
	sge = (struct ibv_sge){ (uintptr_t)s.buf, 40 + SIZE, s.mr->lkey };
	for (int i = 0; i < count; i++)
		must(s.srq ? ibv_post_srq_recv(s.srq, &wr, &bad) : ibv_post_recv(s.qp, &wr, &bad),
		     "ibv_post_recv");
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
				  .wr.rdma = { .remote_addr = to->addr, .rkey = to->rkey },
				  .qp_type.xrc = { to->srqn } };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = sizeof(uint64_t);
		wr.wr.atomic.remote_addr = to->addr;
		wr.wr.atomic.rkey = to->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	if (s->ah) {
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = to->qpn;
		wr.wr.ud.remote_qkey = QKEY;
	}
	must(ibv_post_send(s->qp, &wr, &bad), "ibv_post_send");
	while (!ibv_poll_cq(s->cq, 1, &wc))
		;
	must(wc.status != IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

/* What to do COUNT times. */
static const struct work {
	const char *name;
	enum ibv_qp_type type;
	enum ibv_wr_opcode opcode;
	bool polls_only;
} works[] = {
	{ "send", IBV_QPT_RC, IBV_WR_SEND, false },
	{ "write", IBV_QPT_RC, IBV_WR_RDMA_WRITE, false },
	{ "poll-none", IBV_QPT_RC, IBV_WR_SEND, true },
	{ "poll-one", IBV_QPT_RC, IBV_WR_SEND, false },
	{ "read", IBV_QPT_RC, IBV_WR_RDMA_READ, false },
	{ "fadd", IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, false },
	{ "send-uc", IBV_QPT_UC, IBV_WR_SEND, false },
	{ "write-uc", IBV_QPT_UC, IBV_WR_RDMA_WRITE, false },
	{ "send-ud", IBV_QPT_UD, IBV_WR_SEND, false },
	{ "send-xrc", IBV_QPT_XRC_SEND, IBV_WR_SEND, false },
	{ "write-xrc", IBV_QPT_XRC_SEND, IBV_WR_RDMA_WRITE, false },
	{ NULL, 0, 0, false },
};

static const struct work *work_find(const char *name)
{
	const struct work *w;

	for (w = works; w->name; w++)
		if (!strcmp(w->name, name))
			return w;
	return NULL;
}

static void work_run(const struct work *work, int fd, int count)
{
	static struct side s;
	struct place mine, peer;
	struct ibv_wc wc;
	char ready;

	s.type = work->type;
	mine = side_open(&s, 1, true);
	swap_places(fd, &mine, &peer);
	side_connect(&s, &peer);
	must(read(fd, &ready, 1) != 1, "read");
	for (int i = 0; i < count; i++) {
		if (work->polls_only)
			must(ibv_poll_cq(s.cq, 1, &wc), "ibv_poll_cq");
		else
			post_one(&s, &peer, work->opcode);
	}
}

int main(int argc, char **argv)
{
	const struct work *work = argc == 3 ? work_find(argv[1]) : NULL;
	int count = work ? atoi(argv[2]) : 0, fds[2];

	if (count < 1 || count > COUNT_MAX) {
		fprintf(stderr, "post_cost: what to do, see the source, and 1 to %d times\n",
			COUNT_MAX);
		return 2;
	}
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
	if (!fork()) {
		close(fds[0]);
		peer_run(fds[1], count, work->type);
	}
	close(fds[1]);
	work_run(work, fds[0], count);
	return 0;
}
