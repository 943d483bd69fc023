/* SPDX-License-Identifier: MIT */
/*
 * Requests that a listener rejects, or that no listener receives; backlogs; calls in wrong states.
 *	app_cm_reject local|remote
 */
#include "tests/lib/c/rdmacm.h"

#include <errno.h>
#include <string.h>

#define A	 0
#define LISTENER 8
#define B	 9
#define CH_A	 0
#define CH_B	 2
#define BACKLOG	 2

static struct vb_side *a, *b;
static const char *ip;

static void connect_to(int i, enum rdma_port_space ps, unsigned int port)
{
	struct cm_parm p = cm_parm(8, 1);

	cm_resolved(a, i, CH_A, ps, ip, port);
	ok(!cm_qp(a, i) && !cm_connect(a, i, &p), "rdma_connect");
}

static void gone(struct vb_side *s, int i)
{
	ok(!cm_qp_destroy(s, i) && !cm_destroy(s, i), "rdma_destroy_id");
}

static void test_nobody(void)
{
	unsigned int port = cm_listening(b, LISTENER, CH_B, RDMA_PS_UDP, "0.0.0.0", 4);
	struct cm_ev ev;

	connect_to(A, RDMA_PS_TCP, port);
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 8, &ev, "no listener: REJECTED, 8");
	ok(ev.len == 148, "with the 148 bytes of data that a REJ has");
	ok(cm_qp_state(a, A) == IBV_QPS_ERR, "the QP is in ERR");
	gone(a, A);
	cm_quiet(b, CH_B, "the listener of another port space hears nothing");
	ok(!cm_destroy(b, LISTENER), "the listener is destroyed");
	connect_to(A, RDMA_PS_UDP, port);
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_UNREACHABLE, 1, NULL,
		  "no datagram service: UNREACHABLE, 1");
	gone(a, A);
}

static void test_reject(unsigned int port, unsigned int len)
{
	struct cm_ev ev;

	connect_to(A, RDMA_PS_TCP, port);
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, "CONNECT_REQUEST");
	is_errno(cm_reject(b, B, 149, 1), EINVAL, "149 bytes to rdma_reject");
	ok(!cm_reject(b, B, len, 3), "rdma_reject with %u bytes", len);
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 28, &ev, "REJECTED, 28");
	ok(cm_data(&ev, len, 3, 148), "with 148 bytes of data");
	ok(cm_qp_state(a, A) == IBV_QPS_ERR, "the QP is in ERR");
	is_errno(cm_reject(b, B, 0, 0), EINVAL, "rejecting it once more");
	ok(!cm_destroy(b, B), "rdma_destroy_id of the request");
	gone(a, A);
}

static void test_reject_ud(unsigned int port)
{
	struct cm_ev ev;

	connect_to(A, RDMA_PS_UDP, port);
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, "CONNECT_REQUEST");
	ok(!cm_reject(b, B, 136, 3), "rdma_reject of a datagram service with 136 bytes");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_UNREACHABLE, 2, &ev, "UNREACHABLE, 2");
	ok(cm_data(&ev, 136, 3, 136), "with them");
	ok(!cm_destroy(b, B), "rdma_destroy_id of the request");
	gone(a, A);
}

/* Without a QP on the identifier, the program sees the answer, and can refuse it. */
static void test_reject_answer(unsigned int port)
{
	struct cm_parm p = cm_parm(0, 0);
	struct cm_ev ev;

	cm_resolved(a, A, CH_A, RDMA_PS_TCP, ip, port);
	p.qpn = 0x1234;
	ok(!cm_connect(a, A, &p), "rdma_connect without a QP");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev, "CONNECT_REQUEST");
	ok(ev.qpn == 0x1234, "with the QP number that was given");
	ok(!cm_qp(b, B) && !cm_accept(b, B, &p), "rdma_accept");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL, "CONNECT_RESPONSE");
	ok(!cm_reject(a, A, 33, 7), "rdma_reject by the client");
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_REJECTED, 28, &ev, "the server: REJECTED, 28");
	ok(cm_data(&ev, 33, 7, 148), "with 148 bytes of data");
	ok(!cm_destroy(a, A), "rdma_destroy_id");
	gone(b, B);
}

/* An answer that cannot be sent is a refusal. */
static void test_long_answer(unsigned int port, enum rdma_port_space ps, uint8_t len)
{
	bool ud = ps == RDMA_PS_UDP;
	struct cm_parm p = cm_parm(len, 3);

	connect_to(A, ps, port);
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, "CONNECT_REQUEST");
	ok(!cm_qp(b, B), "rdma_create_qp");
	is_errno(cm_accept(b, B, &p), EINVAL, "rdma_accept with too much data");
	if (ud) {
		cm_expect(a, CH_A, A, RDMA_CM_EVENT_UNREACHABLE, 2, NULL, "UNREACHABLE, 2");
	} else {
		ok(cm_qp_state(b, B) == IBV_QPS_ERR, "the QP is in ERR");
		cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED, 28");
	}
	gone(b, B);
	gone(a, A);
}

