/* SPDX-License-Identifier: MIT */
/*
 * What two ends of a connection in one process get from their event channels, a line each.
 *	app_cm_messages listener|client [ATTEMPTS [ADDRESS]]	this end disconnects once it is
 *								established
 *	app_cm_messages endpoints [ATTEMPTS [ADDRESS]]	the client does, of identifiers without a
 *								channel
 *
 * A client that is not connected tries again, up to ATTEMPTS times. The program ends when an end
 * that is disconnected has disconnected, too, or after the last attempt.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct sockaddr_in addr = { .sin_family = AF_INET };
static struct rdma_event_channel *channel[2];
static struct rdma_cm_id *listener;
static bool listener_ends;
static int attempts = 1;

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void qp_make(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	must(rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

static void id_free(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	must(rdma_destroy_id(id), "rdma_destroy_id");
}

static void client_start(void)
{
	struct rdma_cm_id *id;

	attempts--;
	must(rdma_create_id(channel[1], &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000), "rdma_resolve_addr");
}

/* The calls that follow an event before the connection is there. Return: whether it is such */
static bool event_connects(const struct rdma_cm_event *ev)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		must(rdma_resolve_route(ev->id, 2000), "rdma_resolve_route");
		return true;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		qp_make(ev->id);
		must(rdma_connect(ev->id, &param), "rdma_connect");
		return true;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		qp_make(ev->id);
		must(rdma_accept(ev->id, &param), "rdma_accept");
		return true;
	default:
		return false;
	}
}

/* Return: 0, 1: the end is disconnected, or -1: the last attempt has failed */
static int event_handle(bool client, struct rdma_cm_event *ev)
{
	enum rdma_cm_event_type type = ev->event;
	struct rdma_cm_id *id = ev->id;
	bool shown = type != RDMA_CM_EVENT_ADDR_RESOLVED && type != RDMA_CM_EVENT_ROUTE_RESOLVED;

	if (shown)
		printf("%s: %s, %d\n", client ? "client" : "listener",
		       rdma_event_str(type) + strlen("RDMA_CM_EVENT_"), ev->status);
	if (event_connects(ev)) {
		rdma_ack_cm_event(ev);
		return 0;
	}
	rdma_ack_cm_event(ev);
	if (type == RDMA_CM_EVENT_ESTABLISHED) {
		if (client != listener_ends)
			must(rdma_disconnect(id), "rdma_disconnect");
		return 0;
	}
	if (type == RDMA_CM_EVENT_DISCONNECTED) {
		rdma_disconnect(id);
		id_free(id);
		return 1;
	}
	if (type == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		return 0;
	id_free(id);
	if (!attempts)
		return -1;
	client_start();
	return 0;
}

static int channel_read(bool client)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(channel[client], &ev)) {
		must(errno != EAGAIN, "rdma_get_cm_event");
		return 0;
	}
	return event_handle(client, ev);
}

static void channels_run(void)
{
	struct pollfd fds[2];
	int i, ended = 0, ret;

	client_start();
	while (ended < 2) {
		for (i = 0; i < 2; i++)
			fds[i] = (struct pollfd){ .fd = channel[i]->fd, .events = POLLIN };
		must(poll(fds, 2, -1) < 0, "poll");
		for (i = 1; i >= 0; i--) {
			ret = fds[i].revents ? channel_read(i) : 0;
			if (ret < 0)
				return;
			ended += ret;
		}
	}
}

/* --- identifiers without a channel --- */

static void *endpoint_accept(void *arg)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *id;

	(void)arg;
	must(rdma_get_request(listener, &id), "rdma_get_request");
	printf("listener: request\n");
	qp_make(id);
	must(rdma_accept(id, &param), "rdma_accept");
	must(rdma_disconnect(id), "rdma_disconnect");
	rdma_destroy_ep(id);
	return NULL;
}

static void endpoints_run(void)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *id;
	pthread_t thread;
	int ret;

	must(pthread_create(&thread, NULL, endpoint_accept, NULL), "pthread_create");
	do {
		must(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
		must(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000),
		     "rdma_resolve_addr");
		must(rdma_resolve_route(id, 2000), "rdma_resolve_route");
		qp_make(id);
		ret = rdma_connect(id, &param);
		printf("client: %s\n", ret ? strerror(errno) : "connected");
		if (!ret)
			must(rdma_disconnect(id), "rdma_disconnect");
		id_free(id);
	} while (ret && --attempts > 0);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	bool endpoints = argc > 1 && !strcmp(argv[1], "endpoints");
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return 2;
	listener_ends = !strcmp(argv[1], "listener");
	if (argc > 2)
		attempts = atoi(argv[2]);
	must(inet_pton(AF_INET, argc > 3 ? argv[3] : "127.0.0.1", &addr.sin_addr) != 1,
	     "an address");
	for (i = 0; i < 2 && !endpoints; i++) {
		channel[i] = rdma_create_event_channel();
		must(!channel[i], "rdma_create_event_channel");
		must(fcntl(channel[i]->fd, F_SETFL, O_NONBLOCK), "fcntl");
	}
	must(rdma_create_id(channel[0], &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(rdma_bind_addr(listener, (struct sockaddr *)&addr), "rdma_bind_addr");
	addr.sin_port = rdma_get_src_port(listener);
	must(rdma_listen(listener, 4), "rdma_listen");
	if (endpoints)
		endpoints_run();
	else
		channels_run();
	must(rdma_destroy_id(listener), "rdma_destroy_id");
	for (i = 0; i < 2 && !endpoints; i++)
		rdma_destroy_event_channel(channel[i]);
	return 0;
}
