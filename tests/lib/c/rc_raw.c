/* SPDX-License-Identifier: MIT */
/* Raw packet queue pairs and frames for tests. See tests/lib/c/raw.h. */
#include "tests/lib/c/raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OUT_LEN (512u << 10)

void raw_memory(struct raw_end *r, struct ibv_context *ctx)
{
	size_t len = OUT_LEN + (size_t)RAW_RECVS * RAW_SLOT;

	memset(r, 0, sizeof(*r));
	r->ctx = ctx;
	r->pd = ibv_alloc_pd(ctx);
	r->out = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!r->pd || r->out == MAP_FAILED)
		die("memory: %s", strerror(errno));
	r->in = r->out + OUT_LEN;
	r->mr = ibv_reg_mr(r->pd, r->out, len, IBV_ACCESS_LOCAL_WRITE);
	r->scq = ibv_create_cq(ctx, 1024, NULL, NULL, 0);
	r->rcq = ibv_create_cq(ctx, 1024, NULL, NULL, 0);
	if (!r->mr || !r->scq || !r->rcq)
		die("MR or CQ: %s", strerror(errno));
}

static void to_rts(struct ibv_qp *qp)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct ibv_qp_attr attr = { .port_num = 1 };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		attr.qp_state = states[i];
		if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | (i ? 0 : IBV_QP_PORT)))
			die("modify to %d", states[i]);
	}
}

void raw_open(struct raw_end *r, struct ibv_context *ctx, uint32_t flags, uint32_t tso)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 64,
			 .max_recv_wr = 512,
			 .max_send_sge = 4,
			 .max_recv_sge = 4 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     (tso ? IBV_QP_INIT_ATTR_MAX_TSO_HEADER : 0),
		.create_flags = flags,
		.max_tso_header = (uint16_t)tso,
	};

	raw_memory(r, ctx);
	attr.pd = r->pd;
	attr.send_cq = r->scq;
	attr.recv_cq = r->rcq;
	r->qp = ibv_create_qp_ex(ctx, &attr);
	if (!r->qp)
		die("raw QP: %s", strerror(errno));
	to_rts(r->qp);
}

void raw_close(struct raw_end *r)
{
	if ((r->qp && ibv_destroy_qp(r->qp)) || ibv_destroy_cq(r->scq) || ibv_destroy_cq(r->rcq) ||
	    ibv_dereg_mr(r->mr) || ibv_dealloc_pd(r->pd))
		die("closing: %s", strerror(errno));
	munmap(r->out, OUT_LEN + (size_t)RAW_RECVS * RAW_SLOT);
}

struct raw_pkt raw_udp4(const uint8_t dmac[6], uint16_t sport, uint16_t dport, uint32_t payload)
{
	struct raw_pkt k = { .ip = 4,
			     .proto = IPPROTO_UDP,
			     .src = "192.0.2.1",
			     .dst = "192.0.2.2",
			     .sport = sport,
			     .dport = dport,
			     .payload = payload };

