/* SPDX-License-Identifier: MIT */
/*
 * Bugs of public projects, as their threads describe them: each case has the name and number of its
 * thread, and is right or wrong as the fixed and the broken version.
 */
#include "tests/lib/c/seed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

static void bug_post(struct seed *s, enum ibv_wr_opcode opcode, uint64_t wr_id, unsigned int flags,
		     struct ibv_sge sge, uint64_t to, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = opcode;
	wr.send_flags = flags;
	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = rkey;
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
}

static struct ibv_sge bug_sge(const struct seed *s, uint32_t at, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)s->buf + at, len, s->mr->lkey };
}

/* An endpoint is torn down with transfers in flight. */
static void bug_mooncake_1903(struct seed *s)
{
	int i;

	seed_open(s, 32);
	for (i = 0; i < 4; i++)
		seed_must(!seed_write_buf(s, (uint64_t)i, IBV_SEND_SIGNALED), "post");
	for (i = 0; i < 4 && !s->wrong; i++)
		seed_poll(s);
	seed_close(s);
}

/* A buffer is freed when its connection times out, not when its request completes. */
static void bug_spdk_3859(struct seed *s)
{
	struct ibv_mr *mr;

	seed_open(s, 32);
	mr = ibv_reg_mr(s->pd, s->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	seed_must(mr, "ibv_reg_mr");
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, (uintptr_t)s->buf, mr->lkey, s->mr->rkey),
		  "post");
	if (!s->wrong)
		seed_poll(s);
	ibv_dereg_mr(mr);
	if (s->wrong)
		seed_poll(s);
	seed_close(s);
}

/* The next message is written to the buffer of the one before, which may not have left. */
static void bug_deepep_310(struct seed *s)
{
	static uint64_t flag[2];
	struct ibv_mr *mr;
	int i;

	seed_open(s, 32);
	mr = ibv_reg_mr(s->pd, flag, sizeof(flag), IBV_ACCESS_LOCAL_WRITE);
	seed_must(mr, "ibv_reg_mr");
	for (i = 0; i < 2; i++) {
		flag[s->wrong ? 0 : i] = (uint64_t)i + 1;
		bug_post(s, IBV_WR_RDMA_WRITE, (uint64_t)i, IBV_SEND_SIGNALED,
			 (struct ibv_sge){ (uintptr_t)&flag[s->wrong ? 0 : i], 8, mr->lkey },
			 (uintptr_t)s->buf, s->mr->rkey);
	}
	seed_poll(s);
	seed_poll(s);
	ibv_dereg_mr(mr);
	seed_close(s);
}

struct bug_writer {
	struct seed *s;
	int go[2];
};

static void *bug_write_late(void *arg)
{
	struct bug_writer *w = arg;
	char byte;

	seed_must(read(w->go[0], &byte, 1) == 1, "read");
	seed_must(!seed_write_buf(w->s, 9, IBV_SEND_SIGNALED), "post");
	return NULL;
}

static void bug_empty(struct ibv_cq *cq)
{
	struct ibv_wc wc[4];

	while (ibv_poll_cq(cq, 4, wc) == 4)
		;
}

/* Two CQs share a channel. Both are armed, and one is polled again. */
static void bug_brpc_3415(struct seed *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { SEED_DEPTH, SEED_DEPTH, 1, 1, 0 },
	};
	struct bug_writer writer = { .s = s };
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_cq *receives, *cq;
	struct pollfd fd = { .events = POLLIN };
	struct ibv_qp *qp;
	pthread_t other;
	void *context;

	seed_open(s, 32);
	seed_must(!fcntl(s->chan->fd, F_SETFL, O_NONBLOCK) && !pipe(writer.go), "pipe");
	receives = ibv_create_cq(s->ctx, 32, NULL, s->chan, 0);
	init.send_cq = s->cq;
	init.recv_cq = receives;
	qp = ibv_create_qp(s->pd, &init);
	seed_must(qp && !ibv_modify_qp(qp, &attr, to_init), "ibv_create_qp");
	sge = bug_sge(s, 512, 64);
	seed_must(!ibv_post_recv(qp, &wr, &bad), "post");
	seed_must(!pthread_create(&other, NULL, bug_write_late, &writer), "thread");
	bug_empty(receives);
	bug_empty(s->cq);
	ibv_req_notify_cq(receives, 1);
	ibv_req_notify_cq(s->cq, 0);
	if (!s->wrong)
		bug_empty(receives);
	bug_empty(s->cq);
	seed_must(write(writer.go[1], "", 1) == 1, "write");
	fd.fd = s->chan->fd;
	seed_must(poll(&fd, 1, -1) == 1, "poll");
	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	ibv_ack_cq_events(cq, 1);
	pthread_join(other, NULL);
	seed_poll(s);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(receives);
	seed_close(s);
}

