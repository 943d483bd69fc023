/* SPDX-License-Identifier: MIT */
/*
 * libefa's functions on an emulated EFA device: attributes, address handle numbers, SRD queue pairs
 * by both calls, all ways to post, completions by both kinds of CQs, errors.
 *	app_srd_efadv [refused]
 * refused: the device is no EFA device, and all of them say so
 */
#include "tests/lib/c/vb.h"
#include "tests/lib/c/vb_srd.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BUF (1u << 20)

/* Newer than Debian 12's efadv.h. */
#define CAPS_RDMA_WRITE (1u << 3)

static int (*query_device)(struct ibv_context *, struct efadv_device_attr *, uint32_t);
static int (*query_ah)(struct ibv_ah *, struct efadv_ah_attr *, uint32_t);
static struct ibv_qp *(*create_driver_qp)(struct ibv_pd *, struct ibv_qp_init_attr *, uint32_t);
static struct ibv_qp *(*create_qp_ex)(struct ibv_context *, struct ibv_qp_init_attr_ex *,
				      struct efadv_qp_init_attr *, uint32_t);
static struct ibv_cq_ex *(*create_cq)(struct ibv_context *, struct ibv_cq_init_attr_ex *,
				      struct efadv_cq_init_attr *, uint32_t);
static struct efadv_cq *(*cq_from)(struct ibv_cq_ex *);

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static uint8_t *buf;
static union ibv_gid gid;

/* A queue pair and what it needs. */
struct srd_end {
	struct ibv_cq_ex *cq; /* of efadv_create_cq() */
	struct ibv_cq *scq;
	struct ibv_qp *qp;
};

static bool find_functions(void)
{
#define FIND(fn) (*(void **)&(fn) = vb_srd_function("efadv_" #fn))
	*(void **)&cq_from = vb_srd_function("efadv_cq_from_ibv_cq_ex");
	return FIND(query_device) && FIND(query_ah) && FIND(create_driver_qp) &&
	       FIND(create_qp_ex) && FIND(create_cq) && cq_from;
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!ctx)
		die("no device");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	buf = aligned_alloc(4096, BUF);
	mr = buf && pd ? ibv_reg_mr(pd, buf, BUF,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
					    IBV_ACCESS_REMOTE_WRITE)
		       : NULL;
	if (!mr || ibv_query_gid(ctx, 1, 0, &gid))
		die("no memory region");
}

static struct ibv_ah *ah_to(const union ibv_gid *to)
{
	return vb_srd_ah(pd, to);
}

static void test_device(void)
{
	struct efadv_device_attr a;
	struct ibv_port_attr port;

	memset(&a, 0xff, sizeof(a));
	ok(!query_device(ctx, &a, sizeof(a)), "efadv_query_device");
	ok(a.max_sq_wr == 4096 && a.max_rq_wr == 4096 && a.max_sq_sge == 2 && a.max_rq_sge == 2 &&
		   a.inline_buf_size == 32 && a.max_rdma_size == 1u << 30,
	   "its limits");
	ok((a.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_READ) &&
		   (a.device_caps & EFADV_DEVICE_ATTR_CAPS_RNR_RETRY) &&
		   (a.device_caps & CAPS_RDMA_WRITE),
	   "its capabilities");
	memset(&a, 0xff, sizeof(a));
	ok(!query_device(ctx, &a, offsetof(struct efadv_device_attr, device_caps)) &&
		   a.device_caps == ~0u,
	   "an older structure: nothing beyond it is written");
	ok(query_device(ctx, &a, 8) == EINVAL, "a shorter one: EINVAL");
	ok(!ibv_query_port(ctx, 1, &port) && port.max_msg_sz == 4096 && !port.lid &&
		   port.gid_tbl_len == 1 && port.link_layer == IBV_LINK_LAYER_UNSPECIFIED,
	   "its port: one GID, no LID, no link layer, messages of an MTU");
	ok(ctx->device->node_type == IBV_NODE_UNSPECIFIED &&
		   ctx->device->transport_type == IBV_TRANSPORT_UNSPECIFIED,
	   "its type is unspecified");
}

static uint16_t ahn_of(struct ibv_ah *ah)
{
	struct efadv_ah_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	return ah && !query_ah(ah, &attr, sizeof(attr)) ? attr.ahn : 0xffff;
}

