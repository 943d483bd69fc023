/* SPDX-License-Identifier: MIT */
/* Mistakes with identifiers of the rdma_cm: two that are connected, in one process. */
#include "tests/lib/c/seed.h"

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

struct pair {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *client;
	struct rdma_cm_id *server;
};

static const struct rdma_conn_param pair_param = {
	.initiator_depth = 2,
	.responder_resources = 2,
	.retry_count = 7,
	.rnr_retry_count = 6,
};

/* Waits for an event. Return: its identifier. */
static struct rdma_cm_id *pair_event(struct pair *p, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	seed_must(!rdma_get_cm_event(p->channel, &event), "rdma_get_cm_event");
	seed_must(event->event == type, rdma_event_str(event->event));
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void pair_create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };

	seed_must(!rdma_create_qp(id, NULL, &init), "rdma_create_qp");
}

/* Up to rdma_connect(). */
static void pair_resolve(struct pair *p)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	memset(p, 0, sizeof(*p));
	p->channel = rdma_create_event_channel();
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	seed_must(p->channel && !rdma_create_id(p->channel, &p->listener, NULL, RDMA_PS_TCP) &&
			  !rdma_create_id(p->channel, &p->client, NULL, RDMA_PS_TCP),
		  "rdma_create_id");
	seed_must(!rdma_bind_addr(p->listener, (struct sockaddr *)&to) &&
			  !rdma_listen(p->listener, 1),
		  "rdma_listen");
	to.sin_port = rdma_get_src_port(p->listener);
	seed_must(!rdma_resolve_addr(p->client, NULL, (struct sockaddr *)&to, 2000), "address");
	pair_event(p, RDMA_CM_EVENT_ADDR_RESOLVED);
	seed_must(!rdma_resolve_route(p->client, 2000), "route");
	pair_event(p, RDMA_CM_EVENT_ROUTE_RESOLVED);
	pair_create_qp(p->client);
}

static void pair_request_with(struct pair *p, const struct rdma_conn_param *param)
{
	struct rdma_conn_param copy = *param;

	pair_resolve(p);
	seed_must(!rdma_connect(p->client, &copy), "rdma_connect");
	p->server = pair_event(p, RDMA_CM_EVENT_CONNECT_REQUEST);
	pair_create_qp(p->server);
}

/* Up to the request, which the caller accepts. */
static void pair_request(struct pair *p)
{
	pair_request_with(p, &pair_param);
}

static void pair_accept(struct pair *p, uint8_t depth)
{
	struct rdma_conn_param param = pair_param;

	param.initiator_depth = depth;
	seed_must(!rdma_accept(p->server, &param), "rdma_accept");
	pair_event(p, RDMA_CM_EVENT_ESTABLISHED);
	pair_event(p, RDMA_CM_EVENT_ESTABLISHED);
}

static void pair_close(struct pair *p)
{
	if (p->server) {
		rdma_destroy_qp(p->server);
		rdma_destroy_id(p->server);
	}
	rdma_destroy_qp(p->client);
	rdma_destroy_id(p->client);
	rdma_destroy_id(p->listener);
	rdma_destroy_event_channel(p->channel);
}

static void pair_receive(struct pair *p)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;

	seed_must(!ibv_post_recv(p->server->qp, &wr, &bad), "post");
}

/* Connects with this value of a parameter, a byte at @offset. */
static void seed_connect_byte(size_t offset, int value)
{
	struct rdma_conn_param param = pair_param;
	struct pair p;

	((uint8_t *)&param)[offset] = (uint8_t)value;
	pair_request_with(&p, &param);
	pair_receive(&p);
	pair_accept(&p, 2);
	pair_close(&p);
}

static void seed_connect_retry(struct seed *s)
{
	seed_connect_byte(offsetof(struct rdma_conn_param, retry_count), s->wrong ? 0 : 7);
}

static void seed_connect_rnr(struct seed *s)
{
	seed_connect_byte(offsetof(struct rdma_conn_param, rnr_retry_count), s->wrong ? 7 : 6);
}

static void seed_private(struct seed *s)
{
	struct rdma_conn_param param = pair_param;
	uint8_t data[57] = { 1 };
	struct pair p;

	param.private_data = data;
	param.private_data_len = s->wrong ? 57 : 56;
	if (!s->wrong) {
		pair_request_with(&p, &param);
		pair_accept(&p, 2);
	} else {
		pair_resolve(&p);
		rdma_connect(p.client, &param);
	}
	pair_close(&p);
}

static void seed_depth(struct seed *s)
{
	struct pair p;

	pair_request(&p);
	pair_accept(&p, s->wrong ? 3 : 2);
	pair_close(&p);
}

static void seed_empty(struct seed *s)
{
	struct pair p;

	pair_request(&p);
	if (!s->wrong)
		pair_receive(&p);
	pair_accept(&p, 2);
	pair_close(&p);
}

static void seed_qp_left(struct seed *s)
{
	struct ibv_qp *left;
	struct pair p;

	pair_request(&p);
	pair_accept(&p, 2);
	left = p.server->qp;
	if (!s->wrong) {
		pair_close(&p);
		return;
	}
	rdma_destroy_id(p.server);
	ibv_destroy_qp(left);
	rdma_destroy_qp(p.client);
	rdma_destroy_id(p.client);
	rdma_destroy_id(p.listener);
	rdma_destroy_event_channel(p.channel);
}

/* --- a server that never sends --- */

static void pair_send(struct pair *p, enum ibv_wr_opcode opcode, uint64_t wr_id,
		      const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, 64, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = opcode;
	wr.num_sge = opcode == IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = (uintptr_t)mr->addr + 4096;
	wr.wr.rdma.rkey = mr->rkey;
	seed_must(!ibv_post_send(p->client->qp, &wr, &bad), "post");
}

static void pair_poll(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	seed_must(poll_cq(cq, SEED_WAIT, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "completion");
}

/* The message before the WRITE counts, though the server's queue pair was not seen until then. */
static void seed_passive(struct seed *s)
{
	volatile uint8_t *page =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	struct pair p;
	int i;

	seed_must(page != MAP_FAILED, "mmap");
	page[0] = 7;
	pair_request(&p);
	mr = ibv_reg_mr(p.client->pd, (void *)(uintptr_t)page, 8192, ALL);
	seed_must(mr && mr->pd == p.server->pd, "ibv_reg_mr");
	pair_receive(&p);
	pair_receive(&p);
	pair_accept(&p, 2);
	pair_send(&p, IBV_WR_SEND, 1, mr);
	pair_poll(p.server->recv_cq);
	pair_send(&p, IBV_WR_RDMA_WRITE, 2, mr);
	pair_send(&p, IBV_WR_SEND, 3, mr);
	if (!s->wrong)
		pair_poll(p.server->recv_cq);
	while (page[4096] != 7) /* a WRITE that nobody has waited for may be late */
		;
	if (s->wrong)
		pair_poll(p.server->recv_cq);
	for (i = 0; i < 3; i++)
		pair_poll(p.client->send_cq);
	ibv_dereg_mr(mr);
	pair_close(&p);
}

static const struct seed_case seeds[] = {
	{ "depth", seed_depth },
	{ "empty", seed_empty },
	{ "private", seed_private },
	{ "connect_retry", seed_connect_retry },
	{ "connect_rnr", seed_connect_rnr },
	{ "qp_left", seed_qp_left },
	{ "passive", seed_passive },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