/* Completions of several requests wake it once; it polls for one, and waits again. */
static void bug_perftest_137(struct seed *s)
{
	struct bug_writer writer = { .s = s };
	struct ibv_wc wc[4];
	pthread_t other;
	void *context;
	struct ibv_cq *cq;
	int n = 0;

	seed_open(s, 32);
	seed_must(!pipe(writer.go), "pipe");
	seed_must(!pthread_create(&other, NULL, bug_write_late, &writer), "thread");
	ibv_req_notify_cq(s->cq, 0);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	seed_must(!seed_write_buf(s, 2, IBV_SEND_SIGNALED), "post");
	seed_must(!seed_write_buf(s, 3, IBV_SEND_SIGNALED), "post");
	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	ibv_ack_cq_events(cq, 1);
	while (!n)
		n = ibv_poll_cq(s->cq, 1, wc);
	ibv_req_notify_cq(s->cq, 0);
	while (n < (s->wrong ? 2 : 3))
		n += ibv_poll_cq(s->cq, s->wrong ? 1 : 4, wc);
	seed_must(write(writer.go[1], "", 1) == 1, "write");
	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	ibv_ack_cq_events(cq, 1);
	pthread_join(other, NULL);
	for (; n < 4; n++)
		seed_poll(s);
	seed_close(s);
}

static void *bug_ack_late(void *cq)
{
	sleep(5);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

/* ibv_destroy_cq() hangs at cleanup; here another thread frees it after a while. */
static void bug_ucx_1039(struct seed *s)
{
	struct ibv_cq *cq;
	pthread_t other = 0;
	void *context;

	seed_open(s, 32);
	ibv_req_notify_cq(s->cq, 0);
	seed_must(!seed_write_buf(s, 1, IBV_SEND_SIGNALED), "post");
	seed_must(!ibv_get_cq_event(s->chan, &cq, &context), "event");
	seed_poll(s);
	if (s->wrong)
		seed_must(!pthread_create(&other, NULL, bug_ack_late, cq), "thread");
	else
		ibv_ack_cq_events(cq, 1);
	seed_close(s);
	if (s->wrong)
		pthread_join(other, NULL);
}

/* Only the last request of an I/O is signaled, and an I/O may be longer than the queue. */
static void bug_spdk_3195(struct seed *s)
{
	int i, refused = 0;

	seed_open(s, 32);
	for (i = 0; i < 2 * SEED_DEPTH && !refused; i++) {
		unsigned int signaled = !s->wrong && i % SEED_DEPTH == SEED_DEPTH - 1;

		refused = seed_write_buf(s, (uint64_t)i, signaled ? IBV_SEND_SIGNALED : 0);
		if (signaled)
			seed_poll(s);
	}
	seed_must((refused != 0) == s->wrong, "depth");
	seed_close(s);
}

/* A CQ of a fixed size, for as many receives as there are peers. */
static void bug_transferbench_239(struct seed *s)
{
	int i;

	seed_open(s, s->wrong ? 1 : 4 * SEED_DEPTH);
	for (i = 0; i < SEED_DEPTH; i++)
		seed_must(!seed_receive(s, (uint64_t)i), "post");
	seed_close(s);
}

/* Memory that a READ fetches is sent on, before the READ has completed. */
static void bug_ucx_7215(struct seed *s)
{
	seed_open(s, 32);
	bug_post(s, IBV_WR_RDMA_READ, 1, IBV_SEND_SIGNALED, bug_sge(s, 0, 64),
		 (uintptr_t)s->buf + 1024, s->mr->rkey);
	if (!s->wrong)
		seed_poll(s);
	bug_post(s, IBV_WR_RDMA_WRITE, 2, IBV_SEND_SIGNALED, bug_sge(s, 0, 64),
		 (uintptr_t)s->buf + 2048, s->mr->rkey);
	seed_poll(s);
	if (s->wrong)
		seed_poll(s);
	seed_close(s);
}

/* Resets qp[0] and moves it to INIT. */
static void bug_reset(struct seed *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	seed_must(!ibv_modify_qp(s->qp[0], &attr, IBV_QP_STATE), "RESET");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 };
	seed_must(!ibv_modify_qp(s->qp[0], &attr, to_init), "INIT");
}

