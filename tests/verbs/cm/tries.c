/* SPDX-License-Identifier: MIT */
/*
 * Connections by the rdma_cm, one after the other, whether they succeed or fail.
 *	app_cm_tries COUNT
 *
 * Each connection is requested, accepted, carries one message, and is closed. Its result is a line:
 *	try N: data good, closed | data lost, closed | rejected REASON | unreachable STATUS |
 *	       error STATUS | unresolved STATUS | hangs
 * When nothing happens, it moves the fabric's clock ahead, with the command that RDMAEMU_BIN names.
 * Exit status: 1 if data was wrong or a try has hung.
 */
#include "tests/lib/c/fault.h"
#include "tests/lib/c/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE	   64
#define SOON	   30 /* ms without an event: ask whether one is still to come */
#define STEP	   5 /* s that the clock is moved ahead by */
#define STEPS	   60 /* more than the rdma_cm ever waits */
#define DATA_STEPS 20

/** struct party - one of a connection's. @over: how it ended, RDMA_CM_EVENT_*; -1: it has not */
struct party {
	struct rdma_cm_id *id;
	bool up;
	int over, status;
	uint8_t buf[SIZE];
	struct ibv_mr *mr;
};

static struct rdma_event_channel *ch;
static struct rdma_cm_id *listener;
static struct party client, server;
static bool bad;

static void must(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

static void party_make(struct party *e, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .cap = { 2, 2, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	if (!id)
		die("no identifier to make a queue pair of");
	must(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
	e->mr = ibv_reg_mr(id->pd, e->buf, SIZE, IBV_ACCESS_LOCAL_WRITE);
	must(e->mr, "ibv_reg_mr");
}

static void party_destroy(struct party *e)
{
	if (e->mr)
		must(!ibv_dereg_mr(e->mr), "ibv_dereg_mr");
	if (e->id && e->id->qp)
		rdma_destroy_qp(e->id);
	if (e->id)
		must(!rdma_destroy_id(e->id), "rdma_destroy_id");
	*e = (struct party){ .over = -1 };
}

/* A request of a try that was given up may still come. */
static void requested(struct rdma_cm_id *id)
{
	struct rdma_conn_param p = { .retry_count = 2, .rnr_retry_count = 2 };
	struct ibv_sge sge = { .length = SIZE };
	struct ibv_recv_wr *worse, wr = { .sg_list = &sge, .num_sge = 1 };

	if (server.id) {
		rdma_reject(id, NULL, 0);
		must(!rdma_destroy_id(id), "rdma_destroy_id");
		return;
	}
	server.id = id;
	party_make(&server, id);
	sge.addr = (uintptr_t)server.buf;
	sge.lkey = server.mr->lkey;
	must(!ibv_post_recv(id->qp, &wr, &worse), "ibv_post_recv");
	if (rdma_accept(id, &p)) {
		/* Who asked is not there any more. */
		must(errno == EINVAL, "rdma_accept");
		party_destroy(&server);
	}
}

static void client_goes_on(enum rdma_cm_event_type type)
{
	struct rdma_conn_param p = { .retry_count = 2, .rnr_retry_count = 2 };

	if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
		must(!rdma_resolve_route(client.id, 2000), "rdma_resolve_route");
	} else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
		party_make(&client, client.id);
		must(!rdma_connect(client.id, &p), "rdma_connect");
	}
}

/* Return: whether there was an event within @ms. */
static bool step(int ms)
{
	struct pollfd p = { .fd = ch->fd, .events = POLLIN };
	enum rdma_cm_event_type type;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	struct party *e;
	int status;

	if (poll(&p, 1, ms) != 1)
		return false;
	must(!rdma_get_cm_event(ch, &ev), "rdma_get_cm_event");
	id = ev->id;
	if (!id)
		die("an event of no identifier");
	type = ev->event;
	status = ev->status;
	rdma_ack_cm_event(ev);
	e = id == client.id ? &client : &server;
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		requested(id);
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		client_goes_on(type);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		e->up = true;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		if (e->over < 0) {
			e->over = (int)type;
			e->status = status;
		}
	}
	return true;
}

