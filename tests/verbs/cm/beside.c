/* SPDX-License-Identifier: MIT */
/*
 * A program whose identifiers are of a real and of an emulated device: app_cm_beside ADDRESS
 * ADDRESS, of the real one and of the emulated one. It connects to itself by both.
 */
#include "tests/lib/c/cu.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS	   60000
#define RESOLVE_MS 2000
#define CALLS	   200000

static const char *address[2];
static struct rdma_event_channel *channel;
static int client_context[2], listener_context;

static struct sockaddr_in addr_of(const char *ip, in_port_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = port };

	CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET, ip, &a.sin_addr), 1);
	return a;
}

static struct rdma_cm_event *event_expect(enum rdma_cm_event_type type)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev = NULL;

	CU_ASSERT_EQUAL_FATAL(poll(&p, 1, WAIT_MS), 1);
	CU_ASSERT_EQUAL_FATAL(rdma_get_cm_event(channel, &ev), 0);
	CU_ASSERT_STRING_EQUAL_FATAL(rdma_event_str(ev->event), rdma_event_str(type));
	return ev;
}

static void event_take(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev = event_expect(type);

	CU_ASSERT_PTR_EQUAL(ev->id, id);
	CU_ASSERT_EQUAL(rdma_ack_cm_event(ev), 0);
}

static void qp_make(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { 4, 4, 1, 1, 0 },
					 .sq_sig_all = 1 };

	CU_ASSERT_EQUAL_FATAL(rdma_create_qp(id, NULL, &attr), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(id->qp);
	CU_ASSERT_PTR_NOT_NULL(id->send_cq);
	CU_ASSERT_PTR_EQUAL(id->qp->context, id->verbs);
}

static struct rdma_cm_id *id_new(void *context)
{
	struct rdma_cm_id *id = NULL;

	CU_ASSERT_EQUAL_FATAL(rdma_create_id(channel, &id, context, RDMA_PS_TCP), 0);
	CU_ASSERT_PTR_EQUAL(id->channel, channel);
	CU_ASSERT_PTR_EQUAL(id->context, context);
	CU_ASSERT_EQUAL(id->ps, RDMA_PS_TCP);
	CU_ASSERT_PTR_NULL(id->verbs);
	return id;
}

static struct rdma_cm_id *listener_new(const char *ip)
{
	struct rdma_cm_id *id = id_new(&listener_context);
	struct sockaddr_in a = addr_of(ip, 0);

	CU_ASSERT_EQUAL_FATAL(rdma_bind_addr(id, (struct sockaddr *)&a), 0);
	CU_ASSERT_EQUAL_FATAL(rdma_listen(id, 4), 0);
	CU_ASSERT_NOT_EQUAL(rdma_get_src_port(id), 0);
	return id;
}