static void test_destroyed(unsigned int port)
{
	struct cm_ev ev;

	connect_to(A, RDMA_PS_TCP, port);
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, "CONNECT_REQUEST");
	ok(!cm_destroy(b, B), "rdma_destroy_id of a request that was not answered");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 28, &ev, "REJECTED, 28");
	gone(a, A);

	connect_to(A, RDMA_PS_TCP, port);
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL, "CONNECT_REQUEST");
	gone(a, A);
	cm_fence(a, A, CH_A, b, "a client gives up");
	cm_quiet(b, CH_B, "no event for a request not yet accepted");
	is_errno(cm_qp(b, B), EINVAL, "rdma_create_qp for it");
	is_errno(cm_accept(b, B, &(struct cm_parm){ .retry_count = 7 }), EINVAL,
		 "rdma_accept of it");
	ok(!cm_destroy(b, B), "rdma_destroy_id");
}

/* Twice, and after the end. */
static void test_again(unsigned int port)
{
	struct cm_parm p = cm_parm(0, 0);

	ok(cm_pair(a, A, b, B, port), "a connection");
	is_errno(cm_connect(a, A, &p), EINVAL, "rdma_connect again");
	is_errno(cm_accept(b, B, &p), EINVAL, "rdma_accept again");
	is_errno(cm_reject(b, B, 0, 0), EINVAL, "rdma_reject");
	is_errno(cm_reject(a, A, 0, 0), EINVAL, "rdma_reject by the client");
	is_errno(cm_route(a, A), EINVAL, "rdma_resolve_route");
	is_errno(cm_resolve(a, A, NULL, ip, port), EINVAL, "rdma_resolve_addr");
	is_errno(cm_listen(a, A, 1), EINVAL, "rdma_listen");
	is_errno(cm_bind(a, A, ip, &(unsigned int){ 0 }), EINVAL, "rdma_bind_addr");
	is_errno(cm_establish(a, A), EINVAL, "rdma_establish with a QP");
	is_errno(cm_notify(b, B, IBV_EVENT_COMM_EST), EISCONN, "rdma_notify: COMM_EST");
	is_errno(cm_notify(b, B, IBV_EVENT_QP_FATAL), EINVAL, "rdma_notify: QP_FATAL");
	ok(cm_traffic(a, A, b, B) && cm_traffic(b, B, a, A), "the connection does not mind");
	cm_quiet(a, CH_A, "no event");
	cm_quiet(b, CH_B, "nor at the server");
	/* Destroyed without a word: the peer is told. */
	gone(a, A);
	cm_expect(b, CH_B, B, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, "the peer: DISCONNECTED");
	gone(b, B);
}

static void test_states(void)
{
	struct cm_parm p = cm_parm(0, 0);
	struct cm_ev ev;

	p.responder_resources = RDMA_MAX_RESP_RES;
	p.initiator_depth = RDMA_MAX_INIT_DEPTH;
	ok(!cm_create(a, A, CH_A, RDMA_PS_TCP), "a new identifier");
	is_errno(cm_route(a, A), EINVAL, "rdma_resolve_route");
	is_errno(cm_connect(a, A, &p), EINVAL, "rdma_connect");
	is_errno(cm_accept(a, A, &p), EINVAL, "rdma_accept");
	is_errno(cm_reject(a, A, 0, 0), EINVAL, "rdma_reject");
	is_errno(cm_disconnect(a, A), EINVAL, "rdma_disconnect");
	is_errno(cm_establish(a, A), EINVAL, "rdma_establish");
	is_errno(cm_notify(a, A, IBV_EVENT_COMM_EST), EINVAL, "rdma_notify");
	is_errno(cm_qp(a, A), EINVAL, "rdma_create_qp");
	ok(!cm_resolve(a, A, NULL, ip, 1), "rdma_resolve_addr");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_ADDR_RESOLVED, 0, &ev, "ADDR_RESOLVED");
	is_errno(cm_resolve(a, A, NULL, ip, 1), EINVAL, "rdma_resolve_addr again");
	is_errno(cm_connect(a, A, &p), EINVAL, "rdma_connect without a route");
	ok(!cm_route(a, A), "rdma_resolve_route");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, &ev, "ROUTE_RESOLVED");
	is_errno(cm_route(a, A), EINVAL, "rdma_resolve_route again");
	is_errno(cm_accept(a, A, &p), EINVAL, "rdma_accept");
	is_errno(cm_disconnect(a, A), EINVAL, "rdma_disconnect");
	is_errno(cm_connect(a, A, NULL), EINVAL, "rdma_connect without a QP and parameters");
	ok(!cm_qp(a, A), "rdma_create_qp");
	is_errno(cm_qp(a, A), EINVAL, "rdma_create_qp again");
	is_errno(cm_connect(a, A, &(struct cm_parm){ .responder_resources = 254 }), EINVAL,
		 "more READs than the device can take");
	ok(!cm_connect(a, A, NULL), "rdma_connect without parameters");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 8, &ev, "REJECTED, 8: nobody is there");
	gone(a, A);
}

