/* SPDX-License-Identifier: MIT */
/*
 * What two queue pairs see of faults.
 *	app_fault local|remote TYPE OP N SIZE [KEY=VALUE]...
 *
 * Posts N receives and N requests of SIZE bytes at once and prints what comes of them, for tests/bb_fault*.t
 * to compare: a line for each completion, "send ID STATUS" and "recv NUMBER LENGTH", NUMBER being what
 * the message has in it; then the QPs' states and the async events of both sides. Data that is not that of
 * its message is an error.
 * TYPE: RC, UC, UD, XRC; OP: send, imm, write, read, add. KEY: timeout, retry, rnr, min_rnr, mtu (bytes),
 * pause (ms, between the messages).
 */
#include "tests/vb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET 300 /* ms in which nothing comes: that was all */
#define AREA  (VB_BUF / 2)
#define ROOM  (((size_t)size + VB_GRH + 63) & ~(size_t)63)

static struct vb_side *a, *b;
static struct vb_pair pair;
static int n, pause_ms;
static uint32_t size;
static enum ibv_wr_opcode op;
static bool bad;

static uint8_t byte_of(uint32_t number, uint32_t at)
{
	return at < 4 ? (uint8_t)(number >> at * 8) : (uint8_t)(number * 31 + at * 7);
}

static void write_message(uint8_t *p, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < size; i++)
		p[i] = byte_of(number, i);
}

/* Return: the message's number; those that are not whole are bad. */
static uint32_t number_of(const uint8_t *p)
{
	uint32_t number = 0, i;

	memcpy(&number, p, size < 4 ? size : 4);
	for (i = 0; i < size; i++)
		if (p[i] != byte_of(number, i)) {
			printf("not its data: message %u byte %u\n", number, i);
			bad = true;
			break;
		}
	return number;
}

static uint8_t *place(struct vb_side *s, int i, bool recv)
{
	return s->buf + (recv ? AREA : 0) + (size_t)i * ROOM;
}

static enum ibv_qp_type type_of(const char *name)
{
	return !strcmp(name, "RC")    ? IBV_QPT_RC
	       : !strcmp(name, "UC")  ? IBV_QPT_UC
	       : !strcmp(name, "UD")  ? IBV_QPT_UD
	       : !strcmp(name, "XRC") ? IBV_QPT_XRC_SEND
				      : (die("no type %s", name), IBV_QPT_RC);
}

static enum ibv_wr_opcode op_of(const char *name)
{
	return !strcmp(name, "send")	? IBV_WR_SEND
	       : !strcmp(name, "imm")	? IBV_WR_RDMA_WRITE_WITH_IMM
	       : !strcmp(name, "write") ? IBV_WR_RDMA_WRITE
	       : !strcmp(name, "read")	? IBV_WR_RDMA_READ
	       : !strcmp(name, "add")	? IBV_WR_ATOMIC_FETCH_AND_ADD
					: (die("no operation %s", name), IBV_WR_SEND);
}

static void options(struct vb_spec *s, int argc, char **argv)
{
	unsigned long v;
	char *eq;
	int i;

	for (i = 0; i < argc; i++) {
		eq = strchr(argv[i], '=');
		if (!eq)
			die("expected KEY=VALUE: %s", argv[i]);
		*eq = '\0';
		v = strtoul(eq + 1, NULL, 0);
		if (!strcmp(argv[i], "timeout"))
			s->timeout = (uint8_t)v;
		else if (!strcmp(argv[i], "retry"))
			s->retry_cnt = (uint8_t)v;
		else if (!strcmp(argv[i], "rnr"))
			s->rnr_retry = (uint8_t)v;
		else if (!strcmp(argv[i], "min_rnr"))
			s->min_rnr = (uint8_t)v;
		else if (!strcmp(argv[i], "mtu"))
			for (s->mtu = IBV_MTU_256; 128u << s->mtu < v; s->mtu++)
				;
		else if (!strcmp(argv[i], "pause"))
			pause_ms = (int)v;
		else
			die("no option %s", argv[i]);
	}
}