/* A message from the client's to the server's side. */
static void message_move(struct rdma_cm_id *from, struct rdma_cm_id *to)
{
	char out[64] = "a message", in[64] = "";
	struct ibv_mr *sent = rdma_reg_msgs(from, out, sizeof(out));
	struct ibv_mr *received = rdma_reg_msgs(to, in, sizeof(in));
	struct ibv_wc wc = { 0 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(sent);
	CU_ASSERT_PTR_NOT_NULL_FATAL(received);
	/* rdma_get_recv_comp() asserts it once it waits for a completion. */
	CU_ASSERT_PTR_EQUAL(from->send_cq->cq_context, from);
	CU_ASSERT_PTR_EQUAL(to->recv_cq->cq_context, to);
	CU_ASSERT_EQUAL(rdma_post_recv(to, NULL, in, sizeof(in), received), 0);
	CU_ASSERT_EQUAL(rdma_post_send(from, NULL, out, sizeof(out), sent, 0), 0);
	CU_ASSERT_EQUAL(rdma_get_recv_comp(to, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(rdma_get_send_comp(from, &wc), 1);
	CU_ASSERT_STRING_EQUAL(in, out);
	CU_ASSERT_EQUAL(rdma_dereg_mr(sent), 0);
	CU_ASSERT_EQUAL(rdma_dereg_mr(received), 0);
}

static void end_pair(struct rdma_cm_id *client, struct rdma_cm_id *server)
{
	struct rdma_cm_id *first;
	struct rdma_cm_event *ev;

	CU_ASSERT_EQUAL(rdma_disconnect(client), 0);
	CU_ASSERT_EQUAL(rdma_disconnect(server), 0);
	ev = event_expect(RDMA_CM_EVENT_DISCONNECTED);
	first = ev->id;
	CU_ASSERT_TRUE(first == client || first == server);
	CU_ASSERT_EQUAL(rdma_ack_cm_event(ev), 0);
	event_take(first == client ? server : client, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(client);
	rdma_destroy_qp(server);
	CU_ASSERT_PTR_NULL(client->qp);
	CU_ASSERT_EQUAL(rdma_destroy_id(client), 0);
	CU_ASSERT_EQUAL(rdma_destroy_id(server), 0);
}

/* Connect to @listener by an address. Return: the server's identifier */
static struct rdma_cm_id *pair_connect(struct rdma_cm_id *listener, struct rdma_cm_id *client,
				       const char *ip)
{
	struct sockaddr_in a = addr_of(ip, rdma_get_src_port(listener));
	struct rdma_conn_param param = { .private_data = ip,
					 .private_data_len = (uint8_t)(strlen(ip) + 1) };
	struct rdma_cm_id *server;
	struct rdma_cm_event *ev;

	CU_ASSERT_EQUAL_FATAL(rdma_resolve_addr(client, NULL, (struct sockaddr *)&a, RESOLVE_MS),
			      0);
	event_take(client, RDMA_CM_EVENT_ADDR_RESOLVED);
	CU_ASSERT_PTR_NOT_NULL_FATAL(client->verbs);
	CU_ASSERT_EQUAL(rdma_resolve_route(client, RESOLVE_MS), 0);
	event_take(client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CU_ASSERT_EQUAL(client->route.num_paths, 1);
	qp_make(client);
	CU_ASSERT_EQUAL_FATAL(rdma_connect(client, &param), 0);
	ev = event_expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	server = ev->id;
	CU_ASSERT_PTR_EQUAL(ev->listen_id, listener);
	CU_ASSERT_PTR_EQUAL(server->context, &listener_context);
	CU_ASSERT_PTR_EQUAL(server->channel, channel);
	CU_ASSERT_PTR_EQUAL(server->verbs, client->verbs);
	CU_ASSERT_STRING_EQUAL((const char *)ev->param.conn.private_data, ip);
	qp_make(server);
	CU_ASSERT_EQUAL_FATAL(rdma_accept(server, NULL), 0);
	CU_ASSERT_EQUAL(rdma_ack_cm_event(ev), 0);
	return server;
}

/* Both sides' events, in any order. */
static void pair_established(struct rdma_cm_id *client, struct rdma_cm_id *server)
{
	struct rdma_cm_event *ev = event_expect(RDMA_CM_EVENT_ESTABLISHED);
	struct rdma_cm_id *first = ev->id;

	CU_ASSERT_TRUE(first == client || first == server);
	CU_ASSERT_EQUAL(rdma_ack_cm_event(ev), 0);
	event_take(first == client ? server : client, RDMA_CM_EVENT_ESTABLISHED);
}

/* --- */

static void test_wildcard_listens_on_both(void)
{
	struct rdma_cm_id *listener = listener_new("0.0.0.0"), *client[2], *server[2];
	int i;

	for (i = 0; i < 2; i++) {
		client[i] = id_new(&client_context[i]);
		server[i] = pair_connect(listener, client[i], address[i]);
		pair_established(client[i], server[i]);
		CU_ASSERT_PTR_EQUAL(client[i]->context, &client_context[i]);
	}
	CU_ASSERT_STRING_NOT_EQUAL(ibv_get_device_name(client[0]->verbs->device),
				   ibv_get_device_name(client[1]->verbs->device));
	for (i = 0; i < 2; i++) {
		message_move(client[i], server[i]);
		message_move(server[i], client[i]);
	}
	for (i = 0; i < 2; i++)
		end_pair(client[i], server[i]);
	CU_ASSERT_EQUAL(rdma_destroy_id(listener), 0);
}

static void test_an_address_listens_on_one(void)
{
	struct rdma_cm_id *listener[2], *client, *server;
	struct sockaddr_in a;
	int i;

	for (i = 0; i < 2; i++) {
		listener[i] = listener_new(address[i]);
		CU_ASSERT_PTR_NOT_NULL(listener[i]->verbs);
		client = id_new(&client_context[i]);
		server = pair_connect(listener[i], client, address[i]);
		pair_established(client, server);
		message_move(client, server);
		end_pair(client, server);
	}
	/* The other's address at that port: nobody listens there. */
	client = id_new(NULL);
	a = addr_of(address[1], rdma_get_src_port(listener[0]));
	CU_ASSERT_EQUAL(rdma_resolve_addr(client, NULL, (struct sockaddr *)&a, RESOLVE_MS), 0);
	event_take(client, RDMA_CM_EVENT_ADDR_RESOLVED);
	CU_ASSERT_EQUAL(rdma_resolve_route(client, RESOLVE_MS), 0);
	event_take(client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	qp_make(client);
	CU_ASSERT_EQUAL(rdma_connect(client, NULL), 0);
	event_take(client, RDMA_CM_EVENT_REJECTED);
	rdma_destroy_qp(client);
	CU_ASSERT_EQUAL(rdma_destroy_id(client), 0);
	for (i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(rdma_destroy_id(listener[i]), 0);
}

static void test_a_used_port_of_either_is_used(void)
{
	struct rdma_cm_id *used = listener_new(address[1]), *id = id_new(NULL);
	struct sockaddr_in any = addr_of("0.0.0.0", rdma_get_src_port(used));

	errno = 0;
	CU_ASSERT_EQUAL(rdma_bind_addr(id, (struct sockaddr *)&any), -1);
	/* What rdma_cm reports for a wildcard next to an address. */
	CU_ASSERT_EQUAL(errno, EADDRNOTAVAIL);
	/* The identifier is as before, and the real device's port is free. */
	any.sin_port = 0;
	CU_ASSERT_EQUAL(rdma_bind_addr(id, (struct sockaddr *)&any), 0);
	CU_ASSERT_EQUAL(rdma_listen(id, 1), 0);
	CU_ASSERT_EQUAL(rdma_destroy_id(id), 0);
	CU_ASSERT_EQUAL(rdma_destroy_id(used), 0);
}

static void test_an_address_of_neither(void)
{
	struct sockaddr_in a = addr_of("203.0.113.7", 0);
	struct rdma_cm_id *id = id_new(NULL);

	errno = 0;
	CU_ASSERT_EQUAL(rdma_bind_addr(id, (struct sockaddr *)&a), -1);
	CU_ASSERT_EQUAL(errno, EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(rdma_destroy_id(id), 0);
}

/* A program that does it the other way round ends well on a device. */
static void test_a_channel_is_destroyed_first(void)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	CU_ASSERT_EQUAL_FATAL(rdma_create_id(other, &id, NULL, RDMA_PS_TCP), 0);
	rdma_destroy_event_channel(other);
	rdma_destroy_id(id);
}

static void test_an_empty_channel_returns(void)
{
	struct rdma_cm_event *ev;
	int flags = fcntl(channel->fd, F_GETFL);

	CU_ASSERT_EQUAL(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
	errno = 0;
	CU_ASSERT_EQUAL(rdma_get_cm_event(channel, &ev), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	CU_ASSERT_EQUAL(fcntl(channel->fd, F_SETFL, flags), 0);
}

/* An endpoint is synchronous: the client leaves that, since it is its own server. */
static void test_endpoints(void)
{
	const struct ibv_qp_init_attr wanted = { .qp_type = IBV_QPT_RC,
						 .cap = { 4, 4, 1, 1, 0 },
						 .sq_sig_all = 1 };
	struct ibv_qp_init_attr attr = wanted;
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *res = NULL;
	struct rdma_cm_id *listener = NULL, *client, *server;
	char port[16];
	int i;

	CU_ASSERT_EQUAL_FATAL(rdma_getaddrinfo(NULL, "0", &hints, &res), 0);
	CU_ASSERT_EQUAL_FATAL(rdma_create_ep(&listener, res, NULL, &attr), 0);
	rdma_freeaddrinfo(res);
	CU_ASSERT_EQUAL_FATAL(rdma_listen(listener, 4), 0);
	snprintf(port, sizeof(port), "%u", ntohs(rdma_get_src_port(listener)));
	hints.ai_flags = 0;
	for (i = 0; i < 2; i++) {
		attr = wanted; /* the call has put its CQs there */
		CU_ASSERT_EQUAL_FATAL(rdma_getaddrinfo(address[i], port, &hints, &res), 0);
		CU_ASSERT_EQUAL_FATAL(rdma_create_ep(&client, res, NULL, &attr), 0);
		rdma_freeaddrinfo(res);
		CU_ASSERT_PTR_NOT_NULL_FATAL(client->qp);
		CU_ASSERT_EQUAL(rdma_migrate_id(client, channel), 0);
		CU_ASSERT_PTR_EQUAL(client->channel, channel);
		CU_ASSERT_EQUAL_FATAL(rdma_connect(client, NULL), 0);
		CU_ASSERT_EQUAL_FATAL(rdma_get_request(listener, &server), 0);
		CU_ASSERT_PTR_EQUAL(server->verbs, client->verbs);
		CU_ASSERT_PTR_NOT_NULL_FATAL(server->event);
		CU_ASSERT_EQUAL(server->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
		CU_ASSERT_EQUAL(rdma_migrate_id(server, channel), 0);
		CU_ASSERT_EQUAL_FATAL(rdma_accept(server, NULL), 0);
		pair_established(client, server);
		message_move(client, server);
		end_pair(client, server);
	}
	rdma_destroy_ep(listener);
}

/* Reads them until @done, and counts when they were others. */
struct reader {
	struct rdma_cm_id *id;
	const void *context;
	bool done;
	unsigned int others;
};

static void *fields_read(void *arg)
{
	struct reader *r = arg;

	while (!__atomic_load_n(&r->done, __ATOMIC_ACQUIRE)) {
		if (*(void *const volatile *)&r->id->context != r->context)
			r->others++;
		if (*(struct rdma_event_channel *const volatile *)&r->id->channel != channel)
			r->others++;
	}
	return NULL;
}

static void test_another_thread_reads_its_fields(void)
{
	struct reader r = { .context = &r };
	uint8_t tos = 0;
	pthread_t thread;
	int i, ret = 0;

	r.id = id_new(&r);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, fields_read, &r), 0);
	for (i = 0; i < CALLS && !ret; i++)
		ret = rdma_set_option(r.id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
	__atomic_store_n(&r.done, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(ret, 0);
	CU_ASSERT_EQUAL(r.others, 0);
	CU_ASSERT_EQUAL(rdma_destroy_id(r.id), 0);
}

static void test_devices_of_both(void)
{
	struct ibv_context **list;
	int n = 0;

	list = rdma_get_devices(&n);
	CU_ASSERT_PTR_NOT_NULL_FATAL(list);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT_PTR_NULL(list[2]);
	CU_ASSERT_STRING_NOT_EQUAL(ibv_get_device_name(list[0]->device),
				   ibv_get_device_name(list[1]->device));
	rdma_free_devices(list);
}

int main(int argc, char **argv)
{
	static const struct cu_test tests[] = {
		{ "a wildcard address listens on both", test_wildcard_listens_on_both },
		{ "an address listens on one", test_an_address_listens_on_one },
		{ "a port that either uses is used", test_a_used_port_of_either_is_used },
		{ "an address of neither", test_an_address_of_neither },
		{ "a channel is destroyed first", test_a_channel_is_destroyed_first },
		{ "an empty channel returns", test_an_empty_channel_returns },
		{ "endpoints", test_endpoints },
		{ "another thread reads its fields", test_another_thread_reads_its_fields },
		{ "devices of both", test_devices_of_both },
		{ NULL, NULL },
	};
	int ret;

	if (argc != 3)
		return 2;
	address[0] = argv[1];
	address[1] = argv[2];
	channel = rdma_create_event_channel();
	if (!channel)
		return 2;
	ret = cu_run("cm beside", tests);
	rdma_destroy_event_channel(channel);
	return ret;
}