static void test_ah(void)
{
	union ibv_gid other = gid;
	struct ibv_ah *a = ah_to(&gid), *b = ah_to(&gid), *c;
	struct ibv_ah_attr local = { .dlid = 1, .port_num = 1 };

	other.raw[15] ^= 1;
	c = ah_to(&other);
	ok(ahn_of(a) != 0xffff && ahn_of(a) == ahn_of(b), "the same address has the same number");
	ok(ahn_of(c) != 0xffff && ahn_of(c) != ahn_of(a), "another one has another");
	errno = 0;
	ok(!ibv_create_ah(pd, &local) && errno == EINVAL, "without a GID: EINVAL");
	ok(!ibv_destroy_ah(a) && !ibv_destroy_ah(b) && !ibv_destroy_ah(c), "they are destroyed");
}

static struct ibv_cq_ex *efa_cq(uint64_t flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 512, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct efadv_cq_init_attr efa = { .wc_flags = flags };

	/* cppcheck-suppress returnDanglingLifetime ; the queue keeps no pointer to either */
	return create_cq(ctx, &attr, &efa, sizeof(efa));
}

static struct srd_end end_new(bool extended)
{
	struct srd_end e = { .cq = efa_cq(EFADV_WC_EX_WITH_SGID),
			     .scq = ibv_create_cq(ctx, 512, NULL, NULL, 0) };
	struct ibv_qp_init_attr_ex ex = { .send_cq = e.scq,
					  .recv_cq = e.cq ? ibv_cq_ex_to_cq(e.cq) : NULL,
					  .cap = { 64, 64, 2, 2, 32 },
					  .qp_type = IBV_QPT_DRIVER,
					  .comp_mask = IBV_QP_INIT_ATTR_PD |
						       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					  .pd = pd,
					  .send_ops_flags = VB_SRD_OPS };
	struct efadv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct ibv_qp_init_attr plain;

	memcpy(&plain, &ex, sizeof(plain));
	e.qp = extended ? create_qp_ex(ctx, &ex, &efa, sizeof(efa))
			: create_driver_qp(pd, &plain, EFADV_QP_DRIVER_TYPE_SRD);
	if (!e.cq || !e.scq || !e.qp || !vb_srd_to_rts(e.qp))
		die("no SRD queue pair: %m");
	return e;
}

static bool recv_at(struct srd_end *e, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf + off, .length = len, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return !ibv_post_recv(e->qp, &wr, &bad);
}

/* The next completion of a send queue. */
static struct ibv_wc sent(const struct srd_end *e)
{
	struct ibv_wc wc = { .status = 255 };
	int i;

	for (i = 0; i < 10000000 && !ibv_poll_cq(e->scq, 1, &wc); i++)
		;
	return wc;
}

/* The next completion of a receive queue becomes current. */
static bool received(struct srd_end *e, uint64_t id)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int i, ret = ENOENT;

	for (i = 0; i < 10000000 && ret == ENOENT; i++)
		ret = ibv_start_poll(e->cq, &attr);
	return !ret && e->cq->status == IBV_WC_SUCCESS && e->cq->wr_id == id;
}

/* The address of a sender: its number if it is known, its GID if not. */
static void test_sender(struct srd_end *a, struct srd_end *b, struct ibv_ah *ah)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = 40, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 5,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = 77,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { ah, b->qp->qp_num, VB_SRD_QKEY } },
			   *bad;
	struct ibv_wc wc;
	union ibv_gid from;

	memset(buf, 0xab, 64);
	ok(recv_at(b, 6, 4096, 4096) && !ibv_post_send(a->qp, &wr, &bad), "ibv_post_send");
	wc = sent(a);
	ok(wc.status == IBV_WC_SUCCESS && wc.wr_id == 5 && wc.opcode == IBV_WC_SEND, "it is sent");
	ok(received(b, 6) && ibv_wc_read_byte_len(b->cq) == 40 &&
		   ibv_wc_read_opcode(b->cq) == IBV_WC_RECV &&
		   ibv_wc_read_src_qp(b->cq) == a->qp->qp_num &&
		   ibv_wc_read_wc_flags(b->cq) == IBV_WC_WITH_IMM &&
		   ibv_wc_read_imm_data(b->cq) == 77 && buf[4096] == 0xab && buf[4096 + 39] == 0xab,
	   "and received, from the first byte of the buffer on");
	ok(ibv_wc_read_slid(b->cq) == ahn_of(ah),
	   "its sender has the number of the address handle");
	ok(efadv_wc_read_sgid(cq_from(b->cq), &from) < 0, "and so no GID");
	ibv_end_poll(b->cq);

	ok(recv_at(b, 7, 4096, 4096) && !ibv_post_send(a->qp, &wr, &bad), "once more");
	sent(a);
	ok(!ibv_destroy_ah(ah) && received(b, 7) && ibv_wc_read_slid(b->cq) == 0xffff &&
		   !efadv_wc_read_sgid(cq_from(b->cq), &from) && !memcmp(&from, &gid, 16),
	   "a sender without an address handle has a GID, and no number");
	ibv_end_poll(b->cq);
	wr.opcode = IBV_WR_RDMA_READ;
	ok(ibv_post_send(a->qp, &wr, &bad) == EINVAL, "ibv_post_send does not do RDMA");
}

