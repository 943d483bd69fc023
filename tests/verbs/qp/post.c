/* SPDX-License-Identifier: MIT */
/* Posting: lists and bad_wr, full queues, limits, the ibv_wr_* calls, extended CQs. */
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT 20000

static struct end *a, *b;

static struct rc_wr write8(uint64_t id)
{
	return wr_make(IBV_WR_RDMA_WRITE, id, a, a->buf, 8, b, b->buf);
}

static void test_lists(void)
{
	struct rc_wr wr[4], recv[4];
	struct ibv_wc wc;
	int bad, ret;
	bool good;

	pair_up(a, b, &rc_defaults, &rc_defaults);
	for (uint64_t i = 0; i < 4; i++)
		wr[i] = write8(i);
	wr[2].num_sge = RC_SGE;
	ret = end_sends(a, wr, 4, &bad);
	good = end_poll(a, 0, WAIT, &wc) && wc.wr_id == 0 && end_poll(a, 0, WAIT, &wc) &&
	       wc.wr_id == 1 && !end_poll(a, 0, 20, &wc);
	ok(ret == EINVAL && bad == 2 && good, "too many entries in the third of four requests");
	wr[2] = write8(2);
	wr[1].opcode = (enum ibv_wr_opcode)99;
	ret = end_sends(a, wr, 4, &bad);
	good = end_poll(a, 0, WAIT, &wc) && wc.wr_id == 0 && !end_poll(a, 0, 20, &wc);
	ok(ret == EINVAL && bad == 1 && good, "an unknown opcode in the second");
	wr[1] = write8(1);
	wr[1].flags |= IBV_SEND_INLINE;
	wr[1].sge[0].length = 100000;
	ret = end_sends(a, wr, 4, &bad);
	good = end_poll(a, 0, WAIT, &wc) && wc.wr_id == 0 && !end_poll(a, 0, 20, &wc);
	ok(ret == EINVAL && bad == 1 && good, "more inline data than the QP takes");
	ok(end_state(a) == IBV_QPS_RTS, "the QP stays in RTS");

	for (uint64_t i = 0; i < 4; i++)
		recv[i] = wr_make(IBV_WR_SEND, i, b, b->buf, 64, NULL, NULL);
	recv[2].num_sge = RC_SGE;
	ok(end_recvs(b, recv, 4, &bad) == EINVAL && bad == 2,
	   "too many entries in the third of four receives");
}

/* Completed requests make room only when a completion of theirs was polled. */
static void test_full(void)
{
	struct rc_req req = { .op = RC_QUERY, .mask = IBV_QP_CAP };
	struct rc_opts o = rc_defaults;
	struct rc_wr wr, recv = wr_make(IBV_WR_SEND, 0, b, b->buf, 64, NULL, NULL);
	unsigned int n = 0, room;
	struct ibv_wc wc;
	struct rc_rep rep;
	int bad, ret;

	o.send_wr = o.recv_wr = 16;
	pair_up(a, b, &o, &o);
	end_call(a, &req, &rep);
	room = rep.attr.cap.max_send_wr;
	wr = write8(1);
	wr.flags = 0;
	while (!(ret = end_sends(a, &wr, 1, &bad)) && n < 100000)
		n++;
	ok(ret == ENOMEM && bad == 0 && n >= room && room >= 16,
	   "send queue full: ENOMEM after %u of %u", n, room);
	ok(end_send(a, &wr) == ENOMEM, "and it stays full while nothing is polled");

	pair_up(a, b, &o, &o);
	for (unsigned int i = 0; i < room; i++) {
		wr = write8(i);
		wr.flags = i == room - 1 ? IBV_SEND_SIGNALED : 0;
		end_send(a, &wr);
	}
	ok(end_poll(a, 0, WAIT, &wc) && !end_send(a, &wr), "one completion frees all before it");
	for (n = 0; n < 100000 && !(ret = end_recvs(b, &recv, 1, &bad)); n++)
		;
	ok(ret == ENOMEM && bad == 0 && n >= 16, "receive queue full: ENOMEM after %u", n);
}