/* Return: as ibv_modify_qp(). */
static int bug_to_rtr(struct seed *s, uint8_t reads, uint8_t gid_index)
{
	struct rc_addr peer = { .qpn = s->qp[1]->qp_num };
	struct ibv_qp_attr attr;
	int mask;

	rc_gid(s->ctx, &peer.gid);
	mask = rc_to(IBV_QPS_RTR, &seed_opts, &peer, gid_index, 0, &attr);
	attr.max_dest_rd_atomic = reads;
	return ibv_modify_qp(s->qp[0], &attr, mask);
}

/* More READs than the device takes. */
static void bug_smart_2(struct seed *s)
{
	struct ibv_device_attr dev;
	union ibv_gid gid;

	seed_open(s, 32);
	seed_must(!ibv_query_device(s->ctx, &dev), "ibv_query_device");
	bug_reset(s);
	seed_must((bug_to_rtr(s, (uint8_t)(dev.max_qp_rd_atom + s->wrong),
			      (uint8_t)rc_gid(s->ctx, &gid)) == EINVAL) == s->wrong,
		  "RTR");
	seed_close(s);
}

/* A GID index that this port does not have. */
static void bug_mooncake_721(struct seed *s)
{
	union ibv_gid gid;
	int index;

	seed_open(s, 32);
	index = s->wrong ? 255 : rc_gid(s->ctx, &gid);
	bug_reset(s);
	seed_must((bug_to_rtr(s, 1, (uint8_t)index) == EINVAL) == s->wrong, "RTR");
	seed_close(s);
}

/* Inline data without asking for it. */
static void bug_mori_424(struct seed *s)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	seed_open(s, 32);
	sge = bug_sge(s, 0, 2048);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED | (s->wrong ? IBV_SEND_INLINE : 0);
	wr.wr.rdma.remote_addr = (uintptr_t)s->buf + 2048;
	wr.wr.rdma.rkey = s->mr->rkey;
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad) == !s->wrong, "post");
	if (!s->wrong)
		seed_poll(s);
	seed_close(s);
}

/* The length counts a header that is not in the region. */
static void bug_async_rdma_43(struct seed *s)
{
	seed_open(s, 32);
	bug_post(s, IBV_WR_RDMA_WRITE, 1, IBV_SEND_SIGNALED,
		 bug_sge(s, SEED_BUF - 64, s->wrong ? 72 : 64), (uintptr_t)s->buf, s->mr->rkey);
	seed_must((seed_poll(s) == IBV_WC_LOC_PROT_ERR) == s->wrong, "status");
	seed_close(s);
}

/* The target deregisters memory while its peer still writes. */
static void bug_spdk_1387(struct seed *s)
{
	struct ibv_mr *mr;

	seed_open(s, 32);
	mr = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf), ALL);
	seed_must(mr, "ibv_reg_mr");
	if (s->wrong)
		ibv_dereg_mr(mr);
	seed_must(!seed_write(s, 1, IBV_SEND_SIGNALED, (uintptr_t)s->buf, s->mr->lkey,
			      s->wrong ? mr->rkey : s->mr->rkey),
		  "post");
	seed_must((seed_poll(s) == IBV_WC_REM_ACCESS_ERR) == s->wrong, "status");
	if (!s->wrong)
		ibv_dereg_mr(mr);
	seed_close(s);
}