static struct ibv_wc done(struct srd_end *a, struct ibv_ah *ah, const struct srd_end *b,
			  uint32_t off, uint32_t len)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a->qp);

	ibv_wr_set_ud_addr(ex, ah, b->qp->qp_num, VB_SRD_QKEY);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf + off, len);
	if (ibv_wr_complete(ex))
		return (struct ibv_wc){ .status = 254 };
	return sent(a);
}

static struct ibv_qp_ex *begin(struct srd_end *a)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a->qp);

	ibv_wr_start(ex);
	ex->wr_id = 9;
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

static void test_rdma(struct srd_end *a, struct srd_end *b)
{
	const uint32_t n = 300000, to = 1u << 19;
	struct ibv_ah *ah = ah_to(&gid);
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < n; i++)
		buf[i] = (uint8_t)(i * 7 + 1);
	memset(buf + to, 0, n);
	ibv_wr_rdma_write(begin(a), mr->rkey, (uintptr_t)buf + to);
	wc = done(a, ah, b, 0, n);
	ok(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RDMA_WRITE &&
		   !memcmp(buf, buf + to, n),
	   "RDMA WRITE");
	memset(buf + to, 0, n);
	ibv_wr_rdma_read(begin(a), mr->rkey, (uintptr_t)buf);
	wc = done(a, ah, b, to, n);
	ok(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_SEND && !memcmp(buf, buf + to, n),
	   "RDMA READ, whose completion libefa calls a send");
	ok(recv_at(b, 8, 0, 0), "a receive for immediate data");
	ibv_wr_rdma_write_imm(begin(a), mr->rkey, (uintptr_t)buf + to, 33);
	wc = done(a, ah, b, 0, n);
	ok(wc.status == IBV_WC_SUCCESS && received(b, 8) && ibv_wc_read_imm_data(b->cq) == 33 &&
		   ibv_wc_read_opcode(b->cq) == IBV_WC_RECV_RDMA_WITH_IMM &&
		   ibv_wc_read_byte_len(b->cq) == n,
	   "RDMA WRITE with immediate data");
	ibv_end_poll(b->cq);

	ibv_wr_rdma_write(begin(a), mr->rkey + 1, (uintptr_t)buf);
	wc = done(a, ah, b, 0, 8);
	ok(wc.status == IBV_WC_REM_ACCESS_ERR && wc.vendor_err == 7, "a wrong key: its own error");
	ibv_wr_send(begin(a));
	wc = done(a, ah, b, 0, 8);
	ok(wc.status == IBV_WC_RNR_RETRY_EXC_ERR && wc.vendor_err == 10,
	   "no receive, three retries");
	ibv_wr_send(begin(a));
	wc = done(a, ah, b, 0, 4097);
	ok(wc.status == IBV_WC_LOC_LEN_ERR, "a message longer than the MTU");
	ok(recv_at(b, 10, 4096, 64), "a receive");
	ibv_wr_send(begin(a));
	wc = done(a, ah, b, 0, 8);
	ok(wc.status == IBV_WC_SUCCESS && received(b, 10), "the queue pair goes on after each");
	ibv_end_poll(b->cq);
	ok(!ibv_destroy_ah(ah), "the address handle is destroyed");
}

