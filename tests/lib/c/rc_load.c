/* SPDX-License-Identifier: MIT */
/* How two load programs meet, and datagrams. See tests/lib/c/rc_load.h. */
#include "tests/lib/c/rc_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEET_NS 150000000000ULL

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