/*
 * Requests that were not taken from the channel count; the next one is not answered, and comes
 * again.
 */
static void test_backlog(void)
{
	unsigned int port = cm_listening(b, LISTENER, CH_B, RDMA_PS_TCP, "0.0.0.0", BACKLOG);
	struct cm_parm p = cm_parm(0, 0);
	struct cm_ev ev;
	int n = BACKLOG + 1;

	for (int i = 0; i < n; i++)
		connect_to(i, RDMA_PS_TCP, port);
	cm_fence(a, n, CH_A, b, "a request too many is not answered");
	for (int i = 0; i < n; i++) {
		cm_expect(b, CH_B, B + i, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &ev,
			  i < BACKLOG ? "one that waits" : "one that is sent again");
		if (i == BACKLOG - 1)
			cm_quiet(b, CH_B, "no more of them wait");
	}
	for (int i = 0; i < n; i++) {
		ok(!cm_qp(b, B + i) && !cm_accept(b, B + i, &p), "the request is accepted");
		ok(cm_event(a, CH_A, VB_WAIT, CM_NONE, &ev) &&
			   ev.event == RDMA_CM_EVENT_ESTABLISHED,
		   "ESTABLISHED");
		cm_expect(b, CH_B, B + i, RDMA_CM_EVENT_ESTABLISHED, 0, &ev,
			  "the server has its event");
	}
	for (int i = 0; i < n; i++) {
		gone(a, i);
		gone(b, B + i);
	}
	ok(!cm_destroy(b, LISTENER), "the listener goes");
}

/* A request whose event the program has read no longer counts as waiting, accepted or not. */
static void test_taken(void)
{
	unsigned int port = cm_listening(b, LISTENER, CH_B, RDMA_PS_TCP, "0.0.0.0", 1);

	for (int i = 0; i < 3; i++) {
		connect_to(i, RDMA_PS_TCP, port);
		cm_expect(b, CH_B, B + i, RDMA_CM_EVENT_CONNECT_REQUEST, 0, NULL,
			  "a backlog of 1: CONNECT_REQUEST");
	}
	for (int i = 0; i < 3; i++) {
		ok(!cm_destroy(b, B + i), "rdma_destroy_id");
		cm_expect(a, CH_A, i, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED, 28");
		gone(a, i);
	}
	/* A request that nobody has taken goes with the listener. */
	connect_to(A, RDMA_PS_TCP, port);
	ok(cm_waits(b, CH_B), "a request waits");
	ok(!cm_destroy(b, LISTENER), "the listener goes");
	cm_expect(a, CH_A, A, RDMA_CM_EVENT_REJECTED, 28, NULL, "REJECTED, 28");
	gone(a, A);
	cm_quiet(b, CH_B, "its unread event goes with the listener");
}

int main(int argc, char **argv)
{
	unsigned int port;

	if (argc != 2)
		die("app_cm_reject local|remote");
	cm_sides(argv[1], &a, &b);
	ip = vb_addr(b, false);
	ok(!cm_chan(a, CH_A) && !cm_chan(b, CH_B), "rdma_create_event_channel");
	test_nobody();
	test_states();
	port = cm_listening(b, LISTENER, CH_B, RDMA_PS_TCP, "0.0.0.0", 8);
	test_reject(port, 0);
	test_reject(port, 20);
	test_reject(port, 148);
	test_reject_answer(port);
	test_long_answer(port, RDMA_PS_TCP, 197);
	test_long_answer(port, RDMA_PS_TCP, 255);
	test_destroyed(port);
	test_again(port);
	ok(!cm_destroy(b, LISTENER), "the listener goes");
	port = cm_listening(b, LISTENER, CH_B, RDMA_PS_UDP, "0.0.0.0", 8);
	test_reject_ud(port);
	test_long_answer(port, RDMA_PS_UDP, 137);
	test_long_answer(port, RDMA_PS_UDP, 255);
	ok(!cm_destroy(b, LISTENER), "the listener goes");
	test_backlog();
	test_taken();
	ok(!cm_chan_close(a, CH_A) && !cm_chan_close(b, CH_B), "rdma_destroy_event_channel");
	cm_sides_end(a, b);
	return tap_failed != 0;
}
