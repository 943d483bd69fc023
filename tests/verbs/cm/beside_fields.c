/* SPDX-License-Identifier: MIT */
/*
 * Fields of identifiers that a program writes, and events of synchronous identifiers:
 * app_cm_beside_fields ADDRESS..., which may be addresses of different libraries. It connects to
 * itself by each.
 */
#include "tests/lib/c/cu.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#define WAIT_MS	   60000
#define RESOLVE_MS 2000
#define TOO_MANY   (1u << 28) /* work requests of a queue pair */
#define PLACES	   8

static char **addresses;
static struct rdma_event_channel *channel;

/* --- one program with both sides of a connection --- */

static struct sockaddr_in addr_of(const char *ip, in_port_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = port };

	CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET, ip, &a.sin_addr), 1);
	return a;
}

static struct rdma_cm_id *event_take(enum rdma_cm_event_type type)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev = NULL;
	struct rdma_cm_id *id;

	CU_ASSERT_EQUAL_FATAL(poll(&p, 1, WAIT_MS), 1);
	CU_ASSERT_EQUAL_FATAL(rdma_get_cm_event(channel, &ev), 0);
	CU_ASSERT_STRING_EQUAL_FATAL(rdma_event_str(ev->event), rdma_event_str(type));
	id = ev->id;
	CU_ASSERT_EQUAL(rdma_ack_cm_event(ev), 0);
	return id;
}

static struct rdma_cm_id *id_resolved(const char *ip, in_port_t port)
{
	struct sockaddr_in a = addr_of(ip, port);
	struct rdma_cm_id *id = NULL;

