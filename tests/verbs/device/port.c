/* SPDX-License-Identifier: MIT */
/*
 * Ports that go down and come up again, and P_Keys that change: events, queries, traffic.
 *
 *	app_device_port RDMAEMU	RDMAEMU: the command that changes them
 */
#include "tests/lib/c/rc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT 20000

static const char *rdmaemu;
static struct end *a, *b;

/* rdmaemu port WORDS... */
static bool port_cmd(const char *word, const char *x, const char *y)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(rdmaemu, rdmaemu, "port", word, x, y, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static enum ibv_port_state port_state(struct ibv_context *ctx)
{
	struct ibv_port_attr attr;

	return ibv_query_port(ctx, 1, &attr) ? IBV_PORT_NOP : attr.state;
}

/* The next event of a context, acknowledged: its type, or -1; its port in *port. */
static int next_event(struct ibv_context *ctx, int ms, int *port)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	if (poll(&p, 1, ms) != 1 || ibv_get_async_event(ctx, &ev))
		return -1;
	*port = ev.element.port_num;
	ibv_ack_async_event(&ev);
	return (int)ev.event_type;
}

static void expect_event(struct ibv_context *ctx, int wanted, const char *what)
{
	int port = 0, got = next_event(ctx, WAIT, &port);

	ok(got == wanted && port == 1, "%s: %s (%d, port %d)", what,
	   ibv_event_type_str((enum ibv_event_type)wanted), got, port);
}

static void test_events(void)
{
	struct ibv_context *one = rc_open_first(), *two = rc_open_first(), *gone = rc_open_first();
	int port;

	ibv_close_device(gone);
	ok(port_state(one) == IBV_PORT_ACTIVE, "the port is active");
	ok(port_cmd("down", NULL, NULL) && port_state(one) == IBV_PORT_DOWN, "it goes down");
	expect_event(one, IBV_EVENT_PORT_ERR, "one context");
	expect_event(two, IBV_EVENT_PORT_ERR, "another");
	ok(port_cmd("down", NULL, NULL) && next_event(one, 100, &port) < 0,
	   "down once more: no event");
	ok(port_cmd("up", NULL, NULL) && port_state(two) == IBV_PORT_ACTIVE, "it comes up");
	expect_event(one, IBV_EVENT_PORT_ACTIVE, "one context");
	expect_event(two, IBV_EVENT_PORT_ACTIVE, "another");
	ibv_close_device(one);
	ibv_close_device(two);
}

static void test_pkey(void)
{
	struct ibv_context *ctx = rc_open_first();
	__be16 pkey = 0;

	ok(port_cmd("pkey", "0", "0x8123") && !ibv_query_pkey(ctx, 1, 0, &pkey) &&
		   ntohs(pkey) == 0x8123,
	   "P_Key 0 changes (0x%x)", ntohs(pkey));
	expect_event(ctx, IBV_EVENT_PKEY_CHANGE, "and all are told");
	ok(ibv_get_pkey_index(ctx, 1, htons(0x8123)) == 0 &&
		   ibv_get_pkey_index(ctx, 1, htons(0xffff)) == -1,
	   "it is found, the old one is not");
	ok(port_cmd("pkey", "0", "0xffff"), "and back");
	expect_event(ctx, IBV_EVENT_PKEY_CHANGE, "and all are told");
	ok(!port_cmd("pkey", "200", "1") && !port_cmd("pkey", "0", "0x12345") &&
		   next_event(ctx, 100, &(int){ 0 }) < 0,
	   "beyond the table or 16 bits: refused, no event");
	ibv_close_device(ctx);
}

static void test_traffic(void)
{
	struct rc_opts o = rc_defaults;
	struct rc_wr wr, recv;
	struct ibv_wc wc;

	/* 4.096 us x 2^18 = 1.1 s, eight times: time enough for the command. */
	o.timeout = 18;
	o.retry_cnt = 7;
	pair_up(a, b, &o, &o);
	wr = wr_make(IBV_WR_SEND, 1, a, a->buf, 1000, NULL, NULL);
	recv = wr_make(IBV_WR_SEND, 2, b, b->buf, 1000, NULL, NULL);
	fill(a->buf, 1000, 5);
	ok(port_cmd("down", NULL, NULL), "the port goes down for a while");
	ok(!end_recv(b, &recv) && !end_send(a, &wr) && !end_poll(a, 0, 20, &wc),
	   "a SEND meanwhile does not complete");
	ok(port_cmd("up", NULL, NULL) && end_poll(a, 0, WAIT, &wc) && wc.status == IBV_WC_SUCCESS &&
		   end_poll(b, 1, WAIT, &wc) && wc.status == IBV_WC_SUCCESS &&
		   filled(b->buf, 1000, 5),
	   "it is sent again, and arrives when the port is up");

	o.timeout = 10;
	o.retry_cnt = 2;
	pair_up(a, b, &o, &o);
	ok(port_cmd("down", NULL, NULL) && !end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) &&
		   wc.status == IBV_WC_RETRY_EXC_ERR && end_state(a) == IBV_QPS_ERR,
	   "down for good: RETRY_EXC_ERR");
	ok(end_state(b) == IBV_QPS_RTS, "the peer notices nothing");
	ok(port_cmd("up", NULL, NULL), "up again");
	while (end_event(a, 50, NULL) >= 0)
		;
	pair_up(a, b, &o, &o);
	ok(!end_recv(b, &recv) && !end_send(a, &wr) && end_poll(a, 0, WAIT, &wc) &&
		   wc.status == IBV_WC_SUCCESS,
	   "a new connection works");
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	rdmaemu = argv[1];
	a = end_local();
	b = end_local();
	test_events();
	test_pkey();
	end_open(a);
	end_open(b);
	test_traffic();
	end_close(a);
	end_close(b);
	return tap_failed != 0;
}
