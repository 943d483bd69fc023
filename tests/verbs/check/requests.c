/* SPDX-License-Identifier: MIT */
/* Mistakes with single work requests. */
#include "tests/lib/c/seed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A receive in INIT is right, a send is not. */
static void seed_early(struct seed *s)
{
	struct rc_opts init = rc_defaults;

	init.until = IBV_QPS_INIT;
	seed_open_with(s, 32, &init, &init);
	if (s->wrong)
		seed_write_buf(s, 1, IBV_SEND_SIGNALED);
	seed_must(!seed_receive(s, 2), "post");
	seed_close(s);
}

/* A signaled request of @len bytes, which the caller completes. */
static struct ibv_send_wr seed_request(struct seed *s, struct ibv_sge *sge,
				       enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t len)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = 1 };

	*sge = (struct ibv_sge){ (uintptr_t)s->buf, len, s->mr->lkey };
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	return wr;
}

static int seed_read(struct seed *s, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = seed_request(s, &sge, IBV_WR_RDMA_READ, wr_id, 64), *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)s->buf + 2048;
	wr.wr.rdma.rkey = s->mr->rkey;
	return ibv_post_send(s->qp[0], &wr, &bad);
}

static void seed_atomic(struct seed *s)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	seed_open(s, 32);
	wr = seed_request(s, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8);
	wr.wr.atomic.remote_addr = (uintptr_t)s->buf + 1024 + (s->wrong ? 4 : 0);
	wr.wr.atomic.rkey = s->mr->rkey;
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
	seed_must((seed_poll(s) == IBV_WC_SUCCESS) == !s->wrong, "status");
	seed_close(s);
}

static void seed_send(struct seed *s, uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = seed_request(s, &sge, IBV_WR_SEND, 2, len), *bad;

	seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
}

/* The receive has 64 bytes. */
static void seed_short(struct seed *s)
{
	seed_open(s, 32);
	seed_must(!seed_receive(s, 1), "post");
	seed_send(s, s->wrong ? 65 : 64);
	seed_must((seed_poll(s) == IBV_WC_SUCCESS) == !s->wrong, "status");
	seed_must((seed_poll(s) == IBV_WC_SUCCESS) == !s->wrong, "status");
	seed_close(s);
}

/* Two messages for receives of 64 bytes. */
static void seed_tight(struct seed *s)
{
	uint32_t len[2] = { 16, s->wrong ? 62 : 60 };
	int i;

	seed_open(s, 32);
	for (i = 0; i < 2; i++) {
		seed_must(!seed_receive(s, (uint64_t)i), "post");
		seed_send(s, len[i]);
		seed_must(seed_both_are_good(s), "status");
	}
	seed_close(s);
}

/* The receive is posted when the message may have arrived, and may not. */
static void seed_send_early(struct seed *s)
{
	struct rc_opts o = seed_opts;

	/* 491.52 ms, six times. */
	o.min_rnr = 31;
	seed_open_with(s, 32, &o, &o);
	if (s->wrong)
		seed_send(s, 64);
	seed_must(!seed_receive(s, 1), "post");
	if (!s->wrong)
		seed_send(s, 64);
	seed_must(seed_both_are_good(s), "status");
	seed_close(s);
}

static void seed_no_receive(struct seed *s)
{
	struct rc_opts o = seed_opts;

	o.rnr_retry = 1;
	seed_open_with(s, 32, &o, &seed_opts);
	if (!s->wrong)
		seed_must(!seed_receive(s, 1), "post");
	seed_send(s, 64);
	seed_must((seed_poll(s) == IBV_WC_SUCCESS) == !s->wrong, "status");
	if (!s->wrong)
		seed_poll(s);
	seed_close(s);
}

/* The receive is posted long after the message, whose retries go on. */
static void seed_rnr_saved(struct seed *s)
{
	struct rc_opts o = seed_opts;

	o.rnr_retry = 7;
	seed_open_with(s, 32, &o, &o);
	if (!s->wrong)
		seed_must(!seed_receive(s, 1), "post");
	seed_send(s, 64);
	usleep(20000);
	if (s->wrong)
		seed_must(!seed_receive(s, 1), "post");
	seed_must(seed_both_are_good(s), "status");
	seed_close(s);
}

static void seed_imm(struct seed *s)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM }, *bad;
	uint32_t i;

	seed_open(s, 32);
	wr.send_flags = IBV_SEND_SIGNALED;
	for (i = 1; i < 20; i++) {
		seed_must(!seed_receive(s, i), "post");
		wr.wr_id = i;
		wr.imm_data = s->wrong ? i : htonl(i);
		seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
		seed_must(seed_both_are_good(s), "status");
	}
	seed_close(s);
}