/* While one message waits for an answer that does not come, others are posted as they complete. */
static void test_any_order(struct srd_end *a, struct srd_end *b)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a->qp);
	struct ibv_ah *ah = ah_to(&gid), *nobody;
	union ibv_gid other = gid;
	struct ibv_wc wc = { 0 };
	int i;

	other.raw[15] ^= 1;
	nobody = ah_to(&other);
	ibv_wr_send(begin(a));
	ibv_wr_set_ud_addr(ex, nobody, b->qp->qp_num, VB_SRD_QKEY);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 8);
	ok(!ibv_wr_complete(ex), "a message to nobody");
	for (i = 0; i < 63 && recv_at(b, 11, 4096, 64); i++) {
		ibv_wr_send(begin(a));
		wc = done(a, ah, b, 0, 8);
		if (wc.status || !received(b, 11))
			break;
		ibv_end_poll(b->cq);
	}
	ok(i == 63, "63 others are sent meanwhile: %d, status %d", i, wc.status);
	ibv_wr_send(begin(a));
	ibv_wr_set_ud_addr(ex, ah, b->qp->qp_num, VB_SRD_QKEY);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 8);
	ok(recv_at(b, 12, 4096, 64) && !ibv_wr_complete(ex), "and a queue of 64 takes one more");
	do {
		wc = sent(a);
	} while (wc.status == 255);
	ok(wc.status == IBV_WC_RESP_TIMEOUT_ERR && wc.vendor_err == 13, "the first one times out");
	ok(sent(a).status == IBV_WC_SUCCESS && received(b, 12), "and the last one arrives");
	ibv_end_poll(b->cq);
	ok(!ibv_destroy_ah(ah) && !ibv_destroy_ah(nobody), "the address handles are destroyed");
}

static void test_refused_attributes(const struct srd_end *e)
{
	struct ibv_qp_init_attr attr = { .send_cq = e->scq,
					 .recv_cq = e->scq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_DRIVER };
	struct efadv_qp_init_attr efa = { .driver_qp_type = 1 };
	struct ibv_qp_init_attr_ex ex = { .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd };

	errno = 0;
	ok(!ibv_create_qp(pd, &attr) && errno == EOPNOTSUPP,
	   "ibv_create_qp does not make a driver's queue pair");
	ok(!create_driver_qp(pd, &attr, 1) && errno == EOPNOTSUPP, "nor one of an unknown type");
	memcpy(&ex, &attr, sizeof(attr));
	ok(!create_qp_ex(ctx, &ex, &efa, sizeof(efa)) && errno == EOPNOTSUPP,
	   "efadv_create_qp_ex neither");
	efa.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
	efa.comp_mask = 1;
	ok(!create_qp_ex(ctx, &ex, &efa, sizeof(efa)) && errno == EINVAL,
	   "an unknown member: EINVAL");
	efa.comp_mask = 0;
	ex.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ex.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	ok(!create_qp_ex(ctx, &ex, &efa, sizeof(efa)) && errno == EOPNOTSUPP,
	   "atomics: EOPNOTSUPP");
	attr.qp_type = IBV_QPT_RC;
	ok(!ibv_create_qp(pd, &attr) && errno == EOPNOTSUPP, "an RC queue pair: EOPNOTSUPP");
	ok(!efa_cq(1u << 5) && errno == EOPNOTSUPP, "unknown fields of completions: EOPNOTSUPP");
}

static void end_free(struct srd_end *e)
{
	ok(!ibv_destroy_qp(e->qp) && !ibv_destroy_cq(e->scq) &&
		   !ibv_destroy_cq(ibv_cq_ex_to_cq(e->cq)),
	   "queue pair and CQs are destroyed");
}

/* A device of another kind. */
static void test_refused(void)
{
	struct efadv_qp_init_attr efa = { 0 };
	struct ibv_qp_init_attr_ex ex = { .qp_type = IBV_QPT_DRIVER };
	struct efadv_device_attr a;

	ok(query_device(ctx, &a, sizeof(a)) == EOPNOTSUPP, "efadv_query_device: EOPNOTSUPP");
	errno = 0;
	ok(!create_qp_ex(ctx, &ex, &efa, sizeof(efa)) && errno == EOPNOTSUPP,
	   "efadv_create_qp_ex: EOPNOTSUPP");
	errno = 0;
	ok(!efa_cq(0) && errno == EOPNOTSUPP, "efadv_create_cq: EOPNOTSUPP");
}

int main(int argc, char **argv)
{
	struct srd_end a, b;

	if (!find_functions())
		die("no libefa");
	open_device();
	if (argc > 1 && !strcmp(argv[1], "refused")) {
		test_refused();
		return tap_failed != 0;
	}
	test_device();
	test_ah();
	a = end_new(true);
	b = end_new(false);
	ok(!ibv_qp_to_qp_ex(b.qp), "a plain queue pair is no extended one");
	test_sender(&a, &b, ah_to(&gid));
	test_rdma(&a, &b);
	test_any_order(&a, &b);
	test_refused_attributes(&a);
	end_free(&a);
	end_free(&b);
	return tap_failed != 0;
}