static bool takes_recv(void)
{
	return op == IBV_WR_SEND || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* Where the data is to be found in the end. */
static uint8_t *target(int i)
{
	return op == IBV_WR_RDMA_READ ? place(a, i, false) : place(b, i, true);
}

static void post(int i)
{
	struct vb_wr wr = vb_pair_wr(&pair, op, (uint64_t)i, 0, size);

	wr.sge[0].addr = (uintptr_t)place(a, i, false);
	wr.sge[0].lkey = a->info.lkey;
	wr.sge[0].length = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : size;
	wr.num_sge = 1;
	wr.raddr = (uintptr_t)place(b, op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 0 : i, true);
	wr.compare = 1;
	wr.imm = (uint32_t)i;
	if (op == IBV_WR_RDMA_READ)
		write_message(place(b, i, true), (uint32_t)i);
	else if (op != IBV_WR_ATOMIC_FETCH_AND_ADD)
		write_message(place(a, i, false), (uint32_t)i);
	if (vb_send(a, 0, false, &wr))
		die("cannot post %d", i);
	usleep((useconds_t)pause_ms * 1000);
}

static void post_all(void)
{
	int i;

	for (i = 0; i < n && takes_recv(); i++)
		if (vb_recv1(b, pair.recv, (uint64_t)i, place(b, i, true), size + pair.off))
			die("cannot post receive %d", i);
	for (i = 0; i < n; i++)
		post(i);
}

static void print_sends(void)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++) {
		if (!vb_poll(a, 0, VB_SCQ, VB_WAIT, &wc)) {
			printf("no completion\n");
			bad = true;
			return;
		}
		printf("send %d %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status));
		if (wc.status == IBV_WC_SUCCESS &&
		    (op == IBV_WR_RDMA_READ || op == IBV_WR_RDMA_WRITE) &&
		    pair.type != IBV_QPT_UC && number_of(target((int)wc.wr_id)) != wc.wr_id)
			bad = true;
	}
}

static void print_recvs(void)
{
	struct ibv_wc wc;

	while (vb_poll(b, pair.rq, pair.rcq, QUIET, &wc)) {
		if (wc.status != IBV_WC_SUCCESS)
			printf("recv: %s\n", ibv_wc_status_str(wc.status));
		else if (op == IBV_WR_RDMA_WRITE_WITH_IMM)
			printf("recv %u %u\n", number_of(place(b, (int)wc.imm_data, true)),
			       wc.byte_len);
		else
			printf("recv %u %u\n", number_of(place(b, (int)wc.wr_id, true) + pair.off),
			       wc.byte_len - pair.off);
	}
}

static void print_events(struct vb_side *s, const char *name)
{
	int ev;

	while ((ev = vb_event(s, 20)) >= 0)
		printf("%s: %s\n", name, ibv_event_type_str(ev));
}

static const char *state_name(int state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state >= 0 && state < 7 ? names[state] : "?";
}

int main(int argc, char **argv)
{
	struct vb_spec spec;
	int ret;

	if (argc < 6)
		die("usage: app_fault local|remote TYPE OP N SIZE [KEY=VALUE]...");
	n = atoi(argv[4]);
	size = (uint32_t)atoi(argv[5]);
	op = op_of(argv[3]);
	if (n < 1 || (size_t)n * ROOM > AREA)
		die("too much");
	spec = vb_spec_of(type_of(argv[2]));
	spec.send_wr = spec.recv_wr = (uint32_t)n;
	spec.cqe = 2 * (uint32_t)n;
	options(&spec, argc - 6, argv + 6);
	vb_open_two(argc, argv, &a, &b);
	ret = vb_pair_up(&pair, a, b, &spec);
	if (ret)
		die("queue pairs: %s", strerror(ret));
	memset(b->buf, 0, VB_BUF);
	post_all();
	print_sends();
	if (takes_recv())
		print_recvs();
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		printf("sum %u\n", *(uint32_t *)(void *)place(b, 0, true));
	printf("states %s %s\n", state_name(vb_state(a, 0)), state_name(vb_state(b, 1)));
	print_events(a, "sender");
	if (b != a)
		print_events(b, "receiver");
	vb_pair_down(&pair);
	vb_close_two(a, b);
	return bad;
}