	CU_ASSERT_EQUAL_FATAL(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	CU_ASSERT_EQUAL_FATAL(rdma_resolve_addr(id, NULL, (struct sockaddr *)&a, RESOLVE_MS), 0);
	CU_ASSERT_PTR_EQUAL(event_take(RDMA_CM_EVENT_ADDR_RESOLVED), id);
	CU_ASSERT_EQUAL_FATAL(rdma_resolve_route(id, RESOLVE_MS), 0);
	CU_ASSERT_PTR_EQUAL(event_take(RDMA_CM_EVENT_ROUTE_RESOLVED), id);
	return id;
}

/* --- objects that the program creates, and writes into the identifier --- */

struct own {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static void own_make(struct own *own, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask = 0;

	own->pd = ibv_alloc_pd(id->verbs);
	own->cq = ibv_create_cq(id->verbs, PLACES, NULL, NULL, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(own->pd);
	CU_ASSERT_PTR_NOT_NULL_FATAL(own->cq);
	init.send_cq = init.recv_cq = own->cq;
	own->qp = ibv_create_qp(own->pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(own->qp);
	CU_ASSERT_EQUAL_FATAL(rdma_init_qp_attr(id, &attr, &mask), 0);
	CU_ASSERT_EQUAL_FATAL(ibv_modify_qp(own->qp, &attr, mask), 0);
	id->pd = own->pd;
	id->send_cq = id->recv_cq = own->cq;
	id->qp = own->qp;
}

static void own_check(const struct own *own, const struct rdma_cm_id *id)
{
	CU_ASSERT_PTR_EQUAL(id->pd, own->pd);
	CU_ASSERT_PTR_EQUAL(id->send_cq, own->cq);
	CU_ASSERT_PTR_EQUAL(id->recv_cq, own->cq);
	CU_ASSERT_PTR_EQUAL(id->qp, own->qp);
}

static enum ibv_qp_state own_state(const struct own *own)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(own->qp, &attr, IBV_QP_STATE, &init) ? IBV_QPS_UNKNOWN : attr.qp_state;
}

static void own_end(struct own *own, struct rdma_cm_id *id)
{
	own_check(own, id);
	id->qp = NULL;
	id->send_cq = id->recv_cq = NULL;
	id->pd = NULL;
	CU_ASSERT_EQUAL(ibv_destroy_qp(own->qp), 0);
	CU_ASSERT_EQUAL(ibv_destroy_cq(own->cq), 0);
	CU_ASSERT_EQUAL(ibv_dealloc_pd(own->pd), 0);
	CU_ASSERT_EQUAL(rdma_destroy_id(id), 0);
}

static void message_move(struct rdma_cm_id *from, struct rdma_cm_id *to)
{
	char out[64] = "a message", in[64] = "";
	struct ibv_mr *sent = rdma_reg_msgs(from, out, sizeof(out));
	struct ibv_mr *received = rdma_reg_msgs(to, in, sizeof(in));
	struct ibv_wc wc = { 0 };
	int n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(sent);
	CU_ASSERT_PTR_NOT_NULL_FATAL(received);
	CU_ASSERT_EQUAL(rdma_post_recv(to, NULL, in, sizeof(in), received), 0);
	CU_ASSERT_EQUAL_FATAL(rdma_post_send(from, NULL, out, sizeof(out), sent, 0), 0);
	while (!(n = ibv_poll_cq(to->recv_cq, 1, &wc)))
		;
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_STRING_EQUAL(in, out);
	CU_ASSERT_EQUAL(rdma_dereg_mr(sent), 0);
	CU_ASSERT_EQUAL(rdma_dereg_mr(received), 0);
}

static void own_pair(struct rdma_cm_id *listener, const char *ip)
{
	struct rdma_cm_id *client = id_resolved(ip, rdma_get_src_port(listener)), *server;
	struct own at_client, at_server;

	own_make(&at_client, client);
	CU_ASSERT_EQUAL_FATAL(rdma_connect(client, NULL), 0);
	server = event_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	own_check(&at_client, client);
	own_make(&at_server, server);
	CU_ASSERT_EQUAL_FATAL(rdma_accept(server, NULL), 0);
	event_take(RDMA_CM_EVENT_ESTABLISHED);
	event_take(RDMA_CM_EVENT_ESTABLISHED);
	CU_ASSERT_EQUAL_FATAL(own_state(&at_client), IBV_QPS_RTS);
	CU_ASSERT_EQUAL_FATAL(own_state(&at_server), IBV_QPS_RTS);
	message_move(client, server);
	CU_ASSERT_EQUAL(rdma_disconnect(client), 0);
	CU_ASSERT_EQUAL(own_state(&at_client), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(rdma_disconnect(server), 0);
	event_take(RDMA_CM_EVENT_DISCONNECTED);
	event_take(RDMA_CM_EVENT_DISCONNECTED);
	own_end(&at_client, client);
	own_end(&at_server, server);
}

static void test_objects_of_its_own(void)
{
	struct sockaddr_in any = addr_of("0.0.0.0", 0);
	struct rdma_cm_id *listener = NULL;
	char **ip;

	CU_ASSERT_EQUAL_FATAL(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	CU_ASSERT_EQUAL_FATAL(rdma_bind_addr(listener, (struct sockaddr *)&any), 0);
	CU_ASSERT_EQUAL_FATAL(rdma_listen(listener, 4), 0);
	for (ip = addresses; *ip; ip++)
		own_pair(listener, *ip);
	CU_ASSERT_EQUAL(rdma_destroy_id(listener), 0);
}

/* --- events of synchronous identifiers --- */

static void event_of(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(id->event);
	CU_ASSERT_STRING_EQUAL(rdma_event_str(id->event->event), rdma_event_str(type));
}

static void event_end(struct rdma_cm_id *id)
{
	CU_ASSERT_EQUAL(rdma_ack_cm_event(id->event), 0);
	id->event = NULL;
}

static void test_program_acknowledges_them(void)
{
	struct rdma_cm_id *id = NULL;
	struct sockaddr_in a;
	char **ip;

	for (ip = addresses; *ip; ip++) {
		a = addr_of(*ip, htons(9));
		CU_ASSERT_EQUAL_FATAL(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
		CU_ASSERT_PTR_NULL(id->event);
		CU_ASSERT_EQUAL_FATAL(
			rdma_resolve_addr(id, NULL, (struct sockaddr *)&a, RESOLVE_MS), 0);
		event_of(id, RDMA_CM_EVENT_ADDR_RESOLVED);
		CU_ASSERT_PTR_EQUAL(id->event->id, id);
		event_end(id);
		CU_ASSERT_EQUAL_FATAL(rdma_resolve_route(id, RESOLVE_MS), 0);
		event_of(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
		event_end(id);
		CU_ASSERT_EQUAL(rdma_destroy_id(id), 0);
	}
}

/* --- requests that fail: the event is the listener's --- */

static struct rdma_cm_id *endpoint_make(void)
{
	struct ibv_qp_init_attr attr = { .cap = { TOO_MANY, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *res = NULL;
	struct rdma_cm_id *listener = NULL;

	CU_ASSERT_EQUAL_FATAL(rdma_getaddrinfo(NULL, "0", &hints, &res), 0);
	CU_ASSERT_EQUAL_FATAL(rdma_create_ep(&listener, res, NULL, &attr), 0);
	rdma_freeaddrinfo(res);
	CU_ASSERT_EQUAL_FATAL(rdma_listen(listener, 4), 0);
	return listener;
}

static void request_fail(struct rdma_cm_id *listener, struct rdma_cm_id *client, struct own *own)
{
	struct rdma_cm_id *server = NULL;

	own_make(own, client);
	CU_ASSERT_EQUAL_FATAL(rdma_connect(client, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(rdma_get_request(listener, &server), -1);
	event_of(listener, RDMA_CM_EVENT_CONNECT_REQUEST);
	CU_ASSERT_PTR_EQUAL(listener->event->listen_id, listener);
	CU_ASSERT_PTR_NOT_NULL_FATAL(listener->event->id);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(listener->event->id, listener);
	CU_ASSERT_PTR_EQUAL(listener->event->id->verbs->device, client->verbs->device);
}

static void request_reject(struct rdma_cm_id *request, struct rdma_cm_id *client, struct own *own)
{
	CU_ASSERT_EQUAL(rdma_reject(request, NULL, 0), 0);
	CU_ASSERT_PTR_EQUAL(event_take(RDMA_CM_EVENT_REJECTED), client);
	own_end(own, client);
}

static void test_requests_that_fail(void)
{
	struct rdma_cm_id *listener = endpoint_make(), *client, *request;
	struct own own;
	char **ip;

	for (ip = addresses; *ip; ip++) {
		client = id_resolved(*ip, rdma_get_src_port(listener));
		request_fail(listener, client, &own);
		request = listener->event->id;
		request_reject(request, client, &own);
		event_end(listener);
		CU_ASSERT_EQUAL(rdma_destroy_id(request), 0);
	}
	rdma_destroy_ep(listener);
}

/* The next call acknowledges the event, of whichever library that was. */
static void test_requests_that_fail_in_turn(void)
{
	struct rdma_cm_id *listener = endpoint_make(), *client, *request = NULL;
	struct own own;
	char **ip;

	for (ip = addresses; *ip; ip++) {
		client = id_resolved(*ip, rdma_get_src_port(listener));
		request_fail(listener, client, &own);
		if (request)
			CU_ASSERT_EQUAL(rdma_destroy_id(request), 0);
		request = listener->event->id;
		request_reject(request, client, &own);
	}
	event_end(listener);
	CU_ASSERT_EQUAL(rdma_destroy_id(request), 0);
	rdma_destroy_ep(listener);
}

int main(int argc, char **argv)
{
	static const struct cu_test tests[] = {
		{ "objects that the program writes into its identifier", test_objects_of_its_own },
		{ "events that the program acknowledges", test_program_acknowledges_them },
		{ "requests that fail", test_requests_that_fail },
		{ "requests that fail in turn", test_requests_that_fail_in_turn },
		{ NULL, NULL },
	};
	int ret;

	if (argc < 2)
		return 2;
	addresses = argv + 1;
	channel = rdma_create_event_channel();
	if (!channel)
		return 2;
	ret = cu_run("fields of identifiers", tests);
	rdma_destroy_event_channel(channel);
	return ret;
}
