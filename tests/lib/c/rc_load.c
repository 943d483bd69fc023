/* SPDX-License-Identifier: MIT */
/* How two load programs meet, what they send, and datagrams. See tests/lib/c/rc_load.h. */
#include "tests/lib/c/rc_load.h"
#include "tests/lib/c/vb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEET_NS	 150000000000ULL
#define DRAIN_NS 30000000000ULL

int rc_meet(bool serve, uint16_t port, const volatile int *stop)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int one = 1;
	uint64_t end = now_ns() + MEET_NS;
	int s = socket(AF_INET, SOCK_STREAM, 0), fd;
	struct pollfd p = { .fd = s, .events = POLLIN };

	if (serve) {
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(s, (struct sockaddr *)&sa, sizeof(sa)) || listen(s, 1))
			die("port %u: %s", port, strerror(errno));
		while (poll(&p, 1, 100) != 1)
			if (*stop || now_ns() > end)
				return -1;
		fd = accept(s, NULL, NULL);
		close(s);
		return fd;
	}
	while (connect(s, (struct sockaddr *)&sa, sizeof(sa))) {
		close(s);
		usleep(20000);
		if (*stop || now_ns() > end)
			return -1;
		s = socket(AF_INET, SOCK_STREAM, 0);
	}
	return s;
}

bool rc_swap(int fd, const void *mine, void *theirs, size_t size)
{
	size_t n = 0;
	ssize_t k;

	if (write(fd, mine, size) != (ssize_t)size)
		return false;
	for (; n < size; n += (size_t)k) {
		k = read(fd, (uint8_t *)theirs + n, size - n);
		if (k <= 0)
			return false;
	}
	return true;
}

/* --- requests, and their end --- */

struct ibv_qp *rc_qp_new_ops(struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = pd
	};

	memcpy(&attr, init, offsetof(struct ibv_qp_init_attr, sq_sig_all) + sizeof(int));
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
			      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
			      IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE |
			      VB_QP_EX_FLUSH;
	return ibv_create_qp_ex(pd->context, &attr);
}

int rc_flush(struct ibv_qp *qp, uint64_t wr_id, uint32_t rkey, uint64_t addr, uint64_t len)
{
	const uint64_t global_range = 1;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	vb_wr_flush(ex, rkey, addr, len, global_range);
	return ibv_wr_complete(ex);
}

uint64_t rc_random_len(uint64_t *rng, uint64_t max)
{
	uint64_t r = rnd(rng) % 16;

	if (r < 9)
		return 1 + rnd(rng) % 200;
	return 1 + rnd(rng) % (r < 14 ? 20000 : max);
}

static uint64_t constant_at(uint64_t seed, uint64_t i)
{
	seed ^= i * 0x9e3779b97f4a7c15ULL;
	return rnd(&seed);
}

void rc_constant_fill(void *to, size_t size, uint64_t seed)
{
	for (uint64_t i = 0; i < size / 8; i++)
		((uint64_t *)to)[i] = constant_at(seed, i);
}

bool rc_is_constant(const void *from, size_t size, uint64_t seed, uint64_t off)
{
	for (uint64_t i = 0; i < size / 8; i++)
		if (((const uint64_t *)from)[i] != constant_at(seed, off / 8 + i))
			return false;
	return true;
}

const char *rc_flushed(struct ibv_cq *cq, int64_t left, uint64_t *x)
{
	uint64_t end = now_ns() + DRAIN_NS;
	struct ibv_wc wc;
	int n;

	while (left > 0 && now_ns() < end) {
		n = ibv_poll_cq(cq, 1, &wc);
		*x = n < 0 ? (uint64_t)-n : wc.status;
		if (n < 0)
			return "ibv_poll_cq";
		if (n && wc.status != IBV_WC_WR_FLUSH_ERR)
			return "not flushed";
		left -= n;
		if (!n)
			usleep(1000);
	}
	*x = (uint64_t)left;
	return left > 0 ? "requests that were not flushed" : NULL;
}