	memcpy(k.dmac, dmac, 6);
	return k;
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

uint32_t raw_headers(const struct raw_pkt *k)
{
	return 14 + (k->vlan ? 4 : 0) +
	       (k->ip == 4   ? 20
		: k->ip == 6 ? 40
			     : 0) +
	       (k->proto == IPPROTO_TCP	  ? 20
		: k->proto == IPPROTO_UDP ? 8
					  : 0);
}

static uint32_t build_l3(uint8_t *p, const struct raw_pkt *k)
{
	uint32_t l4 = k->payload + (k->proto == IPPROTO_TCP ? 20 : k->proto == IPPROTO_UDP ? 8 : 0);

	if (!k->ip)
		return 0;
	if (k->ip == 4) {
		p[0] = 0x45;
		put16(p + 2, 20 + l4);
		p[8] = 64;
		p[9] = (uint8_t)k->proto;
		inet_pton(AF_INET, k->src, p + 12);
		inet_pton(AF_INET, k->dst, p + 16);
		return 20;
	}
	p[0] = 0x60;
	put16(p + 4, l4);
	p[6] = (uint8_t)k->proto;
	p[7] = 64;
	inet_pton(AF_INET6, k->src, p + 8);
	inet_pton(AF_INET6, k->dst, p + 24);
	return 40;
}

uint32_t raw_build(uint8_t *p, const struct raw_pkt *k, uint64_t seed)
{
	static const uint8_t from[6] = { 2, 0, 0, 0, 0, 0x77 };
	uint32_t hdr = raw_headers(k), at = 12;

	memset(p, 0, hdr);
	memcpy(p, k->dmac, 6);
	memcpy(p + 6, from, 6);
	if (k->vlan) {
		put16(p + 12, 0x8100);
		put16(p + 14, k->vlan);
		at = 16;
	}
	put16(p + at, k->ip == 4 ? 0x0800 : k->ip == 6 ? 0x86dd : 0x88b5);
	at += 2;
	at += build_l3(p + at, k);
	if (k->proto) {
		put16(p + at, k->sport);
		put16(p + at + 2, k->dport);
	}
	if (k->proto == IPPROTO_UDP)
		put16(p + at + 4, 8 + k->payload);
	if (k->proto == IPPROTO_TCP)
		put16(p + at + 12, 0x5019); /* ACK, PSH, FIN */
	fill(p + hdr, k->payload, seed);
	return hdr + k->payload;
}

bool raw_poll(struct ibv_cq *cq, struct ibv_wc *wc, bool wait)
{
	int n = wait ? poll_cq(cq, 30000, wc) : ibv_poll_cq(cq, 1, wc);

	if (n < 0)
		die("poll: %d", n);
	return n;
}

int raw_send(struct raw_end *r, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)r->out, len, r->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = len,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	}, *bad;
	struct ibv_wc wc;
	int ret = ibv_post_send(r->qp, &wr, &bad);

	if (ret)
		return -ret;
	if (!raw_poll(r->scq, &wc, true))
		die("a send did not complete");
	return (int)wc.status;
}

int raw_recvs(struct raw_end *r, uint32_t n, uint32_t len)
{
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;
	int ret = 0;

	for (; n && !ret; n--, r->posted++) {
		sge = (struct ibv_sge){ (uintptr_t)raw_slot(r, r->posted), len, r->mr->lkey };
		wr = (struct ibv_recv_wr){ .wr_id = r->posted, .sg_list = &sge, .num_sge = 1 };
		ret = ibv_post_recv(r->qp, &wr, &bad);
	}
	return ret;
}

void raw_rule(struct raw_rule *r, enum ibv_flow_attr_type type, uint16_t priority)
{
	memset(r, 0, sizeof(*r));
	r->attr.type = type;
	r->attr.priority = priority;
	r->attr.port = 1;
	r->attr.size = sizeof(r->attr);
}

void raw_spec(struct raw_rule *r, const void *spec, size_t size)
{
	memcpy(r->specs + r->used, spec, size);
	r->used += (uint32_t)size;
	r->attr.num_of_specs++;
}

void raw_spec_dmac(struct raw_rule *r, const uint8_t mac[6])
{
	struct ibv_flow_spec_eth eth;

	memset(&eth, 0, sizeof(eth));
	eth.type = IBV_FLOW_SPEC_ETH;
	eth.size = sizeof(eth);
	memcpy(eth.val.dst_mac, mac, 6);
	memset(eth.mask.dst_mac, 0xff, 6);
	raw_spec(r, &eth, sizeof(eth));
}

struct ibv_flow *raw_flow_dmac(struct ibv_qp *qp, const uint8_t mac[6])
{
	struct raw_rule r;
	struct ibv_flow *f;

	raw_rule(&r, IBV_FLOW_ATTR_NORMAL, 0);
	raw_spec_dmac(&r, mac);
	f = ibv_create_flow(qp, &r.attr);
	if (!f)
		die("flow: %s", strerror(errno));
	return f;
}
