/* SPDX-License-Identifier: MIT */
/* Two connected QPs in one process, in which a program makes a mistake. */
#include "tests/lib/c/seed.h"

const struct rc_opts seed_opts = {
	.send_wr = SEED_DEPTH,
	.recv_wr = SEED_DEPTH,
	.send_sge = 1,
	.recv_sge = 1,
	.access = ALL,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 6,
	.min_rnr = 12,
	.rd_atomic = 4,
	.dest_rd_atomic = 4,
	.mtu = IBV_MTU_1024,
	.until = IBV_QPS_RTS,
};

static void seed_connect(struct seed *s, const struct rc_opts *opts[2])
{
	struct rc_addr addr[2] = { 0 };
	union ibv_gid gid;
	int index = rc_gid(s->ctx, &gid), i;

	for (i = 0; i < 2; i++)
		addr[i] = (struct rc_addr){
			.qpn = s->qp[i]->qp_num,
			.psn = opts[i]->psn + (uint32_t)i,
			.gid = gid,
		};
	for (i = 0; i < 2; i++)
		seed_must(!rc_up(s->qp[i], opts[i], &addr[!i], index, addr[i].psn), "connect");
}

void seed_open_with(struct seed *s, int cqe, const struct rc_opts *first,
		    const struct rc_opts *second)
{
	const struct rc_opts *opts[2] = { first, second };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	int i;

	s->ctx = rc_open_first();
	seed_must(!ibv_query_device(s->ctx, &s->dev) && !ibv_query_port(s->ctx, 1, &s->port),
		  "query");
	s->pd = ibv_alloc_pd(s->ctx);
	s->chan = ibv_create_comp_channel(s->ctx);
	s->cq = ibv_create_cq(s->ctx, cqe, NULL, s->chan, 0);
	s->mr = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf), ALL);
	seed_must(s->pd && s->chan && s->cq && s->mr, "objects");
	init.send_cq = init.recv_cq = s->cq;
	for (i = 0; i < 2; i++) {
		init.cap = (struct ibv_qp_cap){
			.max_send_wr = opts[i]->send_wr,
			.max_recv_wr = opts[i]->recv_wr,
			.max_send_sge = opts[i]->send_sge,
			.max_recv_sge = opts[i]->recv_sge,
			.max_inline_data = opts[i]->inl,
		};
		s->qp[i] = ibv_create_qp(s->pd, &init);
		seed_must(s->qp[i], "ibv_create_qp");
	}
	seed_connect(s, opts);
}

void seed_open(struct seed *s, int cqe)
{
	seed_open_with(s, cqe, &seed_opts, &seed_opts);
}

void seed_close(struct seed *s)
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

struct ibv_qp *seed_connect_end(struct seed *s, struct end *other)
{
	struct ibv_qp_init_attr init = { .send_cq = s->cq, .recv_cq = s->cq };
	struct end self = { .fd = -1 };
	struct ibv_qp *qp;
	int index;

	init.qp_type = IBV_QPT_RC;
	init.cap = (struct ibv_qp_cap){ SEED_DEPTH, SEED_DEPTH, 1, 1, 0 };
	qp = ibv_create_qp(s->pd, &init);
	seed_must(qp && !end_create(other, &rc_defaults), "ibv_create_qp");
	index = rc_gid(s->ctx, &self.addr.gid);
	self.addr.qpn = qp->qp_num;
	seed_must(!end_connect(other, &self, &rc_defaults) &&
			  !rc_up(qp, &rc_defaults, &other->addr, index, self.addr.psn),
		  "connect");
	return qp;
}

int seed_write(struct seed *s, uint64_t wr_id, unsigned int flags, uint64_t addr, uint32_t lkey,
	       uint32_t rkey)
{
	struct ibv_sge sge = { addr, 64, lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = flags;
	wr.wr.rdma.remote_addr = (uintptr_t)s->buf + 1024;
	wr.wr.rdma.rkey = rkey;
	return ibv_post_send(s->qp[0], &wr, &bad);
}

int seed_write_buf(struct seed *s, uint64_t wr_id, unsigned int flags)
{
	return seed_write(s, wr_id, flags, (uintptr_t)s->buf, s->mr->lkey, s->mr->rkey);
}

int seed_receive(struct seed *s, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 64, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(s->qp[1], &wr, &bad);
}

enum ibv_wc_status seed_poll(struct seed *s)
{
	struct ibv_wc wc;

	if (poll_cq(s->cq, SEED_WAIT, &wc) != 1)
		die("no completion");
	return wc.status;
}

bool seed_both_are_good(struct seed *s)
{
	enum ibv_wc_status first = seed_poll(s);

	return seed_poll(s) == IBV_WC_SUCCESS && first == IBV_WC_SUCCESS;
}

int seed_main(int argc, char **argv, const struct seed_case *cases, size_t n)
{
	static struct seed s;
	size_t i;

	if (argc != 3)
		die("usage: %s NAME wrong|right", argv[0]);
	s.wrong = !strcmp(argv[2], "wrong");
	for (i = 0; i < n; i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run(&s);
			return 0;
		}
	die("%s: no such mistake", argv[1]);
}
