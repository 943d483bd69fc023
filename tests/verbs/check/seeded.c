/* SPDX-License-Identifier: MIT */
/* Mistakes with objects, queues and keys. */
#include "tests/lib/c/seed.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

static void seed_destroy_outstanding(struct seed *s)
{
	seed_open(s, 32);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	if (!s->wrong)
		seed_poll(s);
	seed_close(s);
}

static void seed_dereg_outstanding(struct seed *s)
{
	seed_open(s, 32);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	if (!s->wrong)
		seed_poll(s);
	ibv_dereg_mr(s->mr);
	s->mr = NULL;
	if (s->wrong)
		seed_poll(s);
	seed_close(s);
}

static void seed_dereg_posted(struct seed *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	seed_open(s, 32);
	seed_must(!seed_receive(s, 1), "post");
	if (!s->wrong)
		ibv_modify_qp(s->qp[1], &attr, IBV_QP_STATE);
	ibv_dereg_mr(s->mr);
	s->mr = NULL;
	seed_close(s);
}

static void seed_busy(struct seed *s)
{
	seed_open(s, 32);
	if (s->wrong)
		seed_must(ibv_dealloc_pd(s->pd) == EBUSY, "ibv_dealloc_pd");
	seed_close(s);
}

/* A window is bound to the region. */
static void seed_busy_window(struct seed *s)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_BIND_MW }, *bad;
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	seed_open(s, 32);
	mr = ibv_reg_mr(s->pd, s->buf, SEED_BUF, LW | MB);
	mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
	seed_must(mr && mw, "objects");
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.mr = mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)s->buf;
	wr.bind_mw.bind_info.length = 64;
	wr.bind_mw.bind_info.mw_access_flags = RW;
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
	seed_must(seed_poll(s) == IBV_WC_SUCCESS, "bind");
	if (s->wrong)
		seed_must(ibv_dereg_mr(mr) == EBUSY, "ibv_dereg_mr");
	seed_must(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr), "end");
	seed_close(s);
}

static void seed_cq_small(struct seed *s)
{
	int i;

	seed_open(s, s->wrong ? 4 : 32);
	for (i = 0; i < s->cq->cqe + 1 && i < SEED_DEPTH; i++)
		seed_must(!seed_receive(s, (uint64_t)i), "post");
	seed_close(s);
}

static void seed_leak(struct seed *s)
{
	seed_open(s, 32);
	if (s->wrong)
		exit(0);
	seed_close(s);
}

static void seed_modify(struct seed *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	seed_open(s, 32);
	ibv_modify_qp(s->qp[0], &attr, IBV_QP_STATE);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 };
	seed_must(ibv_modify_qp(s->qp[0], &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					(s->wrong ? 0 : IBV_QP_ACCESS_FLAGS)) ==
			  (s->wrong ? EINVAL : 0),
		  "ibv_modify_qp");
	seed_close(s);
}

static void seed_stuck(struct seed *s)
{
	uint64_t i;

	seed_open(s, 32);
	for (i = 0; i < SEED_DEPTH * 4; i++) {
		unsigned int last = i % SEED_DEPTH == SEED_DEPTH - 1;

		if (seed_write_buf(s, i, last && !s->wrong ? IBV_SEND_SIGNALED : 0))
			break;
		if (last && !s->wrong)
			seed_poll(s);
	}
	seed_must(i == (s->wrong ? SEED_DEPTH : SEED_DEPTH * 4), "depth");
	seed_close(s);
}

static void seed_lkey_outside(struct seed *s)
{
	uint64_t addr;

	seed_open(s, 32);
	addr = (uintptr_t)s->buf + (s->wrong ? SEED_BUF - 48 : 0);
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, addr, s->mr->lkey, s->mr->rkey), "post");
	seed_must((seed_poll(s) == IBV_WC_LOC_PROT_ERR) == s->wrong, "status");
	seed_close(s);
}

/* @s->wrong: the key of a region that was deregistered. */
static void seed_key_stale(struct seed *s, bool remote)
{
	struct ibv_mr *other;
	uint32_t lkey, rkey;

	seed_open(s, 32);
	other = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf), ALL);
	seed_must(other, "ibv_reg_mr");
	lkey = other->lkey;
	rkey = other->rkey;
	if (s->wrong)
		ibv_dereg_mr(other);
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, (uintptr_t)s->buf,
			      remote ? s->mr->lkey : lkey, remote ? rkey : s->mr->rkey),
		  "post");
	seed_must((seed_poll(s) == IBV_WC_SUCCESS) == !s->wrong, "status");
	if (!s->wrong)
		ibv_dereg_mr(other);
	seed_close(s);
}

/* The key, or the address, as a program sends it that converts it once too often, or by htonl(). */
static void seed_remote(struct seed *s, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 64, s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
	seed_must((seed_poll(s) == IBV_WC_SUCCESS) == !s->wrong, "status");
	seed_close(s);
}

/* A region for one WRITE. */
static void seed_rights(struct seed *s)
{
	struct ibv_mr *mr;

	seed_open(s, 32);
	mr = ibv_reg_mr(s->pd, s->buf, SEED_BUF, s->wrong ? LW | RW | RR : LW | RW);
	seed_must(mr, "ibv_reg_mr");
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, (uintptr_t)s->buf, s->mr->lkey, mr->rkey),
		  "post");
	seed_must(seed_poll(s) == IBV_WC_SUCCESS, "status");
	ibv_dereg_mr(mr);
	seed_close(s);
}

static void seed_rkey_swapped(struct seed *s)
{
	seed_open(s, 32);
	seed_remote(s, (uintptr_t)s->buf, s->wrong ? htonl(s->mr->rkey) : s->mr->rkey);
}

static void seed_addr_swapped(struct seed *s)
{
	uint64_t addr = (uintptr_t)s->buf;

	seed_open(s, 32);
	seed_remote(s, s->wrong ? htobe64(addr) : addr, s->mr->rkey);
}

static void seed_addr_truncated(struct seed *s)
{
	uint64_t addr = (uintptr_t)s->buf;

	seed_open(s, 32);
	seed_remote(s, s->wrong ? (uint32_t)addr : addr, s->mr->rkey);
}

static void seed_lkey_stale(struct seed *s)
{
	seed_key_stale(s, false);
}

static void seed_rkey_stale(struct seed *s)
{
	seed_key_stale(s, true);
}

static const struct seed_case seeds[] = {
	{ "destroy_outstanding", seed_destroy_outstanding },
	{ "dereg_outstanding", seed_dereg_outstanding },
	{ "dereg_posted", seed_dereg_posted },
	{ "busy", seed_busy },
	{ "busy_window", seed_busy_window },
	{ "rights", seed_rights },
	{ "cq_small", seed_cq_small },
	{ "leak", seed_leak },
	{ "modify", seed_modify },
	{ "stuck", seed_stuck },
	{ "lkey_outside", seed_lkey_outside },
	{ "lkey_stale", seed_lkey_stale },
	{ "rkey_stale", seed_rkey_stale },
	{ "rkey_swapped", seed_rkey_swapped },
	{ "addr_swapped", seed_addr_swapped },
	{ "addr_truncated", seed_addr_truncated },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
