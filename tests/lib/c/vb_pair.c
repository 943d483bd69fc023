/* SPDX-License-Identifier: MIT */
/* One direction between two QPs of a type. See tests/lib/c/vb.h. */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <string.h>

const uint8_t vb_mac[6] = { 0x02, 0, 0, 0, 0, 0x42 };

const enum ibv_qp_type vb_types[VB_TYPES] = {
	IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_RAW_PACKET,
};

#define FRAME_HDR 14

const char *vb_type_str(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return "RC";
	case IBV_QPT_UC:
		return "UC";
	case IBV_QPT_UD:
		return "UD";
	case IBV_QPT_XRC_SEND:
		return "XRC_SEND";
	case IBV_QPT_XRC_RECV:
		return "XRC_RECV";
	case IBV_QPT_RAW_PACKET:
		return "RAW_PACKET";
	default:
		return "?";
	}
}

static int do_flow(struct vb_side *s, void *arg)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = sizeof(rule),
			  .num_of_specs = 1,
			  .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};
	struct vb_qp *q = &s->qp[*(int *)arg];

	memcpy(rule.eth.val.dst_mac, vb_mac, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	errno = 0;
	q->flow = ibv_create_flow(q->qp, &rule.attr);
	if (!q->flow)
		return errno ? errno : -1;
	return 0;
}

int vb_link(struct vb_side *a, int i, const struct vb_spec *spec_a, struct vb_side *b, int j,
	    const struct vb_spec *spec_b)
{
	int ret = vb_create(a, i, spec_a);

	ret = ret ? ret : vb_create(b, j, spec_b);
	ret = ret ? ret : vb_connect(b, j, a, i, spec_b);
	return ret ? ret : vb_connect(a, i, b, j, spec_a);
}

/* Between two places all requests keep their order, so an answer to the last is one to all. */
int vb_fence(struct vb_side *a, struct vb_side *b)
{
	int i = VB_QPS - 2, j = VB_QPS - 1, ret;
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 1, a, NULL, 0);
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	struct ibv_wc wc;

	ret = vb_link(a, i, &spec, b, j, &spec);
	ret = ret ? ret : vb_send(a, i, false, &wr);
	if (!ret && !vb_done(a, i, VB_SCQ, 1, IBV_WC_RDMA_WRITE, &wc))
		ret = EIO;
	vb_destroy(a, i);
	vb_destroy(b, j);
	return ret;
}

static int pair_make(struct vb_pair *p, const struct vb_spec *spec)
{
	struct vb_spec there = *spec;
	int ret = 0, to = 1;

	there.ops = 0;
	there.max_tso = 0;
	if (spec->type == IBV_QPT_XRC_SEND) {
		there.type = IBV_QPT_XRC_RECV;
		ret = vb_srq(p->b, 0, 64, 4, true);
		p->recv = -1;
		p->rcq = VB_SRQ_CQ;
	}
	ret = ret ? ret : vb_link(p->a, 0, spec, p->b, 1, &there);
	if (!ret && spec->type == IBV_QPT_UD)
		ret = vb_ah(p->a, 0, &p->b->info.gid);
	if (!ret && spec->type == IBV_QPT_RAW_PACKET)
		ret = vb_call(p->b, do_flow, &to, sizeof(to));
	return ret;
}

int vb_pair_up(struct vb_pair *p, struct vb_side *a, struct vb_side *b, const struct vb_spec *spec)
{
	int ret;

	*p = (struct vb_pair){
		.a = a,
		.b = b,
		.type = spec->type,
		.recv = 1,
		.off = spec->type == IBV_QPT_UD ? VB_GRH : 0,
		.rq = spec->type == IBV_QPT_XRC_SEND ? 0 : 1,
		.rcq = VB_RCQ,
	};
	ret = pair_make(p, spec);
	if (ret)
		vb_pair_down(p);
	return ret;
}

void vb_pair_down(struct vb_pair *p)
{
	int ret = vb_destroy(p->a, 0);

	ret = ret ? ret : vb_destroy(p->b, 1);
	if (p->type == IBV_QPT_UD)
		ret = ret ? ret : vb_ah_destroy(p->a, 0);
	if (p->type == IBV_QPT_XRC_SEND)
		ret = ret ? ret : vb_srq_destroy(p->b, 0);
	if (ret)
		die("cannot take a pair down: %s", strerror(ret));
}

void vb_pair_fresh(struct vb_pair *p, struct vb_side *a, struct vb_side *b)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);
	int ret;

	if (p->a)
		vb_pair_down(p);
	while (vb_event(b, 0) >= 0)
		;
	ret = vb_pair_up(p, a, b, &spec);
	if (ret)
		die("queue pairs: %s", strerror(ret));
}

int vb_pair_run(const struct vb_pair *p, const struct vb_wr *wr)
{
	struct ibv_wc wc;

	if (vb_send(p->a, 0, false, wr))
		return -1;
	return vb_poll(p->a, 0, VB_SCQ, VB_WAIT, &wc) ? (int)wc.status : -1;
}

/* A frame is all payload: its header lies at the start of the buffer. */
static void frame(uint8_t *at)
{
	static const uint8_t from[6] = { 0x02, 0, 0, 0, 0, 0x41 };

	memcpy(at, vb_mac, 6);
	memcpy(at + 6, from, 6);
	at[12] = 0x88;
	at[13] = 0xb5;
}

struct vb_wr vb_pair_wr(const struct vb_pair *p, enum ibv_wr_opcode op, uint64_t wr_id,
			uint32_t off, uint32_t len)
{
	struct vb_wr wr = vb_wr(op, wr_id, p->a, p->a->buf + off, len);

	wr.raddr = (uintptr_t)p->b->buf + off;
	wr.rkey = p->b->info.rkey;
	if (p->type == IBV_QPT_XRC_SEND)
		wr.srqn = p->b->srqn[0];
	if (p->type == IBV_QPT_UD) {
		wr.ah = 1;
		wr.rqpn = p->b->addr[1].qpn;
		wr.rqkey = VB_QKEY;
	}
	if (p->type == IBV_QPT_RAW_PACKET && len >= FRAME_HDR)
		frame(p->a->buf + off);
	return wr;
}

struct vb_wr vb_pair_send(const struct vb_pair *p, uint64_t wr_id, uint32_t len)
{
	fill(p->a->buf, len, wr_id);
	return vb_pair_wr(p, IBV_WR_SEND, wr_id, 0, len);
}

bool vb_pair_alive(struct vb_pair *p)
{
	uint32_t at = VB_BUF - 4096, len = 256;
	struct vb_wr wr;
	struct ibv_wc wc;

	fill(p->a->buf + at, len, (uintptr_t)p ^ 77);
	memset(p->b->buf + at + 1024, 0, len + p->off);
	wr = vb_pair_wr(p, IBV_WR_SEND, 4711, at, len);
	return !vb_recv1(p->b, p->recv, 4712, p->b->buf + at + 1024, len + p->off) &&
	       !vb_send(p->a, 0, false, &wr) && vb_done(p->a, 0, VB_SCQ, 4711, IBV_WC_SEND, &wc) &&
	       vb_done(p->b, p->rq, p->rcq, 4712, IBV_WC_RECV, &wc) &&
	       wc.byte_len == len + p->off &&
	       !memcmp(p->b->buf + at + 1024 + p->off, p->a->buf + at, len);
}
