/* SPDX-License-Identifier: MIT */
/*
 * A load of two queue pairs, whose results under fault rules tests in tests/e2e/fault compare.
 *	app_fault_packets local|remote TYPE OP N SIZE [KEY=VALUE]...
 *
 * Posts N receives and N requests of SIZE bytes at once and prints a line for each completion,
 * "send ID STATUS" and "recv NUMBER LENGTH", with the NUMBER in the message's payload; then the
 * QPs' states and the async events of both sides. Payload that differs from its message's is an
 * error. TYPE: RC, UC, UD, XRC; OP: send, imm, write, read, add, or mix: those that the type has,
 * of any size up to SIZE, as `seed` says. KEY: timeout, retry, rnr, min_rnr, mtu (bytes), pause
 * (ms, between the messages), seed, window (so many are posted before their completions are
 * awaited), settle (s that the fabric's clock is moved ahead by after each window, with the command
 * that RDMAEMU_BIN names).
 *
 * With mix, it prints each request before it posts it: "post NUMBER OPCODE SIZE".
 */
#include "tests/lib/c/fault.h"
#include "tests/lib/c/vb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET 300 /* ms in which nothing comes: that was all */
#define SOON  20 /* the same when the clock was moved ahead */
#define MAX   512
#define ROOM  (((size_t)size + VB_GRH + 63) & ~(size_t)63)

/* Where messages come from, and where they go: by their address, or to a receive. */
enum area { FROM, TO, RECV, AREAS };

static struct vb_side *a, *b;
static struct vb_pair pair;
static int n, n_recvs, n_adds, pause_ms, window = MAX, settle_s;
static uint32_t size;
static uint64_t seed = 1;
static bool bad;

/** struct message - one of them; @add: of the atomics, the how-manieth. */
static struct message {
	enum ibv_wr_opcode op;
	uint32_t len;
	uint32_t add;
} messages[MAX];

static uint8_t byte_of(uint32_t number, uint32_t at)
{
	return at < 4 ? (uint8_t)(number >> at * 8) : (uint8_t)(number * 31 + at * 7);
}

static void write_message(uint8_t *p, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < messages[number].len; i++)
		p[i] = byte_of(number, i);
}

/* Return: the message's number; those that are not whole are bad. */
static uint32_t number_of(const uint8_t *p, uint32_t len)
{
	uint32_t number = 0, i;

	memcpy(&number, p, len < 4 ? len : 4);
	for (i = 0; i < len; i++)
		if (p[i] != byte_of(number, i)) {
			printf("not its data: message %u byte %u\n", number, i);
			bad = true;
			break;
		}
	return number;
}

static uint8_t *place(struct vb_side *s, int i, enum area area)
{
	return s->buf + (size_t)area * (VB_BUF / AREAS & ~63u) + (size_t)i * ROOM;
}

static enum ibv_qp_type type_of(const char *name)
{
	return !strcmp(name, "RC")    ? IBV_QPT_RC
	       : !strcmp(name, "UC")  ? IBV_QPT_UC
	       : !strcmp(name, "UD")  ? IBV_QPT_UD
	       : !strcmp(name, "XRC") ? IBV_QPT_XRC_SEND
				      : (die("no type %s", name), IBV_QPT_RC);
}

static bool takes_recv(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* What each message is: all the same, or chosen by the seed among what the type has. */
static void make_messages(enum ibv_qp_type type, const char *name)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode op;
	} ops[] = { { "send", IBV_WR_SEND },
		    { "imm", IBV_WR_RDMA_WRITE_WITH_IMM },
		    { "write", IBV_WR_RDMA_WRITE },
		    { "read", IBV_WR_RDMA_READ },
		    { "add", IBV_WR_ATOMIC_FETCH_AND_ADD } };
	uint32_t has = type == IBV_QPT_UD ? 1 : type == IBV_QPT_UC ? 3 : 5, which;
	uint64_t rng = seed | 1;
	bool mix = !strcmp(name, "mix");
	struct message *m;

	for (which = 0; !mix && which < 5 && strcmp(name, ops[which].name) != 0; which++)
		;
	if (which == 5)
		die("no operation %s", name);
	for (m = messages; m < messages + n; m++) {
		if (mix)
			which = (uint32_t)(rnd(&rng) % has);
		m->op = ops[which].op;
		m->len = mix ? 4 + (uint32_t)(rnd(&rng) % (size - 3)) : size;
		if (m->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			m->len = 8;
			m->add = (uint32_t)n_adds++;
		}
		n_recvs += takes_recv(m->op);
		if (mix)
			printf("post %d %s %u\n", (int)(m - messages), ops[which].name, m->len);
	}
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
		else if (!strcmp(argv[i], "seed"))
			seed = v;
		else if (!strcmp(argv[i], "window") && v)
			window = (int)v;
		else if (!strcmp(argv[i], "settle"))
			settle_s = (int)v;
		else
			die("no option %s", argv[i]);
	}
}