bool rc_is_fatal(struct ibv_context *ctx)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	while (poll(&p, 1, DRAIN_NS / 1000000) == 1 && !ibv_get_async_event(ctx, &ev)) {
		ibv_ack_async_event(&ev);
		if (ev.event_type == IBV_EVENT_DEVICE_FATAL)
			return true;
	}
	return false;
}

/* --- datagrams --- */

static int post_recv(struct dgrams *d, uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)d->room[i % DGRAMS], GRH + DGRAM, d->mr->lkey };
	struct ibv_recv_wr *bad_wr, wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

	return ibv_post_recv(d->qp, &wr, &bad_wr);
}

bool dgrams_make(struct dgrams *d, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = { .cap = { DGRAMS, DGRAMS, 1, 1, 0 },
					 .qp_type = IBV_QPT_UD };

	d->cq = ibv_create_cq(pd->context, 4 * DGRAMS, NULL, NULL, 0);
	d->mr = ibv_reg_mr(pd, d, sizeof(*d), IBV_ACCESS_LOCAL_WRITE);
	init.send_cq = init.recv_cq = d->cq;
	d->qp = d->cq && d->mr ? ibv_create_qp(pd, &init) : NULL;
	return d->qp;
}

bool dgrams_up(struct dgrams *d, struct ibv_pd *pd, int gid_index, const union ibv_gid *gid,
	       uint32_t qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 4 } };
	int ret;

	/* The number may have been another's before, for whom there is something under way yet. */
	d->qkey = (uint32_t)((d->seed + d->peer_seed) >> 8) & 0x7fffffff;
	attr.qkey = d->qkey;
	d->peer_qpn = qpn;
	to.grh.sgid_index = (uint8_t)gid_index;
	to.grh.dgid = *gid;
	ret = ibv_modify_qp(d->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	ret |= ibv_modify_qp(d->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	ret |= ibv_modify_qp(d->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	d->ah = ibv_create_ah(pd, &to);
	for (uint64_t i = 0; i < DGRAMS; i++)
		ret |= post_recv(d, i);
	return !ret && d->ah;
}

static uint32_t length_of(uint64_t seq)
{
	return (uint32_t)(8 + seq % (DGRAM - 7));
}

int dgrams_post(struct dgrams *d)
{
	uint8_t *buf = d->out[d->sent % DGRAMS];
	uint64_t seq = d->sent + 1;
	struct ibv_sge sge = { (uintptr_t)buf, length_of(seq), d->mr->lkey };
	struct ibv_send_wr *bad_wr, wr = { .sg_list = &sge,
					   .num_sge = 1,
					   .opcode = IBV_WR_SEND,
					   .send_flags = IBV_SEND_SIGNALED };
	int ret;

	if (d->sent - d->back >= DGRAMS)
		return 0;
	memcpy(buf, &seq, 8);
	fill(buf + 8, sge.length - 8, seq ^ d->seed);
	wr.wr.ud.ah = d->ah;
	wr.wr.ud.remote_qpn = d->peer_qpn;
	wr.wr.ud.remote_qkey = d->qkey;
	ret = ibv_post_send(d->qp, &wr, &bad_wr);
	d->sent += !ret;
	return ret;
}

const char *dgrams_poll(struct dgrams *d)
{
	const uint8_t *buf;
	struct ibv_wc wc;
	uint64_t seq;

	while (ibv_poll_cq(d->cq, 1, &wc) > 0) {
		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			continue;
		if (wc.status)
			return ibv_wc_status_str(wc.status);
		if (!(wc.opcode & IBV_WC_RECV)) {
			d->back++;
			continue;
		}
		buf = d->room[wc.wr_id % DGRAMS] + GRH;
		memcpy(&seq, buf, 8);
		if (seq <= d->last)
			return "a datagram that came twice or late";
		if (wc.byte_len != GRH + length_of(seq) ||
		    !filled(buf + 8, length_of(seq) - 8, seq ^ d->peer_seed))
			return "a broken datagram";
		d->last = seq;
		d->in++;
		(void)post_recv(d, wc.wr_id + DGRAMS);
	}
	return NULL;
}
