/* SPDX-License-Identifier: MIT */
/* Queue pairs connected within a process. See tests/lib/c/rc_qps.h. */
#include "tests/lib/c/rc_qps.h"

#include <errno.h>
#include <string.h>

int rc_qps_up(struct rc_qps *p, struct ibv_pd *pd, struct ibv_cq *scq, struct ibv_cq *rcq,
	      const struct rc_opts *o)
{
	struct ibv_qp_init_attr init = {
		.send_cq = scq,
		.recv_cq = rcq,
		.cap = { o->send_wr, o->recv_wr, o->send_sge, o->recv_sge, o->inl },
		.qp_type = IBV_QPT_RC,
	};
	struct rc_addr a = { .psn = o->psn }, b = { .psn = o->psn };
	int gid_index = rc_gid(pd->context, &a.gid);
	int ret;

	b.gid = a.gid;
	p->a = ibv_create_qp(pd, &init);
	p->b = p->a ? ibv_create_qp(pd, &init) : NULL;
	if (!p->b)
		return errno;
	a.qpn = p->a->qp_num;
	b.qpn = p->b->qp_num;
	ret = rc_up(p->a, o, &b, gid_index, o->psn);
	return ret ? ret : rc_up(p->b, o, &a, gid_index, o->psn);
}

int rc_qps_down(struct rc_qps *p)
{
	int ret = ibv_destroy_qp(p->a);

	return ret ? ret : ibv_destroy_qp(p->b);
}

int rc_qps_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return ibv_post_recv(qp, &wr, &bad);
}

int rc_qps_send(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, struct ibv_sge sge,
		const void *remote, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)remote, rkey },
	};

	return ibv_post_send(qp, &wr, &bad);
}

void rc_msg(uint8_t *buf, uint32_t len, uint64_t seed)
{
	const struct rc_head h = { seed };

	memcpy(buf, &h, sizeof(h));
	fill(buf + sizeof(h), len - sizeof(h), seed);
}

bool rc_msg_ok(const uint8_t *buf, uint32_t len)
{
	struct rc_head h;

	memcpy(&h, buf, sizeof(h));
	return len >= sizeof(h) && filled(buf + sizeof(h), len - sizeof(h), h.seed);
}