/* Go on until @done, or long enough. */
static bool until(bool (*done)(void), int steps)
{
	while (!done()) {
		if (step(SOON))
			continue;
		/* The engine may be slow: with no time to move by, this waits until it is quiet. */
		fault_advance_us(0);
		if (step(0))
			continue;
		if (!steps--)
			return false;
		fault_advance(STEP);
	}
	return true;
}

static bool decided(void)
{
	return client.up || client.over >= 0;
}

static bool closed(void)
{
	return client.over >= 0 && (!server.id || server.over >= 0);
}

static bool never(void)
{
	return false;
}

/* Return: "good" or "lost", as both completions say. */
static const char *exchange(uint64_t number)
{
	struct ibv_sge sge = { (uintptr_t)client.buf, SIZE, client.mr->lkey };
	struct ibv_send_wr *worse, wr = { .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc sent = { 0 }, got = { 0 };
	int i, n = 0, m = 0;

	/* What connects arrives first: who is quick changes nothing. */
	until(never, 1);
	fill(client.buf, SIZE, number);
	must(!ibv_post_send(client.id->qp, &wr, &worse), "ibv_post_send");
	for (i = 0; i < DATA_STEPS && !n; i++) {
		until(never, 1);
		n = ibv_poll_cq(client.id->qp->send_cq, 1, &sent);
	}
	if (server.id)
		m = ibv_poll_cq(server.id->qp->recv_cq, 1, &got);
	if (m == 1 && !got.status && !filled(server.buf, SIZE, number)) {
		printf("not the data of try %d\n", (int)number);
		bad = true;
	}
	if (n == 1 && !sent.status && (m != 1 || got.status)) {
		printf("try %d: sent, and not received\n", (int)number);
		bad = true;
	}
	if (n != 1) {
		printf("try %d: no completion\n", (int)number);
		bad = true;
	}
	return n == 1 && !sent.status ? "good" : "lost";
}

static void try(int number, struct sockaddr *to)
{
	const char *data;

	must(!rdma_create_id(ch, &client.id, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(!rdma_resolve_addr(client.id, NULL, to, 2000), "rdma_resolve_addr");
	if (!until(decided, STEPS)) {
		printf("try %d: hangs\n", number);
		bad = true;
	} else if (client.up) {
		data = exchange((uint64_t)number);
		rdma_disconnect(client.id);
		if (!until(closed, STEPS))
			bad = true;
		printf("try %d: data %s, %s\n", number, data, closed() ? "closed" : "hangs");
	} else {
		printf("try %d: %s %d\n", number,
		       client.over == RDMA_CM_EVENT_REJECTED	  ? "rejected"
		       : client.over == RDMA_CM_EVENT_UNREACHABLE ? "unreachable"
		       : client.over == RDMA_CM_EVENT_ADDR_ERROR ||
				       client.over == RDMA_CM_EVENT_ROUTE_ERROR
			       ? "unresolved"
			       : "error",
		       client.status);
	}
	party_destroy(&client);
	/* The events of the other end. */
	until(never, 1);
	party_destroy(&server);
}

int main(int argc, char **argv)
{
	struct sockaddr_storage to;
	int i, n = argc == 2 ? atoi(argv[1]) : 0;

	if (n < 1)
		die("usage: app_cm_tries COUNT");
	client.over = server.over = -1;
	ch = rdma_create_event_channel();
	must(ch, "rdma_create_event_channel");
	must(!rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	cm_addr("0.0.0.0", 0, &to);
	must(!rdma_bind_addr(listener, (struct sockaddr *)&to), "rdma_bind_addr");
	must(!rdma_listen(listener, 4), "rdma_listen");
	cm_addr("127.0.0.1", ntohs(rdma_get_src_port(listener)), &to);
	for (i = 1; i <= n; i++)
		try(i, (struct sockaddr *)&to);
	must(!rdma_destroy_id(listener), "rdma_destroy_id");
	rdma_destroy_event_channel(ch);
	return bad;
}