static void test_caps(void)
{
	struct rc_opts o = rc_defaults;
	struct rc_req req = { .op = RC_CREATE };
	struct rc_rep rep;

	o.send_wr = (uint32_t)a->dev.max_qp_wr + 1;
	ok(end_create(a, &o) == EINVAL, "max_send_wr above the limit: EINVAL");
	o = rc_defaults;
	o.recv_wr = (uint32_t)a->dev.max_qp_wr + 1;
	ok(end_create(a, &o) == EINVAL, "max_recv_wr above the limit: EINVAL");
	o = rc_defaults;
	o.send_sge = (uint32_t)a->dev.max_sge + 1;
	ok(end_create(a, &o) == EINVAL, "max_send_sge above the limit: EINVAL");
	o = rc_defaults;
	o.recv_sge = (uint32_t)a->dev.max_sge + 1;
	ok(end_create(a, &o) == EINVAL, "max_recv_sge above the limit: EINVAL");
	o = rc_defaults;
	o.inl = 1u << 20;
	ok(end_create(a, &o) == EINVAL, "a megabyte inline: EINVAL");
	o = rc_defaults;
	o.send_wr = (uint32_t)a->dev.max_qp_wr;
	o.recv_wr = (uint32_t)a->dev.max_qp_wr;
	o.send_sge = o.recv_sge = (uint32_t)a->dev.max_sge;
	o.inl = 0;
	ok(!end_create(a, &o), "all at their limits");
	req.opts = rc_defaults;
	req.opts.send_wr = 3;
	req.opts.recv_wr = 5;
	end_call(a, &req, &rep);
	ok(!rep.ret && rep.init.cap.max_send_wr >= 3 && rep.init.cap.max_recv_wr >= 5 &&
		   rep.init.cap.max_inline_data >= req.opts.inl,
	   "capabilities are written back");
}

/* A ring of requests goes round many times; a chain crosses its end. */
static void test_wrap(void)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr wr[5];
	struct ibv_wc wc;
	uint64_t next = 0, seen = 0;
	bool good = true;

	o.send_wr = 7;
	pair_up(a, b, &o, &o);
	for (int round = 0; round < 3000 && good; round++) {
		for (int i = 0; i < 5; i++)
			wr[i] = write8(next++);
		good = !end_sends(a, wr, 5, NULL);
		for (int i = 0; i < 5 && good; i++)
			good = end_poll(a, 0, WAIT, &wc) && !wc.status && wc.wr_id == seen++;
	}
	ok(good, "15000 requests through a queue of 7");
}

static struct ibv_qp_ex *create_ex(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 64, 64, 4, 4, 128 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = a->side->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
				  IBV_QP_EX_WITH_SEND_WITH_INV,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(a->side->ctx, &init);

	return qp ? ibv_qp_to_qp_ex(qp) : NULL;
}

static bool polled(struct ibv_cq *cq, uint64_t id, struct ibv_wc *wc)
{
	return poll_cq(cq, 20000, wc) == 1 && !wc->status && wc->wr_id == id;
}

static void wr_one(struct ibv_qp_ex *q, uint64_t id, struct ibv_sge *sge)
{
	ibv_wr_start(q);
	q->wr_id = id;
	q->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(q, b->rkey, (uintptr_t)b->buf);
	if (sge)
		ibv_wr_set_sge(q, sge->lkey, sge->addr, sge->length);
	else
		ibv_wr_set_inline_data(q, a->buf + 128, 100);
}

static void wr_one_request(struct ibv_qp_ex *q, struct ibv_cq *cq)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, 5000, a->lkey };
	struct ibv_wc wc;

	fill(a->buf, 8192, 7);
	wr_one(q, 1, &sge);
	ok(!ibv_wr_complete(q) && polled(cq, 1, &wc) && !memcmp(a->buf, b->buf, 5000),
	   "ibv_wr_rdma_write, set_sge");
	wr_one(q, 2, NULL);
	ok(!ibv_wr_complete(q) && polled(cq, 2, &wc) && !memcmp(a->buf + 128, b->buf, 100),
	   "set_inline_data");
	wr_one(q, 3, &sge);
	ibv_wr_abort(q);
	ok(!ibv_poll_cq(cq, 1, &wc), "ibv_wr_abort: nothing is posted");
}

