/* SPDX-License-Identifier: MIT */
/*
 * Connections by the rdma_cm between joined fabrics, one after the other, while
 * tests/torture/join.py breaks the links between them.
 *	app_cm_joinload serve|call ADDRESS PORT SEED [CONNECTIONS]
 *
 * The caller connects, sends messages that the other side echoes, checks them, and disconnects. A
 * connection may fail in any way that a network can cause; data that arrives must be right. Ends at
 * SIGTERM, and the caller after CONNECTIONS good ones, with status 0; 11: the device was lost; 3:
 * an error.
 */
#include "tests/lib/c/rc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MSG	   4000
#define ROUNDS	   4
#define CONNS	   32
#define PATIENCE   20000 /* milliseconds, for an event of a connection */
#define STALE_NS   60000000000ULL
#define RESOLVE_MS 3000

enum { EXIT_BAD = 3, EXIT_FATAL = 11 };

/* A connection: what is sent, and what has come. */
struct conn {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint64_t since;
	uint8_t out[MSG], in[MSG];
};

static struct rdma_event_channel *chan;
static struct conn *conns[CONNS];
static volatile int stop;
static uint64_t good, failures;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void bad(const char *what, int x)
{
	note("WRONG: %s: %d (errno %d)", what, x, errno);
	exit(EXIT_BAD);
}

/* A call that can fail only because the fabric process has ended. */
static void lost(const char *what)
{
	note("lost the device: %s: %s", what, strerror(errno));
	exit(EXIT_FATAL);
}

/* --- a connection --- */

static void post_recv(struct conn *c)
{
	struct ibv_sge sge = { (uintptr_t)c->in, MSG, c->mr->lkey };
	struct ibv_recv_wr *bad_wr, wr = { .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(c->id->qp, &wr, &bad_wr))
		lost("ibv_post_recv");
}

/* Whether it could be sent: not when the connection has gone. */
static void post_send(struct conn *c, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)c->out, len, c->mr->lkey };
	struct ibv_send_wr *bad_wr, wr = { .sg_list = &sge,
					   .num_sge = 1,
					   .opcode = IBV_WR_SEND,
					   .send_flags = IBV_SEND_SIGNALED };

	if (ibv_post_send(c->id->qp, &wr, &bad_wr))
		lost("ibv_post_send");
}

static struct conn *conn_new(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct conn *c = calloc(1, sizeof(*c));

	c->id = id;
	id->context = c;
	c->since = now_ns();
	if (rdma_create_qp(id, NULL, &init)) {
		/* The other side has given up meanwhile. */
		if (errno != EINVAL)
			lost("rdma_create_qp");
		free(c);
		rdma_destroy_id(id);
		return NULL;
	}
	c->mr = ibv_reg_mr(id->pd, c, sizeof(*c), IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		lost("ibv_reg_mr");
	post_recv(c);
	return c;
}

static void conn_free(struct conn *c)
{
	ibv_dereg_mr(c->mr);
	rdma_destroy_qp(c->id);
	if (rdma_destroy_id(c->id))
		bad("rdma_destroy_id", 0);
	free(c);
}

static struct rdma_conn_param param(void)
{
	return (struct rdma_conn_param){ .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
}

/* --- events --- */

/* The next event within @ms. @id: receives whose it is. Return: it, or -1. */
static int next_event(int ms, struct rdma_cm_id **id)
{
	struct pollfd p = { .fd = chan->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int type;

	if (poll(&p, 1, ms) != 1 || rdma_get_cm_event(chan, &ev))
		return -1;
	type = (int)ev->event;
	*id = ev->id;
	rdma_ack_cm_event(ev);
	if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		lost("RDMA_CM_EVENT_DEVICE_REMOVAL");
	return type;
}

/* --- who is called --- */

static void end_conn(int i)
{
	conn_free(conns[i]);
	conns[i] = NULL;
}

static void take_request(struct rdma_cm_id *id)
{
	struct rdma_conn_param p = param();
	int i;

	for (i = 0; i < CONNS && conns[i]; i++)
		;
	if (i == CONNS) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	conns[i] = conn_new(id);
	/* The caller may have given up meanwhile. */
	if (conns[i] && rdma_accept(id, &p))
		end_conn(i);
}

static void serve_event(int type, struct rdma_cm_id *id)
{
	int i;

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		take_request(id);
		return;
	}
	for (i = 0; i < CONNS; i++)
		if (conns[i] && conns[i]->id == id && type != RDMA_CM_EVENT_ESTABLISHED) {
			if (type == RDMA_CM_EVENT_DISCONNECTED)
				rdma_disconnect(id);
			if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
				end_conn(i);
			return;
		}
}

/* Back to where it came from. Return: whether the connection goes on. */
static bool serve_data(struct conn *c)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(c->id->recv_cq, 1, &wc) > 0) {
		if (wc.status)
			return false;
		memcpy(c->out, c->in, wc.byte_len);
		post_recv(c);
		post_send(c, wc.byte_len);
		c->since = now_ns();
		good++;
	}
	while (ibv_poll_cq(c->id->send_cq, 1, &wc) > 0)
		if (wc.status)
			return false;
	return now_ns() - c->since < STALE_NS;
}