static void post(int i)
{
	const struct message *m = &messages[i];
	struct vb_wr wr = vb_pair_wr(&pair, m->op, (uint64_t)i, 0, m->len);
	bool add = m->op == IBV_WR_ATOMIC_FETCH_AND_ADD;

	wr.sge[0].addr = (uintptr_t)place(a, i, FROM);
	wr.sge[0].lkey = a->info.lkey;
	wr.sge[0].length = m->len;
	wr.num_sge = 1;
	wr.raddr = (uintptr_t)(add ? b->buf + VB_BUF - 8 : place(b, i, TO));
	wr.compare = 1;
	wr.imm = (uint32_t)i;
	if (m->op == IBV_WR_RDMA_READ)
		write_message(place(b, i, TO), (uint32_t)i);
	else if (!add)
		write_message(place(a, i, FROM), (uint32_t)i);
	if (vb_send(a, 0, false, &wr))
		die("cannot post %d", i);
	if (pause_ms)
		usleep((useconds_t)pause_ms * 1000);
}

static void post_recvs(void)
{
	int i;

	for (i = 0; i < n_recvs; i++)
		if (vb_recv1(b, pair.recv, (uint64_t)i, place(b, i, RECV), size + pair.off))
			die("cannot post receive %d", i);
}

/* All that is under way arrives, and is answered. */
static void settle(void)
{
	if (settle_s)
		fault_advance(settle_s);
}

/* Whether what was read, written or added is right. */
static bool is_right(int i)
{
	const struct message *m = &messages[i];

	if (m->op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return *(uint64_t *)(void *)place(a, i, FROM) == m->add;
	if (m->op == IBV_WR_RDMA_READ)
		return number_of(place(a, i, FROM), m->len) == (uint32_t)i;
	if (m->op == IBV_WR_RDMA_WRITE && pair.type != IBV_QPT_UC)
		return number_of(place(b, i, TO), m->len) == (uint32_t)i;
	return true;
}

/* Completions of @count requests. */
static void print_sends(int count)
{
	struct ibv_wc wc;

	for (; count; count--) {
		if (!vb_poll(a, 0, VB_SCQ, VB_WAIT, &wc)) {
			printf("no completion\n");
			bad = true;
			return;
		}
		printf("send %d %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status));
		if (wc.status == IBV_WC_SUCCESS && !is_right((int)wc.wr_id)) {
			printf("not right: %d\n", (int)wc.wr_id);
			bad = true;
		}
	}
}

static void run(void)
{
	int i, k;

	post_recvs();
	for (i = 0; i < n; i += k) {
		for (k = 0; k < window && i + k < n; k++)
			post(i + k);
		settle();
		print_sends(k);
	}
	settle();
}

/* Return: whether one has come. Time in which this did not run does not count. */
static bool next_recv(struct ibv_wc *wc)
{
	int ms = settle_s ? SOON : QUIET;

	while (!vb_poll(b, pair.rq, pair.rcq, 0, wc)) {
		if (!ms--)
			return false;
		usleep(1000);
	}
	return true;
}

static void print_recvs(void)
{
	struct ibv_wc wc;
	uint32_t len;

	while (next_recv(&wc)) {
		len = wc.byte_len - pair.off;
		if (wc.status != IBV_WC_SUCCESS)
			printf("recv: %s\n", ibv_wc_status_str(wc.status));
		else if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			printf("recv %u %u\n", number_of(place(b, (int)wc.imm_data, TO), len), len);
		else
			printf("recv %u %u\n",
			       number_of(place(b, (int)wc.wr_id, RECV) + pair.off, len), len);
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
		die("usage: app_fault_packets local|remote TYPE OP N SIZE [KEY=VALUE]...");
	n = atoi(argv[4]);
	size = (uint32_t)atoi(argv[5]);
	if (n < 1 || n > MAX || size < 4 || (size_t)n * ROOM > VB_BUF / AREAS - 64)
		die("too much");
	spec = vb_spec_of(type_of(argv[2]));
	spec.send_wr = spec.recv_wr = (uint32_t)n;
	spec.cqe = 2 * (uint32_t)n;
	options(&spec, argc - 6, argv + 6);
	make_messages(spec.type, argv[3]);
	vb_open_two(argc, argv, &a, &b);
	ret = vb_pair_up(&pair, a, b, &spec);
	if (ret)
		die("queue pairs: %s", strerror(ret));
	memset(b->buf, 0, VB_BUF);
	run();
	if (n_recvs)
		print_recvs();
	if (n_adds)
		printf("sum %u\n", *(uint32_t *)(void *)(b->buf + VB_BUF - 8));
	printf("states %s %s\n", state_name(vb_state(a, 0)), state_name(vb_state(b, 1)));
	print_events(a, "sender");
	if (b != a)
		print_events(b, "receiver");
	vb_pair_down(&pair);
	vb_close_two(a, b);
	return bad;
}