static void wr_two_requests(struct ibv_qp_ex *q, struct ibv_cq *cq)
{
	struct ibv_sge list[2] = { { (uintptr_t)a->buf + 100, 10, a->lkey },
				   { (uintptr_t)a->buf + 200, 20, a->lkey } };
	struct ibv_data_buf bufs[2] = { { a->buf + 300, 7 }, { a->buf + 400, 9 } };
	struct rc_wr recv = wr_make(IBV_WR_SEND, 70, b, b->buf, 4096, NULL, NULL);
	struct ibv_wc wc;

	end_recv(b, &recv);
	ibv_wr_start(q);
	q->wr_id = 4;
	q->wr_flags = 0;
	ibv_wr_send_imm(q, 0x1234);
	ibv_wr_set_sge_list(q, 2, list);
	q->wr_id = 5;
	q->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write_imm(q, b->rkey, (uintptr_t)b->buf + 4096, 0x5678);
	ibv_wr_set_inline_data_list(q, 2, bufs);
	recv.wr_id = 71;
	end_recv(b, &recv);
	ok(!ibv_wr_complete(q) && polled(cq, 5, &wc), "two in one ibv_wr_complete");
	ok(end_poll(b, 1, WAIT, &wc) && wc.wr_id == 70 && wc.imm_data == 0x1234 &&
		   wc.byte_len == 30 && !memcmp(b->buf, a->buf + 100, 10) &&
		   !memcmp(b->buf + 10, a->buf + 200, 20),
	   "ibv_wr_send_imm, set_sge_list");
	ok(end_poll(b, 1, WAIT, &wc) && wc.wr_id == 71 && wc.imm_data == 0x5678 &&
		   wc.byte_len == 16 && !memcmp(b->buf + 4096, a->buf + 300, 7) &&
		   !memcmp(b->buf + 4096 + 7, a->buf + 400, 9),
	   "ibv_wr_rdma_write_imm, set_inline_data_list");
}

static void wr_responses(struct ibv_qp_ex *q, struct ibv_cq *cq)
{
	uint64_t *counter = (uint64_t *)(void *)(b->buf + 8192);
	uint64_t *result = (uint64_t *)(void *)a->buf;
	struct ibv_wc wc;

	*counter = 40;
	ibv_wr_start(q);
	q->wr_id = 6;
	q->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_fetch_add(q, b->rkey, (uintptr_t)counter, 2);
	ibv_wr_set_sge(q, a->lkey, (uintptr_t)&result[0], 8);
	q->wr_id = 7;
	ibv_wr_atomic_cmp_swp(q, b->rkey, (uintptr_t)counter, 42, 99);
	ibv_wr_set_sge(q, a->lkey, (uintptr_t)&result[1], 8);
	q->wr_id = 8;
	ibv_wr_rdma_read(q, b->rkey, (uintptr_t)counter);
	ibv_wr_set_sge(q, a->lkey, (uintptr_t)&result[2], 8);
	ok(!ibv_wr_complete(q) && polled(cq, 6, &wc) && polled(cq, 7, &wc) && polled(cq, 8, &wc) &&
		   result[0] == 40 && result[1] == 42 && result[2] == 99,
	   "ibv_wr_atomic_fetch_add, atomic_cmp_swp, rdma_read");
}

static void wr_plain_send(struct ibv_qp_ex *q, struct ibv_cq *cq)
{
	struct rc_wr recv = wr_make(IBV_WR_SEND, 72, b, b->buf, 4096, NULL, NULL);
	struct ibv_wc wc;

	end_recv(b, &recv);
	ibv_wr_start(q);
	q->wr_id = 9;
	q->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(q);
	ibv_wr_set_sge(q, a->lkey, (uintptr_t)a->buf, 8);
	ok(!ibv_wr_complete(q) && polled(cq, 9, &wc) && end_poll(b, 1, WAIT, &wc) &&
		   wc.byte_len == 8,
	   "ibv_wr_send");
}

static void test_wr_api(void)
{
	struct ibv_cq *cq = ibv_create_cq(a->side->ctx, 64, NULL, NULL, 0);
	struct ibv_qp_ex *q = cq ? create_ex(cq) : NULL;

	if (!ok(q != NULL, "ibv_create_qp_ex with send operations") || !q)
		return;
	pair_up(a, b, &rc_defaults, &rc_defaults);
	/* B's partner is the extended QP instead of A's own. */
	end_to_state(b, IBV_QPS_RESET);
	a->addr.qpn = q->qp_base.qp_num;
	end_connect(b, a, &rc_defaults);
	if (rc_up(&q->qp_base, &rc_defaults, &b->addr, a->side->gid_index, rc_defaults.psn))
		die("cannot connect the extended QP");
	wr_one_request(q, cq);
	wr_two_requests(q, cq);
	wr_responses(q, cq);
	wr_plain_send(q, cq);
	ok(ibv_qp_to_qp_ex(a->side->qp) == NULL, "a plain QP has no ibv_qp_ex");
	ibv_destroy_qp(&q->qp_base);
	ibv_destroy_cq(cq);
}

int main(void)
{
	a = end_local();
	b = end_local();
	end_open(a);
	end_open(b);
	test_lists();
	test_full();
	test_caps();
	test_wrap();
	test_wr_api();
	return tap_failed != 0;
}