/* Members of an object are destroyed in the order of their declaration. */
static void bug_spead2_134(struct seed *s)
{
	seed_open(s, 32);
	if (s->wrong)
		seed_must(ibv_destroy_cq(s->cq) == EBUSY, "ibv_destroy_cq");
	seed_close(s);
}

/* A registration cache that is never emptied. */
static void bug_uccl_690(struct seed *s)
{
	struct ibv_mr *mr;

	seed_open(s, 32);
	mr = ibv_reg_mr(s->pd, s->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	seed_must(mr, "ibv_reg_mr");
	if (s->wrong)
		exit(0);
	ibv_dereg_mr(mr);
	seed_close(s);
}

/* htonl() of a 64-bit address, and ntohl() at its peer. */
static void bug_rdma_example_3(struct seed *s)
{
	uint64_t addr = (uintptr_t)s->buf;

	seed_open(s, 32);
	bug_post(s, IBV_WR_RDMA_WRITE, 1, IBV_SEND_SIGNALED, bug_sge(s, 0, 64),
		 s->wrong ? ntohl(htonl((uint32_t)addr)) : addr, s->mr->rkey);
	seed_must((seed_poll(s) == IBV_WC_REM_ACCESS_ERR) == s->wrong, "status");
	seed_close(s);
}

/* The assertion of the result is commented out: the queue pair is not in RTS. */
static void bug_fusee_ib(struct seed *s)
{
	seed_open(s, 32);
	if (s->wrong)
		bug_reset(s);
	if (!seed_write_buf(s, 1, IBV_SEND_SIGNALED) && !s->wrong)
		seed_poll(s);
	seed_close(s);
}

/* Failed completions are counted as finished requests. */
static void bug_spdk_3830(struct seed *s)
{
	int i;

	seed_open(s, 32);
	for (i = 0; i < 4 * SEED_DEPTH; i++) {
		seed_must(!seed_write(s, (uint64_t)i, IBV_SEND_SIGNALED, (uintptr_t)s->buf,
				      s->mr->lkey, s->mr->rkey ^ (s->wrong ? 0x5a5a00 : 0)),
			  "post");
		seed_poll(s);
	}
	seed_close(s);
}

/* A wr_id that nobody has set: a flush cannot be assigned to its request. */
static void bug_libfabric_3389(struct seed *s)
{
	int i;

	seed_open(s, 32);
	for (i = 0; i < 4; i++)
		seed_must(!seed_write_buf(s, s->wrong ? 0 : (uint64_t)i, IBV_SEND_SIGNALED),
			  "post");
	for (i = 0; i < 4; i++)
		seed_poll(s);
	seed_close(s);
}

static const struct seed_case bugs[] = {
	{ "mooncake_1903", bug_mooncake_1903 },
	{ "spdk_3859", bug_spdk_3859 },
	{ "deepep_310", bug_deepep_310 },
	{ "brpc_3415", bug_brpc_3415 },
	{ "perftest_137", bug_perftest_137 },
	{ "ucx_1039", bug_ucx_1039 },
	{ "spdk_3195", bug_spdk_3195 },
	{ "transferbench_239", bug_transferbench_239 },
	{ "ucx_7215", bug_ucx_7215 },
	{ "smart_2", bug_smart_2 },
	{ "mooncake_721", bug_mooncake_721 },
	{ "mori_424", bug_mori_424 },
	{ "async_rdma_43", bug_async_rdma_43 },
	{ "spdk_1387", bug_spdk_1387 },
	{ "spead2_134", bug_spead2_134 },
	{ "uccl_690", bug_uccl_690 },
	{ "rdma_example_3", bug_rdma_example_3 },
	{ "fusee_ib", bug_fusee_ib },
	{ "spdk_3830", bug_spdk_3830 },
	{ "libfabric_3389", bug_libfabric_3389 },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, bugs, sizeof(bugs) / sizeof(bugs[0]));
}