/* A list of which the queue has no place for the last ones. */
static void seed_partial(struct seed *s)
{
	struct ibv_send_wr wr[SEED_DEPTH + 2], *bad = NULL;
	int i, n = s->wrong ? SEED_DEPTH + 2 : SEED_DEPTH;
	struct ibv_sge sge;

	seed_open(s, 32);
	for (i = 0; i < n; i++) {
		wr[i] = seed_request(s, &sge, IBV_WR_RDMA_WRITE, (uint64_t)i, 64);
		wr[i].wr.rdma.remote_addr = (uintptr_t)s->buf + 1024;
		wr[i].wr.rdma.rkey = s->mr->rkey;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	seed_must(!ibv_post_send(s->qp[0], wr, &bad) == !s->wrong, "post");
	seed_must(bad == (s->wrong ? &wr[SEED_DEPTH] : NULL), "bad_wr");
	for (i = 0; i < SEED_DEPTH; i++)
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "status");
	seed_close(s);
}

static void seed_unflushed(struct seed *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	seed_open(s, 32);
	seed_must(!seed_receive(s, 1), "post");
	seed_must(!ibv_modify_qp(s->qp[1], &attr, IBV_QP_STATE), "ERR");
	if (!s->wrong)
		seed_must(seed_poll(s) == IBV_WC_WR_FLUSH_ERR, "status");
	seed_close(s);
}

static void seed_unsignaled(struct seed *s)
{
	uint64_t i;

	seed_open(s, 32);
	for (i = 0; i < SEED_DEPTH; i++)
		seed_must(!seed_write_buf(s, i, i || s->wrong ? 0 : IBV_SEND_SIGNALED), "post");
	if (!s->wrong)
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "status");
	seed_close(s);
}

static void seed_no_fence(struct seed *s)
{
	seed_open(s, 32);
	seed_must(!seed_read(s, 1), "post");
	seed_must(!seed_write_buf(s, 2, IBV_SEND_SIGNALED | (s->wrong ? 0 : IBV_SEND_FENCE)),
		  "post");
	seed_must(seed_poll(s) == IBV_WC_SUCCESS, "READ");
	seed_must(seed_poll(s) == IBV_WC_SUCCESS, "WRITE");
	seed_close(s);
}

static void seed_wr_id(struct seed *s)
{
	seed_open(s, 32);
	seed_must(!seed_receive(s, 1), "post");
	seed_must(!seed_receive(s, s->wrong ? 1 : 2), "post");
	seed_close(s);
}

static void seed_inline_large(struct seed *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	seed_open(s, 32);
	seed_must(!ibv_query_qp(s->qp[0], &attr, IBV_QP_CAP, &init), "ibv_query_qp");
	sge = (struct ibv_sge){ (uintptr_t)s->buf, init.cap.max_inline_data + 1, s->mr->lkey };
	wr.send_flags = s->wrong ? IBV_SEND_INLINE : 0;
	seed_must(!seed_receive(s, 1), "post");
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad) == !s->wrong, "ibv_post_send");
	seed_close(s);
}

static void seed_segments(struct seed *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_sge sge[256];
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad;
	struct ibv_qp_attr attr;

	seed_open(s, 32);
	seed_must(!ibv_query_qp(s->qp[1], &attr, IBV_QP_CAP, &init), "ibv_query_qp");
	memset(sge, 0, sizeof(sge));
	wr.num_sge = (int)init.cap.max_recv_sge + s->wrong;
	seed_must(wr.num_sge < 256, "max_recv_sge");
	seed_must(!ibv_post_recv(s->qp[1], &wr, &bad) == !s->wrong, "ibv_post_recv");
	seed_close(s);
}

/* The device gives more than the program has asked for. */
static void seed_inline_unasked(struct seed *s)
{
	struct rc_opts o = seed_opts;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	o.inl = s->wrong ? 0 : 8;
	seed_open_with(s, 32, &o, &seed_opts);
	wr = seed_request(s, &sge, IBV_WR_SEND, 1, 8);
	wr.send_flags |= IBV_SEND_INLINE;
	seed_must(!seed_receive(s, 2), "post");
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
	seed_poll(s);
	seed_poll(s);
	seed_close(s);
}

/* Two queue pairs write to the same bytes. */
static void seed_race(struct seed *s)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	int i;

	seed_open(s, 32);
	for (i = 0; i < 2; i++) {
		wr = seed_request(s, &sge, IBV_WR_RDMA_WRITE, (uint64_t)i + 1, 64);
		wr.wr.rdma.remote_addr = (uintptr_t)s->buf + 1024 + 63 * (uint64_t)i;
		wr.wr.rdma.rkey = s->mr->rkey;
		seed_must(!ibv_post_send(s->qp[i], &wr, &bad), "post");
		if (!s->wrong)
			seed_poll(s);
	}
	for (i = 0; i < 2 && s->wrong; i++)
		seed_poll(s);
	seed_close(s);
}