static void serve(struct sockaddr *sa)
{
	struct rdma_cm_id *listener, *id;
	int i, type;

	if (rdma_create_id(chan, &listener, NULL, RDMA_PS_TCP) || rdma_bind_addr(listener, sa) ||
	    rdma_listen(listener, 16))
		lost("rdma_listen");
	note("connected");
	while (!stop) {
		type = next_event(1, &id);
		if (type >= 0)
			serve_event(type, id);
		for (i = 0; i < CONNS; i++)
			if (conns[i] && !serve_data(conns[i]))
				end_conn(i);
	}
	for (i = 0; i < CONNS; i++)
		if (conns[i])
			end_conn(i);
	rdma_destroy_id(listener);
}

/* --- who calls --- */

/* Return: whether @want comes next. */
static bool await(int want)
{
	struct rdma_cm_id *id;

	return next_event(PATIENCE, &id) == want;
}

/* Return: a completion's status, or -1: none came */
static int one_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	uint64_t end = now_ns() + PATIENCE * 1000000ULL;

	while (now_ns() < end && !stop) {
		if (ibv_poll_cq(cq, 1, wc) > 0)
			return (int)wc->status;
		poll(NULL, 0, 1);
	}
	return -1;
}

static bool exchange_data(struct conn *c, uint64_t *rng)
{
	uint64_t seed = rnd(rng);
	uint32_t len = 1 + (uint32_t)(rnd(rng) % MSG);
	struct ibv_wc wc;

	fill(c->out, len, seed);
	memset(c->in, 0, MSG);
	post_send(c, len);
	if (one_wc(c->id->send_cq, &wc) || one_wc(c->id->recv_cq, &wc))
		return false;
	if (wc.byte_len != len || !filled(c->in, len, seed))
		bad("the echoed message", (int)wc.byte_len);
	post_recv(c);
	return true;
}

static bool call_once(struct sockaddr *sa, uint64_t *rng)
{
	struct rdma_conn_param p = param();
	struct rdma_cm_id *id;
	struct conn *c;
	bool well;

	if (rdma_create_id(chan, &id, NULL, RDMA_PS_TCP))
		lost("rdma_create_id");
	/* Of one that is dead nobody knows the address. */
	if (rdma_resolve_addr(id, NULL, sa, RESOLVE_MS) || !await(RDMA_CM_EVENT_ADDR_RESOLVED) ||
	    rdma_resolve_route(id, RESOLVE_MS) || !await(RDMA_CM_EVENT_ROUTE_RESOLVED)) {
		rdma_destroy_id(id);
		return false;
	}
	c = conn_new(id);
	if (!c)
		return false;
	well = !rdma_connect(id, &p) && await(RDMA_CM_EVENT_ESTABLISHED);
	for (int i = 0; well && i < ROUNDS; i++)
		well = exchange_data(c, rng);
	if (well) {
		rdma_disconnect(id);
		well = await(RDMA_CM_EVENT_DISCONNECTED);
	}
	conn_free(c);
	return well;
}

static void call(struct sockaddr *sa, uint64_t rng, uint64_t connections)
{
	note("connected");
	while (!stop && good < connections) {
		if (call_once(sa, &rng)) {
			good++;
		} else {
			failures++;
			poll(NULL, 0, 50);
		}
	}
}

int main(int argc, char **argv)
{
	const struct sigaction term = { .sa_handler = on_term };
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (argc < 5 || argc > 6 || inet_pton(AF_INET, argv[2], &in.sin_addr) != 1)
		die("usage: app_cm_joinload serve|call ADDRESS PORT SEED [CONNECTIONS]");
	in.sin_port = htons((uint16_t)atoi(argv[3]));
	sigaction(SIGTERM, &term, NULL);
	chan = rdma_create_event_channel();
	if (!chan)
		lost("rdma_create_event_channel");
	if (!strcmp(argv[1], "serve"))
		serve((struct sockaddr *)&in);
	else
		call((struct sockaddr *)&in, strtoull(argv[4], NULL, 0) | 1,
		     argc == 6 ? strtoull(argv[5], NULL, 0) : UINT64_MAX);
	note("%llu good, %llu failed", (unsigned long long)good, (unsigned long long)failures);
	return 0;
}