/* A WRITE fails; the program goes on for more than the queue's depth. */
static void seed_ignored(struct seed *s)
{
	uint32_t rkey;
	uint64_t i;

	seed_open(s, 64);
	rkey = s->mr->rkey ^ (s->wrong ? 0x5a5a00 : 0);
	for (i = 0; i < 5 * SEED_DEPTH; i++) {
		seed_must(
			!seed_write(s, i, IBV_SEND_SIGNALED, (uintptr_t)s->buf, s->mr->lkey, rkey),
			"post");
		seed_poll(s);
	}
	seed_close(s);
}

/* --- datagrams --- */

static struct ibv_qp *seed_datagram_qp(struct seed *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { SEED_DEPTH, SEED_DEPTH, 1, 1, 0 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);

	seed_must(qp, "ibv_create_qp");
	seed_must(!ibv_modify_qp(qp, &attr,
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		  "INIT");
	attr.qp_state = IBV_QPS_RTR;
	seed_must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	seed_must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
	return qp;
}

static void seed_handle_gone(struct seed *s)
{
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_ah *ah;
	struct ibv_qp *qp;

	seed_open(s, 32);
	qp = seed_datagram_qp(s);
	to.grh.sgid_index = (uint8_t)rc_gid(s->ctx, &to.grh.dgid);
	ah = ibv_create_ah(s->pd, &to);
	seed_must(ah, "ibv_create_ah");
	sge = (struct ibv_sge){ (uintptr_t)s->buf, 64, s->mr->lkey };
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = 1;
	seed_must(!ibv_post_send(qp, &wr, &bad), "post");
	if (!s->wrong)
		seed_poll(s);
	seed_must(!ibv_destroy_ah(ah), "ibv_destroy_ah");
	if (s->wrong)
		seed_poll(s);
	ibv_destroy_qp(qp);
	seed_close(s);
}

/* To itself, from the end of the buffer. */
static void seed_send_datagram(struct seed *s, struct ibv_qp *qp, struct ibv_ah *ah,
			       unsigned int flags, uint32_t lkey, uint32_t qkey)
{
	struct ibv_sge sge = { (uintptr_t)s->buf + SEED_BUF - 64, 64, lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = IBV_WR_SEND;
	wr.send_flags = flags;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	seed_must(!ibv_post_send(qp, &wr, &bad), "post");
}

static struct ibv_ah *seed_own_handle(struct seed *s)
{
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct ibv_ah *ah;

	to.grh.sgid_index = (uint8_t)rc_gid(s->ctx, &to.grh.dgid);
	ah = ibv_create_ah(s->pd, &to);
	seed_must(ah, "ibv_create_ah");
	return ah;
}

static void seed_qkey(struct seed *s)
{
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	seed_open(s, 32);
	qp = seed_datagram_qp(s);
	ah = seed_own_handle(s);
	seed_send_datagram(s, qp, ah, IBV_SEND_SIGNALED, s->mr->lkey, s->wrong ? 2 : 1);
	seed_poll(s);
	ibv_destroy_ah(ah);
	ibv_destroy_qp(qp);
	seed_close(s);
}

/* That a datagram has arrived says that its memory is free; no completion of its own is needed. */
static void seed_datagram_dereg(struct seed *s)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 40 + 64, 0 };
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	seed_open(s, 32);
	qp = seed_datagram_qp(s);
	ah = seed_own_handle(s);
	mr = ibv_reg_mr(s->pd, s->buf + SEED_BUF - 64, 64, 0);
	seed_must(mr, "ibv_reg_mr");
	sge.lkey = s->mr->lkey;
	seed_must(!ibv_post_recv(qp, &wr, &bad), "post");
	seed_send_datagram(s, qp, ah, s->wrong ? IBV_SEND_SIGNALED : 0, mr->lkey, 1);
	if (!s->wrong)
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "message");
	ibv_dereg_mr(mr);
	if (s->wrong)
		seed_must(seed_both_are_good(s), "SEND");
	ibv_destroy_ah(ah);
	ibv_destroy_qp(qp);
	seed_close(s);
}

static const struct seed_case seeds[] = {
	{ "qkey", seed_qkey },
	{ "datagram_dereg", seed_datagram_dereg },
	{ "early", seed_early },
	{ "atomic", seed_atomic },
	{ "short", seed_short },
	{ "tight", seed_tight },
	{ "send_early", seed_send_early },
	{ "no_receive", seed_no_receive },
	{ "no_fence", seed_no_fence },
	{ "rnr_saved", seed_rnr_saved },
	{ "imm", seed_imm },
	{ "partial", seed_partial },
	{ "unsignaled", seed_unsignaled },
	{ "unflushed", seed_unflushed },
	{ "race", seed_race },
	{ "wr_id", seed_wr_id },
	{ "inline_large", seed_inline_large },
	{ "segments", seed_segments },
	{ "inline_unasked", seed_inline_unasked },
	{ "ignored", seed_ignored },
	{ "handle_gone", seed_handle_gone },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
